//! A small dataset with one value of every sort, in every variant that the writer knows.

// Not every test needs all of it.
#![allow(dead_code)]

use bytes::Bytes;
use jinx_core::Result;
use jinx_core::row_events::{Dtype, Number, Payload};
use jinx_core::value::{TreeBuilder, Value};
use jinx_format::fields::MediaField;
use jinx_format::read::open::resolve;
use jinx_format::read::shard::{OpenOptions, Shard, Verify};
use jinx_format::write::dataset::DatasetWriter;
use jinx_format::write::options::{ColumnChoice, WriteOptions};
use std::ops::Range;
use std::path::Path;

fn blob(payload: Payload, data: Vec<u8>, media: bool, path: Option<&str>) -> Value {
    Value::Blob { payload, data: Bytes::from(data), media, path: path.map(str::to_owned) }
}

fn array(items: u8) -> Vec<u8> {
    let mut text = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({items},), }}");
    text.push_str(&" ".repeat(117 - text.len()));
    text.push('\n');
    let mut out = b"\x93NUMPY\x01\0".to_vec();
    out.extend_from_slice(&118u16.to_le_bytes());
    out.extend_from_slice(text.as_bytes());
    out.extend(0..items);
    out
}

/// Bytes that no codec shrinks.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    (0..length).map(|_| next()).collect()
}

pub fn row(i: usize) -> Value {
    let mut members = vec![
        ("id".to_owned(), Value::Int(i as i64)),
        ("name".to_owned(), Value::Str(format!("näme {i}\n"))),
        ("score".to_owned(), if i % 3 == 1 { Value::Null } else { Value::Float(i as f64 / 4.0) }),
        ("nan".to_owned(), Value::Float(if i.is_multiple_of(2) { f64::INFINITY } else { 1.0 })),
        ("flag".to_owned(), Value::Bool(i.is_multiple_of(2))),
        ("model.pt".to_owned(), Value::Int(-1)),
        ("half".to_owned(), Value::Scalar(Dtype::Int8, Number::Int(-3))),
    ];
    if i.is_multiple_of(2) {
        members.push((
            "image".to_owned(),
            blob(Payload::Raw, noise(i as u64, 70 + i % 40), true, Some("a.jpg")),
        ));
        members.push(("zeros".to_owned(), blob(Payload::Raw, vec![0; 200], false, None)));
        let list = vec![blob(Payload::Raw, noise(7, 5), false, None), Value::Str("x".to_owned())];
        members.push(("list".to_owned(), Value::List(list)));
        let inner = vec![("a.b".to_owned(), blob(Payload::Npy, array(9), false, None))];
        members.push(("dict".to_owned(), Value::Dict(inner)));
    }
    Value::Dict(members)
}

pub fn rows(count: usize) -> Vec<Value> {
    (0..count).map(row).collect()
}

pub fn options(sidecar: bool, compression: Option<i32>) -> WriteOptions {
    let mut options = WriteOptions { threads: 1, ..WriteOptions::default() };
    options.encode.sidecar = sidecar;
    options.encode.compression = compression;
    let texts = vec![vec![Some("name".to_owned())]];
    options.encode.columns = texts.iter().cloned().collect();
    options.columns = ColumnChoice::Also(texts);
    let path = vec![Some("image".to_owned())];
    options.media = vec![MediaField { path, kind: "Image".to_owned(), feature: serde_json::Value::Null }];
    options
}

pub fn write(path: &Path, rows: &[Value], options: WriteOptions) {
    let mut writer = DatasetWriter::create(path, options).unwrap();
    writer.write_values(rows).unwrap();
    writer.close().unwrap();
}

pub fn read(path: &Path) -> Vec<Value> {
    let shard = Shard::open(path, &OpenOptions { verify: Verify::Full, ..OpenOptions::default() }).unwrap();
    let read = |i| {
        let mut tree = TreeBuilder::default();
        shard.emit_row(i, &mut tree).unwrap();
        tree.take().unwrap()
    };
    (0..shard.len()).map(read).collect()
}

/// The rows of a whole dataset; an error for one that is not whole.
pub fn rows_in(path: &Path) -> Result<Vec<Value>> {
    let mut rows = Vec::new();
    for shard in resolve(path)? {
        let shard = shard.open(&OpenOptions::default())?;
        for i in 0..shard.len() {
            let mut tree = TreeBuilder::default();
            shard.emit_row(i, &mut tree)?;
            rows.push(tree.take()?);
        }
    }
    Ok(rows)
}

/// What [`rows_in`] returns for rows that were written.
pub fn expected(rows: Range<usize>) -> Vec<Value> {
    rows.map(row).collect()
}
