//! The stored columns of a sample: a JINX row inline, or other sources behind a pointer.

use crate::jinx_shards::sample::JinxSample;
use crate::sample::stored_columns::StoredColumns;
use std::ops::{Deref, DerefMut};

/// A sample of JINX shards is stored inline: `ds[i]["x"]` takes only as long as a few allocations.
pub enum StoredSample {
    Jinx(JinxSample),
    Other(Box<dyn StoredColumns>),
}

impl StoredSample {
    pub fn of(columns: impl StoredColumns + 'static) -> Self {
        Self::Other(Box::new(columns))
    }

    /// The same columns, for a copy of the sample.
    pub fn copy(&self) -> Self {
        match self {
            Self::Jinx(sample) => Self::Jinx(sample.copy()),
            Self::Other(columns) => Self::Other(columns.duplicate()),
        }
    }
}

impl Deref for StoredSample {
    type Target = dyn StoredColumns;

    #[inline]
    fn deref(&self) -> &Self::Target {
        match self {
            Self::Jinx(sample) => sample,
            Self::Other(columns) => &**columns,
        }
    }
}

impl DerefMut for StoredSample {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Jinx(sample) => sample,
            Self::Other(columns) => &mut **columns,
        }
    }
}
