//! A view as an Arrow stream, for polars, DuckDB, pandas and pyarrow.

use crate::errors::{IntoPy, to_py};
use arrow_array::RecordBatch;
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, SchemaRef};
use jinx_convert::arrow::stream::{take_failure, to_c_stream};
use jinx_convert::arrow::{BatchBuilder, with_lengths};
use jinx_core::checked_math::to_u64;
use jinx_core::value::TreeBuilder;
use jinx_core::{Error, Result};
use jinx_dataset::Dataset;
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;

/// End a batch at this many bytes, regardless of the requested number of rows.
const BATCH_BYTES: usize = 32 << 20;

/// The schema for consumers of the samples; says how lengths were counted.
///
/// # Errors
/// `Invalid` if there are samples and none has a selected column.
fn schema_of_samples(view: &Dataset, mixed_json: bool) -> Result<SchemaRef> {
    let schema = view.schema(mixed_json)?;
    match &view.rows.projection().columns {
        Some(names) if schema.fields().is_empty() && !names.is_empty() && !view.is_empty() => {
            Err(Error::invalid(format!("none of the columns {names:?} occurs")))
        }
        _ => with_lengths(schema, || view.rows.meta()),
    }
}

struct BatchReader {
    view: Dataset,
    next: usize,
    batch_rows: usize,
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
    fn fill(&mut self) -> Result<RecordBatch> {
        while self.next < self.view.len()
            && self.builder.len() < self.batch_rows
            && self.builder.bytes() < BATCH_BYTES
        {
            let mut tree = TreeBuilder::default();
            self.view.rows.emit(self.view.position(self.next), &mut tree)?;
            self.builder.push(&tree.take()?).map_err(|error| error.in_sample(to_u64(self.next)))?;
            self.next += 1;
        }
        self.builder.finish()
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
    let builder = BatchBuilder::new(Arc::clone(&schema)).into_py_result()?;
    let batches = BatchReader { view: view.clone(), next: 0, batch_rows: batch_rows.max(1), builder };
    let stream = to_c_stream(schema, batches);
    Ok(PyCapsule::new_with_value(py, stream, c"arrow_array_stream")?.into_any())
}

/// Takes the error of the last call to one of our streams on this thread. Other libraries receive only its text.
#[pyfunction]
pub fn take_stream_failure(py: Python<'_>) -> Option<Py<PyBaseException>> {
    take_failure().map(|error| to_py(&error).into_value(py))
}

/// The columns of the schema, and what their values are for Python.
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
        // What media are in Arrow.
        DataType::Struct(fields) if fields.iter().map(|field| field.name()).eq(["bytes", "path"]) => "bytes",
        DataType::Struct(_) => "dict",
        DataType::Dictionary(_, values) => type_name(values),
        DataType::RunEndEncoded(_, values) => type_name(values.data_type()),
        DataType::Duration(_) => "int",
        number if number.is_integer() => "int",
        number if number.is_floating() => "float",
        // Strings, and what a row has as one: dates, times, decimals.
        _ => "str",
    }
}

/// An `arrow_schema` capsule.
pub fn schema<'py>(py: Python<'py>, view: &Dataset, mixed_json: bool) -> PyResult<Bound<'py, PyAny>> {
    let schema = py.detach(|| schema_of_samples(view, mixed_json)).into_py_result()?;
    let schema =
        FFI_ArrowSchema::try_from(&*schema).map_err(|error| to_py(&Error::invalid(error.to_string())))?;
    Ok(PyCapsule::new_with_value(py, schema, c"arrow_schema")?.into_any())
}
