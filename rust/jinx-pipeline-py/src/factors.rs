//! Non-negative factors of a matrix.

use jinx_kernels::factors;
use jinx_pyo3::errors::IntoPy;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes};

/// Improves two factors of rank two. All are little-endian f32; returns the new factors, left before right.
#[pyfunction]
pub fn descend_factors<'py>(
    matrix: &Bound<'py, PyBytes>,
    left: &Bound<'_, PyBytes>,
    right: &Bound<'_, PyBytes>,
    iterations: u32,
    tolerance: f64,
) -> PyResult<(Bound<'py, PyByteArray>, Bound<'py, PyByteArray>)> {
    let py = matrix.py();
    let [raw_matrix, raw_left, raw_right] = [matrix, left, right].map(|bytes| bytes.as_bytes());
    let (left, right) = py
        .detach(|| {
            let (matrix, mut left, mut right) = (floats(raw_matrix), floats(raw_left), floats(raw_right));
            let columns = right.len() / 2;
            factors::descend(&matrix, columns, &mut left, &mut right, iterations, tolerance)
                .map(|()| (left, right))
        })
        .into_py_result()?;
    let array = |values: Vec<f32>| crate::kernels::array(py, values.into_iter().map(f32::to_le_bytes));
    Ok((array(left), array(right)))
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|chunk| f32::from_le_bytes(chunk.try_into().unwrap_or([0; 4]))).collect()
}
