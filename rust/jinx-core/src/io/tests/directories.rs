//! Directories of shards, and single small files.

use super::super::publish_file::publish_on;
use super::super::{Contents, DirectoryWriter, publish_file, remove_leftovers};
use super::*;
use crate::error::Cause;
use std::os::unix::fs::PermissionsExt;

fn write_directory(ops: Arc<dyn FileOps>, target: &Path, id: &str) -> Result<()> {
    let writer = DirectoryWriter::begin_on(ops, target, true, Contents::Jinx)?;
    for shard in ["shard-00000.jinx", "shard-00000.binx", "jinx.json"] {
        fs::write(writer.path().join(shard), id).unwrap();
    }
    writer.commit()
}

/// The id of a whole directory, `None` when there is none.
fn read_directory(target: &Path) -> Option<String> {
    let read = |shard| fs::read_to_string(target.join(shard)).ok();
    let first = read("jinx.json")?;
    for shard in ["shard-00000.jinx", "shard-00000.binx"] {
        assert_eq!(read(shard), Some(first.clone()), "mixed directory");
    }
    Some(first)
}

fn prepared(old: bool) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("out.d");
    if old {
        write_directory(Arc::new(RealOps), &target, OLD).unwrap();
    }
    (directory, target)
}

#[test]
fn creates_replaces_and_leaves_nothing_else() {
    let (directory, target) = prepared(true);
    assert_eq!(read_directory(&target).as_deref(), Some(OLD));
    fs::set_permissions(&target, fs::Permissions::from_mode(0o750)).unwrap();
    write_directory(Arc::new(RealOps), &target, NEW).unwrap();
    assert_eq!(read_directory(&target).as_deref(), Some(NEW));
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o750);
    assert_eq!(names_in(directory.path()), ["out.d"]);
    assert_eq!(names_in(&target), ["jinx.json", "shard-00000.binx", "shard-00000.jinx"]);
}

#[test]
fn refuses_foreign_files_files_and_unasked_replacement() {
    let (directory, target) = prepared(true);
    let begin =
        |target: &Path, overwrite| DirectoryWriter::begin(target, overwrite).err().unwrap().to_string();
    assert!(begin(&target, false).contains("overwrite=True"));
    let plain = directory.path().join("plain");
    fs::write(&plain, "").unwrap();
    assert!(begin(&plain, true).contains("not a directory"));
    assert!(begin(&directory.path().join("no/out"), true).contains("no such directory"));
    for foreign in ["thesis.tex", "shard-1.txt", ".git", "index.json"] {
        fs::write(target.join(foreign), "precious").unwrap();
        assert!(begin(&target, true).contains(foreign));
        fs::remove_file(target.join(foreign)).unwrap();
    }
    fs::create_dir(target.join("shard-00001.jinx")).unwrap();
    assert!(begin(&target, true).contains("shard-00001.jinx"));
    assert_eq!(read_directory(&target).as_deref(), Some(OLD));
    assert_eq!(names_in(directory.path()), ["out.d", "plain"]);
}

#[test]
fn foreign_files_that_come_later_survive() {
    let (_directory, target) = prepared(true);
    let writer = DirectoryWriter::begin(&target, true).unwrap();
    fs::write(target.join("thesis.tex"), "precious").unwrap();
    assert_eq!(writer.commit().unwrap_err().cause(), Cause::Invalid);
    assert_eq!(fs::read(target.join("thesis.tex")).unwrap(), b"precious");
    assert_eq!(read_directory(&target).as_deref(), Some(OLD));
}

#[test]
fn an_empty_directory_and_a_link_to_a_directory_are_targets() {
    let directory = tempfile::tempdir().unwrap();
    let empty = directory.path().join("empty");
    fs::create_dir(&empty).unwrap();
    DirectoryWriter::begin(&empty, false).unwrap().commit().unwrap();
    let link = directory.path().join("link");
    std::os::unix::fs::symlink("empty", &link).unwrap();
    write_directory(Arc::new(RealOps), &link, NEW).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(read_directory(&empty).as_deref(), Some(NEW));
}

#[test]
fn second_writer_is_told_and_dropping_cleans_up() {
    let (directory, target) = prepared(false);
    let first = DirectoryWriter::begin(&target, false).unwrap();
    fs::write(first.path().join("anything"), "x").unwrap();
    let error = DirectoryWriter::begin(&target, true).err().unwrap();
    assert!(error.to_string().contains("another process is writing"), "{error}");
    drop(first);
    assert_eq!(names_in(directory.path()), Vec::<String>::new());
}

#[test]
fn any_failing_call_or_death_leaves_old_or_new() {
    for (old, exchange) in [(false, true), (true, true), (true, false)] {
        for number in 0..40 {
            for fault in [Fault::Fail(number), Fault::Stop(number)] {
                let (directory, target) = prepared(old);
                let mut layer = Layer { fault, steps: Mutex::default(), refuse: None };
                if !exchange {
                    layer.refuse = Some(("Exchange", io::ErrorKind::Unsupported));
                }
                let _ = write_directory(Arc::new(layer), &target, NEW);
                // Without exchange there is a moment with no directory; the next writer ends it.
                drop(DirectoryWriter::begin(&target, true).unwrap());
                let wanted = if old { Some(OLD.to_owned()) } else { None };
                let seen = read_directory(&target);
                assert!(
                    seen == wanted || seen.as_deref() == Some(NEW),
                    "{old} {exchange} {fault:?}: {seen:?}"
                );
                let left: Vec<_> =
                    names_in(directory.path()).into_iter().filter(|name| name != "out.d").collect();
                assert_eq!(left, Vec::<String>::new(), "{old} {exchange} {fault:?}");
            }
        }
    }
}

#[test]
fn shards_of_mds_replace_their_own_kind_only() {
    let (directory, jinx) = prepared(true);
    assert!(DirectoryWriter::begin_with(&jinx, true, Contents::Mds).is_err());
    let mds = directory.path().join("mds");
    for _ in 0..2 {
        let writer = DirectoryWriter::begin_with(&mds, true, Contents::Mds).unwrap();
        for name in ["index.json", "shard.00000.mds", "shard.00000.mds.zstd"] {
            fs::write(writer.path().join(name), "").unwrap();
        }
        writer.commit().unwrap();
    }
    assert!(DirectoryWriter::begin(&mds, true).is_err());
}

#[test]
fn a_small_file_is_replaced_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("jinx.json");
    publish_file(&path, b"old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    publish_file(&path, b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    for number in 0..10 {
        for fault in [Fault::Fail(number), Fault::Stop(number)] {
            let ops: Arc<dyn FileOps> = Layer::new(fault);
            let done = publish_on(&ops, &path, b"newer");
            let seen = fs::read(&path).unwrap();
            assert!(seen == b"newer" || (seen == b"new" && done.is_err()), "{fault:?}");
            publish_file(&path, b"new").unwrap();
            assert_eq!(names_in(directory.path()), ["jinx.json"]);
        }
    }
    assert!(publish_file(&directory.path().join("no/jinx.json"), b"").is_err());
}

/// Parts of several kinds in one directory.
fn write_parts(ops: Arc<dyn FileOps>, target: &Path, id: &str) -> Result<()> {
    let writer = DirectoryWriter::begin_on(ops, target, true, Contents::Anything)?;
    fs::create_dir(writer.path().join("shards")).unwrap();
    for part in ["train.jinx", "test.parquet", "shards/shard-00000.jinx"] {
        fs::write(writer.path().join(part), id).unwrap();
    }
    writer.commit()
}

#[test]
fn parts_of_any_kind_appear_together_and_a_dead_writer_leaves_none_behind() {
    // What comes next is another split, a dataset of shards under the same name, or `jinx clean`.
    let next: [fn(&Path); 3] = [
        |target| drop(DirectoryWriter::begin_with(target, true, Contents::Anything)),
        |target| drop(DirectoryWriter::begin(target, true)),
        |target| drop(remove_leftovers(target.parent().unwrap(), &FirstWord).unwrap()),
    ];
    let mut published = 0;
    for next in next {
        for number in 0..40 {
            for fault in [Fault::Fail(number), Fault::Stop(number)] {
                let (directory, target) = prepared(false);
                let _ = write_parts(
                    Arc::new(Layer { fault, steps: Mutex::default(), refuse: None }),
                    &target,
                    NEW,
                );
                next(&target);
                if target.exists() {
                    // Published: nobody may replace it, so nobody took the lock that may be left.
                    remove_leftovers(directory.path(), &FirstWord).unwrap();
                }
                let names = names_in(directory.path());
                if names == ["out.d"] {
                    assert_eq!(names_in(&target), ["shards", "test.parquet", "train.jinx"], "{fault:?}");
                    published += 1;
                } else {
                    assert_eq!(names, Vec::<String>::new(), "{fault:?}");
                }
            }
        }
    }
    assert!(published > 0);
}

#[test]
fn only_datasets_are_replaced_by_parts_and_no_work_directory_of_others_is_taken() {
    let (directory, target) = prepared(true);
    write_parts(Arc::new(RealOps), &target, NEW).unwrap();
    let error = write_parts(Arc::new(RealOps), &target, NEW).unwrap_err();
    assert!(error.to_string().contains("nothing is removed"), "{error}");
    assert_eq!(names_in(directory.path()), ["out.d"]);
    // Without a lock that says so, a directory of this name is somebody's.
    let other = directory.path().join(".other.tmp");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("thesis.tex"), "precious").unwrap();
    assert!(write_parts(Arc::new(RealOps), &directory.path().join("other"), NEW).is_err());
    assert_eq!(fs::read(other.join("thesis.tex")).unwrap(), b"precious");
}
