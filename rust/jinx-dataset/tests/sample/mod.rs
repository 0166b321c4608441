//! Datasets of each kind, whose samples have an `id`, and views of them.

use jinx_core::value::{TreeBuilder, Value};
use jinx_dataset::base_opener::directory_id;
use jinx_dataset::{Dataset, Location, Options, Rows, open};
use jinx_format::view_footer::{Base, BaseKind, NewBase, NewView};
use jinx_format::write::dataset::DatasetWriter;
use jinx_format::write::options::WriteOptions;
use jinx_mds::write::writer::{Settings, Writer};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file of JINX 1.0 without a sidecar.
pub fn old_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/1_0/two_indexes.jinx")
}

pub fn row(id: i64) -> Value {
    Value::Dict(vec![
        ("id".to_owned(), Value::Int(id)),
        ("text".to_owned(), Value::Str(format!("text {id}"))),
    ])
}

pub fn write(path: &Path, ids: Range<i64>, options: WriteOptions) {
    let options = WriteOptions { overwrite: true, threads: 1, ..options };
    let mut writer = DatasetWriter::create(path, options).unwrap();
    writer.write_values(&ids.map(row).collect::<Vec<_>>()).unwrap();
    writer.close().unwrap();
}

pub fn write_pair(path: &Path, ids: Range<i64>) {
    write(path, ids, WriteOptions::default());
}

/// A directory with a manifest and a shard for each sample or two.
pub fn write_directory(path: &Path, ids: Range<i64>) {
    write(path, ids, WriteOptions { shard_bytes: Some(40), ..WriteOptions::default() });
}

pub fn write_lines(path: &Path, ids: Range<i64>) {
    let lines: String = ids.map(|id| format!("{{\"id\":{id},\"text\":\"text {id}\"}}\n")).collect();
    std::fs::write(path, lines).unwrap();
}

pub fn write_mds(path: &Path, ids: Range<i64>) {
    let columns = BTreeMap::from([("id".to_owned(), "int".to_owned())]);
    let settings = Settings {
        columns,
        compression: None,
        hashes: Vec::new(),
        size_limit: Some(64),
        overwrite: false,
        threads: 1,
    };
    let mut writer = Writer::create(path, settings).unwrap();
    for id in ids {
        writer.push(&id.to_le_bytes()).unwrap();
    }
    writer.finish().unwrap();
}

/// Saves a view of the samples at `positions` of a dataset, with a column `note` if asked for.
pub fn save_view(view: &Path, base: &Path, kind: BaseKind, positions: &[u64], has_note: bool) {
    let rows = opened(base).rows;
    let ids = rows.base_ids().unwrap();
    let is_lines = kind == BaseKind::Jsonl;
    let (shards, id) = match kind {
        BaseKind::Directory => (Some(ids.len() as u64), id_of_directory(&*rows, &ids)),
        _ => (None, ids[0].1.clone()),
    };
    let entry = Base {
        path: Some(base.strip_prefix(view.parent().unwrap()).unwrap().to_str().unwrap().to_owned()),
        hint: Some(base.to_str().unwrap().to_owned()),
        location: None,
        version: None,
        kind,
        id,
        num_samples: rows.files().samples,
        shards,
        index: None,
        content: is_lines.then(|| rows.content_hash(0).unwrap()),
        markers: false,
    };
    let offsets =
        |bytes: Vec<u8>| bytes.chunks(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap())).collect();
    let index = is_lines.then(|| offsets(rows.line_offsets(0).unwrap()));
    let num_samples = positions.len() as u64;
    let bases = vec![NewBase { base: entry, index }];
    let new = NewView {
        bases,
        positions: Some(positions.to_vec()),
        drop: Vec::new(),
        num_samples,
        own: Vec::new(),
    };
    new.check().unwrap();
    let options = WriteOptions { overwrite: true, view: Some(Arc::new(new)), ..WriteOptions::default() };
    let mut writer = DatasetWriter::create(view, options).unwrap();
    if has_note {
        let note = |i| Value::Dict(vec![("note".to_owned(), Value::Int(i))]);
        writer.write_values(&(0..positions.len() as i64).map(note).collect::<Vec<_>>()).unwrap();
    }
    writer.close().unwrap();
}

fn id_of_directory(rows: &dyn Rows, ids: &[(u64, String)]) -> String {
    let names = rows.files().paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned());
    directory_id(&names.collect::<Vec<_>>(), ids).unwrap()
}

pub fn opened(path: &Path) -> Dataset {
    open(&Location::from(path), None, &Options::default()).unwrap()
}

/// One column of all samples; null where a sample has none.
pub fn column(dataset: &Dataset, name: &str) -> Vec<Value> {
    let value = |i| {
        let mut tree = TreeBuilder::default();
        dataset.emit(i, &mut tree).unwrap();
        tree.take().unwrap().get(name).cloned().unwrap_or(Value::Null)
    };
    (0..dataset.len()).map(value).collect()
}

pub fn ids(dataset: &Dataset) -> Vec<i64> {
    column(dataset, "id").into_iter().map(|id| if let Value::Int(id) = id { id } else { -1 }).collect()
}
