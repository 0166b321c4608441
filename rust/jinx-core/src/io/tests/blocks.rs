//! The common behavior of all sources of bytes, and ranges that are read together.

use super::super::{Access, Blocks, Density, Source, UninitSlice, Version};
use crate::error::{Cause, Error, Result};
use bytes::Bytes;
use std::fs;
use std::ops::Range;
use std::sync::Arc;
use std::sync::Mutex;

/// Bytes in memory that stand in for an object in a store. Records the ranges that it was told to fetch.
#[derive(Debug, Clone, Default)]
struct Object {
    bytes: Bytes,
    expected: Arc<Mutex<Vec<Range<u64>>>>,
}

impl Blocks for Object {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn version(&self) -> Version {
        Version::Tag("\"1\"".to_owned())
    }

    fn require_unchanged(&self) -> Result<()> {
        Err(Error::mismatch("another object"))
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        Ok(self.bytes.slice(range.start as usize..range.end as usize))
    }

    fn read_many(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        ranges.iter().map(|range| self.read(range.clone())).collect()
    }

    fn is_cached(&self, offset: u64) -> bool {
        offset == 0
    }

    fn will_need(&self, ranges: &[Range<u64>], _: Density) {
        self.expected.lock().unwrap().extend_from_slice(ranges);
    }

    fn as_mapped(&self) -> Option<Bytes> {
        None
    }
}

fn sample() -> (tempfile::NamedTempFile, Bytes) {
    let bytes: Vec<u8> = (0..400_000_u32).flat_map(u32::to_le_bytes).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), &bytes).unwrap();
    (file, Bytes::from(bytes))
}

#[test]
fn ranges_read_alike_from_a_map_a_file_and_an_object() {
    let (file, bytes) = sample();
    let object = Object { bytes: bytes.clone(), ..Object::default() };
    let sources = [
        Source::open(file.path(), Access::Mmap).unwrap(),
        Source::open(file.path(), Access::Pread).unwrap(),
        Source::of(Box::new(object), "s3://bucket/a.jinx"),
    ];
    let ranges = [1_599_990..1_600_000, 0..10, 12..40, 5..6, 1_000_000..1_500_000, 300..300, 8..4_000];
    for source in &sources {
        let read = source.read_many(&ranges).unwrap();
        for (range, part) in ranges.iter().zip(read) {
            let (start, length) = (range.start, range.end - range.start);
            let wanted = &bytes[range.start as usize..range.end as usize];
            assert_eq!(part, wanted, "{range:?}");
            assert_eq!(source.read(start, length).unwrap(), wanted);
            assert_eq!(source.read_vec(start, length).unwrap(), wanted);
            assert_eq!(&*source.slice(start, length).unwrap(), wanted);
            let mut out = Vec::with_capacity(wanted.len());
            let place = UninitSlice::from(&mut out.spare_capacity_mut()[..wanted.len()]);
            assert_eq!(source.read_at(start, place).unwrap(), wanted);
        }
        assert!(source.read_many(&[]).unwrap().is_empty());
        for outside in [0..1_600_001, 1_600_001..1_600_001, 5..u64::MAX] {
            let error = source.read_many(&[0..1, outside]).unwrap_err();
            assert_eq!((error.cause(), error.path()), (Cause::Truncated, Some(source.path())));
        }
    }
}

#[test]
fn bytes_outlive_their_source() {
    let (file, bytes) = sample();
    for access in [Access::Mmap, Access::Pread] {
        let source = Source::open(file.path(), access).unwrap();
        let part = source.read(100, 5_000).unwrap();
        assert_eq!(source.mapped().is_some(), access == Access::Mmap);
        drop(source);
        assert_eq!(part, bytes[100..5_100]);
    }
}

#[test]
fn parts_of_a_map_are_not_copied() {
    let (file, _) = sample();
    let source = Source::open(file.path(), Access::Mmap).unwrap();
    let map = source.mapped().unwrap().as_ptr_range();
    assert!(source.read_many(&[0..9, 77..1_000]).unwrap().iter().all(|part| map.contains(&part.as_ptr())));
    assert!(
        !map.contains(&source.read_vec(0, 9).unwrap().as_ptr()),
        "its owner may keep it while the file changes"
    );
}

#[test]
fn neighbours_that_are_gone_are_truncated() {
    let (file, _) = sample();
    let source = Source::open(file.path(), Access::Pread).unwrap();
    file.as_file().set_len(1_000).unwrap();
    assert_eq!(source.read_many(&[0..10, 990..1_000]).unwrap().len(), 2);
    let error = source.read_many(&[0..10, 990..1_001]).unwrap_err();
    assert_eq!((error.cause(), error.path()), (Cause::Truncated, Some(file.path())));
}

#[test]
fn advice_changes_nothing_and_reaches_no_further_than_the_file() {
    let (file, bytes) = sample();
    for access in [Access::Mmap, Access::Pread] {
        let source = Source::open(file.path(), access).unwrap();
        source.will_need(&[0..10, 5..u64::MAX, u64::MAX - 1..u64::MAX], Density::Sparse);
        assert!(source.is_cached(0), "it was just written");
        assert!(!source.is_cached(1_600_000));
        for is_on in [false, true] {
            source.set_read_ahead(is_on);
            assert_eq!(source.read_vec(0, 1_600_000).unwrap(), bytes);
            assert_eq!(*source.slice(0, 1_600_000).unwrap(), bytes);
        }
    }
    let object = Object { bytes, ..Object::default() };
    let expected = Arc::clone(&object.expected);
    let source = Source::of(Box::new(object), "a");
    source.will_need(&[4..10, 7..7, 1_599_999..u64::MAX, 1_700_000..1_800_000], Density::Dense);
    assert_eq!(*expected.lock().unwrap(), [4..10, 1_599_999..1_600_000]);
    assert!(source.is_cached(0) && !source.is_cached(1));
}

#[test]
fn versions_tell_states_apart() {
    let (file, bytes) = sample();
    let source = Source::open(file.path(), Access::Pread).unwrap();
    let Version::File(identity) = source.version() else { panic!("a file") };
    assert_eq!(Version::from(&fs::metadata(file.path()).unwrap()), source.version());
    let portable = source.version().portable();
    assert_eq!(portable, format!("1600000-{}", identity.modified_nanoseconds()));
    source.require_unchanged().unwrap();
    fs::write(file.path(), b"x").unwrap();
    assert_eq!(source.require_unchanged().unwrap_err().cause(), Cause::Mismatch);
    let object = Source::of(Box::new(Object { bytes, ..Object::default() }), "a");
    assert_eq!(object.version().portable(), "\"1\"");
    let error = object.require_unchanged().unwrap_err();
    assert_eq!(error.path().unwrap().to_str(), Some("a"));
}
