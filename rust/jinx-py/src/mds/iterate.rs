//! Walking an MDS folder from one sample to the next.

use super::row::{sample, with_row};
use crate::dataset::reader::Reader;
use crate::errors::to_py;
use crate::sample::lazy_dict::LazyDict;
use jinx_core::Error;
use jinx_mds::read::prefetch::ShardPrefetcher;
use pyo3::prelude::*;
use std::process;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The decoder of compressed shards that runs ahead of one iterator.
#[derive(Default)]
pub struct MdsIteration(Mutex<Option<(ShardPrefetcher, u32)>>);

impl MdsIteration {
    /// Sample `position`; from one call to the next positions only grow.
    pub fn sample<'py>(
        &self,
        py: Python<'py>,
        reader: &Reader,
        position: u64,
    ) -> PyResult<Bound<'py, LazyDict>> {
        let mds =
            reader.dataset.mds.as_deref().ok_or_else(|| to_py(&Error::invalid("not an MDS dataset")))?;
        if !mds.feeds {
            return Bound::new(py, sample(py, reader, position)?);
        }
        let found = py.detach(|| {
            let mut feed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // The thread that decodes stayed behind in the process that was forked.
            if feed.as_ref().is_none_or(|(_, pid)| *pid != process::id()) {
                if let Some(stale) = feed.take() {
                    std::mem::forget(stale);
                }
                *feed = Some((ShardPrefetcher::new(Arc::clone(&mds.folder), position), process::id()));
            }
            let (feed, _) = feed.as_mut()?;
            let piece = feed.piece(position)?;
            piece.shard.row(piece.index + (position - piece.first)).ok()
        });
        let row = OnceLock::new();
        if let Some(found) = found {
            let _ = row.set(found);
        }
        Bound::new(py, with_row(py, reader, position, row)?)
    }
}
