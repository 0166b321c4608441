//! What the samples of a dataset are read from.

use crate::dataset::files::Files;
use crate::dataset::projection::Projection;
use crate::sample::stored::StoredSample;
use jinx_convert::arrow::MediaPath;
use jinx_core::Result;
use jinx_core::sink::Sink;
use jinx_format::fields::{FieldInfo, Measure};
use jinx_format::read::columns::ColumnKind;
use std::sync::Arc;

/// Samples by position, with the columns that a projection leaves of them: JINX shards, MDS directories.
///
/// Of what it says of all samples, such as [`Rows::column`], nothing is projected. Once it is closed, all that would read
/// fails; only [`Rows::files`] and [`Rows::projection`] still answer.
pub trait Rows: Send + Sync {
    fn files(&self) -> &Files;

    fn projection(&self) -> &Projection;

    /// The same samples with other columns.
    fn with_projection(&self, projection: Projection) -> Arc<dyn Rows>;

    /// Lets files and maps go, for all views and samples over them.
    fn close(&self);

    /// # Errors
    /// `Invalid` when they are closed.
    fn check_open(&self) -> Result<()>;

    /// The sample at a position, of which nothing is read yet.
    ///
    /// # Errors
    /// Those that touching it could not tell.
    fn sample(self: Arc<Self>, position: u64) -> Result<StoredSample>;

    /// Emits the sample at a position; Python's own values (pickles) are an error.
    ///
    /// # Errors
    /// Those of reading, and of the sink.
    fn emit(&self, position: u64, sink: &mut dyn Sink) -> Result<()>;

    /// The value or length at a path in each sample; `None` where there is nothing.
    ///
    /// # Errors
    /// Those of reading; `Mismatch` for what cannot be measured.
    fn measure(
        &self,
        positions: &mut dyn Iterator<Item = u64>,
        path: &[&str],
        kind: ColumnKind,
    ) -> Result<Vec<Option<Measure>>>;

    /// A column that is known without reading samples, of all of them in order; `None` for others.
    ///
    /// # Errors
    /// Those of reading.
    fn column(&self, path: &[Option<String>], kind: ColumnKind) -> Result<Option<ColumnData>>;

    /// The top-level names, in the order in which they were first seen, as far as they are known.
    ///
    /// # Errors
    /// Those of reading.
    fn column_names(&self) -> Result<Vec<String>>;

    /// What is known about the values at each path.
    ///
    /// # Errors
    /// Those of reading.
    fn statistics(&self) -> Result<Vec<FieldInfo>>;

    /// Samples and id of each file, to make sure that the same ones are found again.
    ///
    /// # Errors
    /// Those of reading.
    fn identities(&self) -> Result<Vec<(u64, String)>>;

    /// What a file says of itself, as JSON text.
    ///
    /// # Errors
    /// Those of reading; `Invalid` where there is no such file.
    fn footer(&self, file: usize) -> Result<String>;

    /// # Errors
    /// Those of reading.
    fn arrow_types(&self) -> Result<ArrowTypes> {
        Ok(ArrowTypes::default())
    }

    /// How many of the samples at `positions` are taken together, at least one: fewer than all where reading a sample
    /// needs memory that its values do not.
    fn taken_together(&self, positions: &[u64]) -> usize {
        positions.len()
    }

    /// Where all samples are read more quickly in order than one by one.
    fn walk(self: Arc<Self>) -> Option<Box<dyn Walk>> {
        None
    }
}

/// Reads samples from the first to the last.
pub trait Walk: Send {
    /// The sample at a position; from one call to the next they only grow.
    ///
    /// # Errors
    /// As [`Rows::sample`].
    fn sample(&mut self, position: u64) -> Result<StoredSample>;
}

/// A whole column: little-endian values, or the bytes of strings.
pub struct ColumnData {
    pub dtype: &'static str,
    pub data: Vec<u8>,
    /// One bit a sample, only where any has no value.
    pub validity: Option<Vec<u8>>,
    /// Of strings: where each begins, and the end of the last.
    pub offsets: Option<Vec<u8>>,
}

/// What is known about the Arrow types of the columns.
#[derive(Default)]
pub struct ArrowTypes {
    /// The schema that the samples were written from.
    pub schema: Option<String>,
    /// Paths that hold media.
    pub media: Vec<MediaPath>,
}
