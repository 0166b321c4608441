//! Target for whole files: a damaged dataset, or any bytes, read in every way.

use super::mutate::{Bytes, mutate};
use super::place::{Files, Place};
use super::valid_datasets;
use jinx_core::checked_math::to_usize;
use jinx_core::io::Access;
use jinx_core::limits::Limits;
use jinx_core::row_events::Discard;
use jinx_format::read::columns::ColumnKind;
use jinx_format::read::open::resolve;
use jinx_format::read::shard::{OpenOptions, Shard, Verify};
use jinx_format::repair::repair;
use jinx_format::verify::verify;
use std::path::Path;

/// The maximum number of rows to read from one file.
pub(super) const MAX_ROWS: u64 = 20;
const MAX_VALUE_BYTES: u64 = 16 << 20;
/// The first byte of an input that contains a pair. After it: the main file's length (4 bytes), main file, sidecar.
const RAW: u8 = 255;

pub(super) fn open_whole_file(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let files = changed(*first, rest, valid_datasets::all());
    let Some(place) = Place::new() else { return };
    if place.put(&files).is_none() {
        return;
    }
    let is_directory = files.iter().any(|(name, _)| name == "jinx.json");
    let path = if is_directory { place.path("") } else { place.path("a.jinx") };
    read_all(&path);
    let _ = repair(&place.path("a.jinx"), None, true);
}

/// The files that an input describes: a pair, or one of `datasets` with changes.
pub(super) fn changed(first: u8, rest: &[u8], datasets: &[Files]) -> Files {
    if first == RAW { raw(rest) } else { mutated(first, rest, datasets) }
}

fn raw(data: &[u8]) -> Files {
    let (length, rest) = data.split_at(data.len().min(4));
    let length = length.first_chunk::<4>().map_or(0, |length| u32::from_le_bytes(*length));
    let (main, side) = rest.split_at(to_usize(length.into(), "length").unwrap_or_default().min(rest.len()));
    let mut files = vec![("a.jinx".to_owned(), main.to_vec())];
    if !side.is_empty() {
        files.push(("a.binx".to_owned(), side.to_vec()));
    }
    files
}

fn mutated(which: u8, program: &[u8], all: &[Files]) -> Files {
    let Some(mut files) = usize::from(which).checked_rem(all.len()).map(|at| all[at].clone()) else {
        return Files::new();
    };
    mutate(&mut files, &mut Bytes(program));
    files
}

/// Reads everything through a memory map and with positioned reads. Values that can be read both ways must be equal.
pub(super) fn read_all(path: &Path) {
    let limits = Limits { max_value_bytes: MAX_VALUE_BYTES, ..Limits::default() };
    let mut opened = Vec::new();
    for (access, verify) in [(Access::Auto, Verify::None), (Access::Pread, Verify::Full)] {
        let options = OpenOptions { access, verify, limits, ..OpenOptions::default() };
        let Ok(entries) = resolve(path) else { continue };
        let shards: Vec<Shard> = entries.iter().filter_map(|entry| entry.open(&options).ok()).collect();
        shards.iter().for_each(read_shard);
        opened.push(shards.iter().map(Shard::len).sum::<u64>());
    }
    let whole = verify(path, &mut |_, _| Ok(())).is_ok_and(|problems| problems.is_empty());
    assert!(!whole || (opened.len() == 2 && opened[0] == opened[1]), "verify calls whole what does not open");
}

pub(super) fn read_shard(shard: &Shard) {
    for i in 0..shard.len().min(MAX_ROWS) {
        let _ = shard.emit_row(i, &mut Discard);
        for name in ["id", "a", "image", "dict.a.b"] {
            let _ = shard.measure(i, &[name], ColumnKind::Length);
            let _ = shard.measure(i, &[name], ColumnKind::Value);
        }
    }
    for info in shard.own_columns().iter().chain(&shard.footer().columns).take(20) {
        let kind = if info.kind == "length" { ColumnKind::Length } else { ColumnKind::Value };
        let chunked = shard.chunked_column(&info.path, kind);
        let Ok(column) = shard.read_column(info) else { continue };
        for row in (0..column.rows.min(MAX_ROWS)).filter(|row| column.is_valid(*row)) {
            // In a damaged footer, a path may have several columns.
            if let Ok(Some(chunked)) = &chunked
                && shard.column_info(&info.path, kind) == Some(info)
                && chunked.require(row..row + 1).is_ok()
            {
                assert_eq!(chunked.cell(row), column.cell(row));
            }
            let _ = column.cell(row);
        }
    }
}
