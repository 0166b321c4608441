//! Publishes several files together or not at all, for Python.

use crate::errors::{IntoPy, to_py};
use jinx_core::Error;
use jinx_core::io::{Contents, DirectoryWriter, StreamOut};
use pyo3::prelude::*;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A written value, until Python publishes or discards it.
struct Pending<T>(Mutex<Option<T>>);

impl<T> Pending<T> {
    fn new(written: T) -> Self {
        Self(Mutex::new(Some(written)))
    }

    fn lock(&self) -> MutexGuard<'_, Option<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, what: &str) -> PyResult<T> {
        self.lock().take().ok_or_else(|| is_gone(what))
    }
}

fn is_gone(what: &str) -> PyErr {
    to_py(&Error::invalid(format!("this {what} was published or given up")))
}

/// A directory that is written under a hidden name and renamed to its final name by `commit`.
#[pyclass(frozen, module = "jinx._core")]
pub struct NewDirectory(Pending<DirectoryWriter>);

#[pymethods]
impl NewDirectory {
    #[new]
    fn new(py: Python<'_>, target: PathBuf, overwrite: bool) -> PyResult<Self> {
        let writer = py.detach(|| DirectoryWriter::begin_with(&target, overwrite, Contents::Anything));
        writer.into_py_result().map(|writer| Self(Pending::new(writer)))
    }

    /// The directory to write the files to.
    #[getter]
    fn path(&self) -> PyResult<OsString> {
        let writer = self.0.lock();
        writer.as_ref().map(|writer| writer.path().into()).ok_or_else(|| is_gone("directory"))
    }

    /// Makes the files durable and gives the directory its final name.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let writer = self.0.take("directory")?;
        py.detach(|| writer.commit()).into_py_result()
    }

    /// Removes the written files, unless they are already published.
    fn abort(&self, py: Python<'_>) {
        let writer = self.0.lock().take();
        py.detach(|| drop(writer));
    }
}

/// A file that is written under a hidden name and renamed to its final name by `commit`.
#[pyclass(frozen, module = "jinx._core")]
pub struct NewFile(Pending<StreamOut>);

#[pymethods]
impl NewFile {
    /// Writes `data`. A file of this name is replaced by `commit`.
    #[new]
    fn new(py: Python<'_>, path: PathBuf, data: &[u8]) -> PyResult<Self> {
        let written = py.detach(|| {
            let mut file = StreamOut::create(&path, true)?;
            file.write_all(data).map_err(|error| Error::io(&path, &error))?;
            Ok(file)
        });
        written.into_py_result().map(|file| Self(Pending::new(file)))
    }

    /// Makes the file durable and gives it its final name.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let file = self.0.take("file")?;
        py.detach(|| file.commit()).map(drop).into_py_result()
    }

    /// Removes the written file, unless it is already published.
    fn abort(&self, py: Python<'_>) {
        let file = self.0.lock().take();
        py.detach(|| drop(file));
    }
}
