//! Open or closed MDS directories, with the columns that a view selects.

use crate::dataset::files::{Closable, Files};
use crate::dataset::projection::Projection;
use crate::mds::decoding::Walks;
use jinx_mds::read::directory::Directory;
use std::sync::Arc;

pub struct MdsDataset {
    pub files: Arc<Files>,
    pub directory: Closable<Directory>,
    pub decode_options: Arc<DecodeOptions>,
    /// Threads that decode compressed shards for iterators over all samples in order.
    pub walks: Arc<Walks>,
    pub projection: Projection,
}

/// How to convert values to Python objects.
#[derive(Debug, Clone, Default)]
pub struct DecodeOptions {
    pub pickles: Pickles,
    /// Return JPEG and PNG images as the bytes of their files.
    pub image_bytes: bool,
}

/// Columns whose pickles may be loaded. Loading a pickle may run any code.
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

impl MdsDataset {
    pub fn new(directory: Directory, decode_options: DecodeOptions) -> Self {
        let (paths, base) = (directory.paths().to_vec(), directory.base().to_path_buf());
        let files = Files { paths, base, samples: directory.len() };
        Self {
            files: Arc::new(files),
            walks: Arc::new(Walks::new(directory.has_packed())),
            directory: Closable::new(directory),
            decode_options: Arc::new(decode_options),
            projection: Projection::default(),
        }
    }

    /// The same directories with other columns.
    pub fn with_projection(&self, projection: Projection) -> Self {
        Self {
            files: Arc::clone(&self.files),
            directory: self.directory.clone(),
            decode_options: Arc::clone(&self.decode_options),
            walks: Arc::clone(&self.walks),
            projection,
        }
    }
}
