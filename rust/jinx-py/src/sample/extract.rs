//! Converts Python objects to events, and reports objects that cannot be stored.

use crate::errors::from_py;
use crate::sample::lazy_dict::LazyDict;
use bytes::Bytes;
use jinx_core::io::{Source, SourceRange};
use jinx_core::limits::MAX_DEPTH;
use jinx_core::npy;
use jinx_core::row_events::{Blob, Dtype, Number, Payload, Sink};
use jinx_core::{Error, Result};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMapping, PyMemoryView, PyString, PyTuple,
    PyType,
};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Copying fewer bytes than this takes no longer than keeping a reference to their object.
const SHARED_BYTES: usize = 4096;

/// The error for a name that cannot be written.
pub const SURROGATE_KEY: &str = "a dict key with lone surrogates; it has no UTF-8 form";

/// Emits a sample: a dict, a [`LazyDict`] or another mapping.
///
/// # Errors
/// `Invalid` with the path and type of a value that cannot be stored.
pub fn emit_sample(sample: &Bound<'_, PyAny>, sink: &mut impl Sink) -> Result<()> {
    if let Ok(lazy) = sample.cast::<LazyDict>() {
        return lazy.get().emit(sample.py(), 0, sink);
    }
    if let Ok(dict) = sample.cast::<PyDict>() {
        return emit_dict(dict, 0, sink);
    }
    if sample.cast::<PyMapping>().is_ok() {
        return emit_mapping(sample, 0, sink);
    }
    Err(Error::invalid(format!("a sample must be a dict, not {}", type_name(sample))))
}

/// Emits any storable value; `depth` counts the containers around it.
pub fn emit_value(value: &Bound<'_, PyAny>, depth: usize, sink: &mut impl Sink) -> Result<()> {
    let py = value.py();
    let fail = |error: PyErr| from_py(py, error);
    if value.is_none() {
        return sink.null();
    }
    if let Ok(text) = value.cast_exact::<PyString>() {
        return emit_str(text, sink);
    }
    if let Ok(flag) = value.cast::<PyBool>() {
        return sink.bool(flag.is_true());
    }
    if value.cast_exact::<PyInt>().is_ok() {
        return emit_int(value, sink);
    }
    if let Ok(number) = value.cast_exact::<PyFloat>() {
        return sink.float(number.value());
    }
    if let Ok(bytes) = value.cast_exact::<PyBytes>() {
        return emit_bytes(Payload::Raw, bytes, sink);
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        return emit_dict(dict, depth, sink);
    }
    if let Ok(list) = value.cast::<PyList>() {
        let len = list.len();
        let emitted = emit_items(list.iter(), len, depth, sink)?;
        return if emitted == len && list.len() == len { Ok(()) } else { Err(changed("list")) };
    }
    if let Ok(tuple) = value.cast::<PyTuple>() {
        return emit_items(tuple.iter(), tuple.len(), depth, sink).map(|_| ());
    }
    if let Ok(lazy) = value.cast::<LazyDict>() {
        check_depth(depth)?;
        return lazy.get().emit(py, depth, sink);
    }
    if value.cast::<PyByteArray>().is_ok() || value.cast::<PyMemoryView>().is_ok() {
        let bytes = py.get_type::<PyBytes>().call1((value,)).map_err(fail)?;
        let bytes = bytes.cast_into::<PyBytes>().map_err(|error| fail(error.into()))?;
        return emit_bytes(Payload::Raw, &bytes, sink);
    }
    if emit_foreign(value, sink)? {
        return Ok(());
    }
    // Store subclasses (IntEnum, numpy's str_ and bytes_, defaultdict, ...) as their base classes.
    if let Ok(text) = value.cast::<PyString>() {
        return emit_str(text, sink);
    }
    if value.cast::<PyInt>().is_ok() {
        return emit_int(value, sink);
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return sink.float(number.value());
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return sink.blob(Payload::Raw, Blob::borrowed(bytes.as_bytes()));
    }
    if value.cast::<PyMapping>().is_ok() {
        return emit_mapping(value, depth, sink);
    }
    Err(Error::invalid(format!(
        "a value of type {} cannot be stored; give None, bool, int, float, str, bytes, list, dict, a numpy array or a torch tensor",
        type_name(value)
    )))
}

fn check_depth(depth: usize) -> Result<()> {
    if depth < MAX_DEPTH {
        Ok(())
    } else {
        Err(Error::limit(format!("lists and dicts nested deeper than {MAX_DEPTH}")))
    }
}

fn emit_str(text: &Bound<'_, PyString>, sink: &mut impl Sink) -> Result<()> {
    let text =
        text.to_str().map_err(|_| Error::invalid("a str with lone surrogates; it has no UTF-8 form"))?;
    sink.str(text)
}

/// Emits bytes without copying long values: the sink keeps a reference to their object. The object is exactly a
/// `bytes`, never of a subclass that could run code when it is freed.
fn emit_bytes(payload: Payload, bytes: &Bound<'_, PyBytes>, sink: &mut impl Sink) -> Result<()> {
    let data = bytes.as_bytes();
    if data.len() < SHARED_BYTES {
        return sink.blob(payload, Blob::borrowed(data));
    }
    sink.blob(payload, Blob::shared(Bytes::from_owner(PyBackedBytes::from(bytes.clone()))))
}

fn emit_int(value: &Bound<'_, PyAny>, sink: &mut impl Sink) -> Result<()> {
    if let Ok(value) = value.extract::<i64>() {
        return sink.int(value);
    }
    let digits = value
        .py()
        .get_type::<PyInt>()
        .call_method1("__repr__", (value,))
        .and_then(|digits| digits.extract::<String>())
        .map_err(|_| Error::limit("an integer of more than 4300 digits"))?;
    sink.big_int(&digits)
}

fn emit_dict(dict: &Bound<'_, PyDict>, depth: usize, sink: &mut impl Sink) -> Result<()> {
    check_depth(depth)?;
    let len = dict.len();
    sink.begin_dict(len)?;
    let mut members = dict.iter();
    for _ in 0..len {
        // Check the length here: PyO3's iterator panics if the dict has changed.
        let member = if dict.len() == len { members.next() } else { None };
        let (key, value) = member.ok_or_else(|| changed("dict"))?;
        emit_member(&key, &value, depth, sink)?;
    }
    if dict.len() != len {
        return Err(changed("dict"));
    }
    sink.end_dict()
}

/// The error for a container that changes while it is emitted: a value may run Python code or let other threads run.
fn changed(what: &str) -> Error {
    Error::invalid(format!(
        "this {what} was changed while it was being written; give write() a copy of its own"
    ))
}

fn emit_mapping(mapping: &Bound<'_, PyAny>, depth: usize, sink: &mut impl Sink) -> Result<()> {
    let py = mapping.py();
    let fail = |error: PyErr| from_py(py, error);
    check_depth(depth)?;
    let mapping = mapping.cast::<PyMapping>().map_err(|error| fail(error.into()))?;
    let items = mapping.items().map_err(fail)?;
    sink.begin_dict(items.len())?;
    for item in items.iter() {
        let (key, value) = item.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>().map_err(fail)?;
        emit_member(&key, &value, depth, sink)?;
    }
    sink.end_dict()
}

fn emit_member(
    key: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
    depth: usize,
    sink: &mut impl Sink,
) -> Result<()> {
    let name = key
        .cast::<PyString>()
        .map_err(|_| Error::invalid(format!("a dict key of type {}; keys must be str", type_name(key))))?
        .to_str()
        .map_err(|_| Error::invalid(SURROGATE_KEY))?;
    sink.key(name)?;
    emit_value(value, depth + 1, sink).map_err(|error| error.in_column(name))
}

/// Returns the number of items.
fn emit_items<'py>(
    items: impl Iterator<Item = Bound<'py, PyAny>>,
    len: usize,
    depth: usize,
    sink: &mut impl Sink,
) -> Result<usize> {
    check_depth(depth)?;
    sink.begin_list(len)?;
    let mut emitted = 0;
    for item in items {
        emit_value(&item, depth + 1, sink).map_err(|error| error.in_column(&format!("[{emitted}]")))?;
        emitted += 1;
    }
    sink.end_list()?;
    Ok(emitted)
}

fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().fully_qualified_name().map_or_else(|_| "unknown".to_owned(), |name| name.to_string())
}

/// A class of a library, looked up only if the library is already imported.
struct Foreign {
    module: &'static str,
    name: &'static str,
    class: PyOnceLock<Py<PyType>>,
}

static NDARRAY: Foreign = Foreign { module: "numpy", name: "ndarray", class: PyOnceLock::new() };
static GENERIC: Foreign = Foreign { module: "numpy", name: "generic", class: PyOnceLock::new() };
static MASKED: Foreign = Foreign { module: "numpy.ma", name: "MaskedArray", class: PyOnceLock::new() };
static STORED_RANGE: Foreign =
    Foreign { module: "jinx._dataset.stored_ranges", name: "StoredRange", class: PyOnceLock::new() };
static TENSOR: Foreign = Foreign { module: "torch", name: "Tensor", class: PyOnceLock::new() };

impl Foreign {
    fn has(&self, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = value.py();
        if let Some(class) = self.class.get(py) {
            return value.is_instance(class.bind(py));
        }
        let modules = py.import("sys")?.getattr("modules")?;
        let module = modules.cast::<PyDict>()?.get_item(self.module)?;
        let Some(class) = module.and_then(|module| module.getattr(self.name).ok()) else { return Ok(false) };
        let class = class.cast_into::<PyType>()?;
        let class = self.class.get_or_init(py, || class.unbind());
        value.is_instance(class.bind(py))
    }
}

/// Emits numpy and torch values; returns false for everything else.
fn emit_foreign(value: &Bound<'_, PyAny>, sink: &mut impl Sink) -> Result<bool> {
    let py = value.py();
    let fail = |error: PyErr| from_py(py, error);
    if NDARRAY.has(value).map_err(fail)? {
        let file = npy_file(value)?;
        emit_bytes(Payload::Npy, &file, sink)?;
        return Ok(true);
    }
    if GENERIC.has(value).map_err(fail)? {
        if value.cast::<PyString>().is_ok() || value.cast::<PyBytes>().is_ok() {
            return Ok(false);
        }
        return emit_numpy_scalar(value, sink).map(|()| true);
    }
    if STORED_RANGE.has(value).map_err(fail)? {
        return emit_range(value, sink).map(|()| true);
    }
    if TENSOR.has(value).map_err(fail)? {
        let file = tensor_file(value)?;
        emit_bytes(Payload::Pt, &file, sink)?;
        return Ok(true);
    }
    Ok(false)
}

/// The file of the last emitted range: consecutive ranges are often in the same file.
static LAST_FILE: Mutex<Option<Arc<Source>>> = Mutex::new(None);

/// Emits a range of bytes in a file; the bytes are read when they are written.
fn emit_range(value: &Bound<'_, PyAny>, sink: &mut impl Sink) -> Result<()> {
    let field = |name| value.getattr(name);
    let place = || -> PyResult<(PathBuf, u64, u64)> {
        Ok((field("path")?.extract()?, field("offset")?.extract()?, field("length")?.extract()?))
    };
    let (path, offset, length) = place().map_err(|error| from_py(value.py(), error))?;
    let end = offset.saturating_add(length);
    let mut last = LAST_FILE.lock().unwrap_or_else(PoisonError::into_inner);
    let known = last.take().filter(|file| file.path() == path && file.len() >= end && file.is_at(&path));
    let file = match known {
        Some(file) => file,
        None => Arc::new(Source::open_growing(&path)?),
    };
    *last = Some(Arc::clone(&file));
    drop(last);
    sink.range(&SourceRange::of(file, offset, length)?)
}

fn npy_file<'py>(array: &Bound<'py, PyAny>) -> Result<Bound<'py, PyBytes>> {
    let py = array.py();
    let write = || -> PyResult<Bound<'py, PyBytes>> {
        let file = py.import("io")?.call_method0("BytesIO")?;
        let format = crate::objects::values::numpy(py)?.getattr("lib")?.getattr("format")?;
        let options = PyDict::new(py);
        options.set_item("allow_pickle", false)?;
        format.call_method("write_array", (&file, array), Some(&options))?;
        Ok(file.call_method0("getvalue")?.cast_into::<PyBytes>()?)
    };
    let dtype = array.getattr(intern!(py, "dtype")).map_err(|error| from_py(py, error))?;
    let has_object = dtype.getattr(intern!(py, "hasobject")).and_then(|flag| flag.extract::<bool>());
    if has_object.unwrap_or(true) {
        return Err(Error::invalid("a numpy array of Python objects cannot be stored; use a list"));
    }
    let is_plain = dtype_str(&dtype).is_ok_and(|descr| npy::item_size(&descr).is_ok());
    if !is_plain {
        return Err(Error::invalid(format!(
            "a numpy array of dtype {dtype} cannot be stored; give arrays of numbers, bools, strings or times, a \
             structured one as a dict of its fields"
        )));
    }
    if MASKED.has(array).map_err(|error| from_py(py, error))? {
        return Err(Error::invalid("a masked numpy array cannot be stored; give its data and its mask"));
    }
    write().map_err(|error| Error::invalid(format!("this numpy array cannot be stored: {error}")))
}

/// `dtype.str`, or an empty string for a structured type, which `dtype.str` does not describe fully.
fn dtype_str(dtype: &Bound<'_, PyAny>) -> PyResult<String> {
    let is_structured = !dtype.getattr("names")?.is_none();
    if is_structured { Ok(String::new()) } else { dtype.getattr("str")?.extract() }
}

/// Saves a tensor with `torch.save`. Accepts only tensors that `torch.load` restores without running code.
fn tensor_file<'py>(tensor: &Bound<'py, PyAny>) -> Result<Bound<'py, PyBytes>> {
    let py = tensor.py();
    let fail = |error: PyErr| Error::invalid(format!("this torch tensor cannot be stored: {error}"));
    // Clone the tensor, because `torch.save` would write the whole storage of a view.
    let copy = || tensor.call_method0("detach")?.call_method0("cpu")?.call_method0("clone");
    let own = copy().map_err(fail)?;
    if !TENSOR.class.get(py).is_some_and(|class| own.get_type().is(class.bind(py))) {
        return Err(Error::invalid(format!(
            "a torch tensor of type {} cannot be stored; give tensor.as_subclass(torch.Tensor), or the tensors in it",
            type_name(&own)
        )));
    }
    if own.getattr(intern!(py, "is_nested")).and_then(|flag| flag.extract()).map_err(fail)? {
        return Err(Error::invalid("a nested torch tensor cannot be stored; give the list tensor.unbind()"));
    }
    let save = || -> PyResult<Bound<'py, PyBytes>> {
        let file = py.import("io")?.call_method0("BytesIO")?;
        py.import("torch")?.call_method1("save", (own, &file))?;
        Ok(file.call_method0("getvalue")?.cast_into::<PyBytes>()?)
    };
    save().map_err(fail)
}

fn emit_numpy_scalar(value: &Bound<'_, PyAny>, sink: &mut impl Sink) -> Result<()> {
    let py = value.py();
    let fail = |error: PyErr| from_py(py, error);
    let dtype = value.getattr(intern!(py, "dtype")).map_err(fail)?;
    let name: String = dtype.getattr(intern!(py, "name")).and_then(|name| name.extract()).map_err(fail)?;
    match Dtype::from_name(&name).filter(|dtype| *dtype != Dtype::Float64) {
        Some(dtype @ Dtype::Float32) => sink.scalar(dtype, Number::Float(value.extract().map_err(fail)?)),
        Some(dtype @ Dtype::Uint64) => {
            let number = value.call_method0("__int__").and_then(|value| value.extract()).map_err(fail)?;
            sink.scalar(dtype, Number::Uint(number))
        }
        Some(dtype) => {
            let number = value.call_method0("__int__").and_then(|value| value.extract()).map_err(fail)?;
            sink.scalar(dtype, Number::Int(number))
        }
        None => {
            let has_object =
                dtype.getattr("hasobject").and_then(|flag| flag.extract::<bool>()).map_err(fail)?;
            let descr = dtype_str(&dtype).map_err(fail)?;
            if has_object || npy::item_size(&descr).is_err() {
                return Err(Error::invalid(format!("a numpy scalar of dtype {name} cannot be stored")));
            }
            let data = value.call_method0("tobytes").map_err(fail)?;
            let data = data.cast_into::<PyBytes>().map_err(|error| fail(error.into()))?;
            let payload = [descr.as_bytes(), b"\0", data.as_bytes()].concat();
            sink.blob(Payload::Np, Blob::borrowed(&payload))
        }
    }
}
