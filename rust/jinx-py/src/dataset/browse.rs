//! What `jinx view` needs of all samples at once; see `jinx_dataset::browse`.

use crate::dataset::columns::kind_of;
use crate::dataset::reader::Reader;
use crate::errors::{IntoPy, to_py};
use jinx_core::Error;
use jinx_dataset::browse;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::sync::{Mutex, PoisonError};

/// The numbers of a column in the order of a view.
#[pyclass(frozen, module = "jinx._core")]
pub struct ViewNumbers(browse::Numbers);

#[pymethods]
impl ViewNumbers {
    /// The numbers or lengths at a path; None if the values are not numbers.
    #[staticmethod]
    fn read(
        py: Python<'_>,
        reader: &Bound<'_, Reader>,
        path: Vec<String>,
        kind: &str,
    ) -> PyResult<Option<Self>> {
        let (kind, view) = (kind_of(kind)?, &reader.get().view);
        let numbers = py.detach(|| browse::Numbers::read(view, &path, kind)).into_py_result()?;
        Ok(numbers.map(Self))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// The smallest and the largest finite number, or None; the number of samples without a number; and whether all
    /// numbers are integers.
    fn range(&self, py: Python<'_>) -> (Option<(f64, f64)>, u64, bool) {
        py.detach(|| (self.0.range(), self.0.missing(), self.0.is_integer()))
    }

    /// For each sample, the number of its bin; `edges` are the lower edges of all bins except the first.
    fn codes<'py>(&self, py: Python<'py>, edges: Vec<f64>) -> PyResult<Bound<'py, PyBytes>> {
        let codes = py.detach(|| self.0.codes(&edges)).into_py_result()?;
        Ok(PyBytes::new(py, &codes))
    }
}

/// Pages of a sorted view.
#[pyclass(frozen, module = "jinx._core")]
pub struct SortedPages(Mutex<browse::SortedPages>);

#[pymethods]
impl SortedPages {
    /// If `chosen` is given, only these samples (as bits).
    #[new]
    fn new(
        py: Python<'_>,
        numbers: &Bound<'_, ViewNumbers>,
        chosen: Option<PyBackedBytes>,
        is_descending: bool,
    ) -> PyResult<Self> {
        let numbers = &numbers.get().0;
        let pages = py.detach(|| {
            let chosen =
                chosen.as_deref().map(|bits| browse::Selected::new(bits, numbers.len())).transpose()?;
            browse::SortedPages::new(numbers, chosen, is_descending)
        });
        Ok(Self(Mutex::new(pages.into_py_result()?)))
    }

    /// The samples of a page as little-endian u32; None if `numbers` are needed because the page is not sorted yet.
    #[pyo3(signature = (start, count, numbers = None))]
    fn page<'py>(
        &self,
        py: Python<'py>,
        start: usize,
        count: usize,
        numbers: Option<&Bound<'py, ViewNumbers>>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let numbers = numbers.map(|numbers| &numbers.get().0);
        let page = py.detach(|| {
            let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            match numbers {
                Some(numbers) => pages.sort_page(numbers, start, count)?,
                None if !pages.is_ready(start, count) => return Ok(None),
                None => {}
            }
            let samples = pages.page(start, count).iter().flat_map(|sample| sample.to_le_bytes());
            Ok::<_, Error>(Some(samples.collect::<Vec<u8>>()))
        });
        Ok(page.into_py_result()?.map(|page| PyBytes::new(py, &page)))
    }
}

/// The distinct strings at a path, and a code for each sample; None if there are more than `most` strings, or values of
/// other types.
#[pyfunction]
pub fn view_categories<'py>(
    py: Python<'py>,
    reader: &Bound<'py, Reader>,
    path: Vec<String>,
    most: usize,
) -> PyResult<Option<(Vec<String>, Bound<'py, PyBytes>)>> {
    let view = &reader.get().view;
    let found = py.detach(|| browse::categories(view, &path, most)).into_py_result()?;
    Ok(found.map(|found| (found.names, PyBytes::new(py, &found.codes))))
}

/// For each column, counts by code the samples that all *other* columns keep, and the samples that all columns keep.
///
/// Each of `columns` is its codes, and a table of 256 bytes with 1 for each kept code. With `among`, only
/// samples whose bit in it is 1 count: bit `i % 8`, counted from the lowest, of byte `i / 8`.
#[pyfunction]
pub fn view_counts(
    py: Python<'_>,
    columns: Vec<(PyBackedBytes, PyBackedBytes)>,
    among: Option<PyBackedBytes>,
    samples: usize,
) -> PyResult<(Vec<Vec<u64>>, u64)> {
    let kept = kept_of(&columns)?;
    let counts = py.detach(|| {
        let among = among.as_deref().map(|bits| browse::Selected::new(bits, samples)).transpose()?;
        browse::linked_counts(&kept_codes(&columns, &kept), among, samples)
    });
    let counts = counts.into_py_result()?;
    Ok((counts.by_column.iter().map(|column| column.to_vec()).collect(), counts.kept))
}

/// The samples that all columns keep, as bits; see `view_counts`.
#[pyfunction]
pub fn view_kept<'py>(
    py: Python<'py>,
    columns: Vec<(PyBackedBytes, PyBackedBytes)>,
    among: Option<PyBackedBytes>,
    samples: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let kept = kept_of(&columns)?;
    let kept = py.detach(|| {
        let among = among.as_deref().map(|bits| browse::Selected::new(bits, samples)).transpose()?;
        browse::kept_samples(&kept_codes(&columns, &kept), among, samples)
    });
    Ok(PyBytes::new(py, &kept.into_py_result()?))
}

/// Which codes of each column are kept.
fn kept_of(columns: &[(PyBackedBytes, PyBackedBytes)]) -> PyResult<Vec<[bool; 256]>> {
    let kept = |(_, kept): &(PyBackedBytes, PyBackedBytes)| {
        let kept: &[u8; 256] =
            kept[..].try_into().map_err(|_| to_py(&Error::invalid("give 256 bytes for a column")))?;
        Ok(kept.map(|kept| kept != 0))
    };
    columns.iter().map(kept).collect()
}

fn kept_codes<'c>(
    columns: &'c [(PyBackedBytes, PyBackedBytes)],
    kept: &'c [[bool; 256]],
) -> Vec<browse::KeptCodes<'c>> {
    columns.iter().zip(kept).map(|((codes, _), is_kept)| browse::KeptCodes { codes, is_kept }).collect()
}

/// The first `limit` samples of the view in start..stop that have a string containing `word`.
#[pyfunction]
pub fn view_search(
    py: Python<'_>,
    reader: &Bound<'_, Reader>,
    word: &str,
    start: usize,
    stop: usize,
    limit: u64,
) -> PyResult<Vec<u64>> {
    let view = &reader.get().view;
    py.detach(|| browse::search(view, word, start..stop, limit)).into_py_result()
}
