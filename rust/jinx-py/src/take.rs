//! Many samples in one call: lines and media are read in file order, results come in the caller's order.

use crate::home::Home;
use crate::sample::LazyDict;
use pyo3::prelude::*;
use std::sync::Arc;

/// The samples at `positions`, with `fields` (or all) decoded.
pub fn samples<'py>(
    py: Python<'py>,
    home: &Arc<Home>,
    positions: &[u64],
    fields: Option<&[String]>,
) -> PyResult<Vec<Bound<'py, LazyDict>>> {
    let samples = positions
        .iter()
        .map(|position| Bound::new(py, LazyDict::new(Arc::clone(home), *position)))
        .collect::<PyResult<Vec<_>>>()?;
    let mut order: Vec<usize> = (0..positions.len()).collect();
    order.sort_unstable_by_key(|i| positions[*i]);
    for i in order {
        samples[i].get().touch(py, fields)?;
    }
    Ok(samples)
}
