//! `verify` says nothing of whole datasets and finds every flipped bit of damaged ones.
#![allow(clippy::unwrap_used, clippy::panic, clippy::cast_precision_loss, clippy::cast_possible_wrap)]

mod sample;

use jinx_core::Cause;
use jinx_core::problem::Problem;
use jinx_core::value::Value;
use jinx_format::verify::verify;
use jinx_format::write::options::WriteOptions;
use sample::{options, rows, write};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

fn problems(path: &Path) -> Vec<Problem> {
    match verify(path, &mut |_, _| Ok(())) {
        Ok(problems) => problems,
        Err(error) => panic!("{error}"),
    }
}

/// Flips the bits `which` chooses, one at a time, and returns those that nobody noticed.
fn unnoticed(dataset: &Path, file: &Path, which: impl Fn(u64) -> bool) -> Vec<(u64, u32)> {
    let bytes = std::fs::read(file).unwrap();
    let open = OpenOptions::new().write(true).open(file).unwrap();
    let mut missed = Vec::new();
    for (at, byte) in bytes.iter().enumerate() {
        for bit in (0..8).filter(|bit| which(at as u64 * 8 + u64::from(*bit))) {
            open.write_all_at(&[byte ^ 1 << bit], at as u64).unwrap();
            if problems(dataset).is_empty() {
                missed.push((at as u64, bit));
            }
        }
        open.write_all_at(&[*byte], at as u64).unwrap();
    }
    assert!(problems(dataset).is_empty());
    missed
}

fn every_bit(sidecar: bool, compression: Option<i32>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jinx");
    write(&path, &rows(3), options(sidecar, compression));
    assert_eq!(problems(&path), []);
    assert_eq!(unnoticed(&path, &path, |_| true), []);
    if sidecar {
        assert_eq!(unnoticed(&path, &path.with_extension("binx"), |_| true), []);
    }
}

#[test]
fn every_bit_with_sidecar_and_zstd() {
    every_bit(true, Some(3));
}

#[test]
fn every_bit_with_sidecar() {
    every_bit(true, None);
}

#[test]
fn every_bit_in_one_file_with_zstd() {
    every_bit(false, Some(3));
}

#[test]
fn every_bit_in_one_file() {
    every_bit(false, None);
}

#[test]
fn bits_of_arrays_in_the_sidecar() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jinx");
    let side = path.with_extension("binx");
    // From 8191 rows on the index and the hashes lie in the sidecar.
    let rows: Vec<_> = (0..8200).map(|i| sample::row(2 * (i % 50) + usize::from(i % 9 != 0))).collect();
    write(&path, &rows, options(true, Some(3)));
    assert_eq!(problems(&path), []);
    let bits = std::fs::metadata(&side).unwrap().len() * 8;
    let (step, edge) = (bits / 100, bits - 64);
    assert_eq!(
        unnoticed(&path, &side, |bit| bit.is_multiple_of(step) || (bit > edge && bit.is_multiple_of(9))),
        []
    );
    let bits = std::fs::metadata(&path).unwrap().len() * 8;
    let step = bits / 50;
    assert_eq!(unnoticed(&path, &path, |bit| bit.is_multiple_of(step)), []);
}

#[test]
fn cut_and_longer_files_are_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jinx");
    write(&path, &rows(3), options(true, Some(3)));
    for file in [path.clone(), path.with_extension("binx")] {
        let bytes = std::fs::read(&file).unwrap();
        for length in 0..bytes.len() {
            std::fs::write(&file, &bytes[..length]).unwrap();
            assert!(!problems(&path).is_empty(), "{} cut to {length}", file.display());
        }
        std::fs::write(&file, [&bytes[..], b"\n"].concat()).unwrap();
        assert!(!problems(&path).is_empty());
        std::fs::write(&file, &bytes).unwrap();
    }
}

#[test]
fn problems_name_sample_and_column_and_the_check_continues() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jinx");
    write(&path, &rows(40), options(true, Some(3)));
    let (mut main, side) = (std::fs::read(&path).unwrap(), path.with_extension("binx"));
    let mut values = std::fs::read(&side).unwrap();
    let at = main.windows(7).position(|part| part == b"\"id\":17").unwrap();
    main[at + 6] = b'8';
    values[64] ^= 1;
    std::fs::write(&path, main).unwrap();
    std::fs::write(&side, values).unwrap();
    let found = problems(&path);
    assert!(
        found.iter().any(|problem| problem.sample == Some(17) && problem.what.contains("checksum")),
        "{found:?}"
    );
    let value = found.iter().find(|problem| problem.sample == Some(0)).unwrap();
    assert_eq!((value.column.as_deref(), value.cause), (Some("image"), Cause::Corrupt));
}

#[test]
fn a_name_that_is_a_text_here_and_a_list_there_has_no_column() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jinx");
    let row = |value| Value::Dict(vec![("name".to_owned(), value)]);
    let rows = [row(Value::List(Vec::new())), row(Value::Str("abc".to_owned()))];
    // The options ask for the texts of `name`.
    write(&path, &rows, options(true, None));
    assert_eq!(problems(&path), []);
}

#[test]
fn directories_are_held_against_their_manifest() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("data");
    write(&directory, &rows(40), WriteOptions { shard_bytes: Some(2000), ..options(true, Some(3)) });
    assert_eq!(problems(&directory), []);
    let mut last = (0, 0);
    verify(&directory, &mut |done, total| {
        assert!(done >= last.0 && done <= total);
        last = (done, total);
        Ok(())
    })
    .unwrap();
    assert_eq!(last.0, last.1);
    std::fs::remove_file(directory.join("shard-00001.jinx")).unwrap();
    std::fs::remove_file(directory.join("shard-00002.binx")).unwrap();
    let found = problems(&directory);
    for shard in ["shard-00001.jinx", "shard-00002.jinx"] {
        assert!(found.iter().any(|problem| problem.file.ends_with(shard)), "{shard}: {found:?}");
    }
}

#[test]
fn every_bit_of_a_manifest() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("data");
    write(&directory, &rows(1), options(false, None));
    assert_eq!(unnoticed(&directory, &directory.join("jinx.json"), |_| true), []);
}

#[test]
fn a_pass_can_be_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jinx");
    write(&path, &rows(3), options(true, None));
    let stopped = verify(&path, &mut |_, _| Err(jinx_core::Error::interrupted()));
    assert_eq!(stopped.unwrap_err().cause(), Cause::Interrupted);
}
