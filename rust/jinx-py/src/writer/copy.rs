//! Copies samples of a dataset as they are stored, and adds columns from the caller.

use super::Writer;
use crate::dataset::reader::{Reader, positions};
use crate::errors::{IntoPy, from_py, to_py};
use crate::sample::extract;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_schema::Field;
use jinx_convert::arrow::stream::from_c_stream;
use jinx_convert::arrow::{Features, RowEmitter, schema_text};
use jinx_core::row_events::Sink;
use jinx_core::value::{TreeBuilder, Value};
use jinx_core::{Error, Result};
use jinx_format::write::encode::RowEncoder;
use jinx_pyo3::capsule::take_stream;
use pyo3::prelude::*;
use std::sync::Arc;

/// Columns from the caller, with one value for each copied sample.
#[derive(Default)]
struct OwnColumns {
    columns: Vec<(String, Vec<Value>)>,
    /// Rows of an Arrow stream, as dicts.
    rows: Option<Vec<Value>>,
}

impl OwnColumns {
    fn read(own: Vec<(String, Bound<'_, PyAny>)>, table: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let columns = own.into_iter().map(|(name, values)| match read_values(&values) {
            Ok(values) => Ok((name, values)),
            Err(error) => Err(to_py(&error.in_column(&name))),
        });
        let rows = match table {
            None => None,
            Some(table) => {
                let stream = take_stream(table)?;
                Some(table.py().detach(|| read_rows(stream)).into_py_result()?)
            }
        };
        Ok(Self { columns: columns.collect::<PyResult<_>>()?, rows })
    }

    fn is_empty(&self) -> bool {
        self.columns.is_empty() && self.rows.is_none()
    }

    /// # Errors
    /// `Invalid` if a column does not have exactly one value for each sample.
    fn check(&self, samples: usize) -> Result<()> {
        let wrong = |values: usize| Error::invalid(format!("{values} values for {samples} samples"));
        for (name, values) in &self.columns {
            if values.len() != samples {
                return Err(wrong(values.len()).in_column(name));
            }
        }
        match &self.rows {
            Some(rows) if rows.len() != samples => Err(wrong(rows.len())),
            _ => Ok(()),
        }
    }

    fn emit(&self, i: usize, sink: &mut impl Sink) -> Result<()> {
        for (name, values) in &self.columns {
            sink.key(name)?;
            values[i].emit(sink).map_err(|error| error.in_column(name))?;
        }
        if let Some(Value::Dict(members)) = self.rows.as_ref().map(|rows| &rows[i]) {
            for (name, value) in members {
                sink.key(name)?;
                value.emit(sink).map_err(|error| error.in_column(name))?;
            }
        }
        Ok(())
    }
}

fn read_values(values: &Bound<'_, PyAny>) -> Result<Vec<Value>> {
    let failed = |error: PyErr| from_py(values.py(), error);
    let mut read = Vec::new();
    for value in values.try_iter().map_err(failed)? {
        let mut tree = TreeBuilder::with_ranges();
        extract::emit_value(&value.map_err(failed)?, 1, &mut tree)?;
        read.push(tree.take()?);
    }
    Ok(read)
}

fn read_rows(stream: FFI_ArrowArrayStream) -> Result<Vec<Value>> {
    let batches = from_c_stream(stream)?;
    let features = Features::from_schema(&batches.schema());
    let mut rows = Vec::new();
    for batch in batches {
        let emitter = RowEmitter::new(&batch?, &features)?;
        for row in 0..emitter.len() {
            let mut tree = TreeBuilder::default();
            emitter.emit_row(row, &mut tree)?;
            rows.push(tree.take()?);
        }
    }
    Ok(rows)
}

/// Inherits the information about copied columns from the footers of a dataset. Columns named in `replaced` get values
/// of the caller, and those in `hidden` are not copied. `own` is an Arrow stream with the schema of the caller's columns. If it lacks some of them (`untyped`), no Arrow schema is inherited. Returns whether
/// the sources so far disagree on a schema.
pub fn inherit(
    py: Python<'_>,
    target: &Writer,
    reader: &Reader,
    hidden: &[String],
    replaced: &[String],
    own: Option<&Bound<'_, PyAny>>,
    untyped: bool,
) -> PyResult<bool> {
    let own = own.map(take_stream).transpose()?;
    let rows = Arc::clone(&reader.view.rows);
    let wanted = |name: &str| rows.projection().has(name) && !hidden.iter().any(|hidden| hidden == name);
    let mut state = target.lock(py);
    let here = |error: Error| to_py(&error.in_file(&target.path));
    let writer = state.open_writer().map_err(here)?;
    py.detach(|| {
        let mut source = rows.inherited(&wanted)?;
        source.meta.replace_columns(replaced);
        source.arrow_schema = match source.arrow_schema.filter(|_| !untyped) {
            Some(text) => {
                let own = own.map(from_c_stream).transpose()?.map(|own| own.schema());
                let own = own.iter().flat_map(|schema| schema.fields().iter());
                let own: Vec<Field> = own.map(|field| Field::clone(field)).collect();
                Some(schema_text(&text, &wanted, &own)?)
            }
            None => None,
        };
        writer.inherit(source)
    })
    .map_err(here)
}

/// The columns to copy for each sample.
pub struct Copied<'c, 'py> {
    /// Columns to leave out.
    pub hidden: &'c [String],
    /// Columns from the caller, with one value for each sample.
    pub own: Vec<(String, Bound<'py, PyAny>)>,
    /// More columns from the caller, as an Arrow stream.
    pub table: Option<&'c Bound<'py, PyAny>>,
    /// Copy only the columns that views add to their files.
    pub own_only: bool,
}

/// Copies the samples at positions over all files.
pub fn copy(
    py: Python<'_>,
    target: &Writer,
    reader: &Reader,
    positions_over_files: &Bound<'_, PyAny>,
    copied: Copied<'_, '_>,
) -> PyResult<()> {
    let positions = positions(positions_over_files, reader.view.rows.files().samples)?;
    let rows = Arc::clone(&reader.view.rows);
    let Copied { hidden, own, table, own_only } = copied;
    let own = OwnColumns::read(own, table)?;
    own.check(positions.len()).into_py_result()?;
    let wanted = |name: &str| !hidden.iter().any(|hidden| hidden == name);
    let mut state = target.lock(py);
    let here = |error: Error| to_py(&error.in_file(&target.path));
    state.flush(py).map_err(here)?;
    let writer = state.open_writer().map_err(here)?;
    let is_all = hidden.is_empty() && own.is_empty();
    let copied = py.detach(|| {
        let emit = |i: usize, encoder: &mut RowEncoder| {
            if is_all && !own_only {
                return rows.emit(positions[i], encoder);
            }
            encoder.begin_dict(0)?;
            match own_only {
                true => rows.emit_own(positions[i], &wanted, encoder)?,
                false => rows.emit_members(positions[i], &wanted, encoder)?,
            }
            own.emit(i, encoder)?;
            encoder.end_dict()
        };
        match positions.is_sorted() {
            true => writer.write_rows_in_order(positions.len(), &emit),
            false => writer.write_rows(positions.len(), &emit),
        }
    });
    copied.map_err(here)
}
