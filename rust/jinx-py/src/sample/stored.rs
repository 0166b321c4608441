//! The stored fields of a sample: a JINX row in its place, or others behind a pointer.

use crate::jinx::sample::JinxSample;
use crate::sample::stored_fields::StoredFields;
use std::ops::{Deref, DerefMut};

/// A sample of JINX shards needs no allocation: `ds[i]["x"]` takes no longer than a few of them.
pub enum StoredSample {
    Jinx(JinxSample),
    Other(Box<dyn StoredFields>),
}

impl StoredSample {
    pub fn of(fields: impl StoredFields + 'static) -> Self {
        Self::Other(Box::new(fields))
    }

    /// The same fields, for a copy of the sample.
    pub fn copy(&self) -> Self {
        match self {
            Self::Jinx(sample) => Self::Jinx(sample.copy()),
            Self::Other(fields) => Self::Other(fields.duplicate()),
        }
    }
}

impl Deref for StoredSample {
    type Target = dyn StoredFields;

    #[inline]
    fn deref(&self) -> &Self::Target {
        match self {
            Self::Jinx(sample) => sample,
            Self::Other(fields) => &**fields,
        }
    }
}

impl DerefMut for StoredSample {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Jinx(sample) => sample,
            Self::Other(fields) => &mut **fields,
        }
    }
}
