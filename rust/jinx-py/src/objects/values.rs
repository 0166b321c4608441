//! Stored values as Python objects: bytes, numpy arrays and scalars, torch tensors.

use crate::errors::{IntoPy, to_py};
use crate::ffi::uninit_bytes::{Container, UninitBytes};
use crate::objects::image::Pixels;
use jinx_core::checked_math::{range_within, to_u64, to_usize};
use jinx_core::io::Source;
use jinx_core::limits::FIRST_RESERVATION_BYTES;
use jinx_core::npy;
use jinx_core::row_events::{Dtype, Number, Payload};
use jinx_core::{Error, Result};
use jinx_format::read::shard::Shard;
use jinx_format::read::stored::{EncodedValue, Location};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyModule, PySlice};

/// Hold the GIL to read values smaller than this: releasing it costs more than the copy.
const DETACH_BYTES: usize = 4096;

static NUMPY: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

pub fn numpy(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    Ok(NUMPY.get_or_try_init(py, || py.import("numpy").map(Bound::unbind))?.bind(py))
}

/// Reads or decompresses a blob of a shard directly into its final object.
pub fn stored_blob<'py>(
    py: Python<'py>,
    shard: &Shard,
    stored: &EncodedValue<'_>,
    payload: Payload,
) -> PyResult<Bound<'py, PyAny>> {
    // The first bytes of a compressed value contain its length. Read them without the GIL, unless the file is mapped,
    // where reading never waits.
    let waits =
        stored.chain.codecs().next().is_some() && shard.sidecar().is_some_and(|side| !side.is_mapped());
    let length =
        if waits { py.detach(|| plausible_len(shard, stored)) } else { plausible_len(shard, stored) };
    let Some(length) = length else {
        let bytes = py.detach(|| shard.load(stored)).into_py_result()?;
        return blob(py, payload, &bytes);
    };
    let object = UninitBytes::new(py, container_of(payload), length)?;
    let fill = || object.fill(|out| shard.load_into(stored, out));
    let is_quick = length < DETACH_BYTES && shard.sidecar().is_none_or(|side| !side.is_remote());
    if is_quick { fill() } else { py.detach(fill) }.into_py_result()?;
    let object =
        object.object(py).ok_or_else(|| to_py(&Error::corrupt("a value that was not read to its end")))?;
    filled(py, payload, object)
}

/// The kind of object that holds the bytes of a payload. An array needs writable memory.
pub fn container_of(payload: Payload) -> Container {
    if payload == Payload::Npy { Container::Bytearray } else { Container::Bytes }
}

/// Decodes a value from its bytes, which are in an object that [`container_of`] made for it.
pub fn filled<'py>(
    py: Python<'py>,
    payload: Payload,
    object: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    match payload {
        Payload::Raw => Ok(object),
        Payload::Npy => array(py, object.cast_into::<PyByteArray>()?),
        Payload::Pt | Payload::Np => blob(py, payload, object.cast::<PyBytes>()?.as_bytes()),
    }
}

/// The decoded length, if it is known and small enough to allocate before decoding.
pub fn plausible_len(shard: &Shard, stored: &EncodedValue<'_>) -> Option<usize> {
    let length = stored.announced_len(shard).filter(|length| is_plausible(shard, stored, *length))?;
    to_usize(length, "value length").ok()
}

fn is_plausible(shard: &Shard, stored: &EncodedValue<'_>, length: u64) -> bool {
    if let Location::Sidecar(pointer) = &stored.place
        && range_within(pointer.offset, pointer.length, shard.sidecar().map_or(0, Source::len), "a value")
            .is_err()
    {
        return false;
    }
    let bound = Shard::stored_len(stored).saturating_mul(64).max(FIRST_RESERVATION_BYTES);
    length <= bound && length <= shard.limits().max_value_bytes
}

/// Decodes a blob from bytes in memory.
pub fn blob<'py>(py: Python<'py>, payload: Payload, data: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    match payload {
        Payload::Raw => Ok(PyBytes::new(py, data).into_any()),
        Payload::Npy => array(py, PyByteArray::new(py, data)),
        Payload::Np => numpy_scalar(py, data),
        Payload::Pt => tensor(py, data),
    }
}

/// Returns the array in a `.npy` file. The array owns the memory of `file` and is writable.
fn array<'py>(py: Python<'py>, file: Bound<'py, PyByteArray>) -> PyResult<Bound<'py, PyAny>> {
    let start = |length: usize| -> PyResult<Vec<u8>> {
        let end = isize::try_from(length.min(file.len()))?;
        Ok(file.as_any().get_item(PySlice::new(py, 0, end, 1))?.cast_into::<PyByteArray>()?.to_vec())
    };
    let head = start(npy::header_end(&start(npy::PREFIX_BYTES)?).into_py_result()?)?;
    let header = npy::parse_header(&head).into_py_result()?;
    header.check_payload(to_u64(file.len())).into_py_result()?;
    let numpy = numpy(py)?;
    let dtype = dtype_of(py, &header.descr)?;
    let order = if header.fortran { "F" } else { "C" };
    let shape: Vec<u64> = header.shape.clone();
    if shape.contains(&0) {
        let options = PyDict::new(py);
        options.set_item("order", order)?;
        return numpy.call_method("empty", (shape, dtype), Some(&options));
    }
    let options = PyDict::new(py);
    options.set_item("offset", header.data_offset)?;
    let flat = numpy.call_method("frombuffer", (file, dtype), Some(&options))?;
    let options = PyDict::new(py);
    options.set_item("order", order)?;
    flat.call_method("reshape", (shape,), Some(&options))
}

/// Converts an image to an array of shape (height, width), or (height, width, channels) for several channels.
pub fn pixels<'py>(py: Python<'py>, pixels: &Pixels) -> PyResult<Bound<'py, PyAny>> {
    let flat = numpy(py)?.call_method1("frombuffer", (PyByteArray::new(py, &pixels.data), "uint8"))?;
    match pixels.channels {
        1 => flat.call_method1("reshape", (pixels.height, pixels.width)),
        channels => flat.call_method1("reshape", (pixels.height, pixels.width, channels)),
    }
}

fn dtype_of<'py>(py: Python<'py>, descr: &str) -> PyResult<Bound<'py, PyAny>> {
    let numpy = numpy(py)?;
    if descr.starts_with('[') {
        let parsed = py.import("ast")?.call_method1("literal_eval", (descr,))?;
        return numpy.getattr("lib")?.getattr("format")?.call_method1("descr_to_dtype", (parsed,));
    }
    numpy.call_method1("dtype", (descr,))
}

/// Decodes a numpy scalar; `data` is the dtype string, a zero byte, and the bytes of the scalar.
fn numpy_scalar<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let bad = || to_py(&Error::corrupt("a numpy scalar without its dtype"));
    let end = data.iter().position(|byte| *byte == 0).ok_or_else(bad)?;
    let descr = std::str::from_utf8(&data[..end]).map_err(|_| bad())?;
    if !descr.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"<>|=[]".contains(&byte))
        || descr.contains('O')
    {
        return Err(bad());
    }
    let numpy = numpy(py)?;
    let dtype = numpy.call_method1("dtype", (descr,)).map_err(|_| bad())?;
    let flat =
        numpy.call_method1("frombuffer", (PyBytes::new(py, &data[end + 1..]), dtype)).map_err(|_| bad())?;
    if flat.len()? != 1 {
        return Err(bad());
    }
    flat.get_item(0)
}

/// Loads a tensor that `torch.save` wrote. Loads nothing but tensors.
fn tensor<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let torch = py.import("torch").map_err(|_| {
        pyo3::exceptions::PyImportError::new_err(
            "this value is a torch tensor: pip install 'jinx-data[torch]'",
        )
    })?;
    let file = py.import("io")?.call_method1("BytesIO", (PyBytes::new(py, data),))?;
    let options = PyDict::new(py);
    options.set_item("weights_only", true)?;
    options.set_item("map_location", "cpu")?;
    torch
        .call_method("load", (file,), Some(&options))
        .map_err(|error| to_py(&Error::corrupt(format!("not a stored tensor: {error}"))))
}

/// Converts a number to a numpy scalar.
pub fn scalar<'py>(py: Python<'py>, dtype: Dtype, value: Number) -> PyResult<Bound<'py, PyAny>> {
    let class = numpy(py)?.getattr(dtype.name())?;
    match value {
        Number::Int(value) => class.call1((value,)),
        Number::Uint(value) => class.call1((value,)),
        Number::Float(value) => class.call1((value,)),
    }
}

/// An integer from its digits.
pub fn big_int<'py>(py: Python<'py>, digits: &str) -> Result<Bound<'py, PyAny>> {
    py.get_type::<pyo3::types::PyInt>()
        .call1((digits,))
        .map_err(|error| Error::limit(format!("an integer Python refuses: {error}")))
}
