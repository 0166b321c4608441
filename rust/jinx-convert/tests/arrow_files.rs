//! Arrow IPC files and streams as input: every type, codec and projection, and damage of any kind.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use jinx_convert::inputs::IpcSource;
use jinx_core::{Cause, Result};
use std::path::{Path, PathBuf};
use support::{full_batch, rows};

fn written(batches: &[RecordBatch], compression: Option<CompressionType>, is_file: bool) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let schema = batches[0].schema();
    let mut bytes = Vec::new();
    if is_file {
        let mut writer = FileWriter::try_new_with_options(&mut bytes, &schema, options).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();
    } else {
        let mut writer = StreamWriter::try_new_with_options(&mut bytes, &schema, options).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();
    }
    bytes
}

fn saved(directory: &Path, bytes: &[u8]) -> PathBuf {
    let path = directory.join("x.arrow");
    std::fs::write(&path, bytes).unwrap();
    path
}

fn read(path: &Path) -> Result<Vec<RecordBatch>> {
    IpcSource::open(path)?.batches(None)?.collect()
}

#[test]
fn every_type_and_codec() {
    let directory = tempfile::tempdir().unwrap();
    let original = full_batch();
    for compression in [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)] {
        for is_file in [true, false] {
            let bytes = written(&[original.clone(), original.slice(1, 2)], compression, is_file);
            let path = saved(directory.path(), &bytes);
            let mut source = IpcSource::open(&path).unwrap();
            assert_eq!(source.schema(), original.schema());
            let found: Vec<_> = source.batches(None).unwrap().map(Result::unwrap).collect();
            assert_eq!(found.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [4, 2]);
            assert_eq!(rows(&found[0]), rows(&original));
            assert_eq!(rows(&found[1]), rows(&original.slice(1, 2)));
            assert!(source.bytes_read() > 0);
            let two = ["i8".to_owned(), "bool".to_owned()];
            let some = source.batches(Some(&two)).unwrap().next().unwrap().unwrap();
            assert_eq!(some.num_columns(), 2);
            assert_eq!(source.batches(Some(&["i9".to_owned()])).err().unwrap().cause(), Cause::Invalid);
        }
    }
}

#[test]
fn a_file_is_read_by_its_index_and_without_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut bytes = written(&[full_batch(), full_batch()], None, true);
    let without = saved(directory.path(), &bytes[..bytes.len() - 6]);
    assert_eq!(read(&without).unwrap().len(), 2);
    // What stands before the batches is not looked at, as polars puts something else there.
    bytes[64..72].fill(0x55);
    assert_eq!(read(&saved(directory.path(), &bytes)).unwrap().len(), 2);
    assert_eq!(read(&saved(directory.path(), &bytes[..bytes.len() - 6])).unwrap_err().cause(), Cause::Limit);
}

#[test]
fn a_stream_may_end_without_saying_so() {
    let directory = tempfile::tempdir().unwrap();
    let whole = written(&[full_batch()], None, false);
    let path = saved(directory.path(), &whole[..whole.len() - 8]);
    assert_eq!(read(&path).unwrap().len(), 1);
}

#[test]
fn damage_is_an_error_and_never_a_crash() {
    let directory = tempfile::tempdir().unwrap();
    for compression in [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)] {
        let whole = written(&[full_batch(), full_batch()], compression, true);
        let survive = |bytes: &[u8]| {
            let path = saved(directory.path(), bytes);
            match read(&path) {
                Ok(batches) => batches.iter().for_each(|batch| drop(rows(batch))),
                Err(error) => {
                    assert!(error.path().is_some() && !error.to_string().contains('\n'), "{error}");
                    let allowed = [Cause::Corrupt, Cause::Truncated, Cause::Unsupported, Cause::Limit];
                    assert!(allowed.contains(&error.cause()), "{error:?}");
                }
            }
        };
        for end in (0..whole.len()).step_by(131) {
            survive(&whole[..end]);
        }
        for at in (0..whole.len()).step_by(61) {
            for flip in [0x01, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] ^= flip;
                survive(&damaged);
            }
        }
    }
    let cut = written(&[full_batch()], None, true);
    assert_eq!(read(&saved(directory.path(), &cut[..3000])).unwrap_err().cause(), Cause::Truncated);
    assert_eq!(read(&saved(directory.path(), b"")).unwrap_err().cause(), Cause::Truncated);
    assert_eq!(read(&saved(directory.path(), b"FEA1xxxx")).unwrap_err().cause(), Cause::Unsupported);
}

#[test]
fn a_claim_out_of_proportion_takes_no_memory() {
    let directory = tempfile::tempdir().unwrap();
    let mut bytes = written(&[full_batch()], Some(CompressionType::ZSTD), false);
    // Every buffer that says how much it holds now says 2^45 bytes.
    let mut changed = 0;
    for at in (0..bytes.len() - 16).step_by(8) {
        if bytes[at + 8..at + 12] == [0x28, 0xb5, 0x2f, 0xfd] {
            bytes[at..at + 8].copy_from_slice(&(1_u64 << 45).to_le_bytes());
            changed += 1;
        }
    }
    assert!(changed > 0);
    assert_eq!(read(&saved(directory.path(), &bytes)).unwrap_err().cause(), Cause::Limit);
}
