//! Packing for Python: takes arrays, and returns bytes that are read as arrays.

use crate::errors::{IntoPy, to_py};
use jinx_core::Error;
use jinx_pack::{MixtureSource, Oversize, Request, Strategy, Stream, permutation};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

fn strategy_of(name: &str) -> PyResult<Strategy> {
    match name {
        "next_fit" => Ok(Strategy::NextFit),
        "first_fit_decreasing" => Ok(Strategy::FirstFitDecreasing),
        "best_fit_decreasing" => Ok(Strategy::BestFitDecreasing),
        "knapsack" => Ok(Strategy::Knapsack),
        other => Err(to_py(&Error::invalid(format!("the strategy '{other}' is not known")))),
    }
}

fn little_endian<'py>(py: Python<'py>, values: &[u32]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, values.len() * 4, |bytes| {
        for (bytes, value) in bytes.chunks_exact_mut(4).zip(values) {
            bytes.copy_from_slice(&value.to_le_bytes());
        }
        Ok(())
    })
}

/// Offsets, positions, and the numbers of samples that are empty, too large or truncated.
type Packed<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, (u64, u64, u64));

/// Packs the samples of an epoch.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
#[pyo3(signature = (sizes, capacities, *, strategy, window, truncate, sources, seed, epoch, threads))]
pub fn pack<'py>(
    py: Python<'py>,
    sizes: Vec<PyBuffer<u32>>,
    capacities: Vec<u32>,
    strategy: &str,
    window: usize,
    truncate: bool,
    sources: Vec<(u32, u64, u64)>,
    seed: Option<u64>,
    epoch: u64,
    threads: usize,
) -> PyResult<Packed<'py>> {
    // Copy the arrays: Python may change them while the GIL is released.
    let columns = sizes.iter().map(|column| column.to_vec(py)).collect::<PyResult<Vec<_>>>()?;
    let request = Request {
        sizes: columns.iter().map(Vec::as_slice).collect(),
        capacities,
        strategy: strategy_of(strategy)?,
        window,
        oversize: if truncate { Oversize::Truncate } else { Oversize::Drop },
        sources: sources
            .into_iter()
            .map(|(samples, draws, start)| MixtureSource { samples, draws, start })
            .collect(),
        seed,
        epoch,
        threads,
    };
    let plan = py.detach(|| jinx_pack::pack(&request)).into_py_result()?;
    let left_out = (plan.left_out.empty, plan.left_out.oversize, plan.left_out.truncated);
    Ok((little_endian(py, &plan.offsets)?, little_endian(py, &plan.positions)?, left_out))
}

/// The shuffled order of the pack groups in one window of a schedule.
#[pyfunction]
pub fn step_order(count: u64, seed: u64, epoch: u64, window: u64) -> Vec<u64> {
    let order = permutation(count, seed, epoch, Stream::Steps(window));
    (0..count).map(|place| order.at(place)).collect()
}
