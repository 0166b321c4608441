//! What the samples of a dataset are read from.

use crate::dataset::files::Files;
use crate::dataset::filter::sample_by_sample;
use crate::dataset::projection::Projection;
use crate::sample::stored::StoredSample;
use jinx_convert::arrow::MediaPath;
use jinx_core::sink::Sink;
use jinx_core::value::Value;
use jinx_core::{Error, Result};
use jinx_format::expression::ValueKind;
use jinx_format::expression::rows::RowFilter;
use jinx_format::fields::{FieldInfo, Measure};
use jinx_format::read::columns::{ColumnKind, ColumnType};
use jinx_format::write::inherit::Inherited;
use jinx_format::write::numbers::NumberColumn;
use std::any::Any;
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
    fn emit(&self, position: u64, sink: &mut dyn Sink) -> Result<()> {
        sink.begin_dict(0)?;
        self.emit_members(position, &|_| true, sink)?;
        sink.end_dict()
    }

    /// Emits the columns that `wanted` names, without the dict around them, so that others can follow.
    ///
    /// # Errors
    /// As [`Rows::emit`].
    fn emit_members(&self, position: u64, wanted: &dyn Fn(&str) -> bool, sink: &mut dyn Sink) -> Result<()>;

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

    /// What the files say of the columns that `wanted` names, for a copy of their samples.
    ///
    /// # Errors
    /// Those of reading.
    fn inherited(&self, _wanted: &dyn Fn(&str) -> bool) -> Result<Inherited> {
        Ok(Inherited::default())
    }

    /// The kind of all values at a path, where the files tell.
    ///
    /// # Errors
    /// Those of reading.
    fn indexed_kind(&self, _path: &[String]) -> Result<Option<ValueKind>> {
        Ok(None)
    }

    /// The positions of the samples that a filter selects: of all, or of those at `positions`, in their order; only the
    /// first `limit`.
    ///
    /// # Errors
    /// Those of reading, and of the expression at a sample.
    fn filtered(
        &self,
        filter: &RowFilter<'_>,
        positions: Option<&[u64]>,
        limit: Option<u64>,
    ) -> Result<Vec<u64>> {
        sample_by_sample(self, filter, positions, limit)
    }

    /// What they are, in a word for Python.
    fn kind(&self) -> &'static str {
        "view"
    }

    /// Where the lines of a file of JSON lines begin, and where the last one ends, as little-endian u64.
    ///
    /// # Errors
    /// Those of reading; `Invalid` for other files.
    fn line_offsets(&self, _file: usize) -> Result<Vec<u8>> {
        Err(Error::invalid("only JSON lines have line offsets"))
    }

    /// Whether [`Rows::column_names`] are all there are; otherwise only samples tell.
    ///
    /// # Errors
    /// Those of reading.
    fn lists_columns(&self) -> Result<bool> {
        Ok(true)
    }

    /// Whether it is a saved view of which only the file is open.
    fn is_view_file(&self) -> bool {
        false
    }

    /// Itself, for those who know what it is.
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;

    /// Emits those of [`Rows::own_names`] that `wanted` names, without touching the files of the samples.
    ///
    /// # Errors
    /// As [`Rows::emit`].
    fn emit_own(&self, _position: u64, _wanted: &dyn Fn(&str) -> bool, _sink: &mut dyn Sink) -> Result<()> {
        Ok(())
    }

    /// Columns that the files of the samples do not have, those of views.
    fn own_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// The columns of [`Rows::emit_own`], by position, where all of them are numbers in memory.
    fn own_numbers(&self) -> Option<Vec<NumberColumn<'_>>> {
        None
    }

    /// The files beneath all views, and which of their samples, as one sequence, stand at `positions` (or all).
    ///
    /// # Errors
    /// Those of reading the positions of a saved view.
    fn roots(self: Arc<Self>, positions: Option<Vec<u64>>) -> Result<Roots>;

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

/// Datasets without views, and samples of them.
pub struct Roots {
    pub rows: Vec<Arc<dyn Rows>>,
    pub positions: Option<Vec<u64>>,
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
#[derive(Clone)]
pub struct ColumnData {
    pub dtype: &'static str,
    pub data: Vec<u8>,
    /// One bit a sample, only where any has no value.
    pub validity: Option<Vec<u8>>,
    /// Of strings: where each begins, and the end of the last.
    pub offsets: Option<Vec<u8>>,
}

impl ColumnData {
    /// As a column of rows to write; `None` for strings.
    pub fn numbers<'c>(&'c self, name: &'c str) -> Option<NumberColumn<'c>> {
        let dtype = ColumnType::from_name(self.dtype).filter(|dtype| *dtype != ColumnType::Utf8)?;
        Some(NumberColumn { name, dtype, data: &self.data, validity: self.validity.as_deref() })
    }

    /// The number of sample `i`, or null.
    ///
    /// # Errors
    /// `Invalid` past the end, and for texts.
    pub fn value(&self, i: u64) -> Result<Value> {
        let past = || Error::invalid(format!("sample {i} is past the end of the column"));
        let at = usize::try_from(i).map_err(|_| past())?;
        if let Some(bits) = &self.validity {
            let byte = bits.get(at / 8).ok_or_else(past)?;
            if byte >> (at % 8) & 1 == 0 {
                return Ok(Value::Null);
            }
        }
        let width = ColumnType::from_name(self.dtype).and_then(ColumnType::width);
        let width = width.and_then(|width| usize::try_from(width).ok()).ok_or_else(past)?;
        let cell = at.checked_mul(width).and_then(|start| self.data.get(start..start + width));
        let cell = cell.ok_or_else(past)?;
        let is_negative = self.dtype.starts_with("int") && cell.last().is_some_and(|byte| *byte >= 0x80);
        let mut bits = [if is_negative { 0xff } else { 0 }; 8];
        bits[..width].copy_from_slice(cell);
        Ok(match self.dtype {
            "bool" => Value::Bool(cell[0] != 0),
            "float64" => Value::Float(f64::from_le_bytes(bits)),
            "uint64" => {
                let value = u64::from_le_bytes(bits);
                i64::try_from(value).map_or_else(|_| Value::BigInt(value.to_string()), Value::Int)
            }
            _ => Value::Int(i64::from_le_bytes(bits)),
        })
    }
}

/// What is known about the Arrow types of the columns.
#[derive(Default)]
pub struct ArrowTypes {
    /// The schema that the samples were written from.
    pub schema: Option<String>,
    /// Paths that hold media.
    pub media: Vec<MediaPath>,
}
