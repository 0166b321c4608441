//! Columns that Python holds: lists, arrays, and functions of the samples.

use crate::dataset::files::Files;
use crate::dataset::projection::Projection;
use crate::dataset::rows::{ColumnData, Roots, Rows};
use crate::errors::from_py;
use crate::sample::decoders::Decoders;
use crate::sample::extract;
use crate::sample::stored::StoredSample;
use crate::sample::stored_fields::StoredFields;
use jinx_core::sink::Sink;
use jinx_core::value::{TreeBuilder, Value};
use jinx_core::{Error, Result};
use jinx_format::fields::{FieldInfo, Measure};
use jinx_format::read::columns::{ColumnKind, ColumnType};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use std::sync::Arc;

/// Columns with a value for each sample: `column[i]` gives it, and `column.numbers()` all of them as dtype, bytes and
/// validity bits, or None where they are not numbers.
pub struct MemoryColumns {
    files: Files,
    names: Arc<Vec<String>>,
    columns: Vec<Py<PyAny>>,
}

pub struct MemoryRows {
    all: Arc<MemoryColumns>,
    projection: Projection,
}

impl MemoryRows {
    pub fn new(samples: u64, columns: Vec<(String, Py<PyAny>)>) -> Self {
        let files = Files { paths: Vec::new(), base: std::path::PathBuf::new(), samples };
        let (names, columns) = columns.into_iter().unzip();
        let all = MemoryColumns { files, names: Arc::new(names), columns };
        Self { all: Arc::new(all), projection: Projection::default() }
    }

    /// The columns that the projection leaves.
    fn shown(&self) -> impl Iterator<Item = (&str, &Py<PyAny>)> {
        let names = self.all.names.iter().map(String::as_str);
        names.zip(&self.all.columns).filter(|(name, _)| self.projection.has(name))
    }

    fn find(&self, name: &str) -> Option<&Py<PyAny>> {
        self.shown().find(|(known, _)| *known == name).map(|(_, column)| column)
    }

    fn value<'py>(&self, py: Python<'py>, name: &str, i: u64) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.find(name).map(|column| column.bind(py).get_item(i)).transpose()
    }

    fn tree(&self, py: Python<'_>, column: &Py<PyAny>, i: u64) -> Result<Value> {
        let value = column.bind(py).get_item(i).map_err(|error| from_py(py, error))?;
        let mut tree = TreeBuilder::default();
        extract::emit_value(&value, 1, &mut tree)?;
        tree.take()
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

    fn close(&self) {}

    fn check_open(&self) -> Result<()> {
        Ok(())
    }

    fn sample(self: Arc<Self>, position: u64) -> Result<StoredSample> {
        Ok(StoredSample::of(MemorySample { rows: self, i: position }))
    }

    fn emit_members(
        &self,
        position: u64,
        wanted: &dyn Fn(&str) -> bool,
        mut sink: &mut dyn Sink,
    ) -> Result<()> {
        for (name, column) in self.shown().filter(|(name, _)| wanted(name)) {
            // The sink may wait for other threads that hold the GIL.
            let value =
                Python::attach(|py| self.tree(py, column, position)).map_err(|error| error.in_field(name))?;
            sink.key(name)?;
            value.emit(&mut sink).map_err(|error| error.in_field(name))?;
        }
        Ok(())
    }

    fn measure(
        &self,
        positions: &mut dyn Iterator<Item = u64>,
        path: &[&str],
        kind: ColumnKind,
    ) -> Result<Vec<Option<Measure>>> {
        let Some(column) = path.first().and_then(|name| self.find(name)) else {
            return Ok(positions.map(|_| None).collect());
        };
        Python::attach(|py| {
            positions
                .map(|i| match at_path(self.tree(py, column, i)?, path) {
                    None => Ok(None),
                    Some(value) => measure(value, kind).map(Some),
                })
                .collect()
        })
    }

    fn column(&self, path: &[Option<String>], kind: ColumnKind) -> Result<Option<ColumnData>> {
        let ([Some(name)], ColumnKind::Value) = (path, kind) else { return Ok(None) };
        let Some(column) = self.find(name) else { return Ok(None) };
        Python::attach(|py| numbers(column.bind(py)).map_err(|error| from_py(py, error)))
    }

    fn column_names(&self) -> Result<Vec<String>> {
        Ok(self.shown().map(|(name, _)| name.to_owned()).collect())
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

    fn kind(&self) -> &'static str {
        "memory"
    }

    fn roots(self: Arc<Self>, positions: Option<Vec<u64>>) -> Result<Roots> {
        Ok(Roots { rows: vec![self], positions })
    }
}

fn numbers(column: &Bound<'_, PyAny>) -> PyResult<Option<ColumnData>> {
    type Numbers = Option<(String, Vec<u8>, Option<Vec<u8>>)>;
    let Some((dtype, data, validity)) = column.call_method0("numbers")?.extract::<Numbers>()? else {
        return Ok(None);
    };
    let Some(dtype) = ColumnType::from_name(&dtype) else { return Ok(None) };
    Ok(Some(ColumnData { dtype: dtype.name(), data, validity, offsets: None }))
}

/// The member of a nested value.
fn at_path(value: Value, path: &[&str]) -> Option<Value> {
    path.iter().skip(1).try_fold(value, |value, name| match value {
        Value::Dict(members) => members.into_iter().find(|(known, _)| known == name).map(|(_, value)| value),
        _ => None,
    })
}

/// What a column keeps of a value.
fn measure(value: Value, kind: ColumnKind) -> Result<Measure> {
    use jinx_core::num::to_u64;
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
        Value::BigInt(digits) => digits.parse().map_or(Measure::Huge, Measure::Uint),
        Value::Float(value) => Measure::Float(value),
        Value::Str(value) => Measure::Text(value),
        _ => return Err(Error::mismatch("this is not a single value")),
    })
}

struct MemorySample {
    rows: Arc<MemoryRows>,
    i: u64,
}

impl StoredFields for MemorySample {
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
        let Some(value) = self.rows.value(py, name, self.i)? else { return Ok(None) };
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

    fn emit(
        &self,
        _py: Python<'_>,
        _name: &str,
        _decoders: &Decoders,
        _depth: usize,
        _sink: &mut dyn Sink,
    ) -> Result<bool> {
        Ok(false)
    }

    fn duplicate(&self) -> Box<dyn StoredFields> {
        Box::new(Self { rows: Arc::clone(&self.rows), i: self.i })
    }
}
