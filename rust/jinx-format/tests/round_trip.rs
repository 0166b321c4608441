//! What the writer writes, the reader gives back.
#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use jinx_core::row_events::{Dtype, Number, Payload};
use jinx_core::value::{TreeBuilder, Value};
use jinx_format::read::shard::{OpenOptions, Shard, Verify};
use jinx_format::write::dataset::DatasetWriter;
use jinx_format::write::options::WriteOptions;
use proptest::prelude::*;
use std::path::Path;

fn write(path: &Path, rows: &[Value], options: WriteOptions) {
    let mut writer = DatasetWriter::create(path, options).unwrap();
    writer.write_values(rows).unwrap();
    assert_eq!(writer.close().unwrap().samples, rows.len() as u64);
}

fn read(path: &Path, verify: Verify) -> Vec<Value> {
    let shard = Shard::open(path, &OpenOptions { verify, ..OpenOptions::default() }).unwrap();
    (0..shard.len())
        .map(|i| {
            let mut tree = TreeBuilder::default();
            shard.emit_row(i, &mut tree).unwrap();
            tree.take().unwrap()
        })
        .collect()
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        "[1-9][0-9]{20,40}".prop_map(Value::BigInt),
        any::<f64>().prop_filter("nan is not equal to itself", |v| !v.is_nan()).prop_map(Value::Float),
        ".{0,20}".prop_map(Value::Str),
        proptest::collection::vec(any::<u8>(), 0..300).prop_map(|data| Value::Blob {
            payload: Payload::Raw,
            data: Bytes::from(data),
            media: false,
            path: None
        }),
        any::<i32>().prop_map(|v| Value::Scalar(Dtype::Int32, Number::Int(i64::from(v)))),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{0,4}", "[a.\"\\\\é]{0,6}", Just("image.raw.zst".to_owned())]
}

fn dict(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    proptest::collection::btree_map(name(), inner, 0..5)
        .prop_map(|map| Value::Dict(map.into_iter().collect()))
}

fn tree() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(4, 40, 5, |inner| {
        prop_oneof![proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::List), dict(inner)]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn any_rows_come_back(rows in proptest::collection::vec(dict(tree()), 0..4), sidecar: bool, zstd: bool, threads in 1usize..4) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.jinx");
        let mut options = WriteOptions { threads, ..WriteOptions::default() };
        options.encode.sidecar = sidecar;
        options.encode.compression = zstd.then_some(3);
        write(&path, &rows, options);
        prop_assert_eq!(&read(&path, Verify::Full), &rows);
        prop_assert!(sidecar || !directory.path().join("a.binx").exists());
    }
}

#[test]
fn the_number_of_threads_does_not_change_a_byte() {
    let directory = tempfile::tempdir().unwrap();
    let blob = |n: usize| Value::Blob {
        payload: Payload::Raw,
        data: Bytes::from(vec![u8::try_from(n % 251).unwrap(); 100 + n]),
        media: false,
        path: None,
    };
    let row = |i: usize| Value::Dict(vec![("i".into(), Value::Int(i as i64)), ("b".into(), blob(i))]);
    let rows: Vec<Value> = (0..10_000).map(row).collect();
    for threads in [1, 3] {
        let options = WriteOptions { threads, ..WriteOptions::default() };
        write(&directory.path().join(format!("{threads}.jinx")), &rows, options);
    }
    let bytes = |name: &str| std::fs::read(directory.path().join(name)).unwrap();
    assert_eq!(bytes("1.binx"), bytes("3.binx"));
    let unnamed = |name: &str| {
        String::from_utf8(bytes(name)).unwrap().lines().take(10_000).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(unnamed("1.jinx"), unnamed("3.jinx"));
    assert_eq!(read(&directory.path().join("1.jinx"), Verify::Rows), rows);
}
