//! Columns held by Python: lists, arrays, and functions of the samples.

use crate::errors::{IntoPy, from_py};
use crate::objects::build::PyBuilder;
use crate::sample::decoders::Decoders;
use crate::sample::extract;
use crate::sample::stored_columns::StoredColumns;
use bytes::Bytes;
use jinx_core::row_events::Sink;
use jinx_core::value::{TreeBuilder, Value};
use jinx_core::{Error, Result};
use jinx_dataset::{ArrowTypes, ColumnData, Files, Located, Projection, Roots, Rows};
use jinx_format::fields::{FieldInfo, Measure};
use jinx_format::meta::Meta;
use jinx_format::read::columns::{ColumnKind, ColumnType};
use jinx_format::read::shard::OpenOptions;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyList, PyString};
use std::any::Any;
use std::sync::Arc;

/// Columns with a value for each sample.
pub struct MemoryColumns {
    files: Files,
    columns: Vec<(String, Values)>,
    meta: Meta,
}

/// The values of a column.
enum Values {
    /// Numbers; reading them runs no Python code.
    Numbers(ColumnData),
    /// `column[i]` is the value of sample `i`.
    Python(Py<PyAny>),
}

impl Values {
    fn get<'py>(&self, py: Python<'py>, i: u64) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Numbers(column) => {
                let mut builder = PyBuilder::new(py);
                let value = column.value(i).and_then(|value| value.emit(&mut builder));
                value.and_then(|()| builder.finish()).into_py_result()
            }
            Self::Python(column) => column.bind(py).get_item(i),
        }
    }

    fn tree(&self, i: u64) -> Result<Value> {
        match self {
            Self::Numbers(column) => column.value(i),
            // A thread that waits for the result may block others, so it must not hold the GIL.
            Self::Python(column) => Python::attach(|py| {
                let value = column.bind(py).get_item(i).map_err(|error| from_py(py, error))?;
                let mut tree = TreeBuilder::default();
                extract::emit_value(&value, 1, &mut tree)?;
                tree.take()
            }),
        }
    }
}

pub struct MemoryRows {
    all: Arc<MemoryColumns>,
    projection: Projection,
}

impl MemoryRows {
    /// Takes columns from Python. `column[i]` returns a value. `column.numbers()` returns all values as the parts of a
    /// typed array, or None if they are not of one type. `meta` is what is known of them.
    ///
    /// # Errors
    /// Errors of `numbers`.
    pub fn new(
        py: Python<'_>,
        samples: u64,
        columns: Vec<(String, Py<PyAny>)>,
        meta: Meta,
    ) -> PyResult<Self> {
        let files = Files { paths: Vec::new(), base: std::path::PathBuf::new(), samples };
        let columns = columns.into_iter().map(|(name, column)| {
            let values = match numbers(column.bind(py))? {
                Some(numbers) => Values::Numbers(numbers),
                None => Values::Python(column),
            };
            Ok((name, values))
        });
        let all = MemoryColumns { files, columns: columns.collect::<PyResult<_>>()?, meta };
        Ok(Self { all: Arc::new(all), projection: Projection::default() })
    }

    /// The columns that the projection selects.
    fn shown(&self) -> impl Iterator<Item = &(String, Values)> {
        self.all.columns.iter().filter(|(name, _)| self.projection.has(name))
    }

    fn find(&self, name: &str) -> Option<&Values> {
        self.shown().find(|(known, _)| known == name).map(|(_, values)| values)
    }
}

impl Rows for MemoryRows {
    fn files(&self) -> &Files {
        &self.all.files
    }

    fn projection(&self) -> &Projection {
        &self.projection
    }

    fn with_projection(&self, projection: Projection) -> Arc<dyn Rows> {
        Arc::new(Self { all: Arc::clone(&self.all), projection })
    }

    fn reopened(&self, _options: &OpenOptions) -> Result<Arc<dyn Rows>> {
        Ok(self.with_projection(self.projection.clone()))
    }

    fn close(&self) {}

    fn check_open(&self) -> Result<()> {
        Ok(())
    }

    fn locate(self: Arc<Self>, position: u64) -> Result<Located> {
        Ok(Located::Other(self, position))
    }

    fn emit_members(
        &self,
        position: u64,
        wanted: &dyn Fn(&str) -> bool,
        mut sink: &mut dyn Sink,
    ) -> Result<()> {
        for (name, values) in self.shown().filter(|(name, _)| wanted(name)) {
            let value = values.tree(position).map_err(|error| error.in_column(name))?;
            sink.key(name)?;
            value.emit(&mut sink).map_err(|error| error.in_column(name))?;
        }
        Ok(())
    }

    fn measure(
        &self,
        positions: &mut dyn Iterator<Item = u64>,
        path: &[&str],
        kind: ColumnKind,
    ) -> Result<Vec<Option<Measure>>> {
        let Some(values) = path.first().and_then(|name| self.find(name)) else {
            return Ok(positions.map(|_| None).collect());
        };
        positions
            .map(|i| match at_path(values.tree(i)?, path) {
                None => Ok(None),
                Some(value) => measure(value, kind).map(Some),
            })
            .collect()
    }

    fn column(&self, path: &[Option<String>], kind: ColumnKind) -> Result<Option<ColumnData>> {
        let ([Some(name)], ColumnKind::Value) = (path, kind) else { return Ok(None) };
        match self.find(name) {
            Some(Values::Numbers(column)) => Ok(Some(column.clone())),
            _ => Ok(None),
        }
    }

    fn column_names(&self) -> Result<Vec<String>> {
        Ok(self.shown().map(|(name, _)| name.clone()).collect())
    }

    fn statistics(&self) -> Result<Vec<FieldInfo>> {
        let field = |name: &str| FieldInfo { path: vec![Some(name.to_owned())], ..FieldInfo::default() };
        Ok(self.shown().map(|(name, _)| field(name)).collect())
    }

    fn identities(&self) -> Result<Vec<(u64, String)>> {
        Ok(Vec::new())
    }

    fn footer(&self, _file: usize) -> Result<String> {
        Err(Error::invalid("columns in memory have no footer"))
    }

    fn meta(&self) -> Result<Meta> {
        Ok(self.all.meta.clone())
    }

    fn arrow_types(&self) -> Result<ArrowTypes> {
        let mut typed = Vec::new();
        for (name, values) in self.shown() {
            if let Values::Numbers(column) = values {
                typed.extend(column.field(name)?);
            }
        }
        Ok(ArrowTypes { typed, ..ArrowTypes::default() })
    }

    fn kind(&self) -> &'static str {
        "memory"
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn roots(self: Arc<Self>, positions: Option<Vec<u64>>) -> Result<Roots> {
        Ok(Roots { rows: vec![self], positions })
    }
}

fn numbers(column: &Bound<'_, PyAny>) -> PyResult<Option<ColumnData>> {
    type Part = Option<PyBackedBytes>;
    type Numbers = Option<(String, PyBackedBytes, Part, Option<u64>, Part, Part, Option<String>)>;
    let Some((dtype, data, validity, width, offsets, codes, zone)) =
        column.call_method0("numbers")?.extract::<Numbers>()?
    else {
        return Ok(None);
    };
    let Some(dtype) = ColumnType::from_name(&dtype) else { return Ok(None) };
    Ok(Some(ColumnData {
        dtype: dtype.name(),
        width,
        zone: zone.map(Arc::from),
        is_typed: true,
        data: Bytes::from_owner(data),
        validity: validity.map(Bytes::from_owner),
        offsets: offsets.map(Bytes::from_owner),
        codes: codes.map(Bytes::from_owner),
    }))
}

/// Returns the member of a nested value at a path.
fn at_path(value: Value, path: &[&str]) -> Option<Value> {
    path.iter().skip(1).try_fold(value, |value, name| match value {
        Value::Dict(members) => members.into_iter().find(|(known, _)| known == name).map(|(_, value)| value),
        _ => None,
    })
}

/// Measures a value for a column of this kind.
fn measure(value: Value, kind: ColumnKind) -> Result<Measure> {
    use jinx_core::checked_math::to_u64;
    if kind == ColumnKind::Length {
        return Ok(Measure::Length(match value {
            Value::Null => return Ok(Measure::None),
            Value::List(items) => to_u64(items.len()),
            Value::Dict(members) => to_u64(members.len()),
            Value::Str(text) => to_u64(text.chars().count()),
            Value::Blob { data, .. } => to_u64(data.len()),
            _ => return Err(Error::mismatch("numbers, bools and null have no length")),
        }));
    }
    Ok(match value {
        Value::Null => Measure::None,
        Value::Bool(value) => Measure::Bool(value),
        Value::Int(value) => Measure::Int(value),
        Value::BigInt(digits) => Measure::of_digits(&digits),
        Value::Float(value) => Measure::Float(value),
        Value::Str(value) => Measure::Text(value),
        _ => return Err(Error::mismatch("this is not a single value")),
    })
}

pub struct MemorySample {
    rows: Arc<MemoryRows>,
    i: u64,
}

impl MemorySample {
    pub fn new(rows: Arc<MemoryRows>, i: u64) -> Self {
        Self { rows, i }
    }
}

impl StoredColumns for MemorySample {
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let names: Vec<_> = self.rows.shown().map(|(name, _)| PyString::intern(py, name)).collect();
        PyList::new(py, names)
    }

    fn contains(&self, _py: Python<'_>, name: &str) -> PyResult<bool> {
        Ok(self.rows.find(name).is_some())
    }

    fn value<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        decoders: &Decoders,
        _unique: bool,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(values) = self.rows.find(name) else { return Ok(None) };
        let value = values.get(py, self.i)?;
        match decoders.get(py, name)? {
            None => Ok(Some(value)),
            Some(decoder) => decoder.call1((value,)).map(Some),
        }
    }

    fn values<'py>(
        &self,
        py: Python<'py>,
        wanted: &dyn Fn(&str) -> bool,
        pending: bool,
        decoders: &Decoders,
        keep: &mut dyn FnMut(Bound<'py, PyString>, Bound<'py, PyAny>) -> PyResult<()>,
    ) -> PyResult<()> {
        for (name, _) in self.rows.shown().filter(|(name, _)| !pending && wanted(name)) {
            if let Some(value) = self.value(py, name, decoders, false)? {
                keep(PyString::intern(py, name), value)?;
            }
        }
        Ok(())
    }

    fn duplicate(&self) -> Box<dyn StoredColumns> {
        Box::new(Self { rows: Arc::clone(&self.rows), i: self.i })
    }
}
