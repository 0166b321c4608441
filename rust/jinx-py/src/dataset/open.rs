//! Opens the files of a dataset with options from Python.

use crate::errors::IntoPy;
use jinx_core::codec::TextEncoding;
use jinx_core::io::{Access, Store};
use jinx_core::limits::Limits;
use jinx_dataset::shards::ShardRows;
use jinx_dataset::{Location, Options, Rows, open_files};
use jinx_format::read::open::ShardRef;
use jinx_format::read::shard::{OpenOptions, Verify};
use jinx_remote::{RemoteStore, Settings};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A path or a list of paths.
#[derive(FromPyObject)]
pub enum Place {
    Path(PathBuf),
    List(Vec<PathBuf>),
}

/// The arguments of `Reader`.
pub struct OpenArguments<'a, 'py> {
    pub io: &'a str,
    pub verify: &'a str,
    pub encoding: Option<&'a str>,
    pub split: Option<&'a str>,
    pub plain: bool,
    pub markers: bool,
    pub max_value_bytes: Option<u64>,
    pub expected: Option<Vec<(u64, String)>>,
    /// Read only this many bytes of each file in the sidecar.
    pub value_head: Option<u64>,
    /// If set, the files of this location are opened, whatever their format.
    pub location: Option<Place>,
    /// If set, the paths are MDS directories to open with these options.
    pub mds: Option<&'a Bound<'py, PyDict>>,
    /// Options for accessing URLs, by name.
    pub storage: Option<BTreeMap<String, String>>,
}

impl OpenArguments<'_, '_> {
    /// Opens the files of the location, or those at `paths`: JINX shards, plain JSON lines or MDS directories.
    ///
    /// # Errors
    /// `ValueError` for an unknown option, and errors from opening.
    pub fn open(self, py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<Arc<dyn Rows>> {
        let options = self.options()?;
        if let Some(place) = self.location {
            let location = match place {
                Place::Path(path) => Location::Path(path),
                Place::List(paths) => Location::List(paths),
            };
            let split = self.split.map(str::to_owned);
            let options = Options { files: options, split, ..Options::default() };
            return py.detach(|| open_files(&location, None, &options)).into_py_result();
        }
        if let Some(mds) = self.mds {
            return Ok(Arc::new(crate::mds::open::open(py, paths, &options, mds)?));
        }
        let (expected, split, plain) = (self.expected, self.split, self.plain);
        let shards = paths.into_iter().map(ShardRef::alone).collect();
        let opened = py.detach(|| ShardRows::open(shards, expected, split, options, plain));
        Ok(Arc::new(opened.into_py_result()?))
    }

    /// Returns the options as a dict, to open the files again in another process.
    ///
    /// # Errors
    /// `MemoryError`.
    pub fn to_dict<'py>(&self, py: Python<'py>, lazy: bool) -> PyResult<Bound<'py, PyDict>> {
        let options = PyDict::new(py);
        options.set_item("io", self.io)?;
        options.set_item("verify", self.verify)?;
        options.set_item("lazy", lazy)?;
        options.set_item("encoding", self.encoding)?;
        options.set_item("split", self.split)?;
        options.set_item("plain", self.plain)?;
        options.set_item("markers", self.markers)?;
        options.set_item("max_value_bytes", self.max_value_bytes)?;
        options.set_item("mds", self.mds)?;
        if let Some(storage) = &self.storage {
            options.set_item("storage", storage)?;
        }
        if let Some(head) = self.value_head {
            options.set_item("value_head", head)?;
        }
        Ok(options)
    }

    /// The options for files in a dict from [`OpenArguments::to_dict`].
    ///
    /// # Errors
    /// `ValueError` for an unknown option.
    pub fn options_in(dict: &Bound<'_, PyDict>) -> PyResult<OpenOptions> {
        let member = |name: &str| dict.get_item(name).map(|value| value.filter(|value| !value.is_none()));
        let text = |name: &str| member(name)?.map(|value| value.extract::<String>()).transpose();
        let number = |name: &str| member(name)?.map(|value| value.extract::<u64>()).transpose();
        let (io, verify, encoding) = (text("io")?, text("verify")?, text("encoding")?);
        let arguments = OpenArguments {
            io: io.as_deref().unwrap_or("auto"),
            verify: verify.as_deref().unwrap_or("full"),
            encoding: encoding.as_deref(),
            split: None,
            plain: false,
            markers: false,
            max_value_bytes: number("max_value_bytes")?,
            expected: None,
            value_head: number("value_head")?,
            location: None,
            mds: None,
            storage: member("storage")?.map(|value| value.extract()).transpose()?,
        };
        arguments.options()
    }

    fn options(&self) -> PyResult<OpenOptions> {
        let verify = match self.verify {
            "none" => Verify::None,
            "rows" => Verify::Rows,
            "full" => Verify::Full,
            other => {
                return Err(PyValueError::new_err(format!(
                    "verify={other:?}; give 'none', 'rows' or 'full'"
                )));
            }
        };
        let encoding = match self.encoding {
            None => None,
            Some(name) => Some(TextEncoding::from_name(name).ok_or_else(|| {
                PyValueError::new_err(format!("encoding={name:?}; give 'a85', 'b64' or 'hex'"))
            })?),
        };
        let mut limits = Limits::default();
        if let Some(max) = self.max_value_bytes {
            limits.max_value_bytes = max;
        }
        let access = Access::from_name(self.io).into_py_result()?;
        let markers = self.markers;
        let value_head = self.value_head;
        let store = Some(self.store()?);
        let rest = OpenOptions::default();
        Ok(OpenOptions { access, verify, limits, encoding, markers, value_head, store, ..rest })
    }

    /// Opens URLs. This connects to nothing until there is one.
    fn store(&self) -> PyResult<Arc<dyn Store>> {
        Ok(Arc::new(store_with(self.storage.as_ref().unwrap_or(&BTreeMap::new()))?))
    }
}

/// The stores that are accessed with these options.
///
/// # Errors
/// `ValueError` for a value that an option cannot have.
pub fn store_with(storage: &BTreeMap<String, String>) -> PyResult<RemoteStore> {
    let mut settings = Settings::default();
    for (name, value) in storage {
        settings.set(name, value).into_py_result()?;
    }
    Ok(RemoteStore::new(settings))
}
