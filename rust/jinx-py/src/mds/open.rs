//! Opening MDS folders with the options that Python gives.

use crate::dataset::decoders::members;
use crate::errors::{IntoPy, to_py};
use jinx_core::Error;
use jinx_format::read::shard::{OpenOptions, Verify};
use jinx_mds::columns::Columns;
use jinx_mds::read::folder::{Folder, Hashes, Options, Unpack};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;

/// How values become Python objects.
#[derive(Debug, Clone, Default)]
pub struct DecodeOptions {
    /// Columns whose pickles may be loaded; `None` in it stands for all.
    pub pickles: Pickles,
    /// JPEG and PNG columns as the bytes of their files.
    pub image_bytes: bool,
}

#[derive(Debug, Clone, Default)]
pub enum Pickles {
    #[default]
    Refused,
    All,
    In(Vec<String>),
}

impl Pickles {
    pub fn allows(&self, column: &str) -> bool {
        match self {
            Self::Refused => false,
            Self::All => true,
            Self::In(names) => names.iter().any(|name| name == column),
        }
    }
}

/// Folders, and how to show what is in them.
pub struct Mds {
    pub folder: Arc<Folder>,
    pub taste: DecodeOptions,
    /// Sequential reading of compressed shards goes through memory.
    pub feeds: bool,
    /// An undecoded sample with the columns of the first shard, for each choice of fields its own.
    pub template: PyOnceLock<(Arc<Columns>, Py<PyDict>)>,
}

impl Mds {
    /// The same folders for another choice of fields.
    pub fn again(&self) -> Self {
        Self {
            folder: Arc::clone(&self.folder),
            taste: self.taste.clone(),
            feeds: self.feeds,
            template: PyOnceLock::new(),
        }
    }
}

/// Opens folders; `options` has any of `unpack` ("private", "memory" or a folder), `hashes` (of all shards, where
/// `verify` means those of compressed ones), `image_bytes` and `allow_unsafe_types` (a bool or names of columns).
pub fn open(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    open: &OpenOptions,
    options: &Bound<'_, PyDict>,
) -> PyResult<Mds> {
    let hashes = if open.verify >= Verify::Full { Hashes::Packed } else { Hashes::None };
    let mut opened = Options { access: open.access, limits: open.limits, hashes, ..Options::default() };
    let mut taste = DecodeOptions::default();
    for (name, value) in members(options) {
        match name.extract::<String>()?.as_str() {
            "unpack" => opened.unpack = unpack(&value)?,
            "hashes" => {
                if value.extract()? {
                    opened.hashes = Hashes::All;
                }
            }
            "image_bytes" => taste.image_bytes = value.extract()?,
            "allow_unsafe_types" => taste.pickles = pickles(&value)?,
            other => return Err(to_py(&Error::invalid(format!("MDS has no option '{other}'")))),
        }
    }
    let folder = py.detach(|| Folder::open(paths, opened)).into_py_result()?;
    let feeds = folder.has_packed();
    Ok(Mds { folder: Arc::new(folder), taste, feeds, template: PyOnceLock::new() })
}

fn unpack(value: &Bound<'_, PyAny>) -> PyResult<Unpack> {
    if value.is_none() {
        return Ok(Unpack::Private);
    }
    let path: PathBuf = value.extract()?;
    Ok(match path.to_str() {
        Some("private") => Unpack::Private,
        Some("memory") => Unpack::Memory,
        _ => Unpack::Cache(path),
    })
}

pub fn pickles(value: &Bound<'_, PyAny>) -> PyResult<Pickles> {
    if let Ok(all) = value.extract::<bool>() {
        return Ok(if all { Pickles::All } else { Pickles::Refused });
    }
    Ok(Pickles::In(value.extract()?))
}
