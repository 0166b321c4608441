//! Rows that are written in an order on all threads give the bytes of a writer that gets one after another.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, clippy::cast_precision_loss)]

use jinx_core::value::Value;
use jinx_format::read::shard::{OpenOptions, Shard};
use jinx_format::write::dataset::DatasetWriter;
use jinx_format::write::options::WriteOptions;
use jinx_format::write::plain_lines::PlainLines;
use jinx_format::write::row_order::RowOrder;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A row whose numbers need wider types the later it comes, and lack values in some places.
fn row(i: u64, kind: u64) -> Value {
    let mut members = vec![("n".to_owned(), Value::Int((i * i).cast_signed() - 100))];
    if kind != 1 {
        members.push(("text".to_owned(), Value::Str("ä".repeat((i % 7) as usize))));
    }
    if i % 5 != 3 {
        members.push(("score".to_owned(), Value::Float(i as f64 / 8.0)));
    }
    if i > 40 {
        members.push(("late".to_owned(), Value::Bool(i.is_multiple_of(2))));
    }
    if kind == 2 {
        // An integer in this source and a float in the others.
        members.push(("mixed".to_owned(), Value::Int(i.cast_signed())));
    } else {
        members.push(("mixed".to_owned(), Value::Float(0.5)));
    }
    members.push(("meta".to_owned(), Value::Dict(vec![("a".to_owned(), Value::Int(1))])));
    members.push(("list".to_owned(), Value::List((0..i % 300).map(|_| Value::Null).take(3).collect())));
    Value::Dict(members)
}

fn sources(folder: &Path, kinds: &[(u64, u64)]) -> Vec<Shard> {
    let paths = kinds.iter().enumerate().map(|(at, (kind, rows))| {
        let path = folder.join(format!("in-{at}.jinx"));
        let mut writer = DatasetWriter::create(&path, WriteOptions::default()).unwrap();
        writer.write_values(&(0..*rows).map(|i| row(i, *kind)).collect::<Vec<_>>()).unwrap();
        writer.close().unwrap();
        path
    });
    paths.map(|path| Shard::open(&path, &OpenOptions::default()).unwrap()).collect()
}

fn files(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let sidecar = path.with_extension("binx");
    let in_directory =
        path.is_dir().then(|| std::fs::read_dir(path).unwrap().map(|file| file.unwrap().path()));
    let of_pair = [path.to_owned(), sidecar].into_iter().filter(|file| file.is_file());
    let files = in_directory.into_iter().flatten().chain(of_pair);
    files.map(|file| (file.file_name().unwrap().into(), std::fs::read(file).unwrap())).collect()
}

/// Writes an order on all threads and row by row, and compares the files.
fn compare(shards: &[Shard], order: &[u64], name: &str, options: &WriteOptions) {
    let folder = tempfile::tempdir().unwrap();
    let [expected, found] = ["expected", "found"].map(|parent| {
        std::fs::create_dir(folder.path().join(parent)).unwrap();
        folder.path().join(parent).join(name)
    });
    let shards: Vec<&Shard> = shards.iter().collect();
    let lines = PlainLines::of(&shards, options).unwrap().unwrap();
    let mut writer = DatasetWriter::create(&expected, options.clone()).unwrap();
    writer.write_rows(order.len(), &|i, encoder| lines.emit(order[i], encoder)).unwrap();
    let summary = writer.close().unwrap();

    let mut writer = DatasetWriter::create(&found, options.clone()).unwrap();
    let rows = |places: Range<u64>| Ok(order[places.start as usize..places.end as usize].to_vec());
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    let row_order =
        RowOrder { len: order.len() as u64, has_all: sorted.into_iter().eq(0..lines.len()), rows: &rows };
    let mut told = 0;
    let mut tell = |rows| {
        told += rows;
        Ok(())
    };
    let is_written = writer.write_order(&lines, &row_order, &mut tell).unwrap();
    if !is_written {
        // Of a pair whose columns are not known before; a directory falls back shard by shard.
        assert!(found.extension().is_some());
        return;
    }
    assert_eq!(told, order.len() as u64);
    assert_eq!(writer.close().unwrap(), summary);
    let (expected, found) = (files(&expected), files(&found));
    assert_eq!(expected.keys().collect::<Vec<_>>(), found.keys().collect::<Vec<_>>());
    for (name, bytes) in &expected {
        assert!(*bytes == found[name], "{}", name.display());
    }
}

fn shuffled(rows: u64, seed: u64) -> Vec<u64> {
    let mut order: Vec<u64> = (0..rows).collect();
    let mut state = seed | 1;
    for i in (1..order.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        order.swap(i, (state >> 33) as usize % (i + 1));
    }
    order
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_rows_give_the_bytes_of_a_writer_that_gets_one_after_another(
        kinds in proptest::collection::vec((0u64..3, 0u64..400), 1..4),
        picks in proptest::collection::vec(any::<u64>(), 1..900),
        is_shuffle in any::<bool>(),
        shard_bytes in 1u64..30_000,
        threads in 1usize..5,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let kinds: Vec<_> = kinds.into_iter().map(|(kind, rows)| (kind, rows + 1)).collect();
        let total = kinds.iter().map(|(_, rows)| rows).sum::<u64>();
        let shards = sources(folder.path(), &kinds);
        let order = match is_shuffle {
            true => shuffled(total, picks[0]),
            false => picks.iter().map(|pick| pick % total).collect(),
        };
        let options = WriteOptions { threads, ..WriteOptions::default() };
        compare(&shards, &order, "out.jinx", &options);
        compare(&shards, &order, "out", &options);
        compare(&shards, &order, "out", &WriteOptions { shard_bytes: Some(shard_bytes), ..options });
    }
}

#[test]
fn arrays_of_long_shards_lie_in_sidecars() {
    let folder = tempfile::tempdir().unwrap();
    let shards = sources(folder.path(), &[(0, 70_000), (1, 90_000)]);
    let order = shuffled(160_000, 1);
    for threads in [1, 3] {
        let options = WriteOptions { threads, ..WriteOptions::default() };
        compare(&shards, &order, "out.jinx", &options);
        compare(&shards[..1], &shuffled(70_000, 2)[..69_000], "out.jinx", &options);
        for shard_bytes in [1 << 20, 9 << 20] {
            let options = WriteOptions { shard_bytes: Some(shard_bytes), ..options.clone() };
            compare(&shards, &order, "out", &options);
        }
    }
}

#[test]
fn no_row_follows_those_of_an_order() {
    let folder = tempfile::tempdir().unwrap();
    let shards = sources(folder.path(), &[(0, 50)]);
    let options = WriteOptions::default();
    let lines = PlainLines::of(&[&shards[0]], &options).unwrap().unwrap();
    for name in ["out", "out.jinx"] {
        let out = folder.path().join(name);
        let rows = |places: Range<u64>| Ok(places.collect());
        let order = RowOrder { len: 50, has_all: true, rows: &rows };
        let mut writer = DatasetWriter::create(&out, options.clone()).unwrap();
        assert!(writer.write_order(&lines, &order, &mut |_| Ok(())).unwrap());
        assert!(!writer.write_order(&lines, &order, &mut |_| Ok(())).unwrap());
        let error = writer.write_values(&[row(0, 0)]).unwrap_err();
        assert!(error.to_string().contains("written already"), "{error}");
        assert!(writer.close().is_err());
        assert!(!out.exists());
    }
}

#[test]
fn shards_that_are_added_to_a_directory_go_again_if_reading_fails() {
    let folder = tempfile::tempdir().unwrap();
    let shards = sources(folder.path(), &[(0, 300)]);
    let options = WriteOptions { shard_bytes: Some(2000), ..WriteOptions::default() };
    let lines = PlainLines::of(&[&shards[0]], &options).unwrap().unwrap();
    let out = folder.path().join("out");
    let mut writer = DatasetWriter::create(&out, options.clone()).unwrap();
    writer.write_values(&[row(0, 0)]).unwrap();
    writer.close().unwrap();
    let before = files(&out);
    let rows = |places: Range<u64>| Ok(places.collect());
    let order = RowOrder { len: 300, has_all: true, rows: &rows };
    let mut writer = DatasetWriter::append(&out, options.clone()).unwrap();
    let stopped = writer.write_order(&lines, &order, &mut |_| Err(jinx_core::error::Error::interrupted()));
    assert!(stopped.is_err() && writer.is_broken());
    drop(writer);
    assert_eq!(files(&out), before);
    let mut writer = DatasetWriter::append(&out, options).unwrap();
    assert!(writer.write_order(&lines, &order, &mut |_| Ok(())).unwrap());
    writer.close().unwrap();
    let after = files(&out);
    assert!(after.len() > before.len() + 2 && after.contains_key(Path::new("shard-00002.jinx")));
}
