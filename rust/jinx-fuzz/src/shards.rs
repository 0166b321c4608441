//! Targets for MDS directories: their index, and shards with every encoding.

use super::place::{Files, Place};
use jinx_core::codec::{self, Codec};
use jinx_core::io::Access;
use jinx_core::limits::Limits;
use jinx_core::value::{TreeBuilder, Value};
use jinx_mds::encodings::names::Encoding;
use jinx_mds::index_json::{INDEX_NAME, parse};
use jinx_mds::read::directory::{Directory, Hashes, Options, Unpack};
use jinx_mds::verify::verify;
use serde_json::json;
use std::io::Write;
use std::path::Path;

const MAX_ROWS: u64 = 20;
const MAX_VALUE_BYTES: u64 = 16 << 20;
const SHARD: &str = "shard.00000.mds";

/// Encodings of columns. Two bytes of the input select some of them.
const ENCODINGS: [&str; 16] = [
    "bytes",
    "str",
    "int",
    "float32",
    "str_int",
    "str_float",
    "str_decimal",
    "json",
    "pil",
    "jpeg",
    "jpeg_array",
    "list[pil]",
    "list[png]",
    "ndarray",
    "ndarray:int16:2,2",
    "pkl",
];

/// Parses the index. No name in it may point outside the directory.
pub(super) fn mds_index_json(data: &[u8]) {
    for shard in parse(data).unwrap_or_default() {
        let _ = shard.check();
        for file in [Some(&shard.raw), shard.zip.as_ref()].into_iter().flatten() {
            let Ok(path) = file.path(Path::new("/directory")) else { continue };
            assert!(path.starts_with("/directory/") && path.iter().all(|part| part != ".."), "{path:?}");
        }
    }
    let files = vec![(INDEX_NAME.to_owned(), data.to_vec()), (SHARD.to_owned(), vec![0; 64])];
    read_all(&files);
}

/// Input: how the file is stored (one byte), the number of samples (one byte), its columns (two bytes), the shard.
pub(super) fn mds_shard(data: &[u8]) {
    let Some((&[stored, samples, low, high], bytes)) = data.split_first_chunk::<4>() else { return };
    let chosen = u16::from_le_bytes([low, high]);
    let columns =
        move || (0..16usize).filter(move |bit| chosen >> bit & 1 == 1).filter_map(|bit| ENCODINGS.get(bit));
    let sizes: Vec<Option<u64>> =
        columns().map(|name| Encoding::parse(name).ok().and_then(|encoding| encoding.fixed_size())).collect();
    let names: Vec<String> = (0..sizes.len()).map(|i| format!("c{i:02}")).collect();
    let packed = if stored & 1 == 1 { zstd(bytes) } else { None };
    let raw = json!({"basename": SHARD, "bytes": bytes.len(), "hashes": {}});
    let name = format!("{SHARD}.zstd");
    let zip = packed.as_ref().map(|packed| json!({"basename": name, "bytes": packed.len(), "hashes": {}}));
    let index = json!({"version": 2, "shards": [{
        "column_names": names, "column_encodings": columns().collect::<Vec<_>>(), "column_sizes": sizes,
        "compression": packed.as_ref().map(|_| "zstd"), "format": "mds", "hashes": [], "raw_data": raw,
        "samples": samples, "size_limit": null, "version": 2, "zip_data": zip,
    }]});
    let shard = packed.map_or((SHARD.to_owned(), bytes.to_vec()), |packed| (name, packed));
    read_all(&vec![(INDEX_NAME.to_owned(), index.to_string().into_bytes()), shard]);
}

fn zstd(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut writer = codec::writer(Codec::Zstd, None, Vec::new()).ok()?;
    writer.write_all(bytes).and_then(|()| writer.finish()).ok()
}

/// Reads through a memory map and with positioned reads; the results must be equal.
fn read_all(files: &Files) {
    let Some(place) = Place::new() else { return };
    if place.put(files).is_none() {
        return;
    }
    let [mapped, read] = [Access::Auto, Access::Pread].map(|access| rows(&place, access));
    assert_eq!(mapped, read, "by map and by positioned reads");
    let _ = verify(&place.path(""), &mut |_, _| Ok(()));
}

/// The first samples; `None` for each that cannot be read.
fn rows(place: &Place, access: Access) -> Vec<Option<String>> {
    let limits = Limits { max_value_bytes: MAX_VALUE_BYTES, ..Limits::default() };
    let options = Options { access, hashes: Hashes::All, limits, unpack: Unpack::Memory, store: None };
    let Ok(directory) = Directory::open(vec![place.path("")], options) else { return Vec::new() };
    let row = |i| -> jinx_core::Result<Value> {
        let mut tree = TreeBuilder::default();
        directory.row(i)?.emit(&|_| true, &mut tree)?;
        tree.take()
    };
    // Compare as text, because NaN is not equal to itself.
    (0..directory.len().min(MAX_ROWS)).map(|i| row(i).ok().map(|value| format!("{value:?}"))).collect()
}
