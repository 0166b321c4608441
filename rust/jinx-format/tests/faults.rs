//! Every change of a directory may fail, and the process may die before any of them: the dataset is the old one or the
//! new one, and the next run succeeds.
#![allow(clippy::unwrap_used, clippy::panic)]

mod sample;

use jinx_core::io::fs_calls::Call;
use jinx_core::io::{FileOps, RealOps};
use jinx_core::value::Value;
use jinx_core::{Error, Result};
use jinx_format::merge::{merge, merge_on, part_name};
use jinx_format::write::dataset::{DatasetWriter, Summary};
use jinx_format::write::options::{Resume, WriteOptions};
use sample::{expected, rows_in};
use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What happens at the call with a number, counted from 0.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// It fails, later ones work.
    Fail,
    /// It and all later ones fail: the process has died.
    Stop,
}

/// Tries `run` with a fault at every call that it makes, and says how many there are.
fn at_every_call(fault: Fault, mut run: impl FnMut(Arc<dyn FileOps>, usize)) -> usize {
    for number in 0.. {
        let calls = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&calls);
        let ops = move |_: Call<'_>| match (fault, seen.fetch_add(1, Ordering::SeqCst)) {
            (Fault::Fail, at) if at == number => Err(io::Error::other("injected")),
            (Fault::Stop, at) if at >= number => Err(io::Error::other("stopped")),
            _ => Ok(()),
        };
        run(Arc::new(ops), number);
        if calls.load(Ordering::SeqCst) <= number {
            return number;
        }
    }
    unreachable!("some number is larger than that of calls")
}

/// Each shard holds one row.
fn options() -> WriteOptions {
    WriteOptions { shard_bytes: Some(1), overwrite: true, threads: 1, ..WriteOptions::default() }
}

fn write(ops: Arc<dyn FileOps>, path: &Path, rows: Range<usize>, options: WriteOptions) -> Result<Summary> {
    let mut writer = DatasetWriter::create_on(ops, path, options)?;
    writer.skip_resumed();
    let rows: Vec<Value> = rows.map(sample::row).collect();
    writer.write_values(&rows)?;
    writer.close()
}

fn hidden_in(directory: &Path) -> Vec<String> {
    let names =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with('.')).collect()
}

#[test]
fn a_directory_that_is_replaced_is_the_old_one_or_the_new_one() {
    for fault in [Fault::Fail, Fault::Stop] {
        let calls = at_every_call(fault, |ops, number| {
            let place = tempfile::tempdir().unwrap();
            let path = place.path().join("d");
            write(Arc::new(RealOps), &path, 0..2, options()).unwrap();
            let done = write(ops, &path, 10..13, options());
            let when = format!("{fault:?} at {number}: {:?}", done.as_ref().map_err(Error::to_string));
            let found = rows_in(&path).unwrap_or_else(|error| panic!("{when}: {error}"));
            assert!(found == expected(0..2) || found == expected(10..13), "{when}");
            assert!(done.is_err() || found == expected(10..13), "{when}");
            write(Arc::new(RealOps), &path, 20..21, options()).unwrap();
            assert_eq!(rows_in(&path).unwrap(), expected(20..21), "{when}");
            assert!(hidden_in(place.path()).is_empty(), "{when}");
        });
        assert!(calls > 15, "shards, index, syncs and the exchange, but only {calls} calls");
    }
}

#[test]
fn an_interrupted_run_is_resumed_whatever_call_it_died_at() {
    for fault in [Fault::Fail, Fault::Stop] {
        let calls = at_every_call(fault, |ops, number| {
            let place = tempfile::tempdir().unwrap();
            let path = place.path().join("d");
            let options = |proceed| {
                let resume = Some(Resume { key: "k".to_owned(), proceed });
                WriteOptions { resume, ..options() }
            };
            let first = write(ops, &path, 0..3, options(false));
            let when = format!("{fault:?} at {number}: {:?}", first.as_ref().map_err(Error::to_string));
            assert!(!path.exists() || rows_in(&path).unwrap() == expected(0..3), "{when}");
            write(Arc::new(RealOps), &path, 0..3, options(true)).unwrap();
            assert_eq!(rows_in(&path).unwrap(), expected(0..3), "{when}");
            assert!(hidden_in(place.path()).is_empty() && hidden_in(&path).is_empty(), "{when}");
        });
        assert!(calls > 20, "the journal too, but only {calls} calls");
    }
}

#[test]
fn a_merge_that_fails_is_finished_by_the_next_one() {
    for fault in [Fault::Fail, Fault::Stop] {
        let calls = at_every_call(fault, |ops, number| {
            let place = tempfile::tempdir().unwrap();
            let path = place.path().join("d");
            fs::create_dir(&path).unwrap();
            for (part, rows) in [(0, 0..2), (1, 2..4)] {
                write(Arc::new(RealOps), &path.join(part_name(part, 2)), rows, options()).unwrap();
            }
            let done = merge_on(&ops, &path);
            let when = format!("{fault:?} at {number}: {:?}", done.as_ref().map_err(Error::to_string));
            let is_listed = path.join("jinx.json").exists();
            assert!(done.is_err() || is_listed, "{when}");
            if is_listed {
                assert_eq!(rows_in(&path).unwrap(), expected(0..4), "{when}");
            }
            // Parts that were not removed are merged again, into what is there.
            if path.join(part_name(0, 2)).exists() && path.join(part_name(1, 2)).exists() {
                merge(&path).unwrap();
            } else {
                assert!(is_listed, "{when}");
            }
            assert_eq!(rows_in(&path).unwrap(), expected(0..4), "{when}");
        });
        assert!(calls > 10, "renames, the manifest and removals, but only {calls} calls");
    }
}
