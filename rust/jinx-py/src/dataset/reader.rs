//! `Reader`: shards as one sequence under a view. `jinx.Dataset` derives from it.

use crate::dataset::decoders::{Decoders, members};
use crate::dataset::filter::Positions;
use crate::dataset::iterator::SampleIterator;
use crate::dataset::state::{DatasetState, Shards};
use crate::errors::{IntoPy, out_of_range, to_py};
use crate::sample::lazy_dict::LazyDict;
use jinx_core::codec::TextEncoding;
use jinx_core::io::Access;
use jinx_core::limits::Limits;
use jinx_core::num::to_u64;
use jinx_format::read::shard::{OpenOptions, Verify};
use pyo3::PyTraverseError;
use pyo3::exceptions::{PyIndexError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyInt, PyList, PyString};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

/// Shards opened as one sequence, with an optional view.
#[pyclass(frozen, subclass, weakref, module = "jinx._core", name = "Reader")]
pub struct Reader {
    pub dataset: Arc<DatasetState>,
    /// Positions over all shards, in the view's order; `None` = all in file order.
    pub view: Option<Arc<Vec<u64>>>,
    pub decoders: Decoders,
    transforms: Vec<Py<PyAny>>,
    lazy: bool,
    /// What the shards were opened with, to open them again elsewhere.
    options: Py<PyDict>,
}

impl Reader {
    pub fn count(&self) -> usize {
        match &self.view {
            Some(view) => view.len(),
            None => usize::try_from(self.dataset.len()).unwrap_or(usize::MAX),
        }
    }

    /// The position over all shards of the view's sample `i`.
    pub fn position(&self, i: usize) -> u64 {
        self.view.as_ref().map_or_else(|| to_u64(i), |view| view[i])
    }

    /// Sample `i` of the view, transformed.
    pub fn sample<'py>(&self, py: Python<'py>, i: usize) -> PyResult<Bound<'py, PyAny>> {
        let sample = match &self.dataset.mds {
            Some(_) => crate::mds::row::sample(py, self, self.position(i))?,
            None => LazyDict::new(Arc::clone(&self.dataset), self.decoders.clone_ref(py), self.position(i)),
        };
        self.finish(py, Bound::new(py, sample)?)
    }

    /// As [`Reader::sample`], for a walk over the samples.
    pub fn next_sample<'py>(
        &self,
        py: Python<'py>,
        i: usize,
        ahead: &crate::mds::iterate::MdsIteration,
    ) -> PyResult<Bound<'py, PyAny>> {
        match &self.dataset.mds {
            Some(mds) if mds.feeds && self.view.is_none() => {
                let sample = ahead.sample(py, self, to_u64(i))?;
                self.finish(py, sample)
            }
            _ => self.sample(py, i),
        }
    }

    fn checked(&self, index: isize) -> PyResult<usize> {
        let len = self.count();
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
        fields: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let checked = self.checked_indices(indices)?;
        let positions: Vec<u64> = checked.iter().map(|i| self.position(*i)).collect();
        let samples = crate::dataset::take::samples(py, self, &positions, fields.as_deref())?;
        let finished: PyResult<Vec<_>> = samples.into_iter().map(|sample| self.finish(py, sample)).collect();
        PyList::new(py, finished?)
    }

    /// Indices into the view, counted from its start.
    pub fn checked_indices(&self, indices: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
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
        let mut fields = self.dataset.fields.clone();
        let mut decoders = self.decoders.clone_ref(py);
        let mut view = self.view.clone();
        let mut transforms: Vec<Py<PyAny>> = self.transforms.iter().map(|f| f.clone_ref(py)).collect();
        let mut lazy = self.lazy;
        for (name, value) in changes.map(members).unwrap_or_default() {
            match name.extract::<String>()?.as_str() {
                "indices" if value.is_none() => view = None,
                "indices" => view = Some(positions(&value, self.dataset.len())?),
                "fields" => fields = value.extract()?,
                "decoders" => decoders = Decoders::new(value.extract()?),
                "transforms" => transforms = value.extract()?,
                "lazy" => lazy = value.extract()?,
                other => return Err(PyTypeError::new_err(format!("_derive() has no argument '{other}'"))),
            }
        }
        let mds = self.dataset.mds.as_ref().map(|mds| Arc::new(mds.again()));
        let dataset =
            DatasetState::new(Arc::clone(&self.dataset.shards), fields, decoders.pixels(py)?).with_mds(mds);
        Ok(Self {
            dataset: Arc::new(dataset),
            view,
            decoders,
            transforms,
            lazy,
            options: self.options.clone_ref(py),
        })
    }

    pub fn finish<'py>(&self, py: Python<'py>, sample: Bound<'py, LazyDict>) -> PyResult<Bound<'py, PyAny>> {
        if self.lazy && self.transforms.is_empty() {
            return Ok(sample.into_any());
        }
        let mut sample = if self.lazy { sample.into_any() } else { sample.get().decoded(py)?.into_any() };
        for transform in &self.transforms {
            sample = transform.bind(py).call1((sample,))?;
        }
        Ok(sample)
    }
}

/// An index; one beyond any machine's memory is out of range as any other.
fn number(index: &Bound<'_, PyAny>) -> PyResult<isize> {
    index.extract::<isize>().map_err(|error| {
        if error.is_instance_of::<PyOverflowError>(index.py()) {
            PyIndexError::new_err("this index is out of range for any dataset")
        } else {
            error
        }
    })
}

/// Positions that a filter found, little-endian u64 from bytes, or a sequence of integers.
fn positions(indices: &Bound<'_, PyAny>, total: u64) -> PyResult<Arc<Vec<u64>>> {
    let view: Arc<Vec<u64>> = if let Ok(found) = indices.cast::<Positions>() {
        Arc::clone(&found.get().0)
    } else if let Ok(bytes) = indices.cast::<PyBytes>() {
        let chunks = bytes.as_bytes().chunks_exact(8);
        Arc::new(chunks.map(|chunk| chunk.try_into().map(u64::from_le_bytes).unwrap_or_default()).collect())
    } else {
        Arc::new(indices.extract()?)
    };
    match view.iter().find(|position| **position >= total) {
        Some(position) => Err(PyValueError::new_err(format!("position {position} of a dataset of {total}"))),
        None => Ok(view),
    }
}

pub fn open_options(
    io: &str,
    verify: &str,
    encoding: Option<&str>,
    max_value_bytes: Option<u64>,
    markers: bool,
) -> PyResult<OpenOptions> {
    let verify = match verify {
        "none" => Verify::None,
        "rows" => Verify::Rows,
        "full" => Verify::Full,
        other => {
            return Err(PyValueError::new_err(format!("verify={other:?}; give 'none', 'rows' or 'full'")));
        }
    };
    let encoding = match encoding {
        None => None,
        Some(name) => Some(TextEncoding::from_name(name).ok_or_else(|| {
            PyValueError::new_err(format!("encoding={name:?}; give 'a85', 'b64' or 'hex'"))
        })?),
    };
    let mut limits = Limits::default();
    if let Some(max) = max_value_bytes {
        limits.max_value_bytes = max;
    }
    let access = Access::from_name(io).into_py_result()?;
    Ok(OpenOptions { access, verify, limits, encoding, markers, ..OpenOptions::default() })
}

#[pymethods]
impl Reader {
    #[new]
    #[pyo3(signature = (shards = Vec::new(), *, io = "auto", verify = "full", lazy = true, encoding = None, split = None,
                        plain = false, markers = false, max_value_bytes = None, expected = None, decoders = None, mds = None,
                        _base = None, _changes = None))]
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
        _base: Option<&Bound<'_, Self>>,
        _changes: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        if let Some(base) = _base {
            return base.get().derived(py, _changes);
        }
        let decoders = Decoders::new(decoders);
        let pixels = decoders.pixels(py)?;
        let options = PyDict::new(py);
        options.set_item("io", io)?;
        options.set_item("verify", verify)?;
        options.set_item("lazy", lazy)?;
        options.set_item("encoding", encoding)?;
        options.set_item("split", split)?;
        options.set_item("plain", plain)?;
        options.set_item("markers", markers)?;
        options.set_item("max_value_bytes", max_value_bytes)?;
        options.set_item("mds", mds)?;
        let open = open_options(io, verify, encoding, max_value_bytes, markers)?;
        let dataset = if let Some(mds) = mds {
            let mds = crate::mds::open::open(py, shards, &open, mds)?;
            let none =
                Shards::open(Vec::new(), None, None, OpenOptions::default(), false).into_py_result()?;
            DatasetState::new(Arc::new(none), None, pixels).with_mds(Some(Arc::new(mds)))
        } else {
            let shards = py.detach(|| Shards::open(shards, expected, split, open, plain)).into_py_result()?;
            DatasetState::new(Arc::new(shards), None, pixels)
        };
        let (dataset, options) = (Arc::new(dataset), options.unbind());
        Ok(Self { dataset, view: None, decoders, transforms: Vec::new(), lazy, options })
    }

    fn __len__(&self) -> usize {
        self.count()
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

    fn __iter__(slf: Bound<'_, Self>) -> SampleIterator {
        SampleIterator::new(slf)
    }

    /// Many samples at once, as torch's fetcher asks for them.
    fn __getitems__<'py>(
        &self,
        py: Python<'py>,
        indices: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.many(py, indices, None)
    }

    /// Samples in the order asked for, with `columns` (or all) read and decoded.
    #[pyo3(signature = (indices, columns = None))]
    fn take<'py>(
        &self,
        py: Python<'py>,
        indices: &Bound<'py, PyAny>,
        columns: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.many(py, indices, columns)
    }

    /// The same shards under another view; what is not given stays.
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
        let view = self.view.as_ref()?;
        let bytes: Vec<u8> = view.iter().flat_map(|position| position.to_le_bytes()).collect();
        Some(PyBytes::new(py, &bytes))
    }

    #[getter]
    fn _fields(&self) -> Option<Vec<String>> {
        self.dataset.fields.clone()
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
    fn _options(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let options = self.options.bind(py).copy()?;
        options.set_item("lazy", self.lazy)?;
        Ok(options.unbind())
    }

    /// Absolute, so that they lead to the same files from another working directory or process.
    #[getter]
    fn _shard_paths(&self) -> Vec<OsString> {
        match &self.dataset.mds {
            Some(mds) => mds.folder.paths().iter().map(|path| mds.folder.base().join(path).into()).collect(),
            None => {
                let base = &self.dataset.shards.options.base;
                self.dataset.shards.paths().map(|path| base.join(path).into()).collect()
            }
        }
    }

    /// The paths as they were given.
    #[getter]
    fn _shard_names(&self) -> Vec<&OsStr> {
        match &self.dataset.mds {
            Some(mds) => mds.folder.paths().iter().map(|path| path.as_os_str()).collect(),
            None => self.dataset.shards.paths().map(|path| path.as_os_str()).collect(),
        }
    }

    /// (samples, id) of each shard, to make sure that the same files are found again.
    fn _identities(&self, py: Python<'_>) -> PyResult<Vec<(u64, String)>> {
        if let Some(mds) = &self.dataset.mds {
            return Ok(mds.folder.ids().to_vec());
        }
        py.detach(|| {
            let shards = &self.dataset.shards;
            (0..shards.count()).map(|i| shards.identity(i)).collect::<jinx_core::Result<Vec<_>>>()
        })
        .into_py_result()
    }

    fn _base_len(&self) -> u64 {
        self.dataset.len()
    }

    /// A shard's footer, as far as its version has it, as JSON text.
    fn _footer(&self, shard: usize) -> PyResult<String> {
        crate::dataset::footer::footer(&self.dataset.shards, shard).map_err(|error| to_py(&error))
    }

    /// The `fields` entries of the footers, summed over the shards.
    fn _field_stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(mds) = &self.dataset.mds {
            let text = crate::mds::column::stats(&mds.folder).to_string();
            return crate::objects::build::plain_json(py, text.as_bytes(), false);
        }
        let text =
            py.detach(|| crate::dataset::footer::field_stats(&self.dataset.shards)).into_py_result()?;
        crate::objects::build::plain_json(py, text.as_bytes(), false)
    }

    /// The top-level names over all shards, in the order in which they were first seen.
    fn _field_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        if let Some(mds) = &self.dataset.mds {
            return Ok(mds.folder.columns().into_iter().map(|(name, _)| name).collect());
        }
        py.detach(|| crate::dataset::footer::field_names(&self.dataset.shards)).into_py_result()
    }

    fn _arrow_schema(&self) -> PyResult<Option<String>> {
        if self.dataset.shards.count() == 0 {
            return Ok(None);
        }
        Ok(self.dataset.shards.shard(0).into_py_result()?.footer().arrow_schema.clone())
    }

    fn _column<'py>(
        &self,
        py: Python<'py>,
        path: Vec<Option<String>>,
        kind: &str,
    ) -> PyResult<Option<crate::dataset::columns::ColumnParts<'py>>> {
        if let Some(mds) = &self.dataset.mds {
            return crate::dataset::columns::fixed(py, &mds.folder, &path, kind);
        }
        crate::dataset::columns::stored(py, &self.dataset.shards, &path, kind)
    }

    fn _scan<'py>(
        &self,
        py: Python<'py>,
        path: Vec<String>,
        kind: &str,
    ) -> PyResult<(Bound<'py, PyList>, bool)> {
        crate::dataset::columns::scan(py, self, &path, kind)
    }

    /// The positions over all shards of the samples of the view that an expression selects, at most `limit`, and
    /// whether each of its paths was looked for in vain.
    ///
    /// `paths` are those of the expression as names, and `kinds` what the files say that their values are.
    #[pyo3(signature = (expression, paths, kinds, limit = None))]
    fn _filter<'py>(
        &self,
        py: Python<'py>,
        expression: &str,
        paths: Vec<Vec<String>>,
        kinds: Vec<Vec<String>>,
        limit: Option<u64>,
    ) -> PyResult<(Positions, Vec<bool>)> {
        let chosen = py
            .detach(|| crate::dataset::filter::filter(self, expression, paths, &kinds, limit))
            .into_py_result()?;
        Ok((chosen.positions, chosen.in_vain))
    }

    fn _arrow_stream<'py>(
        &self,
        py: Python<'py>,
        batch_rows: usize,
        mixed_json: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        crate::dataset::arrow_stream::stream(py, self, batch_rows, mixed_json)
    }

    fn _arrow_schema_capsule<'py>(&self, py: Python<'py>, mixed_json: bool) -> PyResult<Bound<'py, PyAny>> {
        crate::dataset::arrow_stream::schema(py, self, mixed_json)
    }

    /// Nothing here changes once it is made, so a cycle always has another member that can be cleared.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.decoders.traverse(&visit)?;
        self.transforms.iter().try_for_each(|transform| visit.call(transform))?;
        visit.call(&self.options)
    }
}
