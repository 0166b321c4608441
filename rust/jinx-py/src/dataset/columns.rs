//! Columns for Python: returns stored columns, and measures others row by row without the GIL.

use crate::errors::{IntoPy, to_py};
use crate::ffi::shared_bytes::SharedBytes;
use crate::prefetch::iteration::density_at;
use bytes::Bytes;
use jinx_core::cores::usable_cores;
use jinx_core::panics::caught;
use jinx_core::threads;
use jinx_core::{Error, Result};
use jinx_dataset::{ColumnData, Dataset};
use jinx_format::expression::Expression;
use jinx_format::fields::{self, Measure};
use jinx_format::read::columns::ColumnKind;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList};
use std::ops::Range;

/// dtype, data, validity bitmap, string offsets, numbers of each vector, whether the type is the column's own, and the
/// codes of strings.
///
/// The caller owns the data and may change them, except those of a column with a type of its own, which are shared.
pub type ColumnParts<'py> = (
    &'static str,
    Bound<'py, PyAny>,
    Option<Bound<'py, PyBytes>>,
    Option<Bound<'py, PyBytes>>,
    Option<u64>,
    bool,
    Option<Bound<'py, PyAny>>,
);

/// A thread measures this many samples before it checks whether another thread failed.
const SAMPLES_PER_THREAD: usize = 4096;
/// Starting a thread takes about as long as measuring this many small samples.
const MIN_SAMPLES_PER_THREAD: usize = 16;

pub fn kind_of(kind: &str) -> PyResult<ColumnKind> {
    match kind {
        "value" => Ok(ColumnKind::Value),
        "length" => Ok(ColumnKind::Length),
        other => Err(to_py(&Error::invalid(format!("a column of the kind '{other}'")))),
    }
}

/// Returns a column for all samples in the files, if it is known without reading the samples.
pub fn stored<'py>(
    py: Python<'py>,
    view: &Dataset,
    path: &[Option<String>],
    kind: &str,
) -> PyResult<Option<ColumnParts<'py>>> {
    let kind = kind_of(kind)?;
    let column = py.detach(|| view.rows.column(path, kind)).into_py_result()?;
    let Some(ColumnData { dtype, width, is_typed, data, validity, offsets, codes, .. }) = column else {
        return Ok(None);
    };
    let bytes = |data: Bytes| PyBytes::new(py, &data);
    let data = match is_typed {
        true => Bound::new(py, SharedBytes(data))?.into_any(),
        false => PyByteArray::new(py, &data).into_any(),
    };
    let codes = codes.map(|codes| Bound::new(py, SharedBytes(codes)).map(Bound::into_any)).transpose()?;
    Ok(Some((dtype, data, validity.map(bytes), offsets.map(bytes), width, is_typed, codes)))
}

/// Splits a dotted path into names. Names may be quoted.
#[pyfunction]
pub fn parse_path(text: &str) -> PyResult<Vec<String>> {
    fields::parse_path(text).into_py_result()
}

/// Returns the paths in an expression as they are written there.
#[pyfunction]
pub fn expression_paths(expression: &str) -> PyResult<Vec<String>> {
    let parsed = Expression::parse(expression).into_py_result()?;
    Ok(parsed.paths().iter().map(|path| path.text.clone()).collect())
}

/// Measures every sample of the view on all cores. Also returns whether any sample has a value at the path.
pub fn scan<'py>(
    py: Python<'py>,
    view: &Dataset,
    path: &[String],
    kind: &str,
) -> PyResult<(Bound<'py, PyList>, bool)> {
    let kind = kind_of(kind)?;
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let count = view.len();
    let mut measured: Vec<Option<Measure>> = Vec::with_capacity(count);
    let threads = usable_cores();
    let mut start = 0;
    while start < count {
        let end = count.min(start + threads * SAMPLES_PER_THREAD);
        let block = py.detach(|| {
            let positions: Vec<u64> = (start..end).map(|at| view.position(at)).collect();
            view.rows.will_need(&positions, &|_| false, density_at(view, start));
            measure_block(view, start..end, &path, kind, threads)
        });
        let block = block.into_py_result()?;
        measured.extend(block);
        start = end;
        py.check_signals()?;
    }
    let has_values = measured.iter().any(Option::is_some);
    let objects: PyResult<Vec<Bound<'py, PyAny>>> =
        measured.into_iter().map(|m| object(py, m.unwrap_or(Measure::None))).collect();
    Ok((PyList::new(py, objects?)?, has_values))
}

/// Measures the samples `range` of a view on several threads.
///
/// # Errors
/// The same as `Rows::measure`.
fn measure_block(
    view: &Dataset,
    range: Range<usize>,
    path: &[&str],
    kind: ColumnKind,
    threads: usize,
) -> Result<Vec<Option<Measure>>> {
    let measure = |share: Range<usize>| {
        let mut positions = share.map(|i| view.position(i));
        view.rows.measure(&mut positions, path, kind)
    };
    let share = range.len().div_ceil(threads).max(MIN_SAMPLES_PER_THREAD);
    if range.len() <= share {
        return caught(|| measure(range), "reading");
    }
    let starts = range.clone().step_by(share);
    let part = |start: usize, _| measure(start..range.end.min(start + share));
    let mut all = Vec::with_capacity(range.len());
    for part in threads::map(threads, starts, "a reading thread", part) {
        all.extend(part?);
    }
    Ok(all)
}

fn object(py: Python<'_>, measure: Measure) -> PyResult<Bound<'_, PyAny>> {
    Ok(match measure {
        Measure::None => py.None().into_bound(py),
        Measure::Huge(_) => {
            return Err(to_py(&Error::invalid("an integer of more than 64 bits in this column")));
        }
        Measure::Bool(value) => pyo3::types::PyBool::new(py, value).to_owned().into_any(),
        Measure::Int(value) => value.into_pyobject(py)?.into_any(),
        Measure::Uint(value) | Measure::Length(value) => value.into_pyobject(py)?.into_any(),
        Measure::Float(value) => value.into_pyobject(py)?.into_any(),
        Measure::Text(value) => value.into_pyobject(py)?.into_any(),
    })
}
