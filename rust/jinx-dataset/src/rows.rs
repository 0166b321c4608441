//! The source of a dataset's samples: [`Rows`].

use crate::column_data::{ColumnData, ColumnPart};
use crate::files::Files;
use crate::filter::sample_by_sample;
use crate::located::{Located, Walk};
use crate::projection::Projection;
use arrow_schema::Field;
use jinx_convert::arrow::MediaPath;
use jinx_core::io::{Density, Source};
use jinx_core::row_events::Sink;
use jinx_core::{Error, Result};
use jinx_format::expression::ValueKind;
use jinx_format::expression::filter_shard::RowFilter;
use jinx_format::fields::{FieldInfo, Measure};
use jinx_format::meta::Meta;
use jinx_format::read::columns::ColumnKind;
use jinx_format::read::shard::OpenOptions;
use jinx_format::write::inherit::Inherited;
use std::any::Any;
use std::sync::Arc;

/// Samples by position, with the columns that a projection selects, for example from JINX shards or MDS directories.
///
/// Methods about all samples, such as [`Rows::column`], ignore the projection. After closing, every method that reads
/// fails; only [`Rows::files`] and [`Rows::projection`] still work.
pub trait Rows: Send + Sync {
    fn files(&self) -> &Files;

    fn projection(&self) -> &Projection;

    /// The same samples with other columns.
    fn with_projection(&self, projection: Projection) -> Arc<dyn Rows>;

    /// The same rows from files that are opened again with other options.
    ///
    /// # Errors
    /// `Mismatch` if a file is another one now; it may come at the first access to the file. Errors from opening.
    fn reopened(&self, options: &OpenOptions) -> Result<Arc<dyn Rows>>;

    /// Closes the files and maps, for all views and samples that use them.
    fn close(&self);

    /// # Errors
    /// `Invalid` if the files are closed.
    fn check_open(&self) -> Result<()>;

    /// Returns where the columns of the sample at a position are, without reading them.
    ///
    /// # Errors
    /// Only errors that a later access to the sample could not report.
    fn locate(self: Arc<Self>, position: u64) -> Result<Located>;

    /// Emits the sample at a position; values that only Python can read (pickles) are an error.
    ///
    /// # Errors
    /// Read errors, and errors of the sink.
    fn emit(&self, position: u64, sink: &mut dyn Sink) -> Result<()> {
        sink.begin_dict(0)?;
        self.emit_members(position, &|_| true, sink)?;
        sink.end_dict()
    }

    /// Emits the columns that `wanted` selects, without the dict around them, so that the caller can add columns.
    ///
    /// # Errors
    /// The same as [`Rows::emit`].
    fn emit_members(&self, position: u64, wanted: &dyn Fn(&str) -> bool, sink: &mut dyn Sink) -> Result<()>;

    /// Returns the value or length at a path in each sample; `None` if a sample has no value there.
    ///
    /// # Errors
    /// Read errors; `Mismatch` for a value that cannot be measured.
    fn measure(
        &self,
        positions: &mut dyn Iterator<Item = u64>,
        path: &[&str],
        kind: ColumnKind,
    ) -> Result<Vec<Option<Measure>>>;

    /// Returns a column for all samples in order, if it is known without reading samples; otherwise `None`.
    ///
    /// # Errors
    /// Read errors.
    fn column(&self, path: &[Option<String>], kind: ColumnKind) -> Result<Option<ColumnData>>;

    /// The parts of an indexed column, for readers that take one after another; `None` if it is known only as a whole,
    /// or not at all.
    ///
    /// # Errors
    /// Read errors.
    fn column_parts(&self, _path: &[Option<String>], _kind: ColumnKind) -> Result<Option<Vec<ColumnPart>>> {
        Ok(None)
    }

    /// Returns a part of a column that [`Rows::column_parts`] lists.
    ///
    /// # Errors
    /// Read errors; `Invalid` if there is no such part.
    fn column_part(&self, part: usize, _path: &[Option<String>], _kind: ColumnKind) -> Result<ColumnData> {
        Err(Error::invalid(format!("the column has no part {part}")))
    }

    /// The known column names, in order of first appearance.
    ///
    /// # Errors
    /// Read errors.
    fn column_names(&self) -> Result<Vec<String>>;

    /// Statistics of the values at each path.
    ///
    /// # Errors
    /// Read errors.
    fn statistics(&self) -> Result<Vec<FieldInfo>>;

    /// The number of samples and the identity of each file, to check that the same files are opened again.
    ///
    /// # Errors
    /// Read errors.
    fn identities(&self) -> Result<Vec<(u64, String)>>;

    /// The number of samples of each file, and the id with which a saved view refers to it as a base.
    ///
    /// # Errors
    /// `Mismatch` naming a file without an id that was changed since it was opened; read errors.
    fn base_ids(&self) -> Result<Vec<(u64, String)>> {
        self.identities()
    }

    /// A hash of a whole main file as it was when opened.
    ///
    /// # Errors
    /// Read errors; `Invalid` for rows that are not in files of samples.
    fn content_hash(&self, _file: usize) -> Result<String> {
        Err(Error::invalid("only files of JINX and JSON lines are hashed"))
    }

    /// The sidecar of a file, in the version that was opened.
    ///
    /// # Errors
    /// Read errors; `Invalid` for rows that are not in files of JINX.
    fn sidecar(&self, _file: usize) -> Result<Arc<Source>> {
        Err(Error::invalid("only files of JINX have a sidecar"))
    }

    /// The footer of a file as JSON text.
    ///
    /// # Errors
    /// Read errors; `Invalid` if the file does not exist.
    fn footer(&self, file: usize) -> Result<String>;

    /// # Errors
    /// Read errors.
    fn arrow_types(&self) -> Result<ArrowTypes> {
        Ok(ArrowTypes::default())
    }

    /// What the files say about the columns that `wanted` selects, for a copy of the samples.
    ///
    /// # Errors
    /// Read errors.
    fn inherited(&self, _wanted: &dyn Fn(&str) -> bool) -> Result<Inherited> {
        Ok(Inherited::default())
    }

    /// The `meta` that writers stored, as far as it applies to all samples.
    ///
    /// # Errors
    /// Read errors.
    fn meta(&self) -> Result<Meta> {
        Ok(Meta::default())
    }

    /// The combined facts of the footers of all files, as JSON text for [`Rows::assume`]; `None` if there are
    /// no footers.
    ///
    /// # Errors
    /// Read errors.
    fn facts(&self) -> Result<Option<String>> {
        Ok(None)
    }

    /// Uses the result of [`Rows::facts`] for the same files from another process, so that no file is opened
    /// for it.
    ///
    /// # Errors
    /// `Invalid` if the text is damaged.
    fn assume(&self, _facts: &str) -> Result<()> {
        Ok(())
    }

    /// The kind of all values at a path, if the files record it.
    ///
    /// # Errors
    /// Read errors.
    fn indexed_kind(&self, _path: &[String]) -> Result<Option<ValueKind>> {
        Ok(None)
    }

    /// Returns the positions of the first `limit` samples that a filter selects, among all samples or among those at
    /// `positions`, in the same order.
    ///
    /// # Errors
    /// Read errors, and errors of the expression for a sample.
    fn filtered(
        &self,
        filter: &RowFilter<'_>,
        positions: Option<&[u64]>,
        limit: Option<u64>,
    ) -> Result<Vec<u64>> {
        sample_by_sample(self, filter, positions, limit)
    }

    /// `"jinx"`, `"jsonl"`, `"mds"`, `"view"`, or the name of another kind of rows.
    fn kind(&self) -> &'static str {
        "view"
    }

    /// For JSON lines: the start of each line of a file, and the end of the last line, as little-endian u64.
    ///
    /// # Errors
    /// Read errors; `Invalid` for other files.
    fn line_offsets(&self, _file: usize) -> Result<Vec<u8>> {
        Err(Error::invalid("only JSON lines have line offsets"))
    }

    /// Whether [`Rows::column_names`] is complete. Otherwise samples may have more columns.
    ///
    /// # Errors
    /// Read errors.
    fn lists_columns(&self) -> Result<bool> {
        Ok(true)
    }

    /// Whether samples are shown without this column, although the files may have it.
    fn hides(&self, name: &str) -> bool {
        !self.projection().has(name)
    }

    /// Whether this is the file of a saved view, opened without its bases.
    fn is_view_file(&self) -> bool {
        false
    }

    /// Returns itself as `Any`, for a downcast to a type that the caller knows.
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;

    /// Emits those columns of [`Rows::own_names`] that `wanted` selects, without reading the files of the samples.
    ///
    /// # Errors
    /// The same as [`Rows::emit`].
    fn emit_own(&self, _position: u64, _wanted: &dyn Fn(&str) -> bool, _sink: &mut dyn Sink) -> Result<()> {
        Ok(())
    }

    /// The columns of views that the files of the samples do not have.
    fn own_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the files that all views are based on, as one sequence, and the positions in it of the samples at
    /// `positions` (or of all samples).
    ///
    /// # Errors
    /// Errors from reading the positions of a saved view.
    fn roots(self: Arc<Self>, positions: Option<Vec<u64>>) -> Result<Roots>;

    /// Returns how many of the samples at `positions` to take together; at least one. This is fewer than all if reading
    /// a sample needs memory in addition to its values.
    fn taken_together(&self, positions: &[u64]) -> usize {
        positions.len()
    }

    /// Announces that the columns that `wanted` selects of the samples at `positions` will be read soon: whatever is
    /// not on this machine is fetched now, with few requests; including what is around it, if the positions are dense.
    /// This does not fail: reading reports the error.
    fn will_need(&self, _positions: &[u64], _wanted: &dyn Fn(&str) -> bool, _density: Density) {}

    /// Reads all files on other machines once, so that the cache on this machine has them; returns the number of bytes.
    ///
    /// # Errors
    /// Read errors.
    fn fetch_all(&self) -> Result<u64> {
        Ok(0)
    }

    /// Returns a reader of all samples in order, if that is faster than locating them one by one.
    fn walk(self: Arc<Self>) -> Option<Box<dyn Walk>> {
        None
    }
}

/// Datasets without views, and samples of them.
pub struct Roots {
    pub rows: Vec<Arc<dyn Rows>>,
    pub positions: Option<Vec<u64>>,
}

/// What is known about the Arrow types of the columns.
#[derive(Default)]
pub struct ArrowTypes {
    /// The schema with which the samples were written.
    pub schema: Option<String>,
    /// The paths of media.
    pub media: Vec<MediaPath>,
    /// Without a schema: the fields of columns with a single type, so that no value has to be read.
    pub typed: Vec<Field>,
}
