//! Computes fingerprints and sizes for all samples of a view.

use crate::errors::IntoPy;
use jinx_core::checked_math::{to_u64, u64_at};
use jinx_core::fingerprint::{Fingerprint, Seen};
use jinx_core::row_events::{Number, Sink};
use jinx_core::sample_size::SizeOfSample;
use jinx_core::value::{TreeBuilder, Value};
use jinx_core::{Error, Result};
use jinx_dataset::{Dataset, Rows};
use jinx_format::expression::parallel::in_blocks;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Mutex, PoisonError};

/// Size of a fingerprint in bytes.
const WIDTH: usize = 16;

/// Returns 16 little-endian bytes for each sample: the fingerprint of its columns, or of its values at `paths`. The
/// fingerprint is 0 if one of these values is missing, null or NaN.
pub fn fingerprints<'py>(
    py: Python<'py>,
    view: &Dataset,
    paths: Option<&[Vec<String>]>,
) -> PyResult<Bound<'py, PyBytes>> {
    let rows = &*view.rows;
    let halves = py
        .detach(|| {
            in_blocks(to_u64(view.len()), None, |block| {
                let mut halves = Vec::with_capacity(2 * block.len());
                let mut sink = Fingerprint::default();
                for i in block {
                    let position = view.position(i);
                    let hash = match paths {
                        None => rows.emit(position, &mut sink).and_then(|()| sink.take()),
                        Some(paths) => of_paths(rows, position, paths, &mut sink),
                    };
                    let hash = hash.map_err(|error| error.in_sample(position))?;
                    let [low, high] = [hash, hash >> 64].map(|half| half & u128::from(u64::MAX));
                    for half in [low, high] {
                        halves.push(u64::try_from(half).unwrap_or(u64::MAX));
                    }
                }
                Ok(halves)
            })
        })
        .into_py_result()?;
    Ok(little_endian(py, &halves))
}

fn of_paths(rows: &dyn Rows, position: u64, paths: &[Vec<String>], sink: &mut Fingerprint) -> Result<u128> {
    let is_wanted = |name: &str| paths.iter().any(|path| path.first().is_some_and(|first| first == name));
    let mut tree = TreeBuilder::default();
    tree.begin_dict(0)?;
    rows.emit_members(position, &is_wanted, &mut tree)?;
    tree.end_dict()?;
    let sample = tree.take()?;
    sink.begin_list(paths.len())?;
    let mut is_missing = false;
    for path in paths {
        let value_at = path.iter().try_fold(&sample, |value, name| value.get(name));
        is_missing |= value_at.is_none_or(is_missing_key);
        value_at.unwrap_or(&Value::Null).emit(sink)?;
    }
    sink.end_list()?;
    let hash = sink.take()?;
    Ok(if is_missing { 0 } else { hash.max(1) })
}

/// NaN counts as missing, as in sorting.
fn is_missing_key(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Float(number) | Value::Scalar(_, Number::Float(number)) => number.is_nan(),
        _ => false,
    }
}

/// Returns the approximate size in bytes of each sample in a JINX file, as little-endian u64.
pub fn sizes<'py>(py: Python<'py>, view: &Dataset) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = py
        .detach(|| {
            in_blocks(to_u64(view.len()), None, |block| {
                let mut sink = SizeOfSample::default();
                let size = |i| {
                    let position = view.position(i);
                    view.rows.emit(position, &mut sink).map_err(|error| error.in_sample(position))?;
                    Ok(sink.take())
                };
                block.map(size).collect()
            })
        })
        .into_py_result()?;
    Ok(little_endian(py, &bytes))
}

fn little_endian<'py>(py: Python<'py>, numbers: &[u64]) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    PyBytes::new(py, &bytes)
}

/// A set of fingerprints.
#[pyclass(frozen, module = "jinx._core")]
pub struct SeenFingerprints(Mutex<Seen>);

#[pymethods]
impl SeenFingerprints {
    #[new]
    fn new(limit: usize) -> PyResult<Self> {
        Ok(Self(Mutex::new(Seen::with_limit(limit).into_py_result()?)))
    }

    /// Adds fingerprints of 16 bytes each. Returns for each fingerprint 1 if it is new, else 0.
    fn add<'py>(&self, py: Python<'py>, fingerprints: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let is_new = py
            .detach(|| {
                let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                let insert = |bytes_of_one: &[u8]| {
                    let half =
                        |at| u64_at(bytes_of_one, at).ok_or_else(|| Error::invalid("half a fingerprint"));
                    let hash = u128::from(half(0)?) | u128::from(half(8)?) << 64;
                    seen.insert(hash).map(u8::from)
                };
                fingerprints.chunks(WIDTH).map(insert).collect::<Result<Vec<u8>>>()
            })
            .into_py_result()?;
        Ok(PyBytes::new(py, &is_new))
    }
}
