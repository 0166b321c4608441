//! The extension module `jinx_pipeline._kernels`. It only converts between Python and `jinx-kernels`.
#![deny(unsafe_code)]

mod factors;
mod kernels;
mod language_models;

use pyo3::prelude::*;

// Not yet tested without the GIL.
#[pymodule(gil_used = true)]
mod _kernels {
    #[pymodule_export]
    use crate::factors::descend_factors;
    #[pymodule_export]
    use crate::kernels::{
        Clusters, NgramIndex, band_keys, character_repetition, count_characters, count_listed_words,
        count_words, hash128, lines, minhash, near_simhashes, replace_characters, replace_emails,
        replace_ips, replace_links, replace_pattern, simhash, word_repetition,
    };
    #[pymodule_export]
    use crate::language_models::{LanguageModel, LanguageModelTrainer};
    use jinx_pyo3::{errors, signals};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        signals::listen();
        errors::adopt_panics(module, "jinx_pipeline._kernels")
    }
}
