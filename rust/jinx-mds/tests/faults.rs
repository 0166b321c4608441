//! Every change of a directory may fail: a directory that is replaced is the old one or the new one.
#![allow(clippy::unwrap_used, clippy::panic)]

use jinx_core::Result;
use jinx_core::io::fs_calls::Call;
use jinx_core::io::{FileOps, RealOps};
use jinx_mds::read::directory::{Directory, Options};
use jinx_mds::write::writer::{Settings, Writer};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Each shard holds one sample.
fn write(ops: Arc<dyn FileOps>, path: &Path, samples: u64) -> Result<()> {
    let settings = Settings {
        columns: [("text".to_owned(), "str".to_owned())].into(),
        compression: Some("zstd".to_owned()),
        hashes: Vec::new(),
        size_limit: Some(1),
        overwrite: true,
        threads: 1,
    };
    let mut writer = Writer::create_on(ops, path, settings)?;
    let mut encoder = writer.encoder()?;
    for i in 0..samples {
        writer.push(&encoder.encode(&[i.to_string()])?)?;
    }
    writer.finish().map(drop)
}

/// Samples of a whole directory.
fn count(path: &Path) -> u64 {
    let directory = Directory::open(vec![path.to_owned()], Options::default()).unwrap();
    (0..directory.len()).for_each(|i| drop(directory.row(i).unwrap()));
    directory.len()
}

#[test]
fn any_failing_call_leaves_the_old_directory_or_the_new_one() {
    for number in 0.. {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("d");
        write(Arc::new(RealOps), &path, 2).unwrap();
        let calls = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&calls);
        let ops = move |_: Call<'_>| match seen.fetch_add(1, Ordering::SeqCst) {
            at if at == number => Err(io::Error::other("injected")),
            _ => Ok(()),
        };
        let done = write(Arc::new(ops), &path, 3);
        let found = count(&path);
        assert!(found == 2 || found == 3, "{number}: {done:?}");
        assert!(done.is_err() || found == 3, "{number}: {done:?}");
        write(Arc::new(RealOps), &path, 1).unwrap();
        assert_eq!(count(&path), 1, "{number}");
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1, "{number}: leftovers");
        if calls.load(Ordering::SeqCst) <= number {
            assert!(number > 10, "shards, index, syncs and the exchange, but only {number} calls");
            return;
        }
    }
}
