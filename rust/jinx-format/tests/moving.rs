//! Datasets that get other names, and views whose bases do: whatever call fails, and whoever else writes meanwhile, no
//! dataset is lost.
#![allow(clippy::unwrap_used, clippy::panic)]

mod sample;

use jinx_core::error::Cause;
use jinx_core::io::fs_calls::Call;
use jinx_core::io::{FileOps, RealOps, remove_leftovers};
use jinx_core::{Error, Result};
use jinx_format::copy_files::{copy_directory, copy_directory_on, copy_pair};
use jinx_format::identity::{JinxIdentity, sidecar_of};
use jinx_format::move_files::{move_directory_on, move_pair_on, remove_directory_on};
use jinx_format::read::shard::{OpenOptions, Shard};
use jinx_format::rewrite_bases::{NewPlace, rewrite_bases_on};
use jinx_format::view_footer::{Base, BaseKind, NewBase, NewView};
use jinx_format::write::dataset::DatasetWriter;
use jinx_format::write::options::WriteOptions;
use sample::{expected, rows_in};
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

fn write(path: &Path, rows: Range<usize>) {
    // In a directory, each shard holds one row.
    let is_pair = path.extension().is_some();
    let shard_bytes = if is_pair { None } else { Some(1) };
    let options = WriteOptions { shard_bytes, overwrite: true, threads: 1, ..WriteOptions::default() };
    let mut writer = DatasetWriter::create_on(Arc::new(RealOps), path, options).unwrap();
    writer.write_values(&rows.map(sample::row).collect::<Vec<_>>()).unwrap();
    writer.close().unwrap();
}

fn names_in(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn move_on(ops: Arc<dyn FileOps>, from: &Path, to: &Path) -> Result<()> {
    match from.extension() {
        Some(_) => move_pair_on(ops, from, to, true),
        None => move_directory_on(ops, from, to, true),
    }
}

#[test]
fn a_move_that_fails_or_dies_at_any_call_loses_nothing_and_is_repeated() {
    for (from, to, left) in [("a.jinx", "b.jinx", &["b.binx", "b.jinx"][..]), ("a", "b", &["b"][..])] {
        for (is_replaced, is_dead) in [(true, false), (true, true), (false, false), (false, true)] {
            for number in 0.. {
                let place = tempfile::tempdir().unwrap();
                let (from, to) = (place.path().join(from), place.path().join(to));
                write(&from, 0..3);
                if is_replaced {
                    write(&to, 10..12);
                }
                let calls = Arc::new(AtomicUsize::new(0));
                let seen = Arc::clone(&calls);
                let ops = move |_: Call<'_>| match seen.fetch_add(1, Ordering::SeqCst) {
                    at if at == number || (is_dead && at > number) => Err(io::Error::other("injected")),
                    _ => Ok(()),
                };
                let done = move_on(Arc::new(ops), &from, &to);
                let when = format!("{from:?} at {number}: {:?}", done.as_ref().map_err(Error::to_string));
                let there =
                    to.exists().then(|| rows_in(&to).unwrap_or_else(|error| panic!("{when}: {error}")));
                let is_moved = there.as_ref() == Some(&expected(0..3));
                assert!(is_moved || there == is_replaced.then(|| expected(10..12)), "{when}");
                assert!(is_moved || rows_in(&from).unwrap() == expected(0..3), "{when}");
                assert!(is_moved || done.is_err(), "{when}");
                if !is_moved {
                    move_on(Arc::new(RealOps), &from, &to).unwrap_or_else(|error| panic!("{when}: {error}"));
                }
                remove_leftovers(place.path(), &JinxIdentity).unwrap();
                assert_eq!(rows_in(&to).unwrap(), expected(0..3), "{when}");
                assert!(!from.exists() || (is_moved && done.is_err()), "{when}");
                if calls.load(Ordering::SeqCst) <= number {
                    assert_eq!(names_in(place.path()), left, "{when}");
                    assert!(number > 8, "locks, links, renames and syncs, but only {number} calls");
                    break;
                }
            }
        }
    }
}

#[test]
fn files_that_cannot_have_second_names_are_copied() {
    for (from, to, left) in [("a.jinx", "b.jinx", &["b.binx", "b.jinx"][..]), ("a", "b", &["b"][..])] {
        let place = tempfile::tempdir().unwrap();
        let (from, to) = (place.path().join(from), place.path().join(to));
        write(&from, 0..3);
        let refused = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&refused);
        let ops = move |call: Call<'_>| match call {
            Call::Link(..) => {
                seen.fetch_add(1, Ordering::SeqCst);
                Err(io::ErrorKind::CrossesDevices.into())
            }
            _ => Ok(()),
        };
        move_on(Arc::new(ops), &from, &to).unwrap();
        assert!(refused.load(Ordering::SeqCst) > 0);
        assert_eq!(rows_in(&to).unwrap(), expected(0..3));
        assert_eq!(names_in(place.path()), left);
    }
}

#[test]
fn a_copy_of_a_pair_that_is_replaced_meanwhile_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let [a, b, out] = ["a.jinx", "b.jinx", "out.jinx"].map(|name| place.path().join(name));
    write(&a, 0..3);
    write(&b, 10..12);
    // What a copy reads if another pair gets the name between its two files.
    let error = copy_pair(&a, sidecar_of(&b).unwrap().as_deref(), &out, false).unwrap_err();
    assert_eq!(error.cause(), Cause::Mismatch, "{error}");
    assert!(!out.exists());
}

#[test]
fn the_new_name_is_durable_before_the_old_one_goes() {
    for (from, to) in [("a.jinx", "b.jinx"), ("a", "b")] {
        let place = tempfile::tempdir().unwrap();
        let (from, to) = (place.path().join("x").join(from), place.path().join("y").join(to));
        for path in [&from, &to] {
            fs::create_dir(path.parent().unwrap()).unwrap();
            write(path, 0..2);
        }
        let steps = Arc::new(std::sync::Mutex::new(Vec::new()));
        let seen = Arc::clone(&steps);
        let target = to.clone();
        let ops = move |call: Call<'_>| {
            seen.lock().unwrap().push(match call {
                Call::Rename(_, new) | Call::Exchange(_, new) if new == target => "published",
                Call::SyncDirectory(path) if path.ends_with("y") => "synced",
                Call::Remove(path) | Call::Rename(path, _)
                    if path.starts_with(place.path().join("x"))
                        && !path.to_string_lossy().contains(".tmp") =>
                {
                    "removed"
                }
                Call::SyncDirectory(path) if path.ends_with("x") => "source synced",
                _ => return Ok(()),
            });
            Ok(())
        };
        move_on(Arc::new(ops), &from, &to).unwrap();
        let mut steps = steps.lock().unwrap().clone();
        steps.dedup();
        let published = steps.iter().position(|step| *step == "published").unwrap();
        assert_eq!(steps[published + 1], "synced", "{steps:?}");
        assert!(!steps[..published].contains(&"removed"), "{steps:?}");
        assert_eq!(*steps.last().unwrap(), "source synced", "{steps:?}");
    }
}

#[test]
fn a_directory_goes_at_once_however_it_goes() {
    for (is_moved, has_manifest, is_dead) in (0..8).map(|i| (i & 1 > 0, i & 2 > 0, i & 4 > 0)) {
        for number in 0.. {
            let place = tempfile::tempdir().unwrap();
            let [from, to] = ["a", "b"].map(|name| place.path().join(name));
            write(&from, 0..3);
            if !has_manifest {
                fs::remove_file(from.join("jinx.json")).unwrap();
            }
            let calls = Arc::new(AtomicUsize::new(0));
            let (seen, shown) = (Arc::clone(&calls), from.clone());
            let ops = move |_: Call<'_>| {
                // What another process reads.
                assert!(!shown.exists() || rows_in(&shown).unwrap() == expected(0..3));
                match seen.fetch_add(1, Ordering::SeqCst) {
                    at if at == number || (is_dead && at > number) => Err(io::Error::other("injected")),
                    _ => Ok(()),
                }
            };
            let _ = match is_moved {
                true => move_directory_on(Arc::new(ops), &from, &to, true),
                false => remove_directory_on(Arc::new(ops), &from),
            };
            assert!(!from.exists() || rows_in(&from).unwrap() == expected(0..3), "{number}");
            // Nothing that is left is in the way of the next writer, or stays.
            write(&from, 10..12);
            assert_eq!(rows_in(&from).unwrap(), expected(10..12), "{number}");
            remove_leftovers(place.path(), &JinxIdentity).unwrap();
            let left = names_in(place.path());
            assert!(left == ["a"] || (is_moved && left == ["a", "b"]), "{number}: {left:?}");
            if calls.load(Ordering::SeqCst) <= number {
                assert!(number > 5, "a lock, a rename, a sync and removals, but only {number} calls");
                break;
            }
        }
    }
}

#[test]
fn a_copy_of_a_directory_that_is_changed_meanwhile_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let [from, other, out] = ["a", "other", "out"].map(|name| place.path().join(name));
    let changes: [fn(&Path, &Path); 3] = [
        |from, other| RealOps.exchange(from, other).unwrap(),
        |from, other| {
            fs::copy(other.join("shard-00000.jinx"), from.join("shard-00003.jinx")).unwrap();
        },
        |from, _| fs::remove_file(from.join("shard-00000.jinx")).unwrap(),
    ];
    for change in changes {
        write(&from, 0..3);
        write(&other, 10..13);
        copy_directory(&from, &out, true).unwrap();
        assert_eq!(rows_in(&out).unwrap(), expected(0..3));
        let is_done = AtomicBool::new(false);
        let (source, other) = (from.clone(), other.clone());
        let ops = move |call: Call<'_>| {
            if matches!(call, Call::Create(path) if path.ends_with("shard-00002.jinx"))
                && !is_done.swap(true, Ordering::SeqCst)
            {
                change(&source, &other);
            }
            Ok(())
        };
        let error = copy_directory_on(Arc::new(ops), &from, &out, true).unwrap_err();
        assert_eq!(error.cause(), Cause::Mismatch, "{error}");
        assert_eq!(rows_in(&out).unwrap(), expected(0..3), "the old copy stays");
        fs::remove_dir_all(&from).unwrap();
    }
}

#[test]
fn a_writer_that_comes_during_a_move_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let [a, b, other] = ["a.jinx", "b.jinx", "other.jinx"].map(|name| place.path().join(name));
    write(&a, 0..3);
    write(&b, 10..12);
    write(&other, 20..24);
    let sidecar = sidecar_of(&other).unwrap();
    let refused = Arc::new(AtomicUsize::new(0));
    let (seen, targets) = (Arc::clone(&refused), [a.clone(), b.clone()]);
    let ops = move |call: Call<'_>| {
        if matches!(call, Call::Rename(..)) {
            for target in &targets {
                let error = copy_pair(&other, sidecar.as_deref(), target, true).unwrap_err();
                assert_eq!(error.cause(), Cause::Io(io::ErrorKind::WouldBlock), "{error}");
                seen.fetch_add(1, Ordering::SeqCst);
            }
        }
        Ok(())
    };
    move_pair_on(Arc::new(ops), &a, &b, true).unwrap();
    assert!(refused.load(Ordering::SeqCst) >= 4, "before the sidecar and before the main file");
    assert_eq!(rows_in(&b).unwrap(), expected(0..3));
    assert_eq!(names_in(place.path()), ["b.binx", "b.jinx", "other.binx", "other.jinx"]);
}

/// Saves a view of two of the samples of a base, with columns of its own; returns its id.
fn save_view(path: &Path, base: &Path, positions: [u64; 2]) -> String {
    let shown = Shard::open(base, &OpenOptions::default()).unwrap();
    let base = Base {
        path: Some("base.jinx".to_owned()),
        hint: Some(base.to_str().unwrap().to_owned()),
        location: Some("s3://bucket/base.jinx".to_owned()),
        version: Some("\"0815\"".to_owned()),
        kind: BaseKind::Pair,
        id: shown.footer().id.clone().unwrap(),
        num_samples: shown.len(),
        shards: None,
        index: None,
        content: None,
        markers: false,
    };
    let bases = vec![NewBase { base, index: None }];
    let view = NewView {
        bases,
        positions: Some(positions.to_vec()),
        drop: Vec::new(),
        num_samples: 2,
        own: Vec::new(),
    };
    let options = WriteOptions { overwrite: true, view: Some(Arc::new(view)), ..WriteOptions::default() };
    let mut writer = DatasetWriter::create_on(Arc::new(RealOps), path, options).unwrap();
    writer.write_values(&positions.map(|i| sample::row(usize::try_from(i).unwrap()))).unwrap();
    writer.close().unwrap();
    open_view(path).unwrap().footer().id.clone().unwrap()
}

fn open_view(path: &Path) -> Result<Shard> {
    Shard::open(path, &OpenOptions { views: true, ..OpenOptions::default() })
}

/// Rewrites the bases of a view that another writer replaces just before the call for which `when` says so.
fn rewritten_beside_a_writer(
    when: fn(&Call<'_>) -> bool,
) -> (Result<()>, Result<()>, Result<Shard>, [String; 2]) {
    let place = tempfile::tempdir().unwrap();
    let [base, view, new] = ["base.jinx", "v.jinx", "new.jinx"].map(|name| place.path().join(name));
    write(&base, 0..5);
    let ids = [save_view(&view, &base, [1, 2]), save_view(&new, &base, [4, 3])];
    let sidecar = sidecar_of(&new).unwrap();
    assert!(sidecar.is_some(), "its own columns are in the sidecar");
    let (is_done, copied) = (AtomicBool::new(false), Arc::new(std::sync::Mutex::new(None)));
    let (target, result): (PathBuf, _) = (view.clone(), Arc::clone(&copied));
    let ops = move |call: Call<'_>| {
        if when(&call) && !is_done.swap(true, Ordering::SeqCst) {
            *result.lock().unwrap() = Some(copy_pair(&new, sidecar.as_deref(), &target, true));
        }
        Ok(())
    };
    let places = [Some(NewPlace::Paths("else/base.jinx".to_owned(), "/else/base.jinx".to_owned()))];
    let done = rewrite_bases_on(Arc::new(ops), &view, &ids[0], &places);
    let copied = copied.lock().unwrap().take().unwrap();
    (done, copied, open_view(&view), ids)
}

#[test]
fn a_view_that_is_replaced_while_its_bases_are_rewritten_stays_whole() {
    // The other writer is first: its view stays as it is.
    let (done, copied, view, [_, new]) =
        rewritten_beside_a_writer(|call| matches!(call, Call::OpenLockable(_)));
    copied.unwrap();
    assert_eq!(done.unwrap_err().cause(), Cause::Mismatch);
    let view = view.unwrap();
    assert_eq!(view.footer().id, Some(new));
    assert_eq!(view.footer().view.as_ref().unwrap().bases[0].path.as_deref(), Some("base.jinx"));
    // It comes too late: it is refused.
    for when in [
        |call: &Call<'_>| matches!(call, Call::SyncFile(_)),
        |call: &Call<'_>| matches!(call, Call::Rename(..)),
    ] {
        let (done, copied, view, [old, _]) = rewritten_beside_a_writer(when);
        done.unwrap();
        assert_eq!(copied.unwrap_err().cause(), Cause::Io(io::ErrorKind::WouldBlock));
        let view = view.unwrap();
        assert_eq!(view.footer().id, Some(old));
        assert_eq!(view.footer().view.as_ref().unwrap().bases[0].path.as_deref(), Some("else/base.jinx"));
        assert_eq!(view.view_position(0).unwrap(), 1);
        let base = &view.footer().view.as_ref().unwrap().bases[0];
        assert_eq!(base.location.as_deref(), Some("s3://bucket/base.jinx"));
        assert_eq!(base.version.as_deref(), Some("\"0815\""));
    }
}
