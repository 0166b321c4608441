//! Files of every format to every format, and what goes wrong on the way.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, clippy::cast_sign_loss)]

mod support;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use jinx_convert::inputs::{ArrowRows, ParquetSource};
use jinx_convert::outputs::{ParquetOptions, ParquetSink};
use jinx_convert::{ConvertSpec, convert, convert_rows, stream_rows};
use jinx_convert::{Format, RowSource, Summary};
use jinx_core::error::{Cause, Error, Result};
use jinx_core::value::{TreeBuilder, Value};
use jinx_format::read::shard::{OpenOptions, Shard};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::{assert_same, parquet_batch, storable_batch};

fn spec(text: &str) -> ConvertSpec {
    ConvertSpec::from_json(text).unwrap()
}

fn format_of(path: &Path) -> Format {
    Format::from_path(path).unwrap_or(Format::Jinx)
}

fn run(sources: &[&Path], out: &Path, options: &str) -> Result<Summary> {
    let paths: Vec<PathBuf> = sources.iter().map(|path| path.to_path_buf()).collect();
    convert(&paths, format_of(sources[0]), out, format_of(out), &spec(options), &mut |_| Ok(()))
}

fn rows(mut source: Box<dyn RowSource>) -> Result<Vec<Value>> {
    let mut rows = Vec::new();
    while let Some(chunk) = source.next_chunk()? {
        for i in 0..chunk.len() {
            let mut tree = TreeBuilder::default();
            chunk.emit(i, &mut tree)?;
            rows.push(tree.take()?);
        }
    }
    Ok(rows)
}

fn read(path: &Path) -> Vec<Value> {
    rows(stream_rows(&[path.to_owned()], format_of(path), None, false, None).unwrap()).unwrap()
}

/// A missing member and a null are one in Parquet.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Dict(members) => {
            let left = members.into_iter().filter(|(_, value)| *value != Value::Null);
            let mut left: Vec<_> = left.map(|(name, value)| (name, without_nulls(value))).collect();
            left.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Dict(left)
        }
        Value::List(items) => Value::List(items.into_iter().map(without_nulls).collect()),
        other => other,
    }
}

fn ragged() -> String {
    let line = |i: i64| {
        let mut parts = vec![format!("\"$jinx\":1,\"id\":{i}")];
        if i % 2 == 0 {
            parts.push(format!(
                "\"text\":\"é{i}\\n\",\"score\":{}",
                if i % 4 == 0 { "null".into() } else { format!("{i}.25") }
            ));
        }
        if i % 3 == 0 {
            parts.push(format!("\"blob\":{{\"$bytes\":\"{}\"}}", "AAEC".repeat(i as usize % 90)));
        }
        if i % 5 == 0 {
            let inner = format!(
                "[{}null,{{\"role\":\"user\",\"n\":[{i}]}},{{\"role\":null,\"extra\":{{\"x\":true}}}}]",
                "{},".repeat(i as usize % 3)
            );
            parts.push(format!("\"messages\":{inner},\"empty\":[]"));
        }
        format!("{{{}}}\n", parts.join(","))
    };
    (0..2500).map(line).collect()
}

const NAMES: [&str; 7] =
    ["a.jinx", "directory", "a.jsonl", "a.jsonl.gz", "a.msgpack", "a.msgpack.zst", "a.parquet"];

fn bytes_of(path: &Path) -> Vec<u8> {
    if !path.is_dir() {
        let sidecar = fs::read(path.with_extension("binx")).unwrap_or_default();
        return [fs::read(path).unwrap(), sidecar].concat();
    }
    let mut files: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().flat_map(|file| fs::read(file).unwrap()).collect()
}

#[test]
fn every_pair_of_formats_keeps_ragged_rows() {
    let directory = tempfile::tempdir().unwrap();
    let plain = directory.path().join("plain.jsonl");
    fs::write(&plain, ragged()).unwrap();
    let expected: Vec<Value> = read(&plain).into_iter().map(without_nulls).collect();
    for from in NAMES {
        let first = directory.path().join(from);
        assert_eq!(run(&[&plain], &first, "{}").unwrap().rows, 2500);
        for to in NAMES {
            let second = directory.path().join("second");
            let _ = fs::create_dir(&second);
            let second = second.join(to);
            run(&[&first], &second, r#"{"threads":1,"overwrite":true}"#).unwrap();
            let found: Vec<Value> = read(&second).into_iter().map(without_nulls).collect();
            assert!(found == expected, "{from} -> {to}");
            let once = bytes_of(&second);
            run(&[&first], &second, r#"{"threads":3,"overwrite":true}"#).unwrap();
            assert!(bytes_of(&second) == once, "{from} -> {to} depends on the threads");
        }
    }
}

fn write_parquet(path: &Path, batch: &RecordBatch, times: usize) {
    let file = fs::File::create(path).unwrap();
    let mut sink = ParquetSink::create(file, batch.schema(), ParquetOptions::default()).unwrap();
    for _ in 0..times {
        sink.write(batch).unwrap();
    }
    sink.close().unwrap();
}

fn read_parquet(path: &Path) -> RecordBatch {
    let source = ParquetSource::open(path).unwrap();
    let batches: Vec<RecordBatch> = source.batches(None, None, None).unwrap().map(Result::unwrap).collect();
    arrow_select::concat::concat_batches(&source.schema(), &batches).unwrap()
}

#[test]
fn types_features_and_notes_come_back_from_jinx() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    write_parquet(&at("a.parquet"), &storable_batch(), 40);
    let original = read_parquet(&at("a.parquet"));
    run(&[&at("a.parquet")], &at("a.jinx"), r#"{"meta":{"k":[1]},"split":"train","threads":3}"#).unwrap();
    run(&[&at("a.jinx")], &at("directory"), r#"{"shard_size":3000}"#).unwrap();
    run(&[&at("directory")], &at("b.jinx"), r#"{"compression":null,"sidecar":false}"#).unwrap();
    for from in ["a.jinx", "directory", "b.jinx"] {
        let back = at(&format!("{from}.parquet"));
        run(&[&at(from)], &back, "{}").unwrap();
        assert_same(&original, &read_parquet(&back));
    }
    let footer = Shard::open(&at("b.jinx"), &OpenOptions::default()).unwrap();
    let footer = footer.footer();
    assert_eq!(
        (footer.split.as_deref(), footer.meta.as_str(), footer.sidecar.is_none()),
        (Some("train"), r#"{"k":[1]}"#, true)
    );
    assert!(
        footer.fields.iter().any(|field| field.path == [Some("image".to_owned())] && field.media.is_some())
    );
}

#[test]
fn columns_and_new_names_reach_schema_and_features() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    write_parquet(&at("a.parquet"), &parquet_batch(), 2);
    let options = r#"{"columns":["image","i64"],"rename":{"image":"picture"},"limit":5,"overwrite":true}"#;
    for out in ["a.jinx", "b.parquet", "c.msgpack", "d.jsonl"] {
        assert_eq!(run(&[&at("a.parquet")], &at(out), options).unwrap().rows, 5);
    }
    run(&[&at("a.jinx")], &at("e.parquet"), "{}").unwrap();
    for parquet in ["b.parquet", "e.parquet"] {
        let source = ParquetSource::open(at(parquet)).unwrap();
        let mut names: Vec<_> = source.schema().fields().iter().map(|field| field.name().clone()).collect();
        names.sort();
        assert_eq!((names, source.num_rows()), (vec!["i64".to_owned(), "picture".to_owned()], 5));
        assert_eq!(source.features().media_paths()[0].0, [Some("picture".to_owned())]);
    }
    for (from, wrong) in [("a.parquet", "immage"), ("a.jinx", "pictre")] {
        let error = run(&[&at(from)], &at("f.jsonl"), &format!(r#"{{"columns":["{wrong}"]}}"#)).unwrap_err();
        assert_eq!(error.cause(), Cause::Invalid);
        assert!(error.to_string().contains("did you mean"), "{error}");
        assert!(!at("f.jsonl").exists());
    }
    let two = ["i64".to_owned(), "image".to_owned()];
    let streamed =
        rows(stream_rows(&[at("a.parquet")], Format::Parquet, Some(&two), false, None).unwrap()).unwrap();
    assert!(streamed.iter().all(|row| matches!(row, Value::Dict(members) if members.len() == 2)));
}

#[test]
fn files_of_one_kind_follow_one_another() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let batch = |name: &str, column: ArrayRef| {
        RecordBatch::try_from_iter([("id", column.clone()), (name, column)]).unwrap()
    };
    let numbers = || Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef;
    fs::create_dir(at("in")).unwrap();
    write_parquet(&at("in/p10.parquet"), &batch("x", numbers()), 2);
    write_parquet(&at("in/p9.parquet"), &batch("x", numbers()), 1);
    let inputs = [at("in")];
    let all =
        |out: &Path| convert(&inputs, Format::Parquet, out, Format::JsonLines, &spec("{}"), &mut |_| Ok(()));
    assert_eq!(all(&at("a.jsonl")).unwrap().rows, 6);
    write_parquet(&at("in/p11.parquet"), &batch("y", numbers()), 1);
    assert_eq!(all(&at("joined.jsonl")).unwrap().rows, 8);
    let text = fs::read_to_string(at("joined.jsonl")).unwrap();
    assert!(text.contains("{\"id\":2,\"y\":2,\"x\":null}\n"), "{text}");
    write_parquet(&at("in/p11.parquet"), &batch("x", Arc::new(StringArray::from(vec!["a"]))), 1);
    let error = all(&at("b.jsonl")).unwrap_err();
    assert_eq!((error.cause(), error.column()), (Cause::Mismatch, Some("id")));
    assert!(error.path().unwrap().ends_with("in/p11.parquet"));
    assert!(!at("b.jsonl").exists());
    assert!(
        convert(&[], Format::Jinx, &at("c.jsonl"), Format::JsonLines, &spec("{}"), &mut |_| Ok(())).is_err()
    );
    assert!(run(&[&at("missing.jsonl")], &at("c.jsonl"), "{}").is_err());
}

#[test]
fn tables_of_other_libraries_are_written() {
    let directory = tempfile::tempdir().unwrap();
    let original = storable_batch();
    for name in ["a.jinx", "a.jsonl", "a.msgpack", "a.parquet"] {
        let out = directory.path().join(name);
        let batches = vec![Ok(original.slice(0, 1)), Ok(original.slice(1, 3))];
        let source = Box::new(ArrowRows::new(original.schema(), batches.into_iter()));
        let summary =
            convert_rows(source, &original.schema(), &out, format_of(&out), &spec("{}"), &mut |_| Ok(()));
        assert_eq!(summary.unwrap().rows, 4, "{name}");
    }
    assert_same(&original, &read_parquet(&directory.path().join("a.parquet")));
    run(&[&directory.path().join("a.jinx")], &directory.path().join("b.parquet"), "{}").unwrap();
    assert_same(&original, &read_parquet(&directory.path().join("b.parquet")));
}

#[test]
fn a_failure_leaves_the_old_output_and_no_temporary() {
    let directory = tempfile::tempdir().unwrap();
    let input = tempfile::tempdir().unwrap();
    let (good, bad) = (input.path().join("good.jsonl"), input.path().join("bad.jsonl"));
    fs::write(&good, ragged()).unwrap();
    fs::write(&bad, ragged() + "{\"id\":\"text\"}\n{\"id\":}\n").unwrap();
    for name in NAMES {
        let out = directory.path().join(name);
        run(&[&good], &out, "{}").unwrap();
        let (old, names) = (bytes_of(&out), fs::read_dir(directory.path()).unwrap().count());
        let error = run(&[&good], &out, "{}").unwrap_err();
        assert_eq!(error.cause(), Cause::Invalid, "{error}");
        let error = run(&[&bad], &out, r#"{"overwrite":true}"#).unwrap_err();
        assert!(error.line() >= Some(2501) || error.cause() == Cause::Mismatch, "{error}");
        let paths = [good.clone()];
        let stop = &mut |_| Err(Error::interrupted());
        let spec = spec(r#"{"overwrite":true}"#);
        let error = convert(&paths, Format::JsonLines, &out, format_of(&out), &spec, stop).unwrap_err();
        assert_eq!(error.cause(), Cause::Interrupted);
        assert!(bytes_of(&out) == old, "{name} was changed");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), names);
    }
}

#[test]
fn mixed_kinds_are_an_error_or_text() {
    let directory = tempfile::tempdir().unwrap();
    let (from, to) = (directory.path().join("a.jsonl"), directory.path().join("a.parquet"));
    fs::write(&from, "{\"a\":1,\"b\":[1]}\n{\"a\":\"x\"}\n").unwrap();
    let error = run(&[&from], &to, "{}").unwrap_err();
    assert_eq!((error.cause(), error.column()), (Cause::Mismatch, Some("a")));
    assert!(!to.exists());
    run(&[&from], &to, r#"{"mixed":"json"}"#).unwrap();
    let schema = ParquetSource::open(&to).unwrap().schema();
    assert_eq!(schema.field_with_name("a").unwrap().data_type(), &DataType::Utf8);
}

#[test]
fn damaged_parquet_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let (from, to) = (directory.path().join("a.parquet"), directory.path().join("a.jinx"));
    let text: StringArray = (0..20_000).map(|i| Some(format!("{i} {}", i * 7919))).collect();
    let schema = Arc::new(Schema::new(vec![Field::new("text", DataType::Utf8, true)]));
    write_parquet(&from, &RecordBatch::try_new(schema, vec![Arc::new(text)]).unwrap(), 1);
    let mut bytes = fs::read(&from).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 2000].fill(0xff);
    fs::write(&from, &bytes).unwrap();
    let error = run(&[&from], &to, "{}").unwrap_err();
    assert_eq!((error.cause(), error.path()), (Cause::Corrupt, Some(&*from)));
    assert!(!to.exists());
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let from = directory.path().join("a.jsonl");
    fs::write(&from, "{}\n").unwrap();
    let out = |name: &str| directory.path().join(name);
    assert!(run(&[&from], &out("b.parquet"), r#"{"append":true}"#).is_err());
    assert!(run(&[&from], &out("b.jinx"), r#"{"shard_size":5}"#).is_err());
    assert!(run(&[&from], &out("b.jsonl.gz"), r#"{"compression":"zstd"}"#).is_err());
    assert!(run(&[&from], &out("b.jsonl.br"), "{}").is_err());
    assert!(run(&[&from], &out("b.jsonl"), r#"{"rename":{"a":1}}"#).is_err());
    assert!(run(&[&from], &out("b.parquet"), r#"{"compression":"zstd","level":99}"#).is_err());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    run(&[&from], &out("directory"), "{}").unwrap();
    run(&[&from], &out("directory"), r#"{"append":true}"#).unwrap();
    assert_eq!(read(&out("directory")).len(), 2);
}
