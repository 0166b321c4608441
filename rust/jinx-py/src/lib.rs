//! The extension module `jinx._core`. It only converts between Python and the Rust crates.
#![deny(unsafe_code)]

mod convert;
mod dataset;
mod ffi;
mod files;
mod jinx_shards;
mod mds;
mod objects;
mod order;
mod pack;
mod prefetch;
mod progress;
mod sample;
mod view;
mod writer;

use jinx_pyo3::{errors, signals};
use pyo3::prelude::*;
use pyo3::types::PyType;

// Not tested without the GIL yet.
#[pymodule(gil_used = true)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("build_profile", if cfg!(debug_assertions) { "debug" } else { "release" })?;
    errors::register(module)?;
    signals::listen();
    module.add_class::<sample::lazy_dict::LazyDict>()?;
    module.add_class::<dataset::reader::Reader>()?;
    module.add_class::<dataset::batches::Batches>()?;
    module.add_class::<writer::Writer>()?;
    module.add_class::<order::Ordering>()?;
    module.add_class::<order::SortKeys>()?;
    module.add_function(wrap_pyfunction!(order::plan_order, module)?)?;
    module.add_function(wrap_pyfunction!(writer::reorder::reorder, module)?)?;
    module.add_class::<mds::shard::MdsShard>()?;
    module.add_function(wrap_pyfunction!(files::views::view_footer, module)?)?;
    module.add_function(wrap_pyfunction!(files::views::view_line_offsets, module)?)?;
    module.add_function(wrap_pyfunction!(files::views::open_view_footer, module)?)?;
    module.add_function(wrap_pyfunction!(files::views::view_files, module)?)?;
    module.add_function(wrap_pyfunction!(files::views::is_view_directory, module)?)?;
    module.add_function(wrap_pyfunction!(files::views::view_directory_set_paths, module)?)?;
    module.add_function(wrap_pyfunction!(files::views::open_base, module)?)?;
    module.add_function(wrap_pyfunction!(files::views::find_base, module)?)?;
    module.add_function(wrap_pyfunction!(files::views::base_candidates, module)?)?;
    module.add_function(wrap_pyfunction!(files::views::directory_id, module)?)?;
    module.add_function(wrap_pyfunction!(files::views::view_set_paths, module)?)?;
    module.add_function(wrap_pyfunction!(files::views::hash_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(files::views::hash_file, module)?)?;
    module.add_class::<dataset::handle::PositionsHandle>()?;
    module.add_class::<dataset::handle::RowsHandle>()?;
    module.add_function(wrap_pyfunction!(view::compose::compose, module)?)?;
    module.add_function(wrap_pyfunction!(view::compose::compose_saved, module)?)?;
    module.add_function(wrap_pyfunction!(view::compose::join, module)?)?;
    module.add_function(wrap_pyfunction!(view::compose::lengths_after, module)?)?;
    module.add_class::<mds::writer::MdsWriter>()?;
    module.add_function(wrap_pyfunction!(mds::checks::mds_verify, module)?)?;
    module.add_function(wrap_pyfunction!(sample::lazy_dict::_sample_of, module)?)?;
    module.add_function(wrap_pyfunction!(dataset::columns::parse_path, module)?)?;
    module.add_function(wrap_pyfunction!(dataset::columns::expression_paths, module)?)?;
    module.add_function(wrap_pyfunction!(dataset::arrow_stream::take_stream_failure, module)?)?;
    module.add_function(wrap_pyfunction!(files::detect::sniff, module)?)?;
    module.add_function(wrap_pyfunction!(files::detect::resolve, module)?)?;
    module.add_function(wrap_pyfunction!(files::detect::mds_directory, module)?)?;
    module.add_function(wrap_pyfunction!(files::json_text::row_json, module)?)?;
    module.add_function(wrap_pyfunction!(files::json_text::json_text, module)?)?;
    module.add_function(wrap_pyfunction!(files::merge_clean::clean, module)?)?;
    module.add_function(wrap_pyfunction!(files::merge_clean::merge, module)?)?;
    module.add_function(wrap_pyfunction!(files::detect::sidecar_of, module)?)?;
    module.add_function(wrap_pyfunction!(files::detect::require_own_sidecar, module)?)?;
    module.add_function(wrap_pyfunction!(files::copy_move_remove::copy_pair, module)?)?;
    module.add_function(wrap_pyfunction!(files::copy_move_remove::copy_directory, module)?)?;
    module.add_function(wrap_pyfunction!(files::copy_move_remove::move_pair, module)?)?;
    module.add_function(wrap_pyfunction!(files::copy_move_remove::move_directory, module)?)?;
    module.add_function(wrap_pyfunction!(files::copy_move_remove::remove_pair, module)?)?;
    module.add_function(wrap_pyfunction!(files::copy_move_remove::remove_directory, module)?)?;
    module.add_class::<files::directory::NewDirectory>()?;
    module.add_class::<files::directory::NewFile>()?;
    module.add_class::<dataset::measures::SeenFingerprints>()?;
    module.add_class::<dataset::browse::ViewNumbers>()?;
    module.add_class::<dataset::browse::SortedPages>()?;
    module.add_function(wrap_pyfunction!(dataset::browse::view_categories, module)?)?;
    module.add_function(wrap_pyfunction!(dataset::browse::view_counts, module)?)?;
    module.add_function(wrap_pyfunction!(dataset::browse::view_kept, module)?)?;
    module.add_function(wrap_pyfunction!(dataset::browse::view_search, module)?)?;
    module.add_function(wrap_pyfunction!(convert::convert, module)?)?;
    module.add_function(wrap_pyfunction!(convert::convert_arrow, module)?)?;
    module.add_function(wrap_pyfunction!(convert::copy_mds, module)?)?;
    module.add_function(wrap_pyfunction!(convert::read_schema, module)?)?;
    module.add_function(wrap_pyfunction!(convert::stream, module)?)?;
    module.add_class::<files::object_store::ObjectStore>()?;
    module.add_function(wrap_pyfunction!(files::remote::upload, module)?)?;
    module.add_function(wrap_pyfunction!(files::remote::io_statistics, module)?)?;
    module.add_function(wrap_pyfunction!(files::remote::cache_directory, module)?)?;
    module.add_function(wrap_pyfunction!(files::remote::cache_contents, module)?)?;
    module.add_function(wrap_pyfunction!(files::remote::cache_clear, module)?)?;
    module.add_function(wrap_pyfunction!(files::checks::verify, module)?)?;
    module.add_function(wrap_pyfunction!(files::checks::repair, module)?)?;
    module.add("PACKER_VERSION", jinx_pack::VERSION)?;
    module.add_function(wrap_pyfunction!(pack::pack, module)?)?;
    module.add_function(wrap_pyfunction!(pack::step_order, module)?)?;
    register_mapping(module.py())
}

/// Registers samples as a `collections.abc.MutableMapping`, so that collators and `**` treat them as mappings.
fn register_mapping(py: Python<'_>) -> PyResult<()> {
    let class: Bound<'_, PyType> = py.get_type::<sample::lazy_dict::LazyDict>();
    py.import("collections.abc")?.getattr("MutableMapping")?.call_method1("register", (class,))?;
    Ok(())
}
