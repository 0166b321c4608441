//! Rows to Arrow: one column builder per field of a schema, which restores each value exactly.

mod fixed_width;
mod json;
mod list;
mod nested;
mod numeric;
mod shared_values;
mod strings_bools;
mod temporal;

use crate::arrow::describe::describe;
use crate::arrow::failure::from_arrow;
use crate::arrow::json_string::JSON_KEY;
use crate::arrow::npy::Npy;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, SchemaRef};
use jinx_core::error::{Error, Result};
use jinx_core::limits::MAX_DEPTH;
use jinx_core::row_events::Payload;
use jinx_core::value::Value;

/// A null in a column of fixed size takes as much room as a value. A schema may come from a file, so the room for nulls
/// is bounded; real columns of this kind (hashes, embeddings) have a few kilobytes.
const MAX_NULL_BYTES: u64 = 16 << 20;

/// Collects rows for one batch of a schema.
pub struct BatchBuilder {
    schema: SchemaRef,
    columns: nested::StructMembers,
    rows: usize,
}

impl BatchBuilder {
    /// # Errors
    /// `Unsupported` for unions and intervals, `Limit` for types nested too deep; names the column.
    pub fn new(schema: SchemaRef) -> Result<Self> {
        for field in schema.fields() {
            if null_bytes(field.data_type()) > MAX_NULL_BYTES {
                let what = "the fixed sizes of this type are too large: every null would take as many bytes";
                return Err(Error::limit(what).in_column(field.name()));
            }
        }
        let columns = nested::StructMembers::new(schema.fields(), 1)?;
        Ok(Self { schema, columns, rows: 0 })
    }

    /// Adds one row. A member that is missing is null.
    ///
    /// # Errors
    /// `Mismatch` for a value that does not fit its column, naming path and value. The builder then holds half a row;
    /// drop it.
    pub fn push(&mut self, row: &Value) -> Result<()> {
        match row {
            Value::Dict(members) => self.columns.push(members)?,
            other => return Err(misfit(other, "a dict")),
        }
        self.rows += 1;
        Ok(())
    }

    /// The number of rows since the last batch.
    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn is_for_no_columns(&self) -> bool {
        self.schema.fields().is_empty()
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The approximate size of the values, to decide when a batch is full.
    pub fn bytes(&self) -> usize {
        self.columns.bytes()
    }

    /// The rows as a batch; the builder is empty again.
    ///
    /// # Errors
    /// `Limit` when a dictionary's keys cannot count its values.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        let arrays = self.columns.finish()?;
        let options = RecordBatchOptions::new().with_row_count(Some(std::mem::take(&mut self.rows)));
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options).map_err(from_arrow)
    }
}

/// Builds one array. After an error it holds half a value and is dropped.
trait ColumnBuilder: Send {
    /// Adds a value that is not null.
    fn push(&mut self, value: &Value) -> Result<()>;

    fn push_null(&mut self) -> Result<()>;

    /// Adds the part of an array that starts at element `at` and contains the dimensions from `level` on.
    fn push_array(&mut self, array: &Npy, level: usize, at: usize) -> Result<()> {
        if level < array.dimensions.len() {
            return Err(Error::mismatch(format!(
                "an array of {} dimensions does not fit this column",
                array.dimensions.len()
            )));
        }
        self.push(&array.value(at))
    }

    fn bytes(&self) -> usize;

    fn finish(&mut self) -> Result<ArrayRef>;
}

/// A column, and whether its field allows nulls.
struct BuilderSlot {
    column: Box<dyn ColumnBuilder>,
    nullable: bool,
}

impl BuilderSlot {
    fn new(field: &Field, depth: usize) -> Result<Self> {
        let column = match field.metadata().contains_key(JSON_KEY) {
            true => json::column(field.data_type(), depth)?,
            false => column_of(field.data_type(), depth)?,
        };
        Ok(Self { column, nullable: field.is_nullable() })
    }

    fn push(&mut self, value: &Value) -> Result<()> {
        match value {
            Value::Null if self.nullable => self.column.push_null(),
            Value::Null => {
                Err(Error::mismatch("the column must not be null, but the value is null or missing"))
            }
            Value::Blob { payload: Payload::Pt, .. } => {
                Err(Error::unsupported("torch tensors have no Arrow form; store numpy arrays"))
            }
            Value::Blob { payload: Payload::Npy, data, .. } => {
                self.column.push_array(&Npy::parse(data)?, 0, 0)
            }
            Value::Blob { payload: Payload::Np, data, .. } => {
                self.column.push_array(&Npy::scalar(data)?, 0, 0)
            }
            value => self.column.push(value),
        }
    }
}

fn column_of(data_type: &DataType, depth: usize) -> Result<Box<dyn ColumnBuilder>> {
    if depth > MAX_DEPTH {
        return Err(Error::limit(format!("the type is nested deeper than {MAX_DEPTH}")));
    }
    match data_type {
        DataType::Null | DataType::Boolean => Ok(strings_bools::plain(data_type)),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Ok(strings_bools::text(data_type)),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            strings_bools::binary(data_type)
        }
        DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Timestamp(..) => Ok(temporal::column(data_type)),
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::FixedSizeList(..)
        | DataType::ListView(_)
        | DataType::LargeListView(_) => list::column(data_type, depth),
        DataType::Struct(fields) => nested::structure(fields, depth),
        DataType::Map(entries, sorted) => nested::map(entries, *sorted, depth),
        DataType::Dictionary(_, values) => shared_values::column(data_type, values, depth),
        DataType::RunEndEncoded(_, values) => shared_values::column(data_type, values.data_type(), depth),
        DataType::Union(..) | DataType::Interval(_) => {
            Err(Error::unsupported(format!("columns of type {data_type} cannot be built from rows")))
        }
        numeric => numeric::column(numeric),
    }
}

/// The approximate number of bytes for one null.
fn null_bytes(data_type: &DataType) -> u64 {
    match data_type {
        DataType::FixedSizeBinary(size) => u64::try_from(*size).unwrap_or(u64::MAX),
        DataType::FixedSizeList(field, size) => {
            u64::try_from(*size).unwrap_or(u64::MAX).saturating_mul(null_bytes(field.data_type()))
        }
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::Map(field, _)
        | DataType::RunEndEncoded(_, field) => null_bytes(field.data_type()),
        DataType::Dictionary(_, values) => null_bytes(values),
        DataType::Struct(fields) => {
            fields.iter().map(|field| null_bytes(field.data_type())).fold(1, u64::saturating_add)
        }
        _ => 8,
    }
}

/// The error for a value of the wrong kind or range.
fn misfit(value: &Value, wanted: &str) -> Error {
    Error::mismatch(format!("{} does not fit a column of {wanted}", describe(value)))
}
