//! Fuzz targets: functions that take any bytes and must return without a panic.
//!
//! The programs in `fuzz/fuzz_targets` call them, and so do the property test and the corpus replay in
//! `tests/fuzz_targets.rs`. A target also asserts invariants of everything that it could read.

mod arrays;
mod codecs;
mod expressions;
mod footers;
mod mutate;
mod place;
mod records;
mod shards;
mod valid_datasets;
mod views;
mod whole_files;
mod write_read;

/// One entry point to the code that reads untrusted bytes.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Also the name of its program and of its corpus directory.
    pub name: &'static str,
    pub run: fn(&[u8]),
}

/// All targets, in the order in which a reader reads the parts of a file.
pub const TARGETS: &[Target] = &[
    Target { name: "trailer_footer", run: footers::trailer_footer },
    Target { name: "index", run: arrays::index },
    Target { name: "record_keys", run: records::record_keys },
    Target { name: "descriptor_chain", run: records::descriptor_chain },
    Target { name: "each_codec", run: codecs::each_codec },
    Target { name: "npy", run: arrays::npy },
    Target { name: "text_encodings", run: codecs::text_encodings },
    Target { name: "manifest", run: footers::manifest },
    Target { name: "sidecar_header", run: arrays::sidecar_header },
    Target { name: "open_whole_file", run: whole_files::open_whole_file },
    Target { name: "saved_view", run: views::saved_view },
    Target { name: "mds_index_json", run: shards::mds_index_json },
    Target { name: "mds_shard", run: shards::mds_shard },
    Target { name: "expression", run: expressions::expression },
    Target { name: "write_read", run: write_read::write_read },
];

/// Runs the target of that name. Each fuzzer program consists of this call.
///
/// # Panics
/// If there is no such target, and if the target finds an error.
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    assert!(target.is_some(), "no target {name}");
    if let Some(target) = target {
        (target.run)(data);
    }
}
