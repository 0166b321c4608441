//! The loops that reading and writing spend their time in, over a row of 1.25 kB and an image of 47 kB.
#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use flate2::Compression;
use flate2::write::GzEncoder;

use jinx_core::codec::{self, Codec, Compressor};
use jinx_core::json::scan::{Members, count_elements};
use jinx_core::row_events::Payload;
use jinx_core::value::{TreeBuilder, Value};
use jinx_format::read::shard::{OpenOptions, Shard, Verify};
use jinx_format::write::dataset::DatasetWriter;
use jinx_format::write::encode::RowEncoder;
use jinx_format::write::options::{EncodeOptions, WriteOptions};
use std::io::Write;
use std::sync::Arc;
use tempfile::TempDir;

const ROWS: usize = 1000;
const IMAGE_BYTES: usize = 47_000;

fn main() {
    divan::main();
}

fn text(words: usize) -> Value {
    Value::Str("a small red square beside the old tree ".repeat(words))
}

fn messages() -> Value {
    let message = |role: &str| {
        let content = vec![("type".to_owned(), Value::Str("text".to_owned())), ("text".to_owned(), text(3))];
        Value::Dict(vec![
            ("role".to_owned(), Value::Str(role.to_owned())),
            ("content".to_owned(), Value::List(vec![Value::Dict(content)])),
        ])
    };
    Value::List((0..6).map(|i| message(if i % 2 == 0 { "user" } else { "assistant" })).collect())
}

/// Bytes that no codec can compress.
fn noise(seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    (0..IMAGE_BYTES).map(|_| next()).collect()
}

fn row(number: u64) -> Value {
    let data = Bytes::from(noise(number));
    Value::Dict(vec![
        ("id".to_owned(), Value::Str(format!("llava-{number:07}"))),
        ("image".to_owned(), Value::Blob { payload: Payload::Raw, data, media: true, path: None }),
        ("messages".to_owned(), messages()),
        ("source".to_owned(), Value::Str("coco/train2017".to_owned())),
        ("width".to_owned(), Value::Int(640)),
        ("height".to_owned(), Value::Int(480)),
        ("score".to_owned(), Value::Float(0.7125)),
    ])
}

/// A pair on disk that exists as long as the directory.
fn shard(rows: usize) -> (TempDir, Shard) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jinx");
    let rows: Vec<Value> = (0..rows).map(|i| row(i as u64)).collect();
    let mut writer = DatasetWriter::create(&path, WriteOptions::default()).unwrap();
    writer.write_values(&rows).unwrap();
    writer.close().unwrap();
    let options = OpenOptions { verify: Verify::Rows, ..OpenOptions::default() };
    let shard = Shard::open(&path, &options).unwrap();
    (directory, shard)
}

fn line() -> Vec<u8> {
    let (_directory, shard) = shard(1);
    shard.line(0).unwrap()
}

#[divan::bench]
fn scan_all_members(bencher: Bencher<'_, '_>) {
    let line = line();
    bencher.counter(BytesCount::new(line.len())).bench(|| {
        let (mut members, mut found) = (Members::new(divan::black_box(&line)), 0);
        while let Some(span) = members.next_member().unwrap() {
            found += span.value_range().len();
        }
        found
    });
}

#[divan::bench(args = ["id", "messages", "score"])]
fn find_one_column(bencher: Bencher<'_, '_>, name: &str) {
    let line = line();
    bencher.bench(|| {
        let mut members = Members::new(divan::black_box(&line));
        loop {
            let span = members.next_member().unwrap().unwrap();
            if &line[span.key_range()] == name.as_bytes() {
                return span.value_range();
            }
        }
    });
}

#[divan::bench]
fn count_messages(bencher: Bencher<'_, '_>) {
    let line = line();
    let mut members = Members::new(&line);
    let range = std::iter::from_fn(|| members.next_member().unwrap())
        .find(|span| &line[span.key_range()] == b"messages")
        .unwrap()
        .value_range();
    bencher.bench(|| count_elements(divan::black_box(&line[range.clone()])).unwrap());
}

#[divan::bench]
fn look_up_in_index(bencher: Bencher<'_, '_>) {
    let (_directory, shard) = shard(ROWS);
    bencher.counter(ItemsCount::new(ROWS)).bench(|| {
        (0..shard.len()).map(|i| shard.line_range(divan::black_box(i)).unwrap().0).fold(0, u64::wrapping_add)
    });
}

#[divan::bench]
fn read_line_and_check_it(bencher: Bencher<'_, '_>) {
    let (_directory, shard) = shard(ROWS);
    bencher
        .counter(ItemsCount::new(ROWS))
        .bench(|| (0..shard.len()).map(|i| shard.line(i).unwrap().len()).sum::<usize>());
}

#[divan::bench]
fn decode_row_with_image(bencher: Bencher<'_, '_>) {
    let (_directory, shard) = shard(ROWS);
    bencher.counter(ItemsCount::new(ROWS)).bench(|| {
        for i in 0..shard.len() {
            let mut tree = TreeBuilder::default();
            shard.emit_row(i, &mut tree).unwrap();
            divan::black_box(tree.take().unwrap());
        }
    });
}

#[divan::bench]
fn encode_row(bencher: Bencher<'_, '_>) {
    let row = row(1);
    let options = Arc::new(EncodeOptions { sidecar: true, ..EncodeOptions::default() });
    let mut encoder = RowEncoder::new(options).unwrap();
    bencher.bench_local(|| encoder.encode(|sink| divan::black_box(&row).emit(sink)).unwrap());
}

#[divan::bench]
fn copy_value(bencher: Bencher<'_, '_>) {
    let value = noise(3);
    let mut out = vec![0; value.len()];
    bencher.counter(BytesCount::new(value.len())).bench_local(|| {
        out.copy_from_slice(divan::black_box(&value));
    });
}

/// Pixels: a third is grain, the rest is flat.
fn pixels() -> Vec<u8> {
    noise(5).iter().enumerate().map(|(i, byte)| if i % 3 == 0 { byte / 8 } else { 128 }).collect()
}

#[divan::bench]
fn decode_zstd(bencher: Bencher<'_, '_>) {
    let pixels = pixels();
    let packed = Compressor::zstd(3).unwrap().compress(&pixels).unwrap();
    bencher
        .counter(BytesCount::new(pixels.len()))
        .bench(|| codec::decode(Codec::Zstd, divan::black_box(&packed), 1 << 20).unwrap());
}

#[divan::bench]
fn encode_zstd(bencher: Bencher<'_, '_>) {
    let pixels = pixels();
    let mut compressor = Compressor::zstd(3).unwrap();
    bencher
        .counter(BytesCount::new(pixels.len()))
        .bench_local(|| compressor.compress(divan::black_box(&pixels)).unwrap());
}

#[divan::bench]
fn decode_gzip(bencher: Bencher<'_, '_>) {
    let pixels = pixels();
    let mut writer = GzEncoder::new(Vec::new(), Compression::fast());
    writer.write_all(&pixels).unwrap();
    let packed = writer.finish().unwrap();
    bencher
        .counter(BytesCount::new(pixels.len()))
        .bench(|| codec::decode(Codec::Gzip, divan::black_box(&packed), 1 << 20).unwrap());
}
