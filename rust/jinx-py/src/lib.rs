//! The extension module `jinx._core`: conversion between Python and `jinx-core`, nothing else.
#![deny(unsafe_code)]

mod ahead;
mod batches;
mod build;
mod capsule;
mod checks;
mod columns;
mod conversion;
mod decoded;
mod decoders;
mod describe;
mod errors;
mod extract;
mod field;
mod home;
mod iterator;
mod mds;
mod names;
mod objects;
mod parse;
mod pending;
mod picture;
mod reader;
mod row;
mod sample;
mod sample_methods;
mod signals;
mod summary;
mod tables;
mod take;
mod text;
mod tools;
mod transport;
mod unfilled;
mod writer;

use pyo3::prelude::*;
use pyo3::types::PyType;

// Nobody has tested it without the GIL yet.
#[pymodule(gil_used = true)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("build_profile", if cfg!(debug_assertions) { "debug" } else { "release" })?;
    errors::register(module)?;
    signals::listen();
    module.add_class::<sample::LazyDict>()?;
    module.add_class::<reader::Reader>()?;
    module.add_class::<batches::Batches>()?;
    module.add_class::<writer::Writer>()?;
    module.add_class::<mds::shard::MdsShard>()?;
    module.add_class::<mds::writer::MdsWriter>()?;
    module.add_function(wrap_pyfunction!(mds::checks::mds_verify, module)?)?;
    module.add_function(wrap_pyfunction!(sample::_sample_of, module)?)?;
    module.add_function(wrap_pyfunction!(columns::parse_path, module)?)?;
    module.add_function(wrap_pyfunction!(tools::sniff, module)?)?;
    module.add_function(wrap_pyfunction!(tools::resolve, module)?)?;
    module.add_function(wrap_pyfunction!(tools::row_json, module)?)?;
    module.add_function(wrap_pyfunction!(tools::json_text, module)?)?;
    module.add_function(wrap_pyfunction!(tools::clean, module)?)?;
    module.add_function(wrap_pyfunction!(tools::merge, module)?)?;
    module.add_function(wrap_pyfunction!(tools::sidecar_of, module)?)?;
    module.add_function(wrap_pyfunction!(tools::other_owner, module)?)?;
    module.add_function(wrap_pyfunction!(tools::require_own_sidecar, module)?)?;
    module.add_function(wrap_pyfunction!(tools::copy_pair, module)?)?;
    module.add_function(wrap_pyfunction!(tools::copy_folder, module)?)?;
    module.add_function(wrap_pyfunction!(conversion::convert, module)?)?;
    module.add_function(wrap_pyfunction!(conversion::convert_arrow, module)?)?;
    module.add_function(wrap_pyfunction!(conversion::read_schema, module)?)?;
    module.add_function(wrap_pyfunction!(conversion::stream, module)?)?;
    module.add_function(wrap_pyfunction!(checks::verify, module)?)?;
    module.add_function(wrap_pyfunction!(checks::repair, module)?)?;
    register_mapping(module.py())
}

/// Tells `collections.abc` that a sample is a mapping, so that collators and `**` treat it as one.
fn register_mapping(py: Python<'_>) -> PyResult<()> {
    let class: Bound<'_, PyType> = py.get_type::<sample::LazyDict>();
    py.import("collections.abc")?.getattr("MutableMapping")?.call_method1("register", (class,))?;
    Ok(())
}
