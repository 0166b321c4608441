//! Parquet files: out and in again, projections, and damage of any kind.
#![allow(clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation)]

mod support;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Fields, Schema};
use jinx_convert::inputs::ParquetSource;
use jinx_convert::outputs::{ParquetCompression, ParquetOptions, ParquetSink};
use jinx_core::Cause;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::{assert_same, batch, parquet_batch, rows};

fn written(batches: &[RecordBatch], compression: ParquetCompression, row_group_bytes: usize) -> Vec<u8> {
    let options = ParquetOptions { compression, row_group_bytes };
    let mut sink = ParquetSink::create(Vec::new(), batches[0].schema(), options).unwrap();
    for batch in batches {
        sink.write(batch).unwrap();
    }
    assert_eq!(sink.rows(), batches.iter().map(|batch| batch.num_rows() as u64).sum::<u64>());
    sink.close().unwrap()
}

fn saved(directory: &Path, bytes: &[u8]) -> PathBuf {
    let path = directory.join("x.parquet");
    std::fs::write(&path, bytes).unwrap();
    path
}

fn read(source: &ParquetSource) -> Vec<RecordBatch> {
    source.batches(None, None, None).unwrap().map(Result::unwrap).collect()
}

#[test]
fn every_type_and_codec() {
    let directory = tempfile::tempdir().unwrap();
    let original = parquet_batch();
    for compression in ["none", "snappy", "lz4", "zstd", "zstd:9", "gzip", "brotli:2"] {
        let compression = ParquetCompression::parse(compression).unwrap();
        let path = saved(directory.path(), &written(std::slice::from_ref(&original), compression, 1 << 20));
        let source = ParquetSource::open(&path).unwrap();
        assert_eq!(source.schema(), original.schema());
        assert_eq!(source.num_rows(), 4);
        let batches = read(&source);
        assert_same(&original, &batches[0]);
        assert_eq!(rows(&original), rows(&batches[0]));
        let views: Vec<_> = source.row_batches(None, None, None).unwrap().map(Result::unwrap).collect();
        assert_eq!(*views[0].column_by_name("binary").unwrap().data_type(), DataType::BinaryView);
        assert_eq!(rows(&original), rows(&views[0]));
        // By way of rows, too.
        assert_same(&original, &batch(source.schema(), &rows(&batches[0])));
    }
    assert_eq!(ParquetCompression::parse("zip").unwrap_err().cause(), Cause::Invalid);
    assert_eq!(ParquetCompression::parse("snappy:3").unwrap_err().cause(), Cause::Invalid);
}

#[test]
fn types_that_parquet_lacks_name_the_column() {
    let field =
        |data_type| Field::new("x", DataType::List(Arc::new(Field::new("item", data_type, true))), true);
    for data_type in
        [DataType::Decimal128(20, -3), DataType::Struct(Fields::empty()), DataType::Decimal256(76, -1)]
    {
        let schema = Arc::new(Schema::new(vec![field(data_type)]));
        let error = ParquetSink::create(Vec::new(), schema, ParquetOptions::default()).err().unwrap();
        assert_eq!((error.cause(), error.column()), (Cause::Unsupported, Some("x[]")));
    }
    let schema = Arc::new(Schema::new(vec![field(DataType::Int8)]));
    let options = ParquetOptions { compression: ParquetCompression::Zstd(99), ..ParquetOptions::default() };
    assert_eq!(ParquetSink::create(Vec::new(), schema, options).err().unwrap().cause(), Cause::Invalid);
}

#[test]
fn features_survive() {
    let directory = tempfile::tempdir().unwrap();
    let path = saved(directory.path(), &written(&[parquet_batch()], ParquetCompression::None, 1 << 20));
    let paths = ParquetSource::open(path).unwrap().features().media_paths();
    let [(image, feature), (images, _)] = paths.as_slice() else { panic!("{paths:?}") };
    assert_eq!(*image, [Some("image".to_owned())]);
    assert_eq!(feature.kind, "Image");
    assert_eq!(feature.feature_json["mode"], "RGB");
    assert_eq!(*images, [Some("images".to_owned()), None]);
}

#[test]
fn row_groups_batches_projection_and_limit() {
    let directory = tempfile::tempdir().unwrap();
    let original = parquet_batch();
    let many = vec![original.clone(); 100];
    let path = saved(directory.path(), &written(&many, ParquetCompression::Snappy, 20_000));
    let source = ParquetSource::open(&path).unwrap();
    assert_eq!(source.num_rows(), 400);
    let all: usize =
        source.batches(Some(7), None, None).unwrap().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(all, 400);
    let names = ["image".to_owned(), "i8".to_owned()];
    let chosen = source.batches(Some(32), Some(&names), Some(50)).unwrap();
    let schema = chosen.schema();
    assert_eq!(
        schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>(),
        ["i8", "image"]
    );
    assert!(schema.metadata().contains_key("huggingface"));
    let batches: Vec<_> = chosen.map(Result::unwrap).collect();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [32, 18]);
    assert_eq!(batches[0].schema(), schema);
    let error = source.batches(None, Some(&["imagee".to_owned()]), None).err().unwrap();
    assert_eq!(error.cause(), Cause::Invalid);
    assert!(error.to_string().contains("did you mean 'image'"), "{error}");
}

#[test]
fn files_that_are_none() {
    let directory = tempfile::tempdir().unwrap();
    let cause = |bytes: &[u8]| ParquetSource::open(saved(directory.path(), bytes)).err().unwrap().cause();
    assert_eq!(cause(b""), Cause::Truncated);
    assert_eq!(cause(b"PAR1"), Cause::Truncated);
    assert_eq!(cause(b"PAR1 and no end"), Cause::Truncated);
    assert_eq!(cause(b"something else entirely"), Cause::Corrupt);
    assert_eq!(cause(b"PAR1 \xff\xff\xff\x7fPAR1"), Cause::Truncated);
    assert_eq!(ParquetSource::open(directory.path()).err().unwrap().cause(), Cause::Invalid);
    let missing = ParquetSource::open(directory.path().join("none")).err().unwrap();
    assert_eq!(missing.cause(), Cause::Io(std::io::ErrorKind::NotFound));
}

/// Reads all there is; errors must name the file and have a cause that says whose fault it is.
fn survive(path: &Path) -> bool {
    let read = ParquetSource::open(path).and_then(|source| {
        let batches = source.batches(None, None, None)?.collect::<jinx_core::Result<Vec<_>>>()?;
        batches.iter().for_each(|batch| drop(rows(batch)));
        let views = source.row_batches(None, None, None)?.collect::<jinx_core::Result<Vec<_>>>()?;
        views.iter().for_each(|batch| drop(rows(batch)));
        Ok(())
    });
    match read {
        Ok(()) => true,
        Err(error) => {
            assert!(error.path().is_some(), "{error}");
            assert!(
                matches!(error.cause(), Cause::Corrupt | Cause::Truncated | Cause::Unsupported),
                "{error:?}"
            );
            false
        }
    }
}

#[test]
fn damage_is_an_error_and_never_a_crash() {
    let directory = tempfile::tempdir().unwrap();
    for compression in [ParquetCompression::None, ParquetCompression::Zstd(3)] {
        let whole = written(&[parquet_batch(), parquet_batch()], compression, 1 << 20);
        for end in (0..whole.len()).step_by(131) {
            assert!(!survive(&saved(directory.path(), &whole[..end])), "cut at {end}");
        }
        let footer = whole.len() - 4000;
        for at in (0..whole.len()).step_by(97).chain((footer..whole.len()).step_by(7)) {
            for flip in [0x01, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] ^= flip;
                survive(&saved(directory.path(), &damaged));
            }
        }
        // Bytes missing or doubled in the middle, with a whole footer.
        for at in (4..whole.len() - 8).step_by(997) {
            let mut shorter = whole.clone();
            shorter.drain(at..at + 3);
            survive(&saved(directory.path(), &shorter));
            let mut longer = whole.clone();
            longer.splice(at..at, [0, 0xff, 1]);
            survive(&saved(directory.path(), &longer));
        }
    }
}

/// A file without rows whose schema is `depth` groups inside each other.
fn nested_schema(depth: usize) -> Vec<u8> {
    // Thrift's compact protocol: version, schema, num_rows and row_groups of FileMetaData.
    let count = depth + 2;
    let mut meta = vec![
        0x15,
        2,
        0x19,
        0xfc,
        (count & 0x7f) as u8 | 0x80,
        (count >> 7 & 0x7f) as u8 | 0x80,
        (count >> 14) as u8,
    ];
    meta.extend([0x48, 1, b's', 0x15, 2, 0]);
    for _ in 0..depth {
        meta.extend([0x35, 2, 0x18, 1, b'a', 0x15, 2, 0]);
    }
    meta.extend([0x15, 2, 0x25, 2, 0x18, 1, b'l', 0]);
    meta.extend([0x16, 0, 0x19, 0x0c, 0]);
    let length = u32::try_from(meta.len()).unwrap().to_le_bytes();
    [b"PAR1".as_slice(), &meta, &length, b"PAR1"].concat()
}

#[test]
fn deep_schemas_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let open = |bytes: &[u8]| ParquetSource::open(saved(directory.path(), bytes));
    assert_eq!(open(&nested_schema(200)).unwrap().num_rows(), 0);
    assert_eq!(open(&nested_schema(300)).err().unwrap().cause(), Cause::Limit);
    assert_eq!(open(&nested_schema(100_000)).err().unwrap().cause(), Cause::Limit);
    // A list of row groups that claims 2^31 elements.
    let mut claims = nested_schema(1);
    let at = claims.len() - 8 - 2;
    claims.splice(at..at + 1, [0xfc, 0xff, 0xff, 0xff, 0xff, 0x07]);
    let length = u32::try_from(claims.len() - 12).unwrap().to_le_bytes();
    let end = claims.len() - 8;
    claims[end..end + 4].copy_from_slice(&length);
    assert_eq!(open(&claims).err().unwrap().cause(), Cause::Corrupt);
}
