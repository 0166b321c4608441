//! What the fuzzer calls: every target takes any bytes, and must come back without a panic.
//!
//! The same functions are called by the property test and by the replay of the corpus in `tests/fuzz_targets.rs`, and by
//! the programs in `fuzz/fuzz_targets`. A target also asserts what must hold of what it could read.

mod arrays;
mod codecs;
mod datasets;
mod expressions;
mod footers;
mod mutate;
mod place;
mod records;
mod shards;
mod views;
mod whole_files;
mod write_read;

/// One way into the code that reads untrusted bytes.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name of its program and of its corpus.
    pub name: &'static str,
    pub run: fn(&[u8]),
}

/// Every target of the core, in the order in which a file is read.
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

/// Runs the target of that name; the programs of the fuzzer consist of this call.
///
/// # Panics
/// When there is no such target, and when the target found something.
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    assert!(target.is_some(), "no target {name}");
    if let Some(target) = target {
        (target.run)(data);
    }
}
