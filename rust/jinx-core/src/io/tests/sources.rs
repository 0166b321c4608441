//! One suite over both ways to read a file.

use super::super::{Access, Source};
use crate::error::{Cause, Result};
use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::thread;

const BOTH: [Access; 2] = [Access::Mmap, Access::Pread];

fn sample() -> (tempfile::NamedTempFile, Vec<u8>) {
    let bytes: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), &bytes).unwrap();
    (file, bytes)
}

fn read_at(source: &Source, offset: u64, length: usize) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(length);
    source.read_at(offset, (&mut out.spare_capacity_mut()[..length]).into()).map(|bytes| bytes.to_vec())
}

#[test]
fn ranges_read_alike_by_map_and_by_pread() {
    let (file, bytes) = sample();
    for access in BOTH {
        let source = Source::open(file.path(), access).unwrap();
        assert_eq!(source.len(), 400_000);
        assert_eq!(source.is_mapped(), access == Access::Mmap);
        for (start, length) in [(0, 0), (0, 1), (7, 4096), (399_999, 1), (400_000, 0), (0, 400_000)] {
            let wanted = &bytes[start..start + length];
            let (offset, count) = (start as u64, length as u64);
            assert_eq!(source.read_vec(offset, count).unwrap(), wanted);
            assert_eq!(&*source.slice(offset, count).unwrap(), wanted);
            assert_eq!(read_at(&source, offset, length).unwrap(), wanted);
        }
        assert_eq!(matches!(source.slice(0, 4).unwrap(), Cow::Borrowed(_)), access == Access::Mmap);
    }
}

#[test]
fn ranges_outside_are_truncated_and_allocate_nothing() {
    let (file, _) = sample();
    for access in BOTH {
        let source = Source::open(file.path(), access).unwrap();
        for (offset, length) in
            [(0, 400_001), (400_000, 1), (400_001, 0), (u64::MAX, 1), (1, u64::MAX), (u64::MAX, u64::MAX)]
        {
            assert_eq!(source.read_vec(offset, length).unwrap_err().cause(), Cause::Truncated);
            let error = source.slice(offset, length).unwrap_err();
            assert_eq!(error.cause(), Cause::Truncated);
            assert_eq!(error.path(), Some(file.path()));
        }
        assert_eq!(read_at(&source, 399_999, 2).unwrap_err().cause(), Cause::Truncated);
    }
}

#[test]
fn a_file_that_was_shrunk_is_truncated_by_pread() {
    let (file, _) = sample();
    for access in BOTH {
        let (file, source) = (file.path(), Source::open(file.path(), access).unwrap());
        fs::OpenOptions::new().write(true).open(file).unwrap().set_len(1000).unwrap();
        assert_eq!(source.read_vec(990, 20).unwrap_err().cause(), Cause::Truncated);
        assert_eq!(read_at(&source, 990, 20).unwrap_err().cause(), Cause::Truncated);
        assert!(read_at(&source, 990, 10).is_ok());
        fs::OpenOptions::new().write(true).open(file).unwrap().set_len(400_000).unwrap();
    }
}

#[test]
fn large_reads_grow_step_by_step() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let length = 50_000_001;
    file.as_file().set_len(length).unwrap();
    let source = Source::open(file.path(), Access::Pread).unwrap();
    assert_eq!(source.read_vec(0, length).unwrap().len() as u64, length);
}

#[test]
fn empty_files_open_and_hold_nothing() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for access in [Access::Auto, Access::Mmap, Access::Pread] {
        let source = Source::open(file.path(), access).unwrap();
        assert!(source.is_empty() && !source.is_mapped());
        assert_eq!(&*source.slice(0, 0).unwrap(), b"");
        assert_eq!(source.slice(0, 1).unwrap_err().cause(), Cause::Truncated);
    }
}

#[test]
fn what_is_no_file_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing.jinx");
    let error = Source::open(&missing, Access::Auto).unwrap_err();
    assert_eq!(error.cause(), Cause::Io(ErrorKind::NotFound));
    assert!(error.to_string().contains("missing.jinx"));
    let error = Source::open(directory.path(), Access::Auto).unwrap_err();
    assert_eq!(error.cause(), Cause::Invalid);
    assert!(error.to_string().contains("this is a directory"));
    let error = Source::open("/dev/null", Access::Auto).unwrap_err();
    assert_eq!(error.cause(), Cause::Invalid);
}

#[test]
fn names_of_access_are_checked() {
    assert_eq!(Access::from_name("pread").unwrap(), Access::Pread);
    assert_eq!(Access::from_name("MMAP").unwrap_err().cause(), Cause::Invalid);
}

#[test]
fn the_environment_decides_auto_only() {
    let pread = Some(OsStr::new("pread"));
    assert_eq!(Access::Auto.or_from_environment(pread).unwrap(), Access::Pread);
    assert_eq!(Access::Mmap.or_from_environment(pread).unwrap(), Access::Mmap);
    assert_eq!(Access::Auto.or_from_environment(None).unwrap(), Access::Auto);
    let error = Access::Auto.or_from_environment(Some(OsStr::new("fast"))).unwrap_err();
    assert!(error.to_string().contains("JINX_IO"), "{error}");
}

#[test]
fn the_version_tells_a_replaced_file() {
    let (file, _) = sample();
    let source = Source::open(file.path(), Access::Pread).unwrap();
    assert_eq!(source.version(), Source::open(file.path(), Access::Mmap).unwrap().version());
    let other = file.path().with_extension("new");
    fs::write(&other, b"x").unwrap();
    fs::rename(&other, file.path()).unwrap();
    assert_ne!(source.version(), Source::open(file.path(), Access::Pread).unwrap().version());
    assert_eq!(source.read_vec(0, 4).unwrap(), [0; 4], "the old file stays readable");
}

#[test]
fn threads_share_a_source() {
    let (file, bytes) = sample();
    for access in BOTH {
        let source = Source::open(file.path(), access).unwrap();
        thread::scope(|scope| {
            for step in 1..9_usize {
                let (source, bytes) = (&source, &bytes);
                scope.spawn(move || {
                    for at in (0..399_000).step_by(step * 997) {
                        assert_eq!(source.read_vec(at as u64, 64).unwrap(), bytes[at..at + 64]);
                    }
                });
            }
        });
    }
}
