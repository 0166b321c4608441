//! The files that a pair writer accepts, refuses and leaves.

use super::*;
use crate::error::Cause;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

fn begin(main: &Path, overwrite: bool) -> Result<PairWriter> {
    PairWriter::begin(main, overwrite, FirstWord)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn refuses_what_is_there_missing_or_no_dataset_name() {
    let directory = tempfile::tempdir().unwrap();
    let main = directory.path().join("a.jinx");
    write_pair(&main, OLD, true).unwrap();
    fs::create_dir(directory.path().join("dir.jinx")).unwrap();
    let long = format!("{}.jinx", "x".repeat(217));
    for (path, overwrite, part) in [
        ("a.jinx", false, "--overwrite (overwrite=True)"),
        ("dir.jinx", true, "directory"),
        ("missing/a.jinx", true, "no such directory"),
        ("a.json", true, "must be NAME.jinx"),
        (".jinx", true, "must be NAME.jinx"),
        (&long, true, "too long"),
    ] {
        let error = begin(&directory.path().join(path), overwrite).err().unwrap();
        assert_eq!(error.cause(), Cause::Invalid, "{path}");
        assert!(error.to_string().contains(part), "{error}");
    }
    assert_eq!(names_in(directory.path()), ["a.binx", "a.jinx", "dir.jinx"]);
}

#[test]
fn second_writer_waits_for_nobody_and_the_first_continues() {
    let directory = tempfile::tempdir().unwrap();
    let main = directory.path().join("a.jinx");
    let mut first = begin(&main, false).unwrap();
    let error = begin(&main, true).err().unwrap();
    assert_eq!(error.cause(), Cause::Io(io::ErrorKind::WouldBlock));
    assert!(error.to_string().contains("another process is writing"), "{error}");
    write!(first.main_file(), "{NEW} alone").unwrap();
    first.commit().unwrap();
    assert_eq!(read_pair(&main), Ok(Some(NEW.to_owned())));
}

#[test]
fn of_many_writers_at_once_each_dataset_is_whole() {
    let directory = tempfile::tempdir().unwrap();
    let main = directory.path().join("a.jinx");
    let written: usize = thread::scope(|scope| {
        let write = || (0..40).filter(|round| write_pair(&main, [OLD, NEW][round % 2], true).is_ok()).count();
        let writers: Vec<_> = (0..8).map(|_| scope.spawn(write)).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    assert!(written > 0);
    assert!(read_pair(&main).unwrap().is_some());
    assert_eq!(names_in(directory.path()), ["a.binx", "a.jinx"]);
}

#[test]
fn readers_see_old_or_new_while_a_writer_replaces() {
    let directory = tempfile::tempdir().unwrap();
    let main = directory.path().join("a.jinx");
    write_pair(&main, OLD, true).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let read = || {
            let mut rounds = 0;
            while !stop.load(Ordering::Relaxed) {
                // As a reader does: when no sidecar fits, the main file has been replaced and is read again.
                let seen = (0..10).find_map(|_| read_pair(&main).ok());
                assert!(seen.flatten().is_some());
                rounds += 1;
            }
            rounds
        };
        let readers: Vec<_> = (0..2).map(|_| scope.spawn(read)).collect();
        for round in 0..200 {
            write_pair(&main, [NEW, OLD][round % 2], true).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        assert!(readers.into_iter().map(|reader| reader.join().unwrap()).sum::<u64>() > 0);
    });
    assert_eq!(hidden_in(directory.path()), Vec::<String>::new());
}

#[test]
fn dropping_leaves_what_was_there() {
    let directory = tempfile::tempdir().unwrap();
    let main = directory.path().join("a.jinx");
    write_pair(&main, OLD, true).unwrap();
    let mut writer = begin(&main, true).unwrap();
    write!(writer.main_file(), "x").unwrap();
    assert!(!writer.has_sidecar());
    write!(writer.sidecar_file().unwrap(), "y").unwrap();
    assert!(writer.has_sidecar());
    assert_eq!(hidden_in(directory.path()), [".a.binx.tmp", ".a.jinx.tmp"]);
    drop(writer);
    assert_eq!(names_in(directory.path()), ["a.binx", "a.jinx"]);
    assert_eq!(read_pair(&main), Ok(Some(OLD.to_owned())));
}

#[test]
fn a_temporary_that_was_taken_away_is_not_published() {
    let directory = tempfile::tempdir().unwrap();
    let main = directory.path().join("a.jinx");
    let writer = begin(&main, false).unwrap();
    fs::remove_file(directory.path().join(".a.jinx.tmp")).unwrap();
    let other = begin(&main, false).unwrap();
    assert!(writer.commit().unwrap_err().to_string().contains("was removed"));
    other.commit().unwrap();
    assert_eq!(names_in(directory.path()), ["a.jinx"]);
}

#[test]
fn a_file_that_appears_meanwhile_is_not_replaced_unasked() {
    let directory = tempfile::tempdir().unwrap();
    let main = directory.path().join("a.jinx");
    let writer = begin(&main, false).unwrap();
    fs::write(&main, "precious").unwrap();
    assert_eq!(writer.commit().unwrap_err().cause(), Cause::Invalid);
    assert_eq!(fs::read(&main).unwrap(), b"precious");
}

#[test]
fn permissions_are_the_users_or_the_old_files() {
    let directory = tempfile::tempdir().unwrap();
    let main = directory.path().join("a.jinx");
    let plain = directory.path().join("plain");
    fs::write(&plain, "").unwrap();
    write_pair(&main, OLD, true).unwrap();
    assert_eq!(mode(&main), mode(&plain));
    assert_eq!(mode(&sidecar_path(&main)), mode(&plain));
    fs::set_permissions(&main, fs::Permissions::from_mode(0o640)).unwrap();
    fs::set_permissions(sidecar_path(&main), fs::Permissions::from_mode(0o604)).unwrap();
    write_pair(&main, NEW, true).unwrap();
    assert_eq!((mode(&main), mode(&sidecar_path(&main))), (0o640, 0o604));
}

#[test]
fn names_need_not_be_text() {
    let directory = tempfile::tempdir().unwrap();
    for name in [&b"\xff\xfe.jinx"[..], b" .jinx", b"-a\nb.jinx", b"a.jinx.jinx", "données.jinx".as_bytes()]
    {
        let main = directory.path().join(OsStr::from_bytes(name));
        for id in [OLD, NEW] {
            write_pair(&main, id, true).unwrap();
            assert_eq!(read_pair(&main), Ok(Some(id.to_owned())));
        }
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 10);
}

#[test]
fn without_hard_links_replacing_is_refused_and_creating_works() {
    let directory = tempfile::tempdir().unwrap();
    let main = directory.path().join("a.jinx");
    let layer = || Layer::refusing("Link", io::ErrorKind::Unsupported);
    write_on(layer(), &main, OLD, true).unwrap();
    let error = write_on(layer(), &main, NEW, true).unwrap_err();
    assert_eq!(error.cause(), Cause::Unsupported);
    assert!(error.to_string().contains("write to a new name"), "{error}");
    assert_eq!(read_pair(&main), Ok(Some(OLD.to_owned())));
    assert_eq!(names_in(directory.path()), ["a.binx", "a.jinx"]);
}

#[test]
fn a_link_is_replaced_and_what_it_names_stays() {
    let directory = tempfile::tempdir().unwrap();
    let real = directory.path().join("real.jinx");
    write_pair(&real, OLD, true).unwrap();
    let main = directory.path().join("a.jinx");
    std::os::unix::fs::symlink("real.jinx", &main).unwrap();
    std::os::unix::fs::symlink("real.binx", sidecar_path(&main)).unwrap();
    write_pair(&main, NEW, true).unwrap();
    assert_eq!(read_pair(&main), Ok(Some(NEW.to_owned())));
    assert_eq!(read_pair(&real), Ok(Some(OLD.to_owned())));
    assert_eq!(hidden_in(directory.path()), Vec::<String>::new());
}
