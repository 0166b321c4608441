//! `Reader`: a view of the samples in files. `jinx.Dataset` derives from it.

use crate::dataset::handle::{PositionsHandle, RowsHandle};
use crate::dataset::iterator::{SampleIterator, no_end_of_loop};
use crate::dataset::open::{OpenArguments, Place};
use crate::dataset::python_rows::PythonRows;
use crate::dataset::{arrow_stream, columns, measures, roots, take};
use crate::errors::{IntoPy, out_of_range, to_py};
use crate::objects::build::plain_json;
use crate::sample::decoders::{Decoders, members};
use crate::sample::lazy_dict::LazyDict;
use jinx_core::Error;
use jinx_dataset::{Dataset, Projection};
use pyo3::PyTraverseError;
use pyo3::exceptions::{PyIndexError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyInt, PyList, PyString};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

/// Files opened as one sequence of samples, with an optional view.
#[pyclass(frozen, subclass, weakref, module = "jinx._core", name = "Reader")]
pub struct Reader {
    pub view: Dataset,
    pub decoders: Decoders,
    transforms: Vec<Py<PyAny>>,
    lazy: bool,
    /// The options used to open the files, to open them again in another process.
    options: Py<PyDict>,
    /// How Python builds a view that has columns of its own or is based on several datasets.
    definition: Option<Py<PyAny>>,
}

impl Reader {
    /// Sample `i` of the view, transformed.
    fn sample<'py>(&self, py: Python<'py>, i: usize) -> PyResult<Bound<'py, PyAny>> {
        self.check_open()?;
        let stored = self.view.rows.sample(self.view.position(i)).into_py_result()?;
        self.finish(py, Bound::new(py, LazyDict::new(stored, self.decoders.clone_ref(py)))?)
    }

    pub fn check_open(&self) -> PyResult<()> {
        self.view.rows.check_open().into_py_result()
    }

    fn checked(&self, index: isize) -> PyResult<usize> {
        let len = self.view.len();
        let shifted = if index < 0 { index.checked_add_unsigned(len) } else { Some(index) };
        shifted
            .and_then(|index| usize::try_from(index).ok())
            .filter(|index| *index < len)
            .ok_or_else(|| out_of_range(index, len))
    }

    fn many<'py>(
        &self,
        py: Python<'py>,
        indices: &Bound<'py, PyAny>,
        columns: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let checked = self.checked_indices(indices)?;
        let positions: Vec<u64> = checked.iter().map(|i| self.view.position(*i)).collect();
        let samples = take::samples(py, &self.view.rows, &self.decoders, &positions, columns.as_deref())?;
        let finished: PyResult<Vec<_>> = samples.into_iter().map(|sample| self.finish(py, sample)).collect();
        PyList::new(py, finished?)
    }

    /// Indices into the view, counted from its start.
    pub fn checked_indices(&self, indices: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
        self.check_open()?;
        let mut checked = Vec::new();
        for index in indices.try_iter()? {
            let index = index?;
            if index.is_instance_of::<PyBool>() {
                return Err(PyTypeError::new_err(
                    "samples are taken by position; a mask makes a view: ds[mask]",
                ));
            }
            checked.push(self.checked(number(&index)?)?);
        }
        Ok(checked)
    }

    fn derived(&self, py: Python<'_>, changes: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        self.check_open()?;
        let mut rows = Arc::clone(&self.view.rows);
        let mut columns = rows.projection().columns.clone();
        let mut decoders = self.decoders.clone_ref(py);
        let mut order = self.view.positions.clone();
        let mut transforms: Vec<Py<PyAny>> = self.transforms.iter().map(|f| f.clone_ref(py)).collect();
        let mut lazy = self.lazy;
        let mut definition = self.definition.as_ref().map(|definition| definition.clone_ref(py));
        let mut options = self.options.clone_ref(py);
        for (name, value) in changes.map(members).unwrap_or_default() {
            match name.extract::<String>()?.as_str() {
                "indices" if value.is_none() => order = None,
                "indices" => {
                    order = Some(match value.cast::<PositionsHandle>() {
                        Ok(found) => Arc::clone(&found.get().0),
                        Err(_) => Arc::new(positions(&value, rows.files().samples)?),
                    });
                }
                "columns" => columns = value.extract()?,
                "decoders" => decoders = Decoders::new(value.extract()?),
                // Set this before the indices, which refer to the new rows.
                "rows" => rows = Arc::clone(&value.cast::<RowsHandle>()?.get().0),
                "definition" => definition = Some(value.unbind()),
                // The options with which the new rows were opened, if different.
                "options" => {
                    let all = options.bind(py).copy()?;
                    all.update(value.cast()?)?;
                    options = all.unbind();
                }
                "transforms" => transforms = value.extract()?,
                "lazy" => lazy = value.extract()?,
                other => return Err(PyTypeError::new_err(format!("_derive() has no argument '{other}'"))),
            }
        }
        let hidden = rows.projection().hidden.clone();
        let projection = Projection { columns, hidden, pixels: decoders.pixels(py)?, touched: None };
        let view = Dataset { rows: rows.with_projection(projection), positions: order };
        Ok(Self { view, decoders, transforms, lazy, options, definition })
    }

    pub fn finish<'py>(&self, py: Python<'py>, sample: Bound<'py, LazyDict>) -> PyResult<Bound<'py, PyAny>> {
        if self.lazy && self.transforms.is_empty() {
            return Ok(sample.into_any());
        }
        let no_end = |error| no_end_of_loop(py, error);
        let mut sample = match self.lazy {
            true => sample.into_any(),
            false => sample.get().decoded(py).map_err(no_end)?.into_any(),
        };
        for transform in &self.transforms {
            sample = transform.bind(py).call1((sample,)).map_err(no_end)?;
        }
        Ok(sample)
    }
}

/// Converts an index. An integer too large for `isize` is out of range like any other index.
fn number(index: &Bound<'_, PyAny>) -> PyResult<isize> {
    index.extract::<isize>().map_err(|error| {
        if error.is_instance_of::<PyOverflowError>(index.py()) {
            PyIndexError::new_err("this index is out of range for any dataset")
        } else {
            error
        }
    })
}

/// Little-endian u64 positions, from bytes or from a sequence of integers.
pub fn positions(indices: &Bound<'_, PyAny>, total: u64) -> PyResult<Vec<u64>> {
    let positions: Vec<u64> = match indices.cast::<PyBytes>() {
        Ok(bytes) => bytes
            .as_bytes()
            .chunks_exact(8)
            .map(|chunk| chunk.try_into().map(u64::from_le_bytes).unwrap_or_default())
            .collect(),
        Err(_) => indices.extract()?,
    };
    match positions.iter().find(|position| **position >= total) {
        Some(position) => Err(PyValueError::new_err(format!("position {position} of a dataset of {total}"))),
        None => Ok(positions),
    }
}

#[pymethods]
impl Reader {
    #[new]
    #[pyo3(signature = (shards = Vec::new(), *, io = "auto", verify = "full", lazy = true, encoding = None, split = None,
                        plain = false, markers = false, max_value_bytes = None, expected = None, decoders = None, mds = None,
                        location = None, value_head = None, storage = None, _base = None, _changes = None))]
    #[allow(clippy::too_many_arguments, clippy::fn_params_excessive_bools)]
    fn new(
        py: Python<'_>,
        shards: Vec<PathBuf>,
        io: &str,
        verify: &str,
        lazy: bool,
        encoding: Option<&str>,
        split: Option<&str>,
        plain: bool,
        markers: bool,
        max_value_bytes: Option<u64>,
        expected: Option<Vec<(u64, String)>>,
        decoders: Option<Py<PyDict>>,
        mds: Option<&Bound<'_, PyDict>>,
        location: Option<Place>,
        value_head: Option<u64>,
        storage: Option<BTreeMap<String, String>>,
        _base: Option<&Bound<'_, Self>>,
        _changes: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        if let Some(base) = _base {
            return base.get().derived(py, _changes);
        }
        let decoders = Decoders::new(decoders);
        let projection = Projection { pixels: decoders.pixels(py)?, ..Projection::default() };
        let arguments = OpenArguments {
            io,
            verify,
            encoding,
            split,
            plain,
            markers,
            max_value_bytes,
            expected,
            value_head,
            location,
            mds,
            storage,
        };
        let options = arguments.to_dict(py, lazy)?;
        let rows = arguments.open(py, shards)?;
        match rows.kind() {
            "jsonl" => options.set_item("plain", true)?,
            "mds" if mds.is_none() => options.set_item("mds", PyDict::new(py))?,
            _ => {}
        }
        let options = options.unbind();
        let rows = if projection.pixels.is_empty() { rows } else { rows.with_projection(projection) };
        let view = Dataset { rows, positions: None };
        Ok(Self { view, decoders, transforms: Vec::new(), lazy, options, definition: None })
    }

    fn __len__(&self) -> PyResult<usize> {
        self.check_open()?;
        Ok(self.view.len())
    }

    /// Closes the files for all views, iterators and samples over them.
    fn _close(&self) {
        self.view.rows.close();
    }

    fn _is_closed(&self) -> bool {
        self.view.rows.check_open().is_err()
    }

    fn __getitem__<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let this = slf.get();
        if key.is_exact_instance_of::<PyInt>() {
            return this.sample(slf.py(), this.checked(number(key)?)?);
        }
        let is_number =
            !key.is_instance_of::<PyString>() && key.hasattr("__index__")? && !key.hasattr("__len__")?;
        if is_number {
            return this.sample(slf.py(), this.checked(number(key)?)?);
        }
        slf.call_method1("_select", (key,))
    }

    fn __iter__(slf: Bound<'_, Self>) -> PyResult<SampleIterator> {
        slf.get().check_open()?;
        Ok(SampleIterator::new(slf))
    }

    /// Many samples at once, for torch's fetcher.
    fn __getitems__<'py>(
        &self,
        py: Python<'py>,
        indices: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.many(py, indices, None)
    }

    /// Samples in the requested order, with `columns` (or all columns) read and decoded.
    #[pyo3(signature = (indices, columns = None))]
    fn take<'py>(
        &self,
        py: Python<'py>,
        indices: &Bound<'py, PyAny>,
        columns: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.many(py, indices, columns)
    }

    /// Another view of the same shards. Settings that are not given stay the same.
    #[pyo3(signature = (**changes))]
    fn _derive<'py>(
        slf: &Bound<'py, Self>,
        changes: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = PyDict::new(slf.py());
        options.set_item("_base", slf)?;
        options.set_item("_changes", changes)?;
        slf.get_type().call((), Some(&options))
    }

    #[getter]
    fn _indices<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let positions = self.view.positions.as_ref()?;
        let bytes: Vec<u8> = positions.iter().flat_map(|position| position.to_le_bytes()).collect();
        Some(PyBytes::new(py, &bytes))
    }

    #[getter]
    fn _shown_columns(&self) -> Option<Vec<String>> {
        self.view.rows.projection().columns.clone()
    }

    /// Whether the view hides a column of its files, because other columns are selected or because a saved view drops
    /// it.
    fn _hides(&self, name: &str) -> bool {
        self.view.rows.hides(name)
    }

    /// The Arrow schema of the samples as text, in the form that footers use.
    fn _schema_text(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| self.view.schema_text()).into_py_result()
    }

    /// The columns of that schema, and the Python types of their values.
    fn _column_types(&self, py: Python<'_>) -> PyResult<Vec<(String, &'static str)>> {
        py.detach(|| arrow_stream::column_types(&self.view)).into_py_result()
    }

    #[getter]
    fn _decoders(&self, py: Python<'_>) -> Option<Py<PyDict>> {
        self.decoders.dict(py)
    }

    #[getter]
    fn _transforms<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.transforms.iter().map(|f| f.bind(py)))
    }

    #[getter]
    fn _definition(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.definition.as_ref().map(|definition| definition.clone_ref(py))
    }

    /// Whether the files are a saved view whose bases are not open.
    fn _is_saved_view(&self) -> bool {
        self.view.rows.is_view_file()
    }

    #[getter]
    fn _options(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let options = self.options.bind(py).copy()?;
        options.set_item("lazy", self.lazy)?;
        Ok(options.unbind())
    }

    /// Absolute paths, which refer to the same files from another working directory or process.
    #[getter]
    fn _shard_paths(&self) -> PyResult<Vec<OsString>> {
        self.check_open()?;
        Ok(self.view.rows.files().places().map(OsString::from).collect())
    }

    /// The paths as they were given.
    #[getter]
    fn _shard_names(&self) -> Vec<&OsStr> {
        self.view.rows.files().paths.iter().map(|path| path.as_os_str()).collect()
    }

    /// (number of samples, id) of each file, to check that the same files are opened again.
    fn _identities(&self, py: Python<'_>) -> PyResult<Vec<(u64, String)>> {
        py.detach(|| self.view.rows.identities()).into_py_result()
    }

    /// The same rows from files that are opened again with other options.
    #[pyo3(signature = (**changes))]
    fn _reopened(&self, py: Python<'_>, changes: Option<&Bound<'_, PyDict>>) -> PyResult<RowsHandle> {
        let options = self.options.bind(py).copy()?;
        if let Some(changes) = changes {
            options.update(changes.as_mapping())?;
        }
        let options = OpenArguments::options_in(&options)?;
        py.detach(|| self.view.rows.reopened(&options)).map(RowsHandle).into_py_result()
    }

    fn _base_len(&self) -> u64 {
        self.view.rows.files().samples
    }

    /// The files that all views are based on, the positions of the view's samples in them (little-endian u64, or None
    /// for all), and the columns that the files do not have.
    fn _roots<'py>(&self, py: Python<'py>) -> PyResult<roots::Roots<'py>> {
        roots::all(py, &self.view)
    }

    /// Only the files of `_roots`.
    fn _root_files(&self, py: Python<'_>) -> PyResult<Vec<RowsHandle>> {
        roots::files(py, &self.view)
    }

    /// The columns that the files of `_roots` do not have.
    fn _own_columns(&self) -> Vec<String> {
        roots::own_columns(&self.view)
    }

    /// The footer of a shard as JSON text, with the entries of its format version.
    fn _footer(&self, py: Python<'_>, shard: usize) -> PyResult<String> {
        py.detach(|| self.view.rows.footer(shard)).into_py_result()
    }

    /// Statistics of the values at each path.
    fn _path_stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let stats = py.detach(|| self.view.rows.statistics()).into_py_result()?;
        let text = serde_json::to_vec(&stats).map_err(|error| to_py(&Error::invalid(error.to_string())))?;
        plain_json(py, &text, false)
    }

    /// The names of the columns, in order of first appearance.
    fn _stored_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        py.detach(|| self.view.rows.column_names()).into_py_result()
    }

    /// The combined facts from the footers of all files; None if this is not a dataset of JINX files.
    fn _facts(&self, py: Python<'_>) -> PyResult<Option<String>> {
        py.detach(|| self.view.rows.facts()).into_py_result()
    }

    /// Uses the result of `_facts` for the same files, so that no file has to be opened for these facts.
    fn _assume(&self, facts: &str) -> PyResult<()> {
        self.view.rows.assume(facts).into_py_result()
    }

    fn _arrow_schema(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(py.detach(|| self.view.rows.arrow_types()).into_py_result()?.schema)
    }

    fn _column<'py>(
        &self,
        py: Python<'py>,
        path: Vec<Option<String>>,
        kind: &str,
    ) -> PyResult<Option<columns::ColumnParts<'py>>> {
        columns::stored(py, &self.view, &path, kind)
    }

    fn _scan<'py>(
        &self,
        py: Python<'py>,
        path: Vec<String>,
        kind: &str,
    ) -> PyResult<(Bound<'py, PyList>, bool)> {
        columns::scan(py, &self.view, &path, kind)
    }

    /// For each sample of the view, the fingerprint of its columns or of its values at `paths`.
    #[pyo3(signature = (paths = None))]
    fn _fingerprints<'py>(
        &self,
        py: Python<'py>,
        paths: Option<Vec<Vec<String>>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        measures::fingerprints(py, &self.view, paths.as_deref())
    }

    /// For each sample of the view, its approximate size in bytes in a JINX file.
    fn _sizes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        measures::sizes(py, &self.view)
    }

    /// Positions (over all shards) of at most `limit` samples that match an expression; and for each path in it,
    /// whether it was looked up and no sample has it. `kinds` are the kinds of their values in the files.
    #[pyo3(signature = (expression, paths, kinds, limit = None))]
    fn _filter(
        &self,
        py: Python<'_>,
        expression: &str,
        paths: Vec<Vec<String>>,
        kinds: Vec<Vec<String>>,
        limit: Option<u64>,
    ) -> PyResult<(PositionsHandle, Vec<bool>)> {
        let chosen = py
            .detach(|| jinx_dataset::filter(&self.view, expression, paths, &kinds, limit))
            .into_py_result()?;
        Ok((PositionsHandle(Arc::new(chosen.positions)), chosen.not_found))
    }

    fn _arrow_stream<'py>(
        &self,
        py: Python<'py>,
        batch_rows: usize,
        mixed_json: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        arrow_stream::stream(py, &self.view, batch_rows, mixed_json)
    }

    fn _arrow_schema_capsule<'py>(&self, py: Python<'py>, mixed_json: bool) -> PyResult<Bound<'py, PyAny>> {
        arrow_stream::schema(py, &self.view, mixed_json)
    }

    /// No `__clear__` is needed: a reader never changes, so every cycle has another member that can be cleared.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.decoders.traverse(&visit)?;
        self.transforms.iter().try_for_each(|transform| visit.call(transform))?;
        self.definition.iter().try_for_each(|definition| visit.call(definition))?;
        visit.call(&self.options)
    }
}
