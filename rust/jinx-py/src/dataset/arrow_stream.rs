//! A view as an Arrow stream, for polars, DuckDB, pandas and pyarrow.

use crate::errors::{IntoPy, to_py};
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};
use jinx_convert::arrow::stream::{take_failure, to_c_stream};
use jinx_convert::arrow::{BatchBuilder, with_lengths};
use jinx_core::checked_math::to_u64;
use jinx_core::value::TreeBuilder;
use jinx_core::{Error, Result};
use jinx_dataset::{ArrowColumn, Dataset};
use jinx_format::read::columns::ColumnKind;
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;

/// End a batch at this many bytes, regardless of the requested number of rows.
const BATCH_BYTES: usize = 32 << 20;
/// The number of rows of a batch if rows must be built and the caller does not give a number.
const BATCH_ROWS: usize = 1000;

/// The schema for consumers of the samples; says how lengths were counted.
///
/// # Errors
/// `Invalid` if there are samples and none has a selected column; `Unsupported` for a name that Arrow's C interface
/// cannot pass on.
fn schema_of_samples(view: &Dataset, mixed_json: bool) -> Result<SchemaRef> {
    let schema = view.schema(mixed_json)?;
    schema.fields().iter().try_for_each(check_name)?;
    match &view.rows.projection().columns {
        Some(names) if schema.fields().is_empty() && !names.is_empty() && !view.is_empty() => {
            Err(Error::invalid(format!("none of the columns {names:?} occurs")))
        }
        _ => with_lengths(schema, || view.rows.meta()),
    }
}

/// Refuses names with NUL, which ends a string in C.
fn check_name(field: &FieldRef) -> Result<()> {
    let name = field.name();
    if name.contains('\0') {
        let what = "an Arrow column cannot have NUL in its name; rename or drop the column";
        return Err(Error::unsupported(what).in_column(&name.escape_default().to_string()));
    }
    let inside = match field.data_type() {
        DataType::Struct(members) => members.iter().try_for_each(check_name),
        DataType::List(item) | DataType::LargeList(item) => check_name(item),
        _ => Ok(()),
    };
    inside.map_err(|error| error.in_column(name))
}

struct BatchReader {
    view: Dataset,
    schema: SchemaRef,
    next: usize,
    batch_rows: usize,
    /// Columns of a single type, whose values need not be built.
    typed: Vec<ArrowColumn>,
    /// The other columns.
    rest: Dataset,
    builder: BatchBuilder,
}

impl Iterator for BatchReader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.view.len() {
            return None;
        }
        Some(self.fill())
    }
}

impl BatchReader {
    /// Batches of `batch_rows` rows, or of any size if it is 0.
    fn new(view: &Dataset, schema: SchemaRef, batch_rows: usize) -> Result<Self> {
        let mut typed = Vec::new();
        let own = view.rows.own_names();
        for field in schema.fields().iter().filter(|field| own.contains(field.name())) {
            let path = [Some(field.name().clone())];
            if let Some(column) = view.rows.column(&path, ColumnKind::Value)? {
                typed.extend(ArrowColumn::of(column, field)?);
            }
        }
        let is_built = |name: &str| !typed.iter().any(|column| column.name() == name);
        let built: Vec<_> = schema.fields().iter().filter(|field| is_built(field.name())).cloned().collect();
        let mut projection = view.rows.projection().clone();
        if !typed.is_empty() {
            projection.columns = Some(built.iter().map(|field| field.name().clone()).collect());
        }
        let rest = Dataset { rows: view.rows.with_projection(projection), positions: view.positions.clone() };
        let batch_rows = match (batch_rows, &view.positions) {
            (0, None) if built.is_empty() => view.len(),
            (0, _) if built.is_empty() => {
                BATCH_BYTES / typed.iter().map(ArrowColumn::sample_bytes).sum::<usize>().max(1)
            }
            (0, _) => BATCH_ROWS,
            (rows, _) => rows,
        };
        let builder = BatchBuilder::new(Arc::new(Schema::new(built)))?;
        Ok(Self { view: view.clone(), schema, next: 0, batch_rows: batch_rows.max(1), typed, rest, builder })
    }

    fn fill(&mut self) -> Result<RecordBatch> {
        let start = self.next;
        if self.builder.is_for_no_columns() {
            self.next = self.view.len().min(start.saturating_add(self.batch_rows));
        }
        while self.next < self.view.len()
            && self.builder.len() < self.batch_rows
            && self.builder.bytes() < BATCH_BYTES
            && !self.builder.is_for_no_columns()
        {
            let mut tree = TreeBuilder::default();
            self.rest.rows.emit(self.rest.position(self.next), &mut tree)?;
            self.builder.push(&tree.take()?).map_err(|error| error.in_sample(to_u64(self.next)))?;
            self.next += 1;
        }
        let rows = self.next - start;
        let built = self.builder.finish()?;
        let mut arrays = Vec::with_capacity(self.schema.fields().len());
        for field in self.schema.fields() {
            arrays.push(match self.typed.iter().find(|column| column.name() == field.name()) {
                None => built
                    .column_by_name(field.name())
                    .map(Arc::clone)
                    .ok_or_else(|| Error::invalid(format!("the column '{}' was not built", field.name())))?,
                Some(column) => match &self.view.positions {
                    None => column.range(start..self.next)?,
                    Some(positions) => column.list(&positions[start..self.next])?,
                },
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)
            .map_err(|error| Error::invalid(error.to_string()))
    }
}

/// An `arrow_array_stream` capsule over the view.
pub fn stream<'py>(
    py: Python<'py>,
    view: &Dataset,
    batch_rows: usize,
    mixed_json: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let schema = py.detach(|| schema_of_samples(view, mixed_json)).into_py_result()?;
    let batches = py.detach(|| BatchReader::new(view, Arc::clone(&schema), batch_rows)).into_py_result()?;
    let stream = to_c_stream(schema, batches);
    Ok(PyCapsule::new_with_value(py, stream, c"arrow_array_stream")?.into_any())
}

/// Takes the error of the last call to one of our streams on this thread. Other libraries receive only its text.
#[pyfunction]
pub fn take_stream_failure(py: Python<'_>) -> Option<Py<PyBaseException>> {
    take_failure().map(|error| to_py(&error).into_value(py))
}

/// The columns of the schema, and the Python types of their values.
pub fn column_types(view: &Dataset) -> Result<Vec<(String, &'static str)>> {
    let schema = view.schema(true)?;
    Ok(schema.fields().iter().map(|field| (field.name().clone(), type_name(field.data_type()))).collect())
}

fn type_name(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Null => "None",
        DataType::Boolean => "bool",
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            "bytes"
        }
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::FixedSizeList(..)
        | DataType::Map(..) => "list",
        // A media value in Arrow.
        DataType::Struct(fields) if fields.iter().map(|field| field.name()).eq(["bytes", "path"]) => "bytes",
        DataType::Struct(_) => "dict",
        DataType::Dictionary(_, values) => type_name(values),
        DataType::RunEndEncoded(_, values) => type_name(values.data_type()),
        DataType::Duration(_) => "int",
        number if number.is_integer() => "int",
        number if number.is_floating() => "float",
        // Strings, and types that rows store as strings: dates, times, decimals.
        _ => "str",
    }
}

/// An `arrow_schema` capsule of the samples.
pub fn schema<'py>(py: Python<'py>, view: &Dataset, mixed_json: bool) -> PyResult<Bound<'py, PyAny>> {
    let schema = py.detach(|| schema_of_samples(view, mixed_json)).into_py_result()?;
    let schema =
        FFI_ArrowSchema::try_from(&*schema).map_err(|error| to_py(&Error::invalid(error.to_string())))?;
    Ok(PyCapsule::new_with_value(py, schema, c"arrow_schema")?.into_any())
}
