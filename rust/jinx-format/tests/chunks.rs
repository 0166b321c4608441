//! Arrays of more than 1 MiB have checksums of their chunks, and who reads a part of one checks that part.
#![allow(clippy::unwrap_used, clippy::panic)]

use jinx_core::Cause;
use jinx_core::io::Access;
use jinx_core::value::Value;
use jinx_format::footer::{ArrayRef, IndexRef};
use jinx_format::read::columns::ColumnKind;
use jinx_format::read::shard::{OpenOptions, Shard};
use jinx_format::verify::verify;
use jinx_format::view_footer::{Base, BaseKind, NewBase, NewView};
use jinx_format::write::dataset::DatasetWriter;
use jinx_format::write::options::WriteOptions;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Enough that 8 bytes each are more than a chunk.
const ROWS: i64 = 140_000;
const CHUNK: u64 = 1 << 20;
const CHUNK_ROWS: u64 = CHUNK / 8;

fn write(path: &Path) {
    let mut writer = DatasetWriter::create(path, WriteOptions::default()).unwrap();
    let row = |i: i64| {
        let f = if i % 3 == 0 { Value::Null } else { Value::Float(0.5) };
        Value::Dict(vec![("n".to_owned(), Value::Int(i << 20)), ("f".to_owned(), f)])
    };
    let rows: Vec<Value> = (0..ROWS).map(row).collect();
    writer.write_values(&rows).unwrap();
    writer.close().unwrap();
}

/// A view of the first sample of a base that does not exist, many times.
fn write_view(path: &Path) {
    let base = Base {
        path: Some("b.jinx".to_owned()),
        hint: Some("/b.jinx".to_owned()),
        location: None,
        version: None,
        kind: BaseKind::Pair,
        id: "0".repeat(32),
        num_samples: 300,
        shards: None,
        index: None,
        content: None,
        markers: false,
    };
    let num_samples = ROWS.cast_unsigned();
    let view = NewView {
        bases: vec![NewBase { base, index: None }],
        positions: Some((0..num_samples).map(|i| i % 300).collect()),
        drop: Vec::new(),
        num_samples,
        own: Vec::new(),
    };
    let options = WriteOptions { view: Some(Arc::new(view)), ..WriteOptions::default() };
    DatasetWriter::create(path, options).unwrap().close().unwrap();
}

fn open(path: &Path, access: Access) -> Shard {
    Shard::open(path, &OpenOptions { access, views: true, ..OpenOptions::default() }).unwrap()
}

fn path_of(name: &str) -> Vec<Option<String>> {
    vec![Some(name.to_owned())]
}

/// Changes a byte of the sidecar.
fn flip(path: &Path, at: u64) {
    let side = fs::OpenOptions::new().read(true).write(true).open(path.with_extension("binx")).unwrap();
    let mut byte = [0];
    side.read_exact_at(&mut byte, at).unwrap();
    side.write_all_at(&[byte[0] ^ 1], at).unwrap();
}

fn offset_of(place: &ArrayRef) -> u64 {
    let ArrayRef::Sidecar { offset, length, chunk, xs, .. } = place else { panic!("inline") };
    assert_eq!(*chunk, (*length > CHUNK).then_some(CHUNK));
    assert_eq!(xs.is_some(), chunk.is_some());
    *offset
}

fn pair() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jinx");
    (directory, path)
}

#[test]
fn large_arrays_have_chunks_and_read_the_same_with_and_without() {
    let (_directory, path) = pair();
    write(&path);
    assert_eq!(verify(&path, &mut |_, _| Ok(())).unwrap(), []);
    for access in [Access::Mmap, Access::Pread] {
        let shard = open(&path, access);
        let IndexRef::Sidecar(index) = &shard.footer().index else { panic!("inline") };
        offset_of(index);
        offset_of(shard.footer().line_hash.as_ref().unwrap());
        for name in ["n", "f"] {
            let whole = shard.column(&path_of(name), ColumnKind::Value).unwrap().unwrap();
            let chunked = shard.chunked_column(&path_of(name), ColumnKind::Value).unwrap().unwrap();
            for row in [0, 1, CHUNK_ROWS - 1, CHUNK_ROWS, whole.rows - 1] {
                chunked.require(row..row + 1).unwrap();
                assert_eq!(chunked.is_valid(row), whole.is_valid(row));
                assert_eq!(chunked.cell(row), whole.cell(row));
            }
            chunked.require(0..u64::MAX).unwrap();
            assert_eq!((&chunked.data, &chunked.validity), (&whole.data, &whole.validity));
        }
    }
}

#[test]
fn only_rows_of_a_damaged_chunk_are_refused() {
    let (_directory, path) = pair();
    write(&path);
    let place = |shard: &Shard| {
        offset_of(&shard.column_info(&path_of("n"), ColumnKind::Value).unwrap().data) + 8 * CHUNK_ROWS + 80
    };
    let at = place(&open(&path, Access::Mmap));
    flip(&path, at);
    for access in [Access::Mmap, Access::Pread] {
        let shard = open(&path, access);
        let chunked = shard.chunked_column(&path_of("n"), ColumnKind::Value).unwrap().unwrap();
        chunked.require(0..CHUNK_ROWS).unwrap();
        for rows in [CHUNK_ROWS..CHUNK_ROWS + 1, 5..CHUNK_ROWS + 1] {
            let error = chunked.require(rows).unwrap_err();
            assert_eq!(error.cause(), Cause::Corrupt);
            assert!(error.what().starts_with("the column 'n': ") && error.path().is_some(), "{error}");
        }
        assert_eq!(shard.column(&path_of("n"), ColumnKind::Value).unwrap_err().cause(), Cause::Corrupt);
    }
    let problems = verify(&path, &mut |_, _| Ok(())).unwrap();
    assert!(problems.iter().any(|problem| format!("{problem:?}").contains("column")), "{problems:?}");
}

#[test]
fn only_positions_of_a_damaged_chunk_are_refused() {
    let (_directory, path) = pair();
    write_view(&path);
    assert_eq!(verify(&path, &mut |_, _| Ok(())).unwrap(), []);
    for access in [Access::Mmap, Access::Pread] {
        let shard = open(&path, access);
        let positions = shard.footer().view.as_ref().unwrap().positions.clone().unwrap();
        let at = offset_of(&positions) + 8 * 100;
        flip(&path, at);
        assert_eq!(shard.view_position(CHUNK_ROWS).unwrap(), CHUNK_ROWS % 300);
        for row in [0, 100, CHUNK_ROWS - 1] {
            let error = shard.view_position(row).unwrap_err();
            assert_eq!((error.cause(), error.sample()), (Cause::Corrupt, Some(row)), "{error}");
        }
        flip(&path, at);
        assert_eq!(shard.view_position(100).unwrap(), 100);
    }
}
