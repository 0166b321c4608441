//! A view as an Arrow stream, for polars, DuckDB, pandas and pyarrow.

use crate::dataset::view::View;
use crate::errors::{IntoPy, to_py};
use arrow_array::RecordBatch;
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Schema, SchemaRef};
use jinx_convert::arrow::infer::InferOptions;
use jinx_convert::arrow::stream::{take_failure, to_c_stream};
use jinx_convert::arrow::{BatchBuilder, SchemaInference, decode_schema, encode_schema, with_lengths};
use jinx_core::checked_math::to_u64;
use jinx_core::value::{TreeBuilder, Value};
use jinx_core::{Error, Result};
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;

/// End a batch at this many bytes, regardless of the requested number of rows.
const BATCH_BYTES: usize = 32 << 20;

/// The value of the view's sample `i`.
fn value(view: &View, i: usize, mut tree: TreeBuilder) -> Result<Value> {
    view.rows.emit(view.position(i), &mut tree)?;
    tree.take()
}

/// The schema that the samples were written from, or one inferred from all of them.
fn schema_of(view: &View, mixed_json: bool) -> Result<SchemaRef> {
    let types = view.rows.arrow_types()?;
    if let Some(text) = types.schema {
        return projected(view, &decode_schema(&text)?);
    }
    let mut inference = SchemaInference::new(InferOptions { media: types.media, mixed_json, large: false });
    // An empty view has the types of the whole dataset.
    let whole = View { rows: Arc::clone(&view.rows), positions: None };
    let seen = if view.count() == 0 { &whole } else { view };
    for i in 0..seen.count() {
        let value = value(seen, i, TreeBuilder::without_bytes())?;
        inference.observe(&value).map_err(|error| error.in_sample(to_u64(i)))?;
    }
    projected(view, &*inference.finish()?)
}

fn projected(view: &View, schema: &Schema) -> Result<SchemaRef> {
    let Some(names) = &view.rows.projection().columns else { return Ok(Arc::new(schema.clone())) };
    let fields: Vec<_> = names
        .iter()
        .filter_map(|name| schema.fields().iter().find(|field| field.name() == name).cloned())
        .collect();
    Ok(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
}

/// As [`schema_of`], for consumers of the samples; says how lengths were counted.
///
/// # Errors
/// `Invalid` if there are samples and none has a selected column.
fn schema_of_samples(view: &View, mixed_json: bool) -> Result<SchemaRef> {
    let schema = schema_of(view, mixed_json)?;
    match &view.rows.projection().columns {
        Some(names) if schema.fields().is_empty() && !names.is_empty() && view.count() > 0 => {
            Err(Error::invalid(format!("none of the columns {names:?} occurs")))
        }
        _ => with_lengths(schema, || view.rows.meta()),
    }
}

struct BatchReader {
    view: View,
    next: usize,
    batch_rows: usize,
    builder: BatchBuilder,
}

impl Iterator for BatchReader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.view.count() {
            return None;
        }
        Some(self.fill())
    }
}

impl BatchReader {
    fn fill(&mut self) -> Result<RecordBatch> {
        while self.next < self.view.count()
            && self.builder.len() < self.batch_rows
            && self.builder.bytes() < BATCH_BYTES
        {
            let value = value(&self.view, self.next, TreeBuilder::default())?;
            self.builder.push(&value).map_err(|error| error.in_sample(to_u64(self.next)))?;
            self.next += 1;
        }
        self.builder.finish()
    }
}

/// An `arrow_array_stream` capsule over the view.
pub fn stream<'py>(
    py: Python<'py>,
    view: &View,
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

/// The schema as text, as a footer has it. Columns of mixed types count as JSON.
pub fn schema_text(view: &View) -> Result<String> {
    schema_of(view, true).map(|schema| encode_schema(&schema))
}

/// The columns of the schema, and what their values are for Python.
pub fn column_types(view: &View) -> Result<Vec<(String, &'static str)>> {
    let schema = schema_of(view, true)?;
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
pub fn schema<'py>(py: Python<'py>, view: &View, mixed_json: bool) -> PyResult<Bound<'py, PyAny>> {
    let schema = py.detach(|| schema_of_samples(view, mixed_json)).into_py_result()?;
    let schema =
        FFI_ArrowSchema::try_from(&*schema).map_err(|error| to_py(&Error::invalid(error.to_string())))?;
    Ok(PyCapsule::new_with_value(py, schema, c"arrow_schema")?.into_any())
}
