//! Turns rows of any kind into Python samples.

use crate::jinx_shards::sample::JinxSample;
use crate::mds::sample::MdsSample;
use crate::sample::stored::StoredSample;
use crate::view::column_sample::ColumnSample;
use crate::view::python_columns::{MemoryRows, MemorySample};
use crate::view::sample::ViewSample;
use jinx_core::{Error, Result};
use jinx_dataset::{Located, Rows};
use std::sync::Arc;

/// Methods of rows for Python, in addition to [`Rows`].
pub trait PythonRows {
    /// Returns the sample at a position without reading it.
    ///
    /// # Errors
    /// The same as [`Rows::locate`].
    fn sample(&self, position: u64) -> Result<StoredSample>;
}

impl PythonRows for Arc<dyn Rows> {
    #[inline]
    fn sample(&self, position: u64) -> Result<StoredSample> {
        match Self::clone(self).locate(position)? {
            // Find the row in place: `ds[i]["x"]` takes only as long as a few allocations.
            Located::Shards(rows, position) => Ok(StoredSample::Jinx(JinxSample::new(rows, position))),
            place => sample_at(place),
        }
    }
}

/// Returns the sample at a place without reading it.
///
/// # Errors
/// `Invalid` for rows that are neither of `jinx-dataset` nor of this crate.
pub fn sample_at(place: Located) -> Result<StoredSample> {
    Ok(match place {
        Located::Shards(rows, position) => StoredSample::Jinx(JinxSample::new(rows, position)),
        Located::Mds { rows, position, row: None } => StoredSample::of(MdsSample::new(rows, position)),
        Located::Mds { rows, position, row: Some(row) } => {
            StoredSample::of(MdsSample::with_row(rows, position, &row))
        }
        Located::View { base, own, own_names } => {
            StoredSample::of(ViewSample::new(sample_at(*base)?, sample_at(*own)?, own_names))
        }
        Located::Columns(rows, position) => StoredSample::of(ColumnSample::new(rows, position)),
        Located::Other(rows, position) => {
            let unknown = |_| Error::invalid("rows that have no samples for Python");
            let rows = rows.into_any().downcast::<MemoryRows>().map_err(unknown)?;
            StoredSample::of(MemorySample::new(rows, position))
        }
    })
}
