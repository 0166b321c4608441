//! Maps each cause of a Rust error to a Python exception class.

use jinx_core::{Cause, Error};
use pyo3::exceptions::{
    PyException, PyFileExistsError, PyFileNotFoundError, PyIndexError, PyNotImplementedError, PyOSError,
    PyPermissionError, PyRuntimeError, PyTimeoutError, PyValueError,
};
use pyo3::panic::PanicException;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};
use std::io::ErrorKind;

struct Classes {
    base: Py<PyAny>,
    corrupt: Py<PyAny>,
    truncated: Py<PyAny>,
    limit: Py<PyAny>,
    unsupported: Py<PyAny>,
    mismatch: Py<PyAny>,
    invalid: Py<PyAny>,
    internal: Py<PyAny>,
}

static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();

fn make<'py>(
    py: Python<'py>,
    name: &str,
    doc: &str,
    bases: &[&Bound<'py, PyAny>],
) -> PyResult<Bound<'py, PyAny>> {
    let members = PyDict::new(py);
    members.set_item("__module__", "jinx.errors")?;
    members.set_item("__doc__", doc)?;
    // Without slots, instances have the memory layout of Python's own exceptions, which `adopt_panics` needs.
    members.set_item("__slots__", ())?;
    py.get_type::<PyType>().call1((name, PyTuple::new(py, bases)?, members))
}

impl Classes {
    fn create(py: Python<'_>) -> PyResult<Self> {
        let exception = py.get_type::<PyException>().into_any();
        let value = py.get_type::<PyValueError>().into_any();
        let missing = py.get_type::<PyNotImplementedError>().into_any();
        let base = make(
            py,
            "JinxError",
            "The base of all errors of jinx; `path`, `sample` and `column` say where, None where they do not \
             apply.",
            &[&exception],
        )?;
        for name in ["path", "sample", "column"] {
            base.setattr(name, py.None())?;
        }
        let corrupt = make(
            py,
            "CorruptFileError",
            "Bytes that no writer produces, or a checksum that does not match.",
            &[&base, &value],
        )?;
        Ok(Self {
            truncated: make(py, "TruncatedFileError", "A file ends before what it announces.", &[&corrupt])?
                .unbind(),
            limit: make(py, "LimitError", "A cap on untrusted input was met.", &[&base, &value])?.unbind(),
            unsupported: make(
                py,
                "UnsupportedError",
                "A file that needs what this build does not know.",
                &[&base, &missing],
            )?
            .unbind(),
            mismatch: make(
                py,
                "MismatchError",
                "Files that do not belong together, or a value that does not fit a schema.",
                &[&base, &value],
            )?
            .unbind(),
            invalid: make(
                py,
                "InvalidError",
                "An argument or a value that cannot be used.",
                &[&base, &value],
            )?
            .unbind(),
            internal: make(
                py,
                "InternalError",
                "A bug in jinx: please report it. A writer that raised it publishes nothing.",
                &[&base, &py.get_type::<PyRuntimeError>().into_any()],
            )?
            .unbind(),
            corrupt: corrupt.unbind(),
            base: base.unbind(),
        })
    }

    /// The classes registered by `jinx._core`.
    fn import(py: Python<'_>) -> PyResult<Self> {
        let errors = py.import("jinx.errors")?;
        let class = |name: &str| errors.getattr(name).map(Bound::unbind);
        Ok(Self {
            base: class("JinxError")?,
            corrupt: class("CorruptFileError")?,
            truncated: class("TruncatedFileError")?,
            limit: class("LimitError")?,
            unsupported: class("UnsupportedError")?,
            mismatch: class("MismatchError")?,
            invalid: class("InvalidError")?,
            internal: class("InternalError")?,
        })
    }

    fn get(py: Python<'_>) -> PyResult<&Self> {
        CLASSES.get_or_try_init(py, || Self::import(py))
    }
}

/// Creates the exception classes and adds them to the module. Only `jinx._core` does; other modules import them.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let classes = CLASSES.get_or_try_init(module.py(), || Classes::create(module.py()))?;
    for class in [
        &classes.base,
        &classes.corrupt,
        &classes.truncated,
        &classes.limit,
        &classes.unsupported,
        &classes.mismatch,
        &classes.invalid,
        &classes.internal,
    ] {
        let class = class.bind(module.py());
        module.add(class.getattr("__name__")?.extract::<String>()?.as_str(), class)?;
    }
    let explained = wrap_pyfunction!(explain, module)?;
    let method = module.py().import("functools")?.call_method1("partialmethod", (explained,))?;
    classes.internal.bind(module.py()).setattr("__str__", method)?;
    adopt_panics(module, "jinx.errors")
}

/// Converts the exception that a panic raises in Python to an `InternalError`. `home` is the module it is pickled from.
///
/// PyO3 turns a panic in any function or method of this module into a `PanicException`. That class derives from
/// `BaseException`, so `except Exception` in a data loader's worker does not catch it, and the worker dies.
pub fn adopt_panics(module: &Bound<'_, PyModule>, home: &str) -> PyResult<()> {
    let py = module.py();
    let class = py.get_type::<PanicException>();
    class.setattr("__bases__", (Classes::get(py)?.internal.bind(py),))?;
    class.setattr("__module__", home)?;
    class.setattr("__name__", "PanicError")?;
    class.setattr("__qualname__", "PanicError")?;
    class.setattr("__doc__", "A panic in Rust.")?;
    module.add("PanicError", class)
}

/// The text of an `InternalError`.
#[pyfunction]
fn explain(error: &Bound<'_, PyAny>) -> PyResult<String> {
    let what = match error.getattr("args")?.get_item(0) {
        Ok(what) => what.str()?.to_string(),
        Err(_) => "no details".to_owned(),
    };
    Ok(format!("{what}; this is a bug in jinx, please report it"))
}

/// Converts an error of the core to its Python exception.
pub fn to_py(error: &Error) -> PyErr {
    Python::attach(|py| convert(py, error).unwrap_or_else(|failure| failure))
}

fn convert(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let classes = Classes::get(py)?;
    let class = match error.cause() {
        Cause::Io(kind) => return Ok(io_error(error, kind)),
        Cause::Interrupted => {
            // A signal handler has raised an exception, so raise that one.
            if let Some(raised) = error.foreign::<PyErr>() {
                return Ok(raised.clone_ref(py));
            }
            return Ok(crate::signals::take()
                .or_else(|| PyErr::take(py))
                .unwrap_or_else(|| pyo3::exceptions::PyKeyboardInterrupt::new_err(())));
        }
        Cause::Corrupt => &classes.corrupt,
        Cause::Truncated => &classes.truncated,
        Cause::Limit => &classes.limit,
        Cause::Unsupported => &classes.unsupported,
        Cause::Mismatch => &classes.mismatch,
        Cause::Invalid => &classes.invalid,
        Cause::Internal => &classes.internal,
    };
    let instance = class.bind(py).call1((error.to_string(),))?;
    if let Some(path) = error.path() {
        instance.setattr("path", path.as_os_str())?;
    }
    if let Some(sample) = error.sample() {
        instance.setattr("sample", sample)?;
    }
    if let Some(column) = error.column() {
        instance.setattr("column", column)?;
    }
    Ok(PyErr::from_value(instance))
}

fn io_error(error: &Error, kind: ErrorKind) -> PyErr {
    let path = error.path().map(|path| path.as_os_str().to_owned());
    match (error.errno(), path) {
        (Some(errno), Some(path)) => {
            let what = error.what().split(" (os error").next().unwrap_or_default().to_owned();
            PyOSError::new_err((errno, what, path))
        }
        _ => match kind {
            ErrorKind::NotFound => PyFileNotFoundError::new_err(error.to_string()),
            ErrorKind::AlreadyExists => PyFileExistsError::new_err(error.to_string()),
            ErrorKind::PermissionDenied => PyPermissionError::new_err(error.to_string()),
            ErrorKind::TimedOut => PyTimeoutError::new_err(error.to_string()),
            _ => PyOSError::new_err(error.to_string()),
        },
    }
}

/// Shortcut for `map_err`.
pub trait IntoPy<T> {
    fn into_py_result(self) -> PyResult<T>;
}

impl<T> IntoPy<T> for Result<T, Error> {
    fn into_py_result(self) -> PyResult<T> {
        self.map_err(|error| to_py(&error))
    }
}

/// Wraps a Python exception (from a callback or a user's object) so that it can pass through the core.
pub fn from_py(_py: Python<'_>, error: PyErr) -> Error {
    Error::of_caller(error)
}

pub fn out_of_range(index: isize, len: usize) -> PyErr {
    PyIndexError::new_err(format!("sample {index} of a dataset of {len}"))
}
