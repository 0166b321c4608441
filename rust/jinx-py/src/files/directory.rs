//! Publishes several files together or not at all, for Python.

use crate::errors::{IntoPy, to_py};
use jinx_core::Error;
use jinx_core::io::{Contents, DirectoryWriter, StreamOut};
use pyo3::prelude::*;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A directory that is written under a hidden name and renamed to its final name by `commit`.
#[pyclass(frozen, module = "jinx._core")]
pub struct NewDirectory(Mutex<Option<DirectoryWriter>>);

impl NewDirectory {
    fn take(&self) -> Option<DirectoryWriter> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[pymethods]
impl NewDirectory {
    #[new]
    fn new(py: Python<'_>, target: PathBuf, overwrite: bool) -> PyResult<Self> {
        let writer = py.detach(|| DirectoryWriter::begin_with(&target, overwrite, Contents::Anything));
        Ok(Self(Mutex::new(Some(writer.into_py_result()?))))
    }

    /// The directory to write the files to.
    #[getter]
    fn path(&self) -> PyResult<OsString> {
        let writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*writer {
            Some(writer) => Ok(writer.path().into()),
            None => Err(to_py(&Error::invalid("this directory was published or given up"))),
        }
    }

    /// Makes the files durable and gives the directory its final name.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let writer =
            self.take().ok_or_else(|| to_py(&Error::invalid("this directory was published or given up")))?;
        py.detach(|| writer.commit()).into_py_result()
    }

    /// Removes the written files, unless they are published.
    fn abort(&self, py: Python<'_>) {
        let writer = self.take();
        py.detach(|| drop(writer));
    }
}

/// A file that is written under a hidden name and renamed to its final name by `commit`.
#[pyclass(frozen, module = "jinx._core")]
pub struct NewFile(Mutex<Option<StreamOut>>);

impl NewFile {
    fn take(&self) -> Option<StreamOut> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

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
        Ok(Self(Mutex::new(Some(written.into_py_result()?))))
    }

    /// Makes the file durable and gives it its final name.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let file =
            self.take().ok_or_else(|| to_py(&Error::invalid("this file was published or given up")))?;
        py.detach(|| file.commit()).map(drop).into_py_result()
    }

    /// Removes what was written, unless it is published.
    fn abort(&self, py: Python<'_>) {
        let file = self.take();
        py.detach(|| drop(file));
    }
}
