//! Whole datasets of every kind, which targets then damage.

use super::mutate::Bytes;
use super::place::{Files, Place};
use super::write_read::{options_of, row_of};
use jinx_core::checked_math::to_u64;
use jinx_core::value::Value;
use jinx_format::read::columns::{ColumnType, TimeUnit};
use jinx_format::view_footer::{Base, BaseKind, NewBase, NewView};
use jinx_format::write::dataset::DatasetWriter;
use jinx_format::write::options::WriteOptions;
use jinx_format::write::own_column::OwnColumn;
use std::sync::{Arc, OnceLock};

/// The lines of a 1.0 pair, as its writer wrote them.
const OLD_LINES: &[u8] =
    b"{\"id\":1,\"a.raw.bin\":{\"offset\":0,\"length\":5},\"b.raw.zst\":\"KLUv/SAFKQAAaGVsbG8=\"}\n\
{\"id\":2,\"n.int8\":3,\"t.npy\":\"k05VTVBZAQA=\",\"x\":[1.5,null,{\"k.str\":\"aGk=\"}]}\n";

/// The datasets. Each is a pair `a.jinx`, or the files of a directory with their manifest.
pub(super) fn all() -> &'static [Files] {
    static DATASETS: OnceLock<Vec<Files>> = OnceLock::new();
    DATASETS.get_or_init(|| {
        let mut found: Vec<Files> = (0..8).filter_map(|bits| pair(options_of(bits))).collect();
        found.extend(directory());
        found.push(old());
        found
    })
}

/// Saved views. Each is a pair `a.jinx`; their bases do not exist.
pub(super) fn views() -> &'static [Files] {
    static VIEWS: OnceLock<Vec<Files>> = OnceLock::new();
    VIEWS.get_or_init(|| {
        let shown: [&[BaseKind]; 3] =
            [&[BaseKind::Pair], &[BaseKind::Jsonl, BaseKind::Mds], &[BaseKind::Directory, BaseKind::Jsonl]];
        let forms =
            shown.iter().flat_map(|kinds| [(kinds, true, true), (kinds, false, true), (kinds, true, false)]);
        forms.filter_map(|(kinds, own, positions)| view(kinds, own, positions)).collect()
    })
}

fn view(kinds: &[BaseKind], own: bool, has_positions: bool) -> Option<Files> {
    let rows = rows();
    let shown = to_u64(rows.len());
    let each = if has_positions { 5000 } else { shown / to_u64(kinds.len()) };
    let base = |kind: &BaseKind| {
        let is_lines = *kind == BaseKind::Jsonl;
        let id = match kind {
            BaseKind::Jsonl => "40000-1".to_owned(),
            BaseKind::Mds => "0".repeat(16),
            BaseKind::Pair | BaseKind::Directory => "0".repeat(32),
        };
        let base = Base {
            path: Some("../b.jinx".to_owned()),
            hint: Some("/b.jinx".to_owned()),
            location: (each % 2 == 0).then(|| "https://host/b.jinx".to_owned()),
            version: (each % 2 == 0).then(|| "\"0815\"".to_owned()),
            kind: *kind,
            id,
            num_samples: each,
            shards: (*kind == BaseKind::Directory).then_some(2),
            index: None,
            content: is_lines.then(|| "1".repeat(32)),
            markers: is_lines,
        };
        NewBase { base, index: is_lines.then(|| (0..=each).collect()) }
    };
    // 9000 positions are enough to be stored in a sidecar.
    let num_samples = if own || !has_positions { shown } else { 9000 };
    let view = NewView {
        bases: kinds.iter().map(base).collect(),
        positions: has_positions.then(|| (0..num_samples).map(|i| i * 7 % each).collect()),
        drop: vec!["a".to_owned(), "b".to_owned()],
        num_samples,
        own: if has_positions && own { typed(num_samples) } else { Vec::new() },
    };
    let place = Place::new()?;
    let options = WriteOptions { view: Some(Arc::new(view)), ..options_of(0) };
    let mut writer = DatasetWriter::create(&place.path("a.jinx"), options).ok()?;
    if own {
        writer.write_values(&rows).ok()?;
    }
    writer.close().ok()?;
    Some(place.files(""))
}

/// Typed columns of every form, each with a missing value.
fn typed(samples: u64) -> Vec<OwnColumn> {
    let count = usize::try_from(samples).unwrap_or(0);
    let validity = (0..count.div_ceil(8)).map(|byte| {
        let bits = u8::MAX >> (8 - (count - 8 * byte).min(8));
        if byte == 0 { bits & !1 } else { bits }
    });
    let validity: Vec<u8> = validity.collect();
    let column = |name: &str, dtype, cell: usize| OwnColumn {
        name: format!("typed {name}"),
        dtype,
        width: None,
        zone: None,
        data: vec![0; count * cell].into(),
        offsets: None,
        codes: None,
        validity: Some(validity.clone().into()),
        order: None,
    };
    let offsets: Vec<u8> = [0u64, 1, 3].iter().flat_map(|offset| offset.to_le_bytes()).collect();
    vec![
        column("float", ColumnType::Float32, 4),
        OwnColumn { width: Some(3), ..column("vector", ColumnType::Float16, 6) },
        OwnColumn {
            zone: Some("UTC".to_owned()),
            ..column("time", ColumnType::Time(TimeUnit::Microsecond), 8)
        },
        OwnColumn {
            data: b"abc".to_vec().into(),
            offsets: Some(offsets.into()),
            codes: Some((0..count).map(|i| u8::from(i % 2 == 1)).collect::<Vec<u8>>().into()),
            ..column("label", ColumnType::Utf8, 1)
        },
    ]
}

fn rows() -> Vec<Value> {
    // Any bytes give valid rows; these give values of every kind.
    let bytes: Vec<u8> =
        (0..700u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24).to_le_bytes()[0]).collect();
    let mut program = Bytes(&bytes);
    (0..6).map(|_| row_of(&mut program)).collect()
}

fn pair(options: WriteOptions) -> Option<Files> {
    let place = Place::new()?;
    let mut writer = DatasetWriter::create(&place.path("a.jinx"), options).ok()?;
    writer.write_values(&rows()).ok()?;
    writer.close().ok()?;
    Some(place.files(""))
}

fn directory() -> Option<Files> {
    let place = Place::new()?;
    let options = WriteOptions { shard_bytes: Some(1000), ..options_of(0) };
    let mut writer = DatasetWriter::create(&place.path("data"), options).ok()?;
    writer.write_values(&rows()).ok()?;
    writer.close().ok()?;
    Some(place.files("data"))
}

fn old() -> Files {
    let cut = OLD_LINES.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let mut index = Vec::new();
    let bounds = [0, cut, OLD_LINES.len()].map(|at| to_u64(at).to_le_bytes());
    jinx_core::codec::push_base64(&mut index, &bounds.concat());
    let rest =
        format!("\",\"num_samples\":2,\"version\":\"1.0\",\"encoding\":\"b64\"}}\n{}\n", OLD_LINES.len());
    let main = [OLD_LINES, b"{\"index.npy\":\"", &index, rest.as_bytes()].concat();
    vec![("a.binx".to_owned(), b"hello".to_vec()), ("a.jinx".to_owned(), main)]
}
