//! Decodes the value of one column to a Python object.

use crate::errors::{IntoPy, to_py};
use crate::ffi::uninit_bytes::{Container, UninitBytes};
use crate::objects::build::plain_json;
use crate::objects::values::numpy;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::{Error, Result};
use jinx_dataset::mds::DecodeOptions;
use jinx_mds::encodings::decode::{exactly, pickled, text, unknown};
use jinx_mds::encodings::images::{Pixels, elements};
use jinx_mds::encodings::names::{Dtype, Encoding, Image};
use jinx_mds::encodings::ndarray;
use jinx_mds::read::shard::Row;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyString};
use std::borrow::Cow;

/// Hold the GIL to read values smaller than this: releasing it costs more than the copy.
pub const DETACH_BYTES: u64 = 16 << 10;
/// Copy values of up to this size to the stack.
const SMALL_BYTES: usize = 64;

/// Decodes a column of a row. `read` is the object with its bytes, if it was prefetched (see [`container`]). Errors
/// include the location of the value.
pub fn column<'py>(
    py: Python<'py>,
    row: &Row,
    column: usize,
    options: &DecodeOptions,
    read: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    decode_value(py, row, column, options, read).map_err(|error| locate(py, error, row, column))
}

/// The kind of object that holds the bytes of a column's values unchanged, if there is one.
pub fn container(encoding: &Encoding) -> Option<Container> {
    match encoding {
        Encoding::Bytes | Encoding::Image(Image::Jpeg | Image::Png) => Some(Container::Bytes),
        Encoding::NdArray(..) => Some(Container::Bytearray),
        _ => None,
    }
}

fn decode_value<'py>(
    py: Python<'py>,
    row: &Row,
    column: usize,
    options: &DecodeOptions,
    read: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let column_info = &row.columns().all[column];
    let encoding =
        column_info.encoding.as_ref().ok_or_else(|| to_py(&unknown(&column_info.encoding_name)))?;
    if let Some(container) = container(encoding) {
        let object = match read {
            Some(object) => object,
            None => stored(py, row, column, container)?,
        };
        return match encoding {
            Encoding::NdArray(dtype, shape) => {
                array(py, object.cast_into()?, *dtype, shape.as_deref(), 0, row.len_of(column))
            }
            Encoding::Image(_) if !options.image_bytes => open_image(py, object.cast()?),
            _ => Ok(object),
        };
    }
    if *encoding == Encoding::Pickle && !options.pickles.allows(&column_info.name) {
        return Err(to_py(&pickled()));
    }
    let slice = || row.slice(column).map(Cow::into_owned);
    // Copy the bytes before decoding them: a mapped file may change at any time.
    let length = row.len_of(column);
    if length <= to_u64(SMALL_BYTES) {
        let bytes = row.slice(column).into_py_result()?;
        let mut small = [0; SMALL_BYTES];
        let small = &mut small[..bytes.len()];
        small.copy_from_slice(&bytes);
        return decode(py, encoding, small, options);
    }
    let data = if length < DETACH_BYTES { slice() } else { py.detach(slice) };
    decode(py, encoding, &data.into_py_result()?, options)
}

/// Reads the bytes of a column directly into their object.
fn stored<'py>(
    py: Python<'py>,
    row: &Row,
    column: usize,
    container: Container,
) -> PyResult<Bound<'py, PyAny>> {
    let length = row.len_of(column);
    let object = UninitBytes::new(py, container, to_usize(length, "a value").into_py_result()?)?;
    let fill = || object.fill(|out| row.read_into(column, out));
    if length < DETACH_BYTES { fill() } else { py.detach(fill) }.into_py_result()?;
    object.object(py).ok_or_else(|| to_py(&Error::corrupt("a value that was not read to its end")))
}

/// Decodes the bytes of a column. The caller has checked whether a pickle may be loaded.
pub fn decode<'py>(
    py: Python<'py>,
    encoding: &Encoding,
    data: &[u8],
    options: &DecodeOptions,
) -> PyResult<Bound<'py, PyAny>> {
    match encoding {
        Encoding::Bytes => Ok(PyBytes::new(py, data).into_any()),
        Encoding::Str => Ok(PyString::new(py, text(data).into_py_result()?).into_any()),
        Encoding::Int => {
            let value = i64::from_le_bytes(exactly(data).into_py_result()?);
            Ok(PyInt::new(py, value).into_any())
        }
        Encoding::Scalar(dtype) => scalar(py, *dtype, data),
        Encoding::NdArray(dtype, shape) => {
            let length = to_u64(data.len());
            array(py, PyByteArray::new(py, data), *dtype, shape.as_deref(), 0, length)
        }
        Encoding::StrInt => integer(py, text(data).into_py_result()?),
        Encoding::StrFloat => float(py, text(data).into_py_result()?),
        Encoding::StrDecimal => decimal(py, text(data).into_py_result()?),
        Encoding::Json => json(py, data),
        Encoding::Image(Image::Pil) => pil_image(py, data),
        Encoding::Image(_) if options.image_bytes => Ok(PyBytes::new(py, data).into_any()),
        Encoding::Image(_) => open_image(py, &PyBytes::new(py, data)),
        Encoding::JpegArray => images(py, true, Image::Jpeg, data, options),
        Encoding::List(image) => images(py, false, *image, data, options),
        Encoding::Pickle => py.import("pickle")?.call_method1("loads", (PyBytes::new(py, data),)),
    }
}

/// Adds the location of the value to an error, if its class is one of ours.
fn locate(py: Python<'_>, error: PyErr, row: &Row, column: usize) -> PyErr {
    let name = &row.columns().all[column].name;
    let value = error.value(py);
    let is_ours = value.getattr("column").is_ok_and(|column| column.is_none())
        && value.getattr("sample").is_ok_and(|sample| sample.is_none());
    if !is_ours {
        return error;
    }
    let path = row.shard().path();
    let text = format!("{}: sample {}, column '{name}': {value}", path.display(), row.index());
    match value.get_type().call1((text,)) {
        Ok(located) => {
            let _ = located.setattr("path", path.as_os_str());
            let _ = located.setattr("sample", row.index());
            let _ = located.setattr("column", name);
            PyErr::from_value(located)
        }
        Err(_) => error,
    }
}

/// Creates an array from its head and data at `start` of a bytearray. The array keeps the bytearray and is writable.
pub fn array<'py>(
    py: Python<'py>,
    file: Bound<'py, PyByteArray>,
    dtype: Option<Dtype>,
    shape: Option<&[u64]>,
    start: usize,
    length: u64,
) -> PyResult<Bound<'py, PyAny>> {
    // The head is short, and nothing else has a reference to the bytearray yet.
    let end = start + to_usize(length, "an array").into_py_result()?;
    let head_end = end.min(start + 2 + 8 * 63);
    let head =
        file.get_item(pyo3::types::PySlice::new(py, isize::try_from(start)?, isize::try_from(head_end)?, 1))?;
    let head: Vec<u8> = head.extract()?;
    let parsed = ndarray::parse_head(dtype, shape, &head, length).into_py_result()?;
    let numpy = numpy(py)?;
    let count = (length - to_u64(parsed.start)) / parsed.dtype.size();
    let offset = start + parsed.start;
    let arguments = (file, dtype_object(py, parsed.dtype)?, count, offset);
    let flat = numpy.call_method1(intern!(py, "frombuffer"), arguments)?;
    flat.call_method1(intern!(py, "reshape"), (parsed.shape,))
}

fn dtype_object<'py>(py: Python<'py>, dtype: Dtype) -> PyResult<Bound<'py, PyAny>> {
    static OBJECTS: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let objects = OBJECTS.get_or_try_init(py, || {
        let objects = PyDict::new(py);
        for dtype in Dtype::ALL {
            objects.set_item(dtype.code(), numpy(py)?.call_method1("dtype", (dtype.descr(),))?)?;
        }
        PyResult::Ok(objects.unbind())
    })?;
    let found = objects.bind(py).get_item(dtype.code())?;
    found.ok_or_else(|| to_py(&Error::unsupported(dtype.name())))
}

/// The numpy class for a scalar of this dtype.
fn scalar_class<'py>(py: Python<'py>, dtype: Dtype) -> PyResult<&'py Bound<'py, PyAny>> {
    static CLASSES: [PyOnceLock<Py<PyAny>>; Dtype::ALL.len()] =
        [const { PyOnceLock::new() }; Dtype::ALL.len()];
    let at = Dtype::ALL.iter().position(|other| *other == dtype).unwrap_or_default();
    let class = CLASSES[at].get_or_try_init(py, || numpy(py)?.getattr(dtype.name()).map(Bound::unbind))?;
    Ok(class.bind(py))
}

fn scalar<'py>(py: Python<'py>, dtype: Dtype, data: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    if to_u64(data.len()) != dtype.size() {
        return Err(to_py(&Error::corrupt(format!("a {} of {} bytes", dtype.name(), data.len()))));
    }
    let class = scalar_class(py, dtype)?;
    let fixed = |data: &[u8]| -> Result<[u8; 8]> {
        let mut all = [0; 8];
        all[..data.len()].copy_from_slice(data);
        Ok(all)
    };
    let word = fixed(data).into_py_result()?;
    let low4 = [word[0], word[1], word[2], word[3]];
    match dtype {
        Dtype::Uint8 | Dtype::Uint16 | Dtype::Uint32 | Dtype::Uint64 => {
            class.call1((u64::from_le_bytes(word),))
        }
        Dtype::Int8 => class.call1((i8::from_le_bytes([word[0]]),)),
        Dtype::Int16 => class.call1((i16::from_le_bytes([word[0], word[1]]),)),
        Dtype::Int32 => class.call1((i32::from_le_bytes(low4),)),
        Dtype::Int64 => class.call1((i64::from_le_bytes(word),)),
        Dtype::Float32 => class.call1((f32::from_le_bytes(low4),)),
        Dtype::Float64 => class.call1((f64::from_le_bytes(word),)),
        Dtype::Float16 => {
            let arguments = (PyBytes::new(py, data), dtype_object(py, dtype)?);
            numpy(py)?.call_method1(intern!(py, "frombuffer"), arguments)?.get_item(0)
        }
    }
}

fn not_a_number(error: &PyErr) -> PyErr {
    to_py(&Error::corrupt(format!("a string that is not a number: {error}")))
}

fn integer<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    match text.parse::<i64>() {
        Ok(value) => Ok(PyInt::new(py, value).into_any()),
        Err(_) => py.get_type::<PyInt>().call1((text,)).map_err(|error| not_a_number(&error)),
    }
}

fn float<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    py.get_type::<PyFloat>().call1((text,)).map_err(|error| not_a_number(&error))
}

fn decimal<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let class = py.import("decimal")?.getattr("Decimal")?;
    class.call1((text,)).map_err(|error| not_a_number(&error))
}

/// Decodes JSON like `json.loads`. Our stricter parser rejects some output of Python's `json.dumps`: NaN, infinities
/// and lone surrogates.
fn json<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    plain_json(py, data, false).or_else(|ours| {
        let loaded = py.import("json")?.call_method1("loads", (PyBytes::new(py, data),));
        loaded.map_err(|_| ours)
    })
}

fn pillow<'py>(py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
    static PILLOW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let module = PILLOW.get_or_try_init(py, || {
        py.import("PIL.Image").map(|module| module.into_any().unbind()).map_err(|_| {
            pyo3::exceptions::PyImportError::new_err(
                "this value is an image: pip install 'jinx-data[image]', or open with decode=False for its bytes",
            )
        })
    })?;
    Ok(module.bind(py).clone())
}

/// Opens an image. Pillow decodes its pixels on first access.
fn open_image<'py>(py: Python<'py>, file: &Bound<'py, PyBytes>) -> PyResult<Bound<'py, PyAny>> {
    static OPEN: PyOnceLock<(Py<PyAny>, Py<PyAny>)> = PyOnceLock::new();
    let (open, bytes_io) = OPEN.get_or_try_init(py, || {
        let open = pillow(py)?.getattr("open")?.unbind();
        PyResult::Ok((open, py.import("io")?.getattr("BytesIO")?.unbind()))
    })?;
    let stream = bytes_io.bind(py).call1((file,))?;
    open.bind(py).call1((stream,)).map_err(|error| bad_image(py, &error))
}

fn bad_image(py: Python<'_>, error: &PyErr) -> PyErr {
    if error.is_instance_of::<pyo3::exceptions::PyMemoryError>(py) {
        return error.clone_ref(py);
    }
    to_py(&Error::corrupt(format!("an image that Pillow cannot read: {}", error.get_type(py))))
}

fn pil_image<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let pixels = Pixels::parse(data).into_py_result()?;
    let raw = PyBytes::new(py, &data[pixels.start..]);
    pillow(py)?
        .call_method1("frombytes", (pixels.mode, (pixels.width, pixels.height), raw))
        .map_err(|error| bad_image(py, &error))
}

fn images<'py>(
    py: Python<'py>,
    is_array: bool,
    image: Image,
    data: &[u8],
    options: &DecodeOptions,
) -> PyResult<Bound<'py, PyAny>> {
    let mut list = Vec::new();
    for range in elements(is_array, data).into_py_result()? {
        let bytes = &data[range];
        list.push(match image {
            Image::Pil => pil_image(py, bytes)?,
            _ if options.image_bytes => PyBytes::new(py, bytes).into_any(),
            _ => open_image(py, &PyBytes::new(py, bytes))?,
        });
    }
    Ok(pyo3::types::PyList::new(py, list)?.into_any())
}
