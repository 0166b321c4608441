//! Reads, scores with and trains the language models of `jinx-kernels`.

use crate::kernels::{array, on_texts, unknown};
use jinx_core::Error;
use jinx_kernels::language_model::{Model, score};
use jinx_kernels::language_model_training::Counts;
use jinx_kernels::trie::Units;
use jinx_pyo3::errors::IntoPy;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes};
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

fn units_named(name: &str) -> PyResult<Units> {
    match name {
        "word" => Ok(Units::Words),
        "character" => Ok(Units::Characters),
        _ => Err(unknown("the unit of a language model", name)),
    }
}

/// A language model from an ARPA file.
#[pyclass(module = "jinx_pipeline._kernels", frozen)]
pub struct LanguageModel {
    model: Model,
}

#[pymethods]
impl LanguageModel {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| {
            let file = File::open(&path).map_err(|error| Error::io(&path, &error))?;
            let model = Model::read(BufReader::new(file)).map_err(|error| error.in_file(&path))?;
            Ok(Self { model })
        })
        .into_py_result()
    }

    #[getter]
    fn order(&self) -> usize {
        self.model.order()
    }

    #[getter]
    fn words(&self) -> usize {
        self.model.word_count()
    }

    /// Returns two f64 for each text: the base-10 logarithm of its probability, and its number of words.
    fn score<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        units: &str,
        threads: usize,
    ) -> PyResult<Bound<'py, PyByteArray>> {
        let units = units_named(units)?;
        let scores = on_texts(texts, |texts| score(texts, &self.model, units, threads))?;
        Ok(array(py, scores.into_iter().map(f64::to_le_bytes)))
    }
}

/// Counts n-grams and trains a model from the counts.
#[pyclass(module = "jinx_pipeline._kernels", frozen)]
pub struct LanguageModelTrainer {
    counts: Mutex<Counts>,
}

#[pymethods]
impl LanguageModelTrainer {
    #[new]
    fn new(order: usize, units: &str) -> PyResult<Self> {
        let counts = Counts::new(order, units_named(units)?).into_py_result()?;
        Ok(Self { counts: Mutex::new(counts) })
    }

    fn add(&self, texts: &Bound<'_, PyAny>) -> PyResult<()> {
        on_texts(texts, |texts| self.counts.lock().unwrap_or_else(PoisonError::into_inner).add(texts))
    }

    /// The model as the bytes of an ARPA file.
    fn arpa<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let text = py.detach(|| {
            let mut out = Vec::new();
            let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            counts.write(&mut out).map(|()| out)
        });
        Ok(PyBytes::new(py, &text.into_py_result()?))
    }
}
