//! A conversion's memory does not grow with its input.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch, StructArray};
use arrow_schema::{DataType, Field, Fields, Schema};
use jinx_convert::Format;
use jinx_convert::outputs::{ParquetCompression, ParquetOptions, ParquetSink};
use jinx_convert::{ConvertSpec, convert};
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

const FEATURES: &str = r#"{"info":{"features":{"image":{"_type":"Image"}}}}"#;
const ROW_BYTES: usize = 150_000;
const ROWS: usize = 2000;

/// Memory that is this process's own: maps of files do not count.
fn private_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

fn write_images(path: &Path) {
    let fields = Fields::from(vec![
        Field::new("bytes", DataType::Binary, true),
        Field::new("path", DataType::Utf8, true),
    ]);
    let metadata = HashMap::from([("huggingface".to_owned(), FEATURES.to_owned())]);
    let image = Field::new("image", DataType::Struct(fields.clone()), true);
    let schema = Arc::new(Schema::new_with_metadata(vec![image], metadata));
    let options = ParquetOptions { compression: ParquetCompression::None, ..ParquetOptions::default() };
    let mut sink = ParquetSink::create(fs::File::create(path).unwrap(), schema.clone(), options).unwrap();
    let mut state = 88_172_645_463_325_252u64;
    for first in (0..ROWS).step_by(50) {
        let (mut bytes, mut paths) = (BinaryBuilder::new(), StringBuilder::new());
        for row in first..first + 50 {
            let mut image = b"\xff\xd8\xff\xe0".to_vec();
            while image.len() < ROW_BYTES {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                image.extend_from_slice(&state.to_le_bytes());
            }
            bytes.append_value(&image);
            paths.append_value(format!("{row}.jpg"));
        }
        let columns: Vec<ArrayRef> = vec![Arc::new(bytes.finish()), Arc::new(paths.finish())];
        let images: ArrayRef = Arc::new(StructArray::new(fields.clone(), columns, None));
        sink.write(&RecordBatch::try_new(schema.clone(), vec![images]).unwrap()).unwrap();
    }
    sink.close().unwrap();
}

#[test]
fn images_stream_through() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    write_images(&at("a.parquet"));
    let spec = ConvertSpec::from_json(r#"{"threads":4}"#).unwrap();
    let steps = [
        ("a.parquet", Format::Parquet, "a.jinx", Format::Jinx, 150),
        ("a.jinx", Format::Jinx, "a.msgpack", Format::MessagePack, 150),
        ("a.msgpack", Format::MessagePack, "b.jinx", Format::Jinx, 150),
        ("a.jinx", Format::Jinx, "b.parquet", Format::Parquet, 300),
    ];
    for (from, source, to, target, allowed) in steps {
        let before = private_bytes();
        let mut peak = 0;
        let mut watch = |_| {
            peak = peak.max(private_bytes().saturating_sub(before));
            Ok(())
        };
        let summary = convert(&[at(from)], source, &at(to), target, &spec, &mut watch).unwrap();
        let peak = peak >> 20;
        assert_eq!(summary.rows, 2000);
        assert!(peak < allowed, "{from} -> {to} took {peak} MiB");
    }
}
