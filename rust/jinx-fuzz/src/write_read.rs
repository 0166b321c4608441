//! Target for the writer: writes random rows in every variant. Accepted rows must be equal when they are read, a
//! rejected row must not affect the others, and `verify` must find no problem.

use super::mutate::Bytes;
use super::place::Place;
use jinx_core::checked_math::to_u64;
use jinx_core::error::Cause;
use jinx_core::io::Access;
use jinx_core::limits::Limits;
use jinx_core::row_events::{Dtype, Number, Payload};
use jinx_core::value::{TreeBuilder, Value};
use jinx_format::read::shard::{OpenOptions, Shard, Verify};
use jinx_format::verify::verify;
use jinx_format::write::dataset::DatasetWriter;
use jinx_format::write::options::{ColumnChoice, WriteOptions};
use std::collections::HashSet;

const MAX_DEPTH: usize = 6;
const NAMES: [&str; 16] = [
    "id",
    "a",
    "image",
    "dict",
    "text",
    "",
    ".",
    "..",
    "a.b",
    "a.raw.bin",
    "x.zst",
    "é\n",
    "\"\\",
    "bytes",
    "path",
    "raw",
];

pub(super) fn write_read(data: &[u8]) {
    let mut program = Bytes(data);
    let mut options = options_of(program.byte());
    let limits = limit(&mut options, program.byte());
    let rows: Vec<Value> = (0..program.byte() % 8).map(|_| row_of(&mut program)).collect();
    let Some(place) = Place::new() else { return };
    let path = place.path("a.jinx");
    let Ok(mut writer) = DatasetWriter::create(&path, options) else { return };
    let accepted = write(&mut writer, &rows);
    let written = writer.close();
    assert!(written.as_ref().is_ok_and(|summary| summary.samples == to_u64(accepted.len())), "{written:?}");
    let problems = verify(&path, &mut |_, _| Ok(()));
    assert!(problems.as_ref().is_ok_and(Vec::is_empty), "{problems:?}");
    for access in [Access::Mmap, Access::Pread] {
        let found = read(&place, access, limits).unwrap_or_else(|error| vec![Value::Str(error)]);
        let different = accepted.iter().zip(&found).find_map(|(row, found)| difference(row, found));
        assert!(found.len() == accepted.len() && different.is_none(), "{} rows, {different:?}", found.len());
    }
}

/// Sets small limits for the writer, and returns those for the reader.
fn limit(options: &mut WriteOptions, bits: u8) -> Limits {
    let mut limits = Limits::default();
    if bits & 1 != 0 {
        limits.max_row_bytes = 64 << (bits >> 1 & 7);
    }
    if bits & 16 != 0 {
        limits.max_value_bytes = 64 << (bits >> 5);
    }
    options.threads = 1 + usize::from(bits >> 2 & 1);
    options.encode.max_row_bytes = limits.max_row_bytes;
    options.encode.max_value_bytes = limits.max_value_bytes;
    limits
}

/// Writes the rows; returns those that the writer accepted.
fn write<'v>(writer: &mut DatasetWriter, rows: &'v [Value]) -> Vec<&'v Value> {
    let (mut rest, mut accepted) = (rows, Vec::new());
    loop {
        let before = writer.rows();
        let result = writer.write_values(rest);
        let count = usize::try_from(writer.rows() - before).unwrap_or(usize::MAX);
        accepted.extend(&rest[..count]);
        let Err(error) = result else { return accepted };
        let is_own = error.cause() == Cause::Limit && error.sample() == Some(writer.rows());
        assert!(is_own && !writer.is_broken(), "{error}");
        rest = &rest[count + 1..];
    }
}

fn read(place: &Place, access: Access, limits: Limits) -> Result<Vec<Value>, String> {
    let options = OpenOptions { access, verify: Verify::Full, limits, ..OpenOptions::default() };
    let shard = Shard::open(&place.path("a.jinx"), &options).map_err(|error| error.to_string())?;
    let row = |i| {
        let mut tree = TreeBuilder::default();
        shard.emit_row(i, &mut tree)?;
        tree.take()
    };
    (0..shard.len()).map(row).collect::<jinx_core::Result<_>>().map_err(|error| error.to_string())
}

/// The first value that differs, as it was written and as it was read.
fn difference<'v>(row: &'v Value, found: &'v Value) -> Option<(&'v Value, &'v Value)> {
    if row == found {
        return None;
    }
    if let (Value::Dict(one), Value::Dict(other)) = (row, found)
        && one.iter().map(|(name, _)| name).eq(other.iter().map(|(name, _)| name))
    {
        return one.iter().zip(other).find_map(|((_, one), (_, other))| difference(one, other));
    }
    Some((row, found))
}

/// Options for one of the variants that the writer can write.
pub(super) fn options_of(bits: u8) -> WriteOptions {
    let mut options = WriteOptions { threads: 1, ..WriteOptions::default() };
    options.encode.sidecar = bits & 1 == 0;
    options.encode.compression = (bits & 2 == 0).then_some(1);
    if bits & 4 != 0 {
        options.encode.string_threshold = 8;
        options.encode.binary_threshold = 4;
        options.encode.compress_threshold = 16;
        let texts = vec![vec![Some("text".to_owned())]];
        options.encode.columns = texts.iter().cloned().collect();
        options.columns = ColumnChoice::Also(texts);
    }
    options
}

pub(super) fn row_of(program: &mut Bytes<'_>) -> Value {
    dict(program, MAX_DEPTH)
}

fn dict(program: &mut Bytes<'_>, depth: usize) -> Value {
    let count = program.byte() % 8;
    let mut names = HashSet::new();
    let mut members = Vec::new();
    for _ in 0..count {
        let name = name(program);
        let value = value(program, depth - 1);
        if names.insert(name.clone()) {
            members.push((name, value));
        }
    }
    Value::Dict(members)
}

fn name(program: &mut Bytes<'_>) -> String {
    let which = program.byte();
    match NAMES.get(usize::from(which % 32)) {
        Some(name) => (*name).to_owned(),
        None => String::from_utf8_lossy(program.take(usize::from(which / 32))).into_owned(),
    }
}

fn value(program: &mut Bytes<'_>, depth: usize) -> Value {
    let kind = program.byte();
    match kind % 14 {
        0 => Value::Null,
        1 => Value::Bool(kind & 16 != 0),
        2 => Value::Int(i64::from_le_bytes(eight(program))),
        3 => Value::Int(i64::from(program.byte()) - 128),
        4 => float(f64::from_bits(u64::from_le_bytes(eight(program)))),
        5 => {
            Value::BigInt(format!("{}9{:020}", if kind & 16 == 0 { "" } else { "-" }, program.below(1 << 16)))
        }
        6 => Value::Str(String::from_utf8_lossy(program.take(usize::from(kind))).into_owned()),
        7 => Value::Str("long ".repeat(program.below(20_000))),
        8 => blob(Payload::Raw, program.take(usize::from(kind)).to_vec()),
        9 => blob(Payload::Raw, vec![kind; program.below(10_000)]),
        10 => blob(Payload::Npy, array(program.take(usize::from(kind)))),
        11 => scalar(program),
        12 if depth > 0 => Value::List((0..program.byte() % 5).map(|_| value(program, depth - 1)).collect()),
        13 if depth > 0 => dict(program, depth),
        _ => Value::Str("end".to_owned()),
    }
}

fn eight(program: &mut Bytes<'_>) -> [u8; 8] {
    std::array::from_fn(|_| program.byte())
}

/// Replaces NaN, which is not equal to itself.
fn float(value: f64) -> Value {
    Value::Float(if value.is_nan() { f64::INFINITY } else { value })
}

fn blob(payload: Payload, data: Vec<u8>) -> Value {
    Value::Blob { payload, data: data.into(), media: false, path: None }
}

/// A one-dimensional array of bytes.
fn array(items: &[u8]) -> Vec<u8> {
    let text = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({},), }}", items.len());
    let head = format!("{text:<117}\n");
    [b"\x93NUMPY\x01\0\x76\0".as_slice(), head.as_bytes(), items].concat()
}

fn scalar(program: &mut Bytes<'_>) -> Value {
    let small = program.byte() % 128;
    match program.byte() % 5 {
        0 => Value::Scalar(Dtype::Int8, Number::Int(i64::from(small))),
        1 => Value::Scalar(Dtype::Int64, Number::Int(i64::from_le_bytes(eight(program)))),
        2 => Value::Scalar(Dtype::Uint64, Number::Uint(u64::from_le_bytes(eight(program)) | 1 << 63)),
        3 => Value::Scalar(Dtype::Float32, Number::Float(f64::from(small) / 4.0)),
        _ => blob(Payload::Np, [b"<i2\0".as_slice(), &[small, 0]].concat()),
    }
}
