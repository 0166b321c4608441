//! Rows survive every way from one format to another, in order, and a failure leaves nothing behind.
#![allow(clippy::unwrap_used, clippy::panic)]

use bytes::Bytes;
use jinx_convert::inputs::{Chain, Input, JinxRows, JsonLines, MessagePack};
use jinx_convert::outputs::{JinxTarget, json_lines, message_pack};
use jinx_convert::{ConvertOptions, Format, Progress, RowChunk, RowSource, Summary, run};
use jinx_core::codec::Codec;
use jinx_core::error::{Cause, Error, Result};
use jinx_core::io::StreamOut;
use jinx_core::row_events::{Payload, Sink};
use jinx_core::value::{TreeBuilder, Value};
use jinx_format::write::dataset::DatasetWriter;
use jinx_format::write::options::WriteOptions;
use std::fs;
use std::path::{Path, PathBuf};

fn source(path: &Path) -> Box<dyn RowSource> {
    match Format::from_path(path).unwrap_or(Format::Jinx) {
        Format::JsonLines => Box::new(JsonLines::open(path).unwrap()),
        Format::MessagePack => Box::new(MessagePack::open(path).unwrap()),
        _ => Box::new(Chain::new(JinxRows::openers(path, &Default::default()).unwrap(), None)),
    }
}

fn convert_from(source: Box<dyn RowSource>, to: &Path, options: &ConvertOptions) -> Result<Summary> {
    convert_watched(source, to, options, &mut |_| Ok(()))
}

fn convert_watched(
    source: Box<dyn RowSource>,
    to: &Path,
    options: &ConvertOptions,
    progress: &mut dyn FnMut(Progress) -> Result<()>,
) -> Result<Summary> {
    let codec = to.extension().and_then(|ext| Codec::from_ext(ext.to_str()?));
    match Format::from_path(to).unwrap_or(Format::Jinx) {
        Format::JsonLines => {
            run(source, json_lines(StreamOut::create(to, true)?, codec, None)?, options, progress)
        }
        Format::MessagePack => {
            run(source, message_pack(StreamOut::create(to, true)?, codec, None)?, options, progress)
        }
        _ => {
            let shard_bytes = to.extension().is_none().then_some(20_000);
            let write = WriteOptions { overwrite: true, shard_bytes, threads: 1, ..WriteOptions::default() };
            run(source, JinxTarget::new(DatasetWriter::create(to, write)?), options, progress)
        }
    }
}

fn threads(threads: usize) -> ConvertOptions {
    ConvertOptions { threads, ..ConvertOptions::default() }
}

fn read_all(mut source: Box<dyn RowSource>) -> Result<Vec<Value>> {
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

/// The `.npy` payload of `items` bytes.
fn array(items: usize) -> Vec<u8> {
    let header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({items},), }}\n");
    let length = u16::try_from(header.len()).unwrap();
    [b"\x93NUMPY\x01\0", length.to_le_bytes().as_slice(), header.as_bytes(), &vec![1; items]].concat()
}

fn blob(payload: Payload, data: Vec<u8>) -> Value {
    Value::Blob { payload, data: Bytes::from(data), media: false, path: None }
}

/// Nested, ragged, with nulls and everything that some format finds hard.
fn rows() -> Vec<Value> {
    let text = |text: &str| Value::Str(text.to_owned());
    (0..3000i64)
        .map(|i| {
            let mut row = vec![("id".to_owned(), Value::Int(i))];
            if i % 2 == 0 {
                row.push(("text".into(), text(&"é\"\\\n😀".repeat(usize::try_from(i % 9).unwrap()))));
            }
            if i % 3 == 0 {
                row.push((
                    "score".into(),
                    if i % 6 == 0 { Value::Null } else { Value::Float(1.0 / i as f64) },
                ));
            }
            if i % 5 == 0 {
                let size = usize::try_from(i % 200).unwrap();
                row.push(("image".into(), blob(Payload::Raw, vec![7; size])));
                row.push(("array".into(), blob(Payload::Npy, array(size / 2))));
                row.push(("tensor".into(), blob(Payload::Pt, b"PK\x03\x04".to_vec())));
                row.push(("scalar".into(), blob(Payload::Np, b"<f8\0\0\0\0\0\0\0\0\0".to_vec())));
            }
            if i % 7 == 0 {
                let inner = Value::List(vec![
                    Value::List(vec![]),
                    Value::Null,
                    Value::Dict(vec![
                        ("$bytes".into(), text("AA==")),
                        ("a.b".into(), blob(Payload::Raw, vec![0; 70])),
                    ]),
                    Value::BigInt("18446744073709551615".into()),
                    Value::BigInt("-123456789012345678901234567890".into()),
                    Value::Float(f64::NEG_INFINITY),
                    Value::Int(i64::MIN),
                ]);
                row.push(("nested".into(), inner));
                let wide = (0..20).map(|n| (format!("k{n}"), Value::Bool(n % 2 == 0))).collect();
                row.push(("wide".into(), Value::Dict(wide)));
                row.push(("".into(), Value::Dict(vec![])));
            }
            Value::Dict(row)
        })
        .collect()
}

/// Rows from memory, a few at a time; a row that is null panics.
struct Memory(Vec<Vec<Value>>);

impl RowSource for Memory {
    fn next_chunk(&mut self) -> Result<Option<Box<dyn RowChunk>>> {
        Ok(if self.0.is_empty() { None } else { Some(Box::new(MemoryChunk(self.0.remove(0)))) })
    }
    fn bytes_read(&self) -> u64 {
        0
    }
    fn total_bytes(&self) -> Option<u64> {
        None
    }
}

struct MemoryChunk(Vec<Value>);

impl RowChunk for MemoryChunk {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn bytes(&self) -> u64 {
        1000
    }
    fn emit(&self, i: usize, mut sink: &mut dyn Sink) -> Result<()> {
        match &self.0[i] {
            Value::Null => panic!("a broken source"),
            row => row.emit(&mut sink),
        }
    }
    fn locate(&self, _: usize, error: Error) -> Error {
        error
    }
}

fn memory(rows: &[Value]) -> Box<dyn RowSource> {
    Box::new(Memory(rows.chunks(50).map(<[Value]>::to_vec).collect()))
}

const NAMES: [&str; 8] = [
    "a.jinx",
    "directory",
    "a.jsonl",
    "a.jsonl.gz",
    "a.jsonl.zst",
    "a.msgpack",
    "a.msgpack.gz",
    "a.msgpack.zst",
];

/// All bytes of a file, or of a directory's files.
fn bytes_of(path: &Path) -> Vec<u8> {
    if !path.is_dir() {
        let side = path.with_extension("binx");
        let sidecar = if side.exists() { fs::read(side).unwrap() } else { Vec::new() };
        return [fs::read(path).unwrap(), sidecar].concat();
    }
    let mut files: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().flat_map(|file| fs::read(file).unwrap()).collect()
}

#[test]
fn every_pair_of_formats_keeps_the_rows() {
    let directory = tempfile::tempdir().unwrap();
    let rows = rows();
    for from in NAMES {
        let first = directory.path().join(from);
        assert_eq!(convert_from(memory(&rows), &first, &threads(2)).unwrap().rows, 3000);
        assert!(read_all(source(&first)).unwrap() == rows, "{from}");
        for to in NAMES {
            let second = directory.path().join("second");
            let _ = fs::create_dir(&second);
            let second = second.join(to);
            convert_from(source(&first), &second, &threads(1)).unwrap();
            let once = bytes_of(&second);
            assert!(read_all(source(&second)).unwrap() == rows, "{from} -> {to}");
            convert_from(source(&first), &second, &threads(3)).unwrap();
            assert!(bytes_of(&second) == once, "{from} -> {to} depends on the threads");
        }
    }
}

#[test]
fn all_codecs_are_read_whatever_the_name() {
    let directory = tempfile::tempdir().unwrap();
    let plain = directory.path().join("a.jsonl");
    convert_from(memory(&rows()[..10]), &plain, &threads(1)).unwrap();
    let mut zstd = jinx_core::codec::writer(Codec::Zstd, None, Vec::new()).unwrap();
    std::io::Write::write_all(&mut zstd, &fs::read(&plain).unwrap()).unwrap();
    let misnamed = directory.path().join("b.jsonl");
    fs::write(&misnamed, zstd.finish().unwrap()).unwrap();
    assert_eq!(read_all(source(&misnamed)).unwrap(), rows()[..10]);
    let cut = fs::read(&misnamed).unwrap();
    fs::write(&misnamed, &cut[..cut.len() - 9]).unwrap();
    let error = read_all(source(&misnamed)).unwrap_err();
    assert_eq!((error.cause(), error.path()), (Cause::Truncated, Some(&*misnamed)));
}

#[test]
fn limit_columns_and_rename() {
    let directory = tempfile::tempdir().unwrap();
    for from in ["a.jinx", "a.jsonl", "a.msgpack"] {
        let (first, second) = (directory.path().join(from), directory.path().join("out.jsonl"));
        convert_from(memory(&rows()), &first, &threads(2)).unwrap();
        let run = |limit, columns: Option<&[&str]>, rename: &[(&str, &str)]| {
            let columns = columns.map(|columns| columns.iter().map(|&name| name.to_owned()).collect());
            let rename = rename.iter().map(|&(old, new)| (old.to_owned(), new.to_owned())).collect();
            let options = ConvertOptions { limit, columns, rename, threads: 2, ..ConvertOptions::default() };
            convert_from(source(&first), &second, &options)
        };
        assert_eq!(run(Some(70), Some(&["score", "id"]), &[("id", "number")]).unwrap().rows, 70);
        let text = fs::read_to_string(&second).unwrap();
        assert!(text.starts_with("{\"number\":0,\"score\":null}\n{\"number\":1}\n"), "{text}");
        assert_eq!(text.lines().count(), 70);
        let error = run(None, Some(&["scoer"]), &[]).unwrap_err().to_string();
        assert!(error.contains("'scoer'; did you mean 'score'?"), "{error}");
        let error = run(None, None, &[("id", "text")]).unwrap_err().to_string();
        assert!(error.contains("two columns would be called 'text'") && error.contains(from), "{error}");
        assert!(run(None, None, &[("id", "x"), ("text", "x")]).is_err());
        assert!(run(None, Some(&["id"]), &[("text", "x")]).is_err());
        assert_eq!(run(Some(0), Some(&["nothing"]), &[]).unwrap().rows, 0);
    }
}

#[test]
fn a_failure_leaves_the_old_output_and_no_temporary() {
    let directory = tempfile::tempdir().unwrap();
    let input = tempfile::tempdir().unwrap();
    let bad = input.path().join("bad.jsonl");
    convert_from(memory(&rows()), &bad, &threads(1)).unwrap();
    let mut text = fs::read_to_string(&bad).unwrap();
    text.push_str("\n\n{\"id\": 1, oops}\n{\"id\": 2, worse\n");
    fs::write(&bad, text).unwrap();
    for to in NAMES {
        let out = directory.path().join(to);
        convert_from(memory(&rows()[..100]), &out, &threads(2)).unwrap();
        let (old, names) = (bytes_of(&out), listing(directory.path()));
        let error = convert_from(source(&bad), &out, &threads(3)).unwrap_err();
        assert_eq!((error.cause(), error.line(), error.path()), (Cause::Corrupt, Some(3003), Some(&*bad)));
        let mut broken = rows();
        broken[2000] = Value::Null;
        let error = convert_from(memory(&broken), &out, &threads(3)).unwrap_err().to_string();
        assert!(error.contains("a broken source"), "{error}");
        let mut calls = 0;
        let stop = &mut |_| {
            calls += 1;
            Err(Error::interrupted())
        };
        let error = convert_watched(memory(&rows()), &out, &threads(3), stop).unwrap_err();
        assert_eq!((error.cause(), calls), (Cause::Interrupted, 1));
        assert!(bytes_of(&out) == old, "{to} was changed");
        assert_eq!(listing(directory.path()), names);
    }
}

fn listing(directory: &Path) -> Vec<PathBuf> {
    let mut names: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
}

#[test]
fn rows_that_unpack_to_much_more_than_their_text_keep_their_order() {
    let directory = tempfile::tempdir().unwrap();
    let first = directory.path().join("a.jinx");
    let big = |i: usize| {
        Value::Dict(vec![("big".into(), blob(Payload::Raw, vec![u8::try_from(i).unwrap(); 1 << 20]))])
    };
    let rows: Vec<Value> = (0..60).map(big).collect();
    convert_from(memory(&rows), &first, &threads(3)).unwrap();
    assert!(fs::metadata(first.with_extension("binx")).unwrap().len() < 100_000);
    let second = directory.path().join("b.msgpack");
    convert_from(source(&first), &second, &threads(3)).unwrap();
    assert!(read_all(source(&second)).unwrap() == rows);
}

#[test]
fn odd_json_lines() {
    let read = |text: &[u8]| {
        let input = Input::new(std::io::Cursor::new(text.to_vec()), Path::new("x.jsonl"), None).unwrap();
        read_all(Box::new(JsonLines::new(input)))
    };
    let rows = read(b"\xef\xbb\xbf{\"a\":1}\r\n\r\n  \n {\"a\":2}  \n{\"a\":3}").unwrap();
    let a = |value| Value::Dict(vec![("a".into(), Value::Int(value))]);
    assert_eq!(rows, [a(1), a(2), a(3)]);
    assert_eq!(read(b"").unwrap(), []);
    assert_eq!(read(b"\n\n").unwrap(), []);
    let error = read(b"{}\n\n[1]\n").unwrap_err();
    assert_eq!(error.line(), Some(3));
    assert!(error.to_string().starts_with("x.jsonl: line 3: a JSON array instead of an object"), "{error}");
    let error = read(b"{}\n12\n").unwrap_err();
    assert!(error.to_string().starts_with("x.jsonl: line 2: "), "{error}");
    assert_eq!(read(b"\xff\xfe{\0}\0").unwrap_err().cause(), Cause::Unsupported);
    assert!(read(b"{\"a\": \"\xff\"}").is_err());
    let long = format!("{{\"a\":\"{}\"}}\n", "x".repeat(3 << 20)).repeat(3);
    assert_eq!(read(long.as_bytes()).unwrap().len(), 3);
}

/// A terminal at which nobody types.
struct Silent;

impl std::io::Read for Silent {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        loop {
            std::thread::park();
        }
    }
}

#[test]
fn a_source_that_does_not_answer_can_be_left() {
    let directory = tempfile::tempdir().unwrap();
    let input = std::io::Read::chain(std::io::Cursor::new(b"{\"a\":1}\n{\"a\":2}\n".to_vec()), Silent);
    let source = Box::new(JsonLines::new(Input::new(input, Path::new("x.jsonl"), None).unwrap()));
    let stop = &mut |_| Err(Error::interrupted());
    let error = convert_watched(source, &directory.path().join("a.jinx"), &threads(2), stop).unwrap_err();
    assert_eq!(error.cause(), Cause::Interrupted);
    assert_eq!(listing(directory.path()).len(), 0);
}
