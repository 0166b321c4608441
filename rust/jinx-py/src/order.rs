//! Orders of samples: shuffled, or sorted by keys.

use crate::dataset::columns::kind_of;
use crate::dataset::reader::Reader;
use crate::errors::{IntoPy, to_py};
use jinx_core::checked_math::to_u64;
use jinx_core::{Error, Result};
use jinx_dataset::{ColumnData, Dataset};
use jinx_format::fields::Measure;
use jinx_order::{
    Direction, KeyBytes, KeyValue, Order, Passes, Permutation, SidecarValues, Sorted, Sorter, key_at,
};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyFloat, PyInt, PyString, PyTuple};
use std::borrow::Cow;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{self, AtomicBool};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The sample numbers of a view in a new order.
#[pyclass(frozen, module = "jinx._core", name = "Ordering")]
pub struct Ordering(pub Arc<Order>);

#[pymethods]
impl Ordering {
    /// Shuffles `samples` samples by a seed.
    #[staticmethod]
    fn shuffled(samples: u64, seed: u64) -> Self {
        Self(Arc::new(Order::Shuffled(Permutation::new(samples, seed))))
    }

    /// Keeps the order of `samples` samples.
    #[staticmethod]
    fn unchanged(samples: u64) -> Self {
        Self(Arc::new(Order::Unchanged(samples)))
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.0.len()).unwrap_or(usize::MAX)
    }

    /// The sample numbers at `start..stop` of the order, as little-endian u64.
    fn positions<'py>(&self, py: Python<'py>, start: u64, stop: u64) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| {
            let mut positions_read = Vec::new();
            self.0.read(start..stop, &mut positions_read)?;
            Ok(positions_read.iter().flat_map(|position| position.to_le_bytes()).collect::<Vec<u8>>())
        });
        Ok(PyBytes::new(py, &bytes.into_py_result()?))
    }
}

/// The number of runs (None: a single pass) and the size of the temporary files in bytes. `values`: the mean size of a
/// sample's values in sidecars, and the largest sidecar; None for samples in other formats.
#[pyfunction]
pub fn plan_order(
    py: Python<'_>,
    samples: u64,
    bytes: u64,
    memory: u64,
    values: Option<(u64, PathBuf)>,
) -> (Option<u64>, u64) {
    let passes = py.detach(|| {
        let values = values.as_ref().map(|(mean, largest)| SidecarValues { mean: *mean, largest });
        Passes::choose(samples, bytes, memory, values)
    });
    let runs = match passes {
        Passes::One => None,
        Passes::Two { runs } => Some(runs),
    };
    (runs, passes.temporary_bytes(samples, bytes))
}

/// Sorts samples by keys. Add the keys in the order of the samples.
#[pyclass(frozen, module = "jinx._core", name = "SortKeys")]
pub struct SortKeys(Mutex<Option<Sorter>>);

impl SortKeys {
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Option<Sorter>> {
        self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }
}

fn finished() -> PyErr {
    to_py(&Error::invalid("these keys are sorted already"))
}

#[pymethods]
impl SortKeys {
    /// `directions`: for each key, whether its order is descending and whether numbers in strings count as numbers.
    #[new]
    fn new(directions: Vec<(bool, bool)>, folder: PathBuf, memory: u64, drop_missing: bool) -> Self {
        let directions: Vec<Direction> = directions
            .into_iter()
            .map(|(is_descending, is_natural)| Direction { is_descending, is_natural })
            .collect();
        Self(Mutex::new(Some(Sorter::new(&directions, &folder, memory, drop_missing))))
    }

    /// Adds all samples of a view. Their keys are the values or lengths at the paths. Returns for each path whether any
    /// sample has a value there.
    fn add_paths(
        &self,
        py: Python<'_>,
        reader: &Bound<'_, Reader>,
        keys: Vec<(Vec<String>, String)>,
    ) -> PyResult<Vec<bool>> {
        let view = &reader.get().view;
        let keys = keys.into_iter().map(|(path, kind)| Ok((path, kind_of(&kind)?)));
        let keys: Vec<_> = keys.collect::<PyResult<_>>()?;
        let mut state = self.lock(py);
        let sorter = state.as_mut().ok_or_else(finished)?;
        py.detach(|| {
            let mut sources = Vec::new();
            for (path, kind) in &keys {
                let path: Vec<Option<String>> = path.iter().cloned().map(Some).collect();
                // If there is no stored column, the keys are taken from the samples.
                sources.push(view.rows.column(&path, *kind)?.map(comparable).transpose()?);
            }
            let sources = sources.iter().map(|column| column.as_ref().map(ColumnData::view).transpose());
            let sources = sources.collect::<Result<Vec<_>>>()?;
            if let [Some(column)] = sources.as_slice()
                && sorter.add_column(*column, to_u64(view.len()), &|sample| position_of(view, sample))?
            {
                return Ok(vec![true]);
            }
            let exist: Vec<AtomicBool> =
                sources.iter().map(|source| AtomicBool::new(source.is_some())).collect();
            let measure = |range: Range<usize>| {
                let measured =
                    sources.iter().zip(&keys).zip(&exist).map(|((source, (path, kind)), exist)| {
                        if source.is_some() {
                            return Ok(Vec::new());
                        }
                        let path: Vec<&str> = path.iter().map(String::as_str).collect();
                        let mut positions = range.clone().map(|i| view.position(i));
                        let measured = view.rows.measure(&mut positions, &path, *kind)?;
                        if measured.iter().any(Option::is_some) {
                            exist.store(true, atomic::Ordering::Relaxed);
                        }
                        Ok(measured)
                    });
                Ok((range.start, measured.collect::<Result<Vec<_>>>()?))
            };
            sorter.add(view.len(), &measure, &|(start, measured), i, out| {
                sources.iter().zip(measured).try_for_each(|(source, measured)| match source {
                    Some(column) => out.push(&key_at(column, view.position(i))?),
                    None => push_measure(out, measured[i - start].as_ref()),
                })
            })?;
            let exist = exist.into_iter().map(AtomicBool::into_inner).collect();
            Ok(exist)
        })
        .into_py_result()
    }

    /// Adds samples with keys from Python: one value for each sample, or a tuple if there are several keys.
    fn add_values(&self, py: Python<'_>, values: Vec<Bound<'_, PyAny>>) -> PyResult<()> {
        let mut keys = Vec::with_capacity(values.len());
        for value in &values {
            keys.push(match value.cast::<PyTuple>() {
                Ok(parts) => parts.iter().map(|part| key_of(&part)).collect::<PyResult<Vec<_>>>()?,
                Err(_) => vec![key_of(value)?],
            });
        }
        let mut state = self.lock(py);
        let sorter = state.as_mut().ok_or_else(finished)?;
        py.detach(|| {
            sorter
                .add(keys.len(), &|_| Ok(()), &|(), i, out| keys[i].iter().try_for_each(|key| out.push(key)))
        })
        .into_py_result()
    }

    /// Returns the order, and the number of samples without a key.
    fn finish(&self, py: Python<'_>) -> PyResult<(Ordering, u64)> {
        let sorter = self.lock(py).take().ok_or_else(finished)?;
        let Sorted { order, missing } = py.detach(|| sorter.finish()).into_py_result()?;
        Ok((Ordering(Arc::new(order)), missing))
    }
}

fn position_of(view: &Dataset, sample: u64) -> u64 {
    usize::try_from(sample).map_or(u64::MAX, |sample| view.position(sample))
}

fn comparable(column: ColumnData) -> Result<ColumnData> {
    if column.width.is_some() {
        return Err(Error::invalid("vectors have no order; sort by a number"));
    }
    // Inputs may code equal strings differently, or use other units of time, so compare the values of samples.
    column.with_plain_strings()
}

fn push_measure(out: &mut KeyBytes, measure: Option<&Measure>) -> Result<()> {
    let key = match measure {
        None | Some(Measure::None) => KeyValue::Missing,
        Some(Measure::Bool(value)) => KeyValue::Int(i128::from(*value)),
        Some(Measure::Int(value)) => KeyValue::Int(i128::from(*value)),
        Some(Measure::Uint(value) | Measure::Length(value)) => KeyValue::Int(i128::from(*value)),
        Some(Measure::Float(value)) => KeyValue::Float(*value),
        Some(Measure::Text(text)) => KeyValue::Text(Cow::Borrowed(text)),
        Some(Measure::Huge(digits)) => KeyValue::Huge(Cow::Borrowed(digits)),
    };
    out.push(&key)
}

fn key_of(value: &Bound<'_, PyAny>) -> PyResult<KeyValue<'static>> {
    if value.is_none() {
        return Ok(KeyValue::Missing);
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(KeyValue::Text(Cow::Owned(text.to_str()?.to_owned())));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(KeyValue::Float(value.extract()?));
    }
    let is_int = value.is_instance_of::<PyInt>() || value.hasattr("__index__")?;
    if is_int {
        let whole = value.extract::<i128>().ok();
        return Ok(match whole.filter(|whole| (i64::MIN.into()..=u64::MAX.into()).contains(whole)) {
            Some(whole) => KeyValue::Int(whole),
            // A subclass may have a different `__str__`.
            None => KeyValue::Huge(Cow::Owned(value.call_method0("__index__")?.str()?.extract()?)),
        });
    }
    if value.hasattr("__float__")? {
        return Ok(KeyValue::Float(value.extract()?));
    }
    let name = value.get_type().name()?;
    let what = format!("a sort key of type {name}; a key is a number, a string, None, or a tuple of them");
    Err(pyo3::exceptions::PyTypeError::new_err(what))
}
