//! Columns for Python: stored ones joined over shards, others measured row by row without the GIL.

use crate::dataset::reader::Reader;
use crate::dataset::state::Shards;
use crate::errors::{IntoPy, to_py};
use jinx_core::panics::error_of;
use jinx_core::{Error, Result};
use jinx_format::fields::{self, Measure};
use jinx_format::read::columns::{ColumnKind, ColumnType, IndexedColumn};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList};

/// dtype, data, validity bitmap, text offsets. The data belong to the caller, who may change them.
pub type ColumnParts<'py> =
    (&'static str, Bound<'py, PyByteArray>, Option<Bound<'py, PyBytes>>, Option<Bound<'py, PyBytes>>);

/// Rows measured by one thread before it looks whether another failed.
const ROWS_PER_THREAD: usize = 4096;

fn kind_of(kind: &str) -> PyResult<ColumnKind> {
    match kind {
        "value" => Ok(ColumnKind::Value),
        "length" => Ok(ColumnKind::Length),
        other => Err(to_py(&Error::invalid(format!("a column of the kind '{other}'")))),
    }
}

#[derive(Default)]
struct JoinedColumn {
    data: Vec<u8>,
    /// Only where a shard has one.
    validity: Option<Vec<u8>>,
    offsets: Vec<u8>,
    rows: u64,
}

/// A column of an MDS folder whose values have one fixed form; `None` for other columns.
pub fn fixed<'py>(
    py: Python<'py>,
    folder: &jinx_mds::read::folder::Folder,
    path: &[Option<String>],
    kind: &str,
) -> PyResult<Option<ColumnParts<'py>>> {
    let ([Some(name)], ColumnKind::Value) = (path, kind_of(kind)?) else { return Ok(None) };
    let found = py.detach(|| crate::mds::column::numbers(folder, name)).into_py_result()?;
    Ok(found.map(|(dtype, data)| (dtype, PyByteArray::new(py, &data), None, None)))
}

/// A stored column over all shards before the view; `None` when a shard has none or the types do not join.
pub fn stored<'py>(
    py: Python<'py>,
    shards: &Shards,
    path: &[Option<String>],
    kind: &str,
) -> PyResult<Option<ColumnParts<'py>>> {
    let kind = kind_of(kind)?;
    let joined = py.detach(|| join(shards, path, kind)).into_py_result()?;
    Ok(joined.map(|(dtype, joined)| {
        let bytes = |data: &[u8]| PyBytes::new(py, data);
        let validity = joined.validity.as_deref().map(bytes);
        let offsets = (dtype == ColumnType::Utf8).then(|| bytes(&joined.offsets));
        (dtype.name(), PyByteArray::new(py, &joined.data), validity, offsets)
    }))
}

fn join(
    shards: &Shards,
    path: &[Option<String>],
    kind: ColumnKind,
) -> Result<Option<(ColumnType, JoinedColumn)>> {
    let live: Vec<usize> = (0..shards.count()).filter(|i| shards.samples(*i) > 0).collect();
    let (mut types, mut has_validity) = (Vec::new(), false);
    for i in &live {
        let Some(info) = shards.shard(*i)?.column_info(path, kind) else { return Ok(None) };
        let Some(dtype) = ColumnType::from_name(&info.dtype) else { return Ok(None) };
        types.push(dtype);
        has_validity |= info.validity.is_some();
    }
    let Some(dtype) = common_type(&types) else { return Ok(None) };
    let mut joined = JoinedColumn { validity: has_validity.then(Vec::new), ..JoinedColumn::default() };
    if dtype == ColumnType::Utf8 {
        joined.offsets.extend_from_slice(&0u64.to_le_bytes());
    }
    for i in live {
        let Some(column) = shards.shard(i)?.column(path, kind)? else { return Ok(None) };
        joined.append(&column, dtype);
    }
    Ok(Some((dtype, joined)))
}

/// The narrowest type that holds all; `None` when there is none.
fn common_type(types: &[ColumnType]) -> Option<ColumnType> {
    use ColumnType as T;
    let first = *types.first()?;
    if types.iter().all(|other| *other == first) {
        return Some(first);
    }
    let is_unsigned = |t: &T| matches!(t, T::Uint8 | T::Uint16 | T::Uint32 | T::Uint64);
    let is_signed = |t: &T| matches!(t, T::Int8 | T::Int16 | T::Int32 | T::Int64);
    if types.iter().all(is_unsigned) {
        return Some(T::Uint64);
    }
    if types.iter().all(|t| is_signed(t) || (is_unsigned(t) && *t != T::Uint64)) {
        return Some(T::Int64);
    }
    let is_exact = |t: &T| *t == T::Float64 || ((is_signed(t) || is_unsigned(t)) && t.width() < Some(8));
    types.iter().all(is_exact).then_some(T::Float64)
}

impl JoinedColumn {
    fn append(&mut self, column: &IndexedColumn<'_>, dtype: ColumnType) {
        if let Some(validity) = &mut self.validity {
            for i in 0..column.rows {
                let row = self.rows + i;
                if row.is_multiple_of(8) {
                    validity.push(0);
                }
                if let Some(last) = validity.last_mut() {
                    *last |= u8::from(column.is_valid(i)) << (row % 8);
                }
            }
        }
        self.rows += column.rows;
        if column.dtype == dtype && dtype != ColumnType::Utf8 {
            self.data.extend_from_slice(&column.data);
            return;
        }
        for i in 0..column.rows {
            let cell = column.cell(i);
            if dtype == ColumnType::Utf8 {
                self.data.extend_from_slice(cell);
                let end = jinx_core::num::to_u64(self.data.len());
                self.offsets.extend_from_slice(&end.to_le_bytes());
            } else {
                self.data.extend_from_slice(&widen(column.dtype, cell, dtype));
            }
        }
    }
}

/// A cell as eight bytes of the wider type.
fn widen(from: ColumnType, cell: &[u8], to: ColumnType) -> [u8; 8] {
    let signed = matches!(from, ColumnType::Int8 | ColumnType::Int16 | ColumnType::Int32 | ColumnType::Int64);
    let fill = if signed && cell.last().is_some_and(|byte| *byte >= 0x80) { 0xff } else { 0 };
    let mut bits = [fill; 8];
    bits[..cell.len()].copy_from_slice(cell);
    if to == ColumnType::Float64 && from != ColumnType::Float64 {
        // Only integers of up to 32 bits are joined with floats.
        #[allow(clippy::cast_precision_loss)]
        let value = i64::from_le_bytes(bits) as f64;
        return value.to_le_bytes();
    }
    bits
}

/// The names in a dotted path, which quotes may surround.
#[pyfunction]
pub fn parse_path(text: &str) -> PyResult<Vec<String>> {
    fields::parse_path(text).into_py_result()
}

/// Measures every row of the view, on all cores; says too whether any row has something at the path.
pub fn scan<'py>(
    py: Python<'py>,
    reader: &Reader,
    path: &[String],
    kind: &str,
) -> PyResult<(Bound<'py, PyList>, bool)> {
    let kind = kind_of(kind)?;
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let count = reader.count();
    let mut measured: Vec<Option<Measure>> = Vec::with_capacity(count);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut start = 0;
    while start < count {
        let end = count.min(start + threads * ROWS_PER_THREAD);
        let block = py.detach(|| measure_block(reader, start..end, &path, kind, threads)).into_py_result()?;
        measured.extend(block);
        start = end;
        py.check_signals()?;
    }
    let found = measured.iter().any(Option::is_some);
    let objects: PyResult<Vec<Bound<'py, PyAny>>> =
        measured.into_iter().map(|m| object(py, m.unwrap_or(Measure::None))).collect();
    Ok((PyList::new(py, objects?)?, found))
}

fn measure_block(
    reader: &Reader,
    range: std::ops::Range<usize>,
    path: &[&str],
    kind: ColumnKind,
    threads: usize,
) -> Result<Vec<Option<Measure>>> {
    let measure = |i: usize| -> Result<Option<Measure>> {
        if reader.dataset.mds.is_some() {
            return crate::mds::column::measure(&reader.dataset, reader.position(i), path, kind);
        }
        let (shard, row) = reader.dataset.shards.locate(reader.position(i))?;
        shard.measure(row, path, kind)
    };
    let share = range.len().div_ceil(threads).max(1);
    let parts: Vec<Result<Vec<Option<Measure>>>> = std::thread::scope(|scope| {
        let workers: Vec<_> = range
            .clone()
            .step_by(share)
            .map(|start| {
                let end = range.end.min(start + share);
                scope.spawn(move || (start..end).map(measure).collect())
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| Err(error_of(&*panic, "a reading thread"))))
            .collect()
    });
    let mut all = Vec::with_capacity(range.len());
    for part in parts {
        all.extend(part?);
    }
    Ok(all)
}

fn object(py: Python<'_>, measure: Measure) -> PyResult<Bound<'_, PyAny>> {
    Ok(match measure {
        Measure::None => py.None().into_bound(py),
        Measure::Huge => {
            return Err(to_py(&Error::invalid("an integer of more than 64 bits in this column")));
        }
        Measure::Bool(value) => pyo3::types::PyBool::new(py, value).to_owned().into_any(),
        Measure::Int(value) => value.into_pyobject(py)?.into_any(),
        Measure::Uint(value) | Measure::Length(value) => value.into_pyobject(py)?.into_any(),
        Measure::Float(value) => value.into_pyobject(py)?.into_any(),
        Measure::Text(value) => value.into_pyobject(py)?.into_any(),
    })
}
