//! Rows that would make a dataset unreadable are left out, and a resumed run leaves out the same ones.
#![allow(clippy::unwrap_used)]

mod sample;

use jinx_core::limits::MAX_FOOTER_BYTES;
use jinx_core::value::Value;
use jinx_format::meta::Meta;
use jinx_format::write::dataset::DatasetWriter;
use jinx_format::write::options::{Resume, WriteOptions};
use std::path::Path;

/// The footer has little room for names: `meta` takes it. Each shard holds one row.
fn options(proceed: bool) -> WriteOptions {
    let filling = "x".repeat(usize::try_from(MAX_FOOTER_BYTES / 2).unwrap() - 20_000);
    let meta = Meta::parse(&format!(r#"{{"filling":"{filling}"}}"#)).unwrap();
    let resume = Some(Resume { key: "k".to_owned(), proceed });
    WriteOptions { shard_bytes: Some(1), threads: 1, meta, resume, ..WriteOptions::default() }
}

fn row(i: i64, is_named_at_length: bool) -> Value {
    let name = if is_named_at_length { "n".repeat(30_000) } else { "n".to_owned() };
    Value::Dict(vec![(name, Value::Int(i))])
}

/// Writes rows 0 to `count`, of which every third is refused, and returns the numbers of the refused ones.
fn write(path: &Path, count: i64, proceed: bool, close: bool) -> (Vec<i64>, u64) {
    let mut writer = DatasetWriter::create(path, options(proceed)).unwrap();
    let resumed = writer.resumed();
    writer.skip_resumed();
    let mut refused = Vec::new();
    for i in 0..count {
        if writer.write_values(&[row(i, i % 3 == 1)]).is_err() {
            assert!(!writer.is_broken());
            refused.push(i);
        }
    }
    if close {
        assert_eq!(writer.close().unwrap().samples, 5);
    }
    (refused, resumed)
}

#[test]
fn a_resumed_run_leaves_out_the_same_rows_and_writes_none_twice() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("d");
    write(&path, 6, false, false);
    let (refused, resumed) = write(&path, 7, true, true);
    assert_eq!(refused, [1, 4]);
    assert_eq!(resumed, 4, "three written, and one left out before the last of them");
}
