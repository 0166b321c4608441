//! Runs the kernels of `jinx-kernels` on the first column of an Arrow stream. Results are arrays as bytes, or lists.

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{ArrowError, DataType};
use jinx_core::{Error, Result};
use jinx_kernels::characters::Class;
use jinx_kernels::hash::Ignore;
use jinx_kernels::listed_words::Lexicon;
use jinx_kernels::minhash::{Scheme, Tokens};
use jinx_kernels::patterns::{Part, Replacement};
use jinx_kernels::translate::Table;
use jinx_kernels::words::Split;
use jinx_kernels::{
    characters, clusters, emails_and_ips, hash, links, listed_words, ngrams, patterns, repetition, translate,
    words,
};
use jinx_pyo3::capsule::take_stream;
use jinx_pyo3::errors::{IntoPy, to_py};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes};
use std::collections::HashMap;

/// Runs `work` without the GIL on the strings of the first column. A null becomes an empty string.
pub(crate) fn on_texts<T: Send>(
    table: &Bound<'_, PyAny>,
    work: impl FnOnce(&[&str]) -> Result<T> + Send,
) -> PyResult<T> {
    let stream = take_stream(table)?;
    table.py().detach(|| with_texts(stream, work)).into_py_result()
}

fn with_texts<T>(stream: FFI_ArrowArrayStream, work: impl FnOnce(&[&str]) -> Result<T>) -> Result<T> {
    let unreadable = |error: ArrowError| Error::invalid(error.to_string());
    let batches = RecordBatchStreamReader::try_new(stream).map_err(unreadable)?;
    let batches = batches.collect::<Result<Vec<RecordBatch>, _>>().map_err(unreadable)?;
    let mut texts = Vec::with_capacity(batches.iter().map(RecordBatch::num_rows).sum());
    for column in batches.iter().filter_map(|batch| batch.columns().first()) {
        match column.data_type() {
            DataType::Utf8 => texts.extend(column.as_string::<i32>().iter().map(Option::unwrap_or_default)),
            DataType::LargeUtf8 => {
                texts.extend(column.as_string::<i64>().iter().map(Option::unwrap_or_default))
            }
            DataType::Utf8View => texts.extend(column.as_string_view().iter().map(Option::unwrap_or_default)),
            DataType::Null => texts.extend(std::iter::repeat_n("", column.len())),
            other => return Err(Error::invalid(format!("a column of {other}; a kernel takes strings"))),
        }
    }
    work(&texts)
}

pub(crate) fn array<'py, const N: usize>(
    py: Python<'py>,
    values: impl Iterator<Item = [u8; N]>,
) -> Bound<'py, PyByteArray> {
    let mut bytes = Vec::with_capacity(values.size_hint().0.saturating_mul(N));
    values.for_each(|value| bytes.extend_from_slice(&value));
    PyByteArray::new(py, &bytes)
}

pub(crate) fn unknown(what: &str, name: &str) -> PyErr {
    to_py(&Error::invalid(format!("{what} {name:?} is not known")))
}

fn split_named(name: &str) -> PyResult<Split> {
    match name {
        "space" => Ok(Split::Space),
        "unicode" => Ok(Split::Unicode),
        _ => Err(unknown("the way to split words", name)),
    }
}

fn tokens_named(name: &str) -> PyResult<Tokens> {
    match name {
        "space" => Ok(Tokens::Space),
        "punctuation" => Ok(Tokens::Punctuation),
        "character" => Ok(Tokens::Character),
        _ => Err(unknown("the kind of tokens", name)),
    }
}

#[pyfunction]
pub fn count_characters<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
    of: &str,
    threads: usize,
) -> PyResult<Bound<'py, PyByteArray>> {
    let class = Class::named(of).ok_or_else(|| unknown("the class of characters", of))?;
    let counts = on_texts(texts, |texts| characters::count(texts, class, threads))?;
    Ok(array(py, counts.into_iter().map(u64::to_le_bytes)))
}

#[pyfunction]
pub fn count_words<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
    split: &str,
    threads: usize,
) -> PyResult<Bound<'py, PyByteArray>> {
    let split = split_named(split)?;
    let counts = on_texts(texts, |texts| words::count(texts, split, threads))?;
    Ok(array(py, counts.into_iter().map(u64::to_le_bytes)))
}

#[pyfunction]
pub fn character_repetition<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
    n: usize,
    threads: usize,
) -> PyResult<Bound<'py, PyByteArray>> {
    let shares = on_texts(texts, |texts| repetition::characters(texts, n, threads))?;
    Ok(array(py, shares.into_iter().map(f64::to_le_bytes)))
}

#[pyfunction]
pub fn word_repetition<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
    n: usize,
    split: &str,
    threads: usize,
) -> PyResult<Bound<'py, PyByteArray>> {
    let split = split_named(split)?;
    let shares = on_texts(texts, |texts| repetition::words(texts, n, split, threads))?;
    Ok(array(py, shares.into_iter().map(f64::to_le_bytes)))
}

#[pyfunction]
pub fn replace_links(
    texts: &Bound<'_, PyAny>,
    replacement: &str,
    threads: usize,
) -> PyResult<Vec<Option<String>>> {
    on_texts(texts, |texts| links::replace(texts, replacement, threads))
}

#[pyfunction]
pub fn hash128<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
    ignore_case: bool,
    ignore_non_letters: bool,
    ignore_ends: bool,
    threads: usize,
) -> PyResult<Bound<'py, PyByteArray>> {
    let ignore = Ignore { case: ignore_case, non_letters: ignore_non_letters, ends: ignore_ends };
    let hashes = on_texts(texts, |texts| hash::hash128(texts, ignore, threads))?;
    Ok(array(py, hashes.into_iter().flatten().map(u64::to_le_bytes)))
}

#[pyfunction]
pub fn minhash<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
    tokens: &str,
    window: usize,
    lowercase: bool,
    size: usize,
    threads: usize,
) -> PyResult<Bound<'py, PyByteArray>> {
    let scheme = Scheme { tokens: tokens_named(tokens)?, window, lowercase, permutations: size };
    let signatures = on_texts(texts, |texts| jinx_kernels::minhash::signatures(texts, scheme, threads))?;
    Ok(array(py, signatures.into_iter().map(u32::to_le_bytes)))
}

#[pyfunction]
pub fn band_keys<'py>(
    py: Python<'py>,
    signatures: &Bound<'py, PyBytes>,
    size: usize,
    bands: usize,
    rows: usize,
) -> PyResult<Bound<'py, PyByteArray>> {
    let signatures = signatures.as_bytes();
    let keys = py
        .detach(|| {
            let elements: Vec<u32> = numbers(signatures).map(u32::from_le_bytes).collect();
            jinx_kernels::minhash::band_keys(&elements, size, bands, rows)
        })
        .into_py_result()?;
    Ok(array(py, keys.into_iter().map(u64::to_le_bytes)))
}

#[pyfunction]
pub fn lines<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
    threads: usize,
) -> PyResult<Bound<'py, PyByteArray>> {
    let rows = on_texts(texts, |texts| jinx_kernels::lines::measure(texts, threads))?;
    Ok(array(py, rows.into_iter().map(u64::to_le_bytes)))
}

#[pyfunction]
pub fn count_listed_words<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
    list: Vec<String>,
    split: &str,
    groups: Vec<usize>,
    joiner: &str,
    threads: usize,
) -> PyResult<Bound<'py, PyByteArray>> {
    let split = split_named(split)?;
    let counts = on_texts(texts, |texts| {
        let listed_words = Lexicon::new(list.iter().map(String::as_str), &groups, joiner);
        listed_words::count(texts, &listed_words, split, threads)
    })?;
    Ok(array(py, counts.into_iter().map(u64::to_le_bytes)))
}

#[pyfunction]
pub fn replace_characters(
    texts: &Bound<'_, PyAny>,
    replacements: HashMap<char, String>,
    is_trimmed: bool,
    threads: usize,
) -> PyResult<Vec<Option<String>>> {
    let table = Table::new(replacements, is_trimmed);
    on_texts(texts, |texts| translate::replace(texts, &table, threads))
}

#[pyfunction]
pub fn replace_emails(
    texts: &Bound<'_, PyAny>,
    replacement: &str,
    threads: usize,
) -> PyResult<Vec<Option<String>>> {
    on_texts(texts, |texts| emails_and_ips::replace_emails(texts, replacement, threads))
}

#[pyfunction]
pub fn replace_ips(
    texts: &Bound<'_, PyAny>,
    replacement: &str,
    threads: usize,
) -> PyResult<Vec<Option<String>>> {
    on_texts(texts, |texts| emails_and_ips::replace_ips(texts, replacement, threads))
}

/// A part of the replacement for a match: a group number or a text.
#[derive(FromPyObject)]
pub enum ReplacementPart {
    Group(usize),
    Text(String),
}

#[pyfunction]
pub fn replace_pattern(
    texts: &Bound<'_, PyAny>,
    pattern: &str,
    parts: Vec<ReplacementPart>,
    threads: usize,
) -> PyResult<Vec<Option<String>>> {
    let parts = parts.into_iter().map(|part| match part {
        ReplacementPart::Group(group) => Part::Group(group),
        ReplacementPart::Text(text) => Part::Text(text),
    });
    let replacement = Replacement::new(pattern, parts.collect()).into_py_result()?;
    on_texts(texts, |texts| patterns::replace(texts, &replacement, threads))
}

#[pyfunction]
pub fn simhash<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
    tokens: &str,
    window: usize,
    lowercase: bool,
    threads: usize,
) -> PyResult<Bound<'py, PyByteArray>> {
    let scheme = Scheme { tokens: tokens_named(tokens)?, window, lowercase, permutations: 1 };
    let hashes = on_texts(texts, |texts| jinx_kernels::simhash::signatures(texts, scheme, threads))?;
    Ok(array(py, hashes.into_iter().map(u64::to_le_bytes)))
}

#[pyfunction]
pub fn near_simhashes<'py>(
    py: Python<'py>,
    hashes: &Bound<'py, PyBytes>,
    blocks: u32,
    distance: u32,
) -> PyResult<Bound<'py, PyByteArray>> {
    let raw = hashes.as_bytes();
    let roots = py
        .detach(|| {
            let hashes: Vec<u64> = numbers(raw).map(u64::from_le_bytes).collect();
            jinx_kernels::simhash::near(&hashes, blocks, distance)
        })
        .into_py_result()?;
    Ok(array(py, roots.into_iter().map(u64::to_le_bytes)))
}

/// An index of n-grams of words by hash.
#[pyclass(module = "jinx_pipeline._kernels", frozen)]
pub struct NgramIndex {
    index: std::sync::RwLock<ngrams::Index>,
    n: usize,
    split: Split,
}

#[pymethods]
impl NgramIndex {
    #[new]
    fn new(n: usize, split: &str) -> PyResult<Self> {
        Ok(Self { index: std::sync::RwLock::default(), n, split: split_named(split)? })
    }

    /// Adds the n-grams of texts. The texts are numbered from `first`.
    fn add(&self, texts: &Bound<'_, PyAny>, first: u64, threads: usize) -> PyResult<()> {
        on_texts(texts, |texts| {
            let numbers: Vec<u64> = (first..).take(texts.len()).collect();
            let mut index = self.index.write().unwrap_or_else(std::sync::PoisonError::into_inner);
            index.add(texts, &numbers, self.n, self.split, threads)
        })
    }

    /// Returns for each text the number of an added text that shares an n-gram, and the place of that n-gram, as
    /// little-endian u64.
    fn find<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyByteArray>> {
        let matches = on_texts(texts, |texts| {
            let index = self.index.read().unwrap_or_else(std::sync::PoisonError::into_inner);
            index.find(texts, self.n, self.split, threads)
        })?;
        Ok(array(py, matches.into_iter().flatten().map(u64::to_le_bytes)))
    }
}

/// Groups of positions that are connected by equal keys.
#[pyclass(module = "jinx_pipeline._kernels", frozen)]
pub struct Clusters {
    groups: std::sync::Mutex<clusters::Clusters>,
}

#[pymethods]
impl Clusters {
    #[new]
    fn new(count: u64) -> PyResult<Self> {
        let groups = clusters::Clusters::new(count).into_py_result()?;
        Ok(Self { groups: std::sync::Mutex::new(groups) })
    }

    /// Joins positions with equal keys. Keys and positions are little-endian u64.
    fn join_equal(&self, keys: &Bound<'_, PyBytes>, positions: &Bound<'_, PyBytes>) -> PyResult<()> {
        let (raw_keys, raw_positions) = (keys.as_bytes(), positions.as_bytes());
        keys.py()
            .detach(|| {
                let keys: Vec<u64> = numbers(raw_keys).map(u64::from_le_bytes).collect();
                let positions: Vec<u64> = numbers(raw_positions).map(u64::from_le_bytes).collect();
                self.lock().join_equal(&keys, &positions)
            })
            .into_py_result()
    }

    /// Returns for each position the lowest position in its group, as little-endian u64.
    fn roots<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
        let roots = py.detach(|| self.lock().roots()).into_py_result()?;
        Ok(array(py, roots.into_iter().map(u64::to_le_bytes)))
    }
}

impl Clusters {
    /// Take this lock only while not holding the GIL.
    fn lock(&self) -> std::sync::MutexGuard<'_, clusters::Clusters> {
        self.groups.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn numbers<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    bytes.chunks_exact(N).map(|chunk| chunk.try_into().unwrap_or([0; N]))
}
