//! A directory that is replaced while it is open: no shard of the other one is read, though all sizes are the same.
#![allow(clippy::unwrap_used, clippy::panic)]

use jinx_core::Cause;
use jinx_core::io::RealOps;
use jinx_mds::read::decode_ahead::ShardPrefetcher;
use jinx_mds::read::directory::{Directory, Options, Unpack};
use jinx_mds::write::writer::{Settings, Writer};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Two shards of one sample each.
fn write(path: &Path, text: &str) {
    let settings = Settings {
        columns: [("text".to_owned(), "bytes".to_owned())].into(),
        compression: Some("zstd".to_owned()),
        hashes: Vec::new(),
        size_limit: Some(1),
        overwrite: true,
        threads: 1,
    };
    let mut writer = Writer::create_on(Arc::new(RealOps), path, settings).unwrap();
    let mut encoder = writer.encoder().unwrap();
    for _ in 0..2 {
        writer.push(&encoder.encode(&[text.repeat(50)]).unwrap()).unwrap();
    }
    writer.finish().unwrap();
}

/// A directory `d` of `a`, and `other` of `b` with the same index.
fn directories(place: &Path) -> (PathBuf, PathBuf) {
    let (path, other) = (place.join("d"), place.join("other"));
    write(&path, "a");
    write(&other, "b");
    let index = |path: &Path| fs::read(path.join("index.json")).unwrap();
    assert_eq!(index(&path), index(&other));
    (path, other)
}

fn exchange(path: &Path, other: &Path) {
    let aside = path.with_extension("aside");
    fs::rename(path, &aside).unwrap();
    fs::rename(other, path).unwrap();
    fs::rename(&aside, other).unwrap();
}

fn open(path: &Path, unpack: &Unpack) -> Directory {
    let options = Options { unpack: unpack.clone(), ..Options::default() };
    Directory::open(vec![path.to_owned()], options).unwrap()
}

fn holds(directory: &Directory, sample: u64, byte: u8) -> bool {
    let (shard, row) = directory.place(sample);
    directory.shard(shard).unwrap().sample(row).unwrap().ends_with(&[byte; 50])
}

#[test]
fn what_is_decoded_ahead_is_of_the_directory_that_was_opened() {
    let place = tempfile::tempdir().unwrap();
    let (path, other) = directories(place.path());
    let directory = Arc::new(open(&path, &Unpack::Private));
    assert!(ShardPrefetcher::new(Arc::clone(&directory), 0).piece(0).is_some());
    exchange(&path, &other);
    assert!(ShardPrefetcher::new(Arc::clone(&directory), 0).piece(0).is_none());
    assert_eq!(directory.row(0).unwrap_err().cause(), Cause::Mismatch);
}

#[test]
fn no_shard_of_another_directory_stays_decoded() {
    let place = tempfile::tempdir().unwrap();
    let (path, other) = directories(place.path());
    for unpack in [Unpack::Private, Unpack::Cache(place.path().join("cache"))] {
        let directory = open(&path, &unpack);
        exchange(&path, &other);
        assert_eq!(directory.row(0).unwrap_err().cause(), Cause::Mismatch);
        exchange(&path, &other);
        assert!(holds(&directory, 0, b'a') && holds(&directory, 1, b'a'), "{unpack:?}");
    }
}

#[test]
fn a_cache_is_of_one_directory_and_not_of_all_with_its_sizes() {
    let place = tempfile::tempdir().unwrap();
    let (path, other) = directories(place.path());
    let cache = Unpack::Cache(place.path().join("cache"));
    assert!(holds(&open(&path, &cache), 0, b'a'));
    exchange(&path, &other);
    assert!(holds(&open(&path, &cache), 0, b'b'));
}
