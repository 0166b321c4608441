//! Seed inputs for each target: the checked-in corpus, and parts of the specification's vectors.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Longer parts of a vector test nothing that shorter ones do not.
const MAX_BYTES: usize = 4096;

/// Directories of vectors that are saved views.
const VIEWS: [&str; 4] = ["views", "views/bad", "typed", "typed/bad"];

pub type Seeds = BTreeMap<&'static str, Vec<Vec<u8>>>;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The checked-in inputs of a target: its corpus, and every input that once failed.
pub fn checked_in(target: &str) -> Vec<PathBuf> {
    let directories = ["corpus", "regressions"].map(|kind| root().join("fuzz").join(kind).join(target));
    let entries = directories.iter().filter_map(|directory| fs::read_dir(directory).ok()).flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Inputs taken from the files of the vectors.
pub fn from_vectors() -> Seeds {
    let mut seeds = Seeds::new();
    for path in files_below(&root().join("../../spec/vectors")) {
        let bytes = fs::read(&path).unwrap();
        match path.extension().and_then(|ext| ext.to_str()) {
            Some("jinx") => from_main(&bytes, &path, &mut seeds),
            Some("binx") => add(&mut seeds, "sidecar_header", &bytes[..bytes.len().min(64)]),
            Some("json") if path.file_name().is_some_and(|name| name == "jinx.json") => {
                add(&mut seeds, "manifest", &bytes);
            }
            _ => {}
        }
    }
    seeds
}

fn from_main(bytes: &[u8], path: &Path, seeds: &mut Seeds) {
    if bytes.len() <= MAX_BYTES {
        add(seeds, "trailer_footer", bytes);
        let length = u32::try_from(bytes.len()).unwrap();
        let side = fs::read(path.with_extension("binx")).unwrap_or_default();
        if side.len() <= MAX_BYTES {
            let pair = [&[255], &length.to_le_bytes()[..], bytes, &side].concat();
            let is_view =
                path.parent().is_some_and(|directory| VIEWS.iter().any(|views| directory.ends_with(views)));
            add(seeds, if is_view { "saved_view" } else { "open_whole_file" }, &pair);
        }
    }
    for line in bytes.split(|byte| *byte == b'\n').take(3).filter(|line| line.len() <= MAX_BYTES) {
        add(seeds, "record_keys", line);
    }
}

fn add(seeds: &mut Seeds, target: &'static str, input: &[u8]) {
    let inputs = seeds.entry(target).or_default();
    if !inputs.iter().any(|known| known == input) {
        inputs.push(input.to_vec());
    }
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}
