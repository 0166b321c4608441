//! What a writer accepts its reader opens: at every limit, one below it, and one above.
#![allow(clippy::unwrap_used, clippy::panic)]

use jinx_core::limits::{
    Limits, MAX_DEPTH, MAX_FOOTER_BYTES, MAX_INT_DIGITS, MAX_MANIFEST_BYTES, MAX_NAMED_BYTES, MAX_ROW_BYTES,
    MAX_SHARDS,
};
use jinx_core::row_events::{Dtype, Number, Payload};
use jinx_core::value::{TreeBuilder, Value};
use jinx_core::{Cause, Error, Result};
use jinx_format::manifest::{Manifest, ShardEntry};
use jinx_format::meta::Meta;
use jinx_format::read::shard::{OpenOptions, Shard, Verify};
use jinx_format::verify::verify;
use jinx_format::write::dataset::DatasetWriter;
use jinx_format::write::encode::EncodedRow;
use jinx_format::write::options::{EncodeOptions, WriteOptions};
use std::path::Path;

fn dict(name: &str, value: Value) -> Value {
    Value::Dict(vec![(name.to_owned(), value)])
}

fn blob(length: usize) -> Value {
    Value::Blob { payload: Payload::Raw, data: vec![7; length].into(), media: false, path: None }
}

fn options(encode: EncodeOptions) -> WriteOptions {
    WriteOptions { encode, threads: 1, ..WriteOptions::default() }
}

/// Writes one row into a new file; an error must be the row's own.
fn write(path: &Path, options: WriteOptions, row: &Value) -> Result<()> {
    let mut writer = DatasetWriter::create(path, WriteOptions { overwrite: true, ..options }).unwrap();
    writer.write_values(&[Value::Dict(Vec::new())]).unwrap();
    if let Err(error) = writer.write_values(std::slice::from_ref(row)) {
        assert_eq!((error.cause(), error.sample()), (Cause::Limit, Some(1)), "{error}");
        assert_eq!(writer.close().unwrap().samples, 1);
        return Err(error);
    }
    assert_eq!(writer.close().unwrap().samples, 2);
    Ok(())
}

fn read(path: &Path, limits: Limits, i: u64) -> Value {
    let shard = Shard::open(path, &OpenOptions { verify: Verify::Full, limits, ..OpenOptions::default() });
    let mut tree = TreeBuilder::default();
    shard.unwrap().emit_row(i, &mut tree).unwrap();
    tree.take().unwrap()
}

/// Whether the row is accepted; if it is, it comes back.
fn is_accepted(row: &Value, encode: EncodeOptions) -> bool {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jinx");
    let limits = Limits { max_row_bytes: encode.max_row_bytes, max_value_bytes: encode.max_value_bytes };
    if write(&path, options(encode), row).is_err() {
        return false;
    }
    assert!(read(&path, limits, 1) == *row, "another value came back");
    if limits == Limits::default() {
        assert_eq!(verify(&path, &mut |_, _| Ok(())).unwrap(), []);
    }
    true
}

#[test]
fn lines() {
    let long = |length: u64| dict("a", Value::Str("x".repeat(usize::try_from(length).unwrap() - 9)));
    let encode = || EncodeOptions { string_threshold: u64::MAX, ..EncodeOptions::default() };
    assert!(is_accepted(&long(MAX_ROW_BYTES), encode()));
    assert!(!is_accepted(&long(MAX_ROW_BYTES + 1), encode()));
    // Offsets get their digits late: whatever is accepted is short enough with them.
    let values = Value::List(vec![blob(100); 50]);
    let accepted: Vec<bool> = (4000..6000)
        .step_by(10)
        .map(|limit| {
            let encode = EncodeOptions { max_row_bytes: limit, ..EncodeOptions::default() };
            is_accepted(&dict("a", values.clone()), encode)
        })
        .collect();
    assert!(!accepted[0] && accepted[accepted.len() - 1] && accepted.is_sorted());
}

#[test]
fn a_longer_line_than_readers_take_cannot_be_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let encode = EncodeOptions { max_row_bytes: MAX_ROW_BYTES + 1, ..EncodeOptions::default() };
    let error = DatasetWriter::create(&directory.path().join("a.jinx"), options(encode)).err().unwrap();
    assert_eq!(error.cause(), Cause::Invalid, "{error}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn values() {
    let encode = || EncodeOptions { max_value_bytes: 5000, compression: None, ..EncodeOptions::default() };
    assert!(is_accepted(&dict("a", blob(5000)), encode()));
    assert!(!is_accepted(&dict("a", blob(5001)), encode()));
    assert!(!is_accepted(&dict("a", blob(5001)), EncodeOptions { sidecar: false, ..encode() }));
}

#[test]
fn depth() {
    let leaves = [
        Value::Null,
        Value::Scalar(Dtype::Int8, Number::Int(1)),
        Value::Float(f64::INFINITY),
        Value::Str("long ".repeat(10_000)),
        blob(10),
        blob(1000),
    ];
    for leaf in &leaves {
        for in_list in [false, true] {
            let mut most = 0;
            for depth in MAX_DEPTH - 4..MAX_DEPTH + 3 {
                let mut row = leaf.clone();
                for level in (1..depth).rev() {
                    let is_list = in_list && level + 1 == depth;
                    row = if is_list { Value::List(vec![row]) } else { dict("d", row) };
                }
                let row = dict("a", row);
                for sidecar in [true, false] {
                    if is_accepted(&row, EncodeOptions { sidecar, ..EncodeOptions::default() }) {
                        most = most.max(depth);
                    }
                }
            }
            assert!((MAX_DEPTH - 1..=MAX_DEPTH).contains(&most), "{most} {leaf:?}");
        }
    }
}

#[test]
fn digits() {
    for sign in ["", "-"] {
        let row = |digits: usize| dict("n", Value::BigInt(format!("{sign}{}", "7".repeat(digits))));
        assert!(is_accepted(&row(MAX_INT_DIGITS - 1), EncodeOptions::default()));
        assert!(is_accepted(&row(MAX_INT_DIGITS), EncodeOptions::default()));
        assert!(!is_accepted(&row(MAX_INT_DIGITS + 1), EncodeOptions::default()));
    }
}

/// Names that never come again, until one is refused; the index lies in the sidecar, where the footer is limited.
#[test]
fn names() {
    for (top, length) in [(true, 1 << 20), (true, 10), (false, 1 << 20)] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.jinx");
        let mut writer = DatasetWriter::create(&path, options(EncodeOptions::default())).unwrap();
        let mut accepted = 0;
        let mut refused: Option<Error> = None;
        while refused.is_none() && (top || accepted < 9000) {
            let name = format!("{accepted}{}", "x".repeat(length));
            let row = dict(&name, blob(10));
            let row = if top { row } else { dict("map", row) };
            let row = if accepted < 8990 && length > 10 { dict("n", Value::Int(1)) } else { row };
            match writer.write_values(&[row]) {
                Ok(()) => accepted += 1,
                Err(error) => refused = Some(error),
            }
        }
        assert_eq!(refused.is_some(), top);
        if let Some(error) = refused {
            assert_eq!((error.cause(), error.sample()), (Cause::Limit, Some(accepted)), "{error}");
        }
        writer.write_values(&[Value::Dict(Vec::new())]).unwrap();
        assert_eq!(writer.close().unwrap().samples, accepted + 1);
        let shard = Shard::open(&path, &OpenOptions::default()).unwrap();
        assert_eq!(shard.len(), accepted + 1);
        assert_eq!(verify(&path, &mut |_, _| Ok(())).unwrap(), []);
    }
}

#[test]
fn meta() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jinx");
    let mut accepted = 0;
    for depth in 90..140 {
        let text = format!("{{\"m\":{}1{}}}", "[".repeat(depth), "]".repeat(depth));
        let created = Meta::parse(&text).and_then(|meta| {
            let write = WriteOptions { meta, overwrite: true, ..WriteOptions::default() };
            DatasetWriter::create(&path, write)
        });
        match created {
            Ok(writer) => {
                writer.close().unwrap();
                accepted = depth;
                let shard = Shard::open(&path, &OpenOptions::default()).unwrap();
                assert_eq!(shard.footer().meta.as_str(), text);
            }
            Err(error) => assert_eq!(error.cause(), Cause::Invalid, "{error}"),
        }
    }
    assert!((98..130).contains(&accepted), "{accepted}");
    for (bytes, fits) in [(MAX_NAMED_BYTES - 2000, true), (MAX_NAMED_BYTES, false)] {
        let text = "x".repeat(usize::try_from(bytes).unwrap());
        let meta = Meta::parse(&format!("{{\"m\":\"{text}\"}}")).unwrap();
        let write = WriteOptions { meta, overwrite: true, ..WriteOptions::default() };
        match DatasetWriter::create(&path, write) {
            Ok(writer) => {
                writer.close().unwrap();
                assert!(Shard::open(&path, &OpenOptions::default()).is_ok() && fits);
            }
            Err(error) => assert!(error.cause() == Cause::Limit && !fits, "{error}"),
        }
    }
}

/// Arrays inside the footer grow with the file.
#[test]
fn rows_without_a_sidecar() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jinx");
    let encode = EncodeOptions { sidecar: false, ..EncodeOptions::default() };
    let mut writer = DatasetWriter::create(&path, options(encode)).unwrap();
    let rows = MAX_FOOTER_BYTES / 8 + 2;
    for _ in 0..rows {
        writer.write_encoded(EncodedRow { text: b"{}".to_vec(), ..EncodedRow::default() }).unwrap();
    }
    writer.close().unwrap();
    assert_eq!(read(&path, Limits::default(), rows - 1), Value::Dict(Vec::new()));
}

#[test]
fn shards() {
    let longest = ShardEntry {
        name: "\"".repeat(255),
        samples: u64::MAX,
        bytes: u64::MAX,
        sidecar_bytes: u64::MAX,
        id: "f".repeat(32),
    };
    let entry = serde_json::to_string(&longest).unwrap().len() as u64 + 1;
    assert!(MAX_SHARDS as u64 * entry + MAX_NAMED_BYTES < MAX_MANIFEST_BYTES);
    // With that many shards the last one takes what is left; here a directory is as good as full.
    let directory = tempfile::tempdir().unwrap();
    let mut manifest = Manifest::new(None, Meta::default());
    for i in 0..MAX_SHARDS - 1 {
        let name = format!("shard-{i:05}.jinx");
        manifest.push(ShardEntry { name, samples: 0, bytes: 1, sidecar_bytes: 0, id: String::new() });
    }
    std::fs::write(directory.path().join("jinx.json"), manifest.to_text().unwrap()).unwrap();
    let small = || WriteOptions { shard_bytes: Some(1), ..WriteOptions::default() };
    let mut writer = DatasetWriter::append(directory.path(), small()).unwrap();
    writer.write_values(&vec![dict("n", Value::Int(1)); 10]).unwrap();
    assert_eq!(writer.close().unwrap().shards, 1);
    let grown = Manifest::read(directory.path()).unwrap().unwrap();
    assert_eq!((grown.shards.len(), grown.num_samples), (MAX_SHARDS, 10));
    let error = DatasetWriter::append(directory.path(), small()).err().unwrap();
    assert_eq!(error.cause(), Cause::Limit, "{error}");
}

/// A refused row costs itself alone, wherever in a call it stands.
#[test]
fn a_refused_row_is_left_out() {
    let directory = tempfile::tempdir().unwrap();
    for threads in [1, 4] {
        let path = directory.path().join(format!("{threads}.jinx"));
        let encode = EncodeOptions { max_row_bytes: 100, ..EncodeOptions::default() };
        let write = WriteOptions { encode, threads, ..WriteOptions::default() };
        let mut writer = DatasetWriter::create(&path, write).unwrap();
        let rows: Vec<Value> = (0..100)
            .map(|i| dict("a", Value::Str("x".repeat(if i % 30 == 7 { 200 } else { i / 2 }))))
            .collect();
        let mut rest = rows.as_slice();
        let mut refused = 0;
        while let Err(error) = writer.write_values(rest) {
            let number = writer.rows();
            assert_eq!((error.cause(), error.sample(), error.column()), (Cause::Limit, Some(number), None));
            refused += 1;
            rest = &rows[usize::try_from(number).unwrap() + refused..];
        }
        assert_eq!(refused, 4);
        assert_eq!(writer.close().unwrap().samples, 96);
    }
    let bytes = |threads: u32| std::fs::read(directory.path().join(format!("{threads}.jinx"))).unwrap();
    assert_eq!(bytes(1), bytes(4));
}
