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
mod _core {
    use super::{errors, register_mapping, signals};
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::convert::{convert, convert_arrow, copy_mds, read_schema, stream};
    #[pymodule_export]
    use crate::dataset::{
        arrow_stream::take_stream_failure,
        batches::Batches,
        browse::{SortedPages, ViewNumbers, view_categories, view_counts, view_kept, view_search},
        columns::{expression_paths, parse_path},
        handle::{PositionsHandle, RowsHandle},
        measures::SeenFingerprints,
        reader::Reader,
    };
    #[pymodule_export]
    use crate::files::{
        checks::{repair, verify},
        copy_move_remove::{
            copy_directory, copy_pair, move_directory, move_pair, remove_directory, remove_pair,
        },
        detect::{mds_directory, require_own_sidecar, resolve, sidecar_of, sniff},
        directory::{NewDirectory, NewFile},
        json_text::{json_text, row_json},
        merge_clean::{clean, merge},
        object_store::ObjectStore,
        remote::{cache_clear, cache_contents, cache_directory, io_statistics, upload},
        views::{
            base_candidates, directory_id, find_base, hash_bytes, hash_file, is_view_directory, open_base,
            open_view_footer, view_directory_set_paths, view_files, view_footer, view_line_offsets,
            view_set_paths,
        },
    };
    #[pymodule_export]
    use crate::mds::{checks::mds_verify, shard::MdsShard, writer::MdsWriter};
    #[pymodule_export]
    use crate::order::{Ordering, SortKeys, plan_order};
    #[pymodule_export]
    use crate::pack::{pack, step_order};
    #[pymodule_export]
    use crate::sample::lazy_dict::{_sample_of, LazyDict};
    #[pymodule_export]
    use crate::view::{
        compose::{compose, compose_saved, join, lengths_after},
        typed_columns::{TypedColumns, typed_columns},
    };
    #[pymodule_export]
    use crate::writer::{Writer, reorder::reorder};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("build_profile", if cfg!(debug_assertions) { "debug" } else { "release" })?;
        module.add("PACKER_VERSION", jinx_pack::VERSION)?;
        errors::register(module)?;
        signals::listen();
        register_mapping(module.py())
    }
}

/// Registers samples as a `collections.abc.MutableMapping`, so that collators and `**` treat them as mappings.
fn register_mapping(py: Python<'_>) -> PyResult<()> {
    let class: Bound<'_, PyType> = py.get_type::<sample::lazy_dict::LazyDict>();
    py.import("collections.abc")?.getattr("MutableMapping")?.call_method1("register", (class,))?;
    Ok(())
}
