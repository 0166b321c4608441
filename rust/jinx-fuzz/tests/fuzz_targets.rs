//! Runs the fuzz targets without the fuzzer: on the corpus, on the vectors, and on both with random damage.
#![allow(clippy::unwrap_used)]

mod fuzz_seeds;

use jinx_fuzz::{TARGETS, Target};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

/// The seed inputs of each target.
static SEEDS: LazyLock<Vec<Vec<Vec<u8>>>> = LazyLock::new(|| {
    let mut vectors = fuzz_seeds::from_vectors();
    TARGETS
        .iter()
        .map(|target| {
            let mut inputs = vectors.remove(target.name).unwrap_or_default();
            inputs.extend(fuzz_seeds::checked_in(target.name).iter().map(|path| fs::read(path).unwrap()));
            inputs
        })
        .collect()
});

#[test]
fn the_corpus_again() {
    for (target, inputs) in TARGETS.iter().zip(SEEDS.iter()) {
        assert!(!inputs.is_empty(), "{} has no corpus", target.name);
        inputs.iter().for_each(|input| (target.run)(input));
    }
}

#[test]
fn every_target_has_its_program() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/fuzz_targets");
    let mut programs: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let mut names: Vec<_> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    programs.sort();
    names.sort();
    assert_eq!(programs, names);
}

/// The seed, changes to bytes, bytes to insert, and where to cut the input.
type Damage = (Index, Vec<(Index, u8)>, Option<(Index, Vec<u8>)>, Option<Index>);

fn damage() -> impl Strategy<Value = Damage> {
    (
        any::<Index>(),
        proptest::collection::vec((any::<Index>(), any::<u8>()), 0..6),
        proptest::option::of((any::<Index>(), proptest::collection::vec(any::<u8>(), 0..40))),
        proptest::option::of(any::<Index>()),
    )
}

fn damaged(inputs: &[Vec<u8>], (seed, changes, part, end): &Damage) -> Vec<u8> {
    let mut input = inputs[seed.index(inputs.len())].clone();
    for (at, byte) in changes.iter().filter(|_| !input.is_empty()).collect::<Vec<_>>() {
        let at = at.index(input.len());
        input[at] ^= byte;
    }
    if let Some((at, part)) = part {
        let at = at.index(input.len() + 1);
        input.splice(at..at, part.iter().copied());
    }
    if let Some(end) = end {
        input.truncate(end.index(input.len() + 1));
    }
    input
}

/// 300 inputs for each target, or the number in `PROPTEST_CASES`.
fn config() -> Config {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    Config { cases: asked.unwrap_or(300), failure_persistence: None, ..Config::default() }
}

fn every_target(run: impl Fn(&Target, &[Vec<u8>])) {
    for (target, inputs) in TARGETS.iter().zip(SEEDS.iter()) {
        run(target, inputs);
    }
}

#[test]
fn damaged_inputs() {
    every_target(|target, inputs| {
        let tried = TestRunner::new(config()).run(&damage(), |damage| {
            (target.run)(&damaged(inputs, &damage));
            Ok(())
        });
        assert!(tried.is_ok(), "{}: {}", target.name, tried.unwrap_err());
    });
}

#[test]
fn random_inputs() {
    every_target(|target, _| {
        let bytes = proptest::collection::vec(any::<u8>(), 0..400);
        let tried = TestRunner::new(config()).run(&bytes, |input| {
            (target.run)(&input);
            Ok(())
        });
        assert!(tried.is_ok(), "{}: {}", target.name, tried.unwrap_err());
    });
}
