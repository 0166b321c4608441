//! Writes the seed inputs of the fuzzer: `cargo run --example fuzz_seeds DIRECTORY` creates
//! `DIRECTORY/TARGET/...`.
#![allow(clippy::unwrap_used)]

#[path = "../tests/fuzz_seeds/mod.rs"]
mod fuzz_seeds;

use jinx_fuzz::TARGETS;
use std::fs;
use std::path::PathBuf;

fn main() {
    let root = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "seeds".to_owned()));
    let mut vectors = fuzz_seeds::from_vectors();
    for target in TARGETS {
        let directory = root.join(target.name);
        fs::create_dir_all(&directory).unwrap();
        let checked_in = fuzz_seeds::checked_in(target.name).into_iter().map(|path| fs::read(path).unwrap());
        let inputs = vectors.remove(target.name).unwrap_or_default().into_iter().chain(checked_in);
        for (number, input) in inputs.enumerate() {
            fs::write(directory.join(format!("seed{number:04}")), input).unwrap();
        }
    }
}
