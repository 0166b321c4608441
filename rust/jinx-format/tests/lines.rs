//! Lines that are copied with the form of all rows.
#![allow(clippy::unwrap_used)]

use jinx_core::value::Value;
use jinx_format::read::shard::{OpenOptions, Shard, Verify};
use jinx_format::write::common_row_form::FormBlocks;
use jinx_format::write::dataset::DatasetWriter;
use jinx_format::write::options::WriteOptions;
use jinx_format::write::plain_lines::PlainLines;
use std::path::{Path, PathBuf};

const ROWS: u64 = 70_000;

fn rows() -> Vec<Value> {
    let rows = (0..ROWS).map(|i| ("id".to_owned(), Value::Int(i.cast_signed())));
    rows.map(|member| Value::Dict(vec![member])).collect()
}

fn written(folder: &Path) -> PathBuf {
    let path = folder.join("in.jinx");
    let mut writer = DatasetWriter::create(&path, WriteOptions::default()).unwrap();
    writer.write_values(&rows()).unwrap();
    writer.close().unwrap();
    path
}

#[test]
fn nothing_can_be_written_after_all_rows_of_a_form() {
    let folder = tempfile::tempdir().unwrap();
    let shard = Shard::open(&written(folder.path()), &OpenOptions::default()).unwrap();
    let out = folder.path().join("out.jinx");
    let mut writer = DatasetWriter::create(&out, WriteOptions::default()).unwrap();
    let lines = PlainLines::of(&[&shard], &WriteOptions::default()).unwrap().unwrap();
    let all: Vec<u64> = (0..ROWS).collect();
    let form = writer.form_of(&lines, &all).unwrap().unwrap();
    let (rows_of_block, blocks) = (form.block_rows(), ROWS.div_ceil(form.block_rows()));
    let gather = |block: u64| {
        let rows: Vec<u64> = (block * rows_of_block..ROWS.min((block + 1) * rows_of_block)).collect();
        lines.gather(&rows, &form)
    };
    let blocks = FormBlocks { count: blocks, make: &gather, threads: None };
    writer.write_form(&form, &blocks, &mut |_| Ok(())).unwrap();
    let error = writer.write_values(&rows()[..1]).unwrap_err();
    assert!(error.to_string().contains("written already"), "{error}");
    assert!(writer.close().is_err());
    assert!(!out.exists());
}

#[test]
fn a_line_that_does_not_end_where_the_index_says_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path());
    let mut bytes = std::fs::read(&path).unwrap();
    let line = b"{\"id\":777}\n";
    let at = bytes.windows(line.len()).position(|window| window == line).unwrap();
    bytes[at + line.len() - 1] = b' ';
    std::fs::write(&path, bytes).unwrap();
    // Without checksums, the line's end is all that shows the damage.
    let options = OpenOptions { verify: Verify::None, ..OpenOptions::default() };
    let shard = Shard::open(&path, &options).unwrap();
    let options = WriteOptions::default();
    let lines = PlainLines::of(&[&shard], &options).unwrap().unwrap();
    let mut writer = DatasetWriter::create(&folder.path().join("out.jinx"), options).unwrap();
    let form = writer.form_of(&lines, &(0..10).collect::<Vec<_>>()).unwrap().unwrap();
    let error = lines.gather(&[3, 777], &form).err().unwrap();
    assert_eq!(error.sample(), Some(777));
    assert!(error.to_string().contains("in.jinx") && error.to_string().contains("does not end"), "{error}");
}

#[test]
fn a_column_that_has_dicts_and_nulls_is_not_copied_by_its_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.jinx");
    let mut writer = DatasetWriter::create(&path, WriteOptions::default()).unwrap();
    let meta = |i: i64| if i % 2 == 0 { Value::Null } else { Value::Dict(Vec::new()) };
    let rows = (0..100).map(|i| Value::Dict(vec![("meta".to_owned(), meta(i))]));
    writer.write_values(&rows.collect::<Vec<_>>()).unwrap();
    writer.close().unwrap();
    let shard = Shard::open(&path, &OpenOptions::default()).unwrap();
    assert!(PlainLines::of(&[&shard], &WriteOptions::default()).unwrap().is_none());
}
