//! Collects indexed columns while rows are written.

use crate::fields::{Fact, FieldInfo, Measure, Path};
use crate::footer::{ArrayRef, ColumnInfo};
use crate::read::columns::ColumnType;
use crate::write::address_map::AddressMap;
use crate::write::cells::Cells;
use crate::write::line_block::BlockColumn;
use crate::write::options::ColumnChoice;
use crate::write::spool::Spool;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::error::Result;
use std::path::PathBuf;
use std::sync::Arc;

/// The maximum number of top-level names: more are a map, not a schema.
pub(super) const MAX_COLUMNS: usize = 256;
/// The maximum number of paths with cached columns; names that differ between rows create a new path each time.
const MAX_REMEMBERED: usize = 4096;

/// The tags of cells.
pub(super) const MISSING: u8 = 0;
pub(super) const INT: u8 = 1;
pub(super) const UINT: u8 = 2;
pub(super) const FLOAT: u8 = 3;
pub(super) const BOOL: u8 = 4;

/// The largest integers that float64 represents exactly.
const EXACT: u64 = 1 << 53;

/// Passes on an array's bytes piece by piece.
pub type Fill<'f> = dyn FnMut(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> + 'f;

/// Receives arrays, for the end of the sidecar or for the footer.
pub trait ArraySink {
    /// Stores `length` bytes, which `fill` passes on piece by piece.
    ///
    /// # Errors
    /// I/O errors, and whatever `fill` reports.
    fn put_array(&mut self, length: u64, fill: &mut Fill<'_>) -> Result<ArrayRef>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum IndexedType {
    Value,
    Length,
    Text,
}

impl IndexedType {
    const COUNT: usize = 3;
}

/// How top-level values of a kind are indexed by default.
pub(super) fn default_type(kind: &str) -> Option<IndexedType> {
    match kind {
        "bool" | "int" | "float" => Some(IndexedType::Value),
        "str" | "list" => Some(IndexedType::Length),
        _ => None,
    }
}

#[derive(Debug)]
struct IndexedColumn {
    path: Arc<Path>,
    kind: IndexedType,
    rows: u64,
    cells: Cells,
    /// The UTF-8 of a string column; then the cells contain lengths.
    text: Option<Spool>,
    seen: SeenPath,
}

#[derive(Debug, Default)]
struct SeenPath {
    missing: bool,
    bools: bool,
    ints: bool,
    floats: bool,
    inexact_ints: bool,
    unfit: bool,
    min: i64,
    max: i64,
    max_unsigned: u64,
}

#[derive(Debug)]
pub struct ColumnBuilder {
    choice: ColumnChoice,
    directory: PathBuf,
    columns: Vec<IndexedColumn>,
    /// Columns by the address of their path.
    by_address: AddressMap<PathColumns>,
    rows: u64,
}

/// The columns at one path.
#[derive(Debug)]
struct PathColumns {
    /// Kept, so that no other path gets its address.
    _path: Arc<Path>,
    /// The index into [`ColumnBuilder::columns`], by type.
    places: [Place; IndexedType::COUNT],
}

#[derive(Debug, Clone, Copy)]
enum Place {
    /// The column has not been looked up yet.
    Unknown,
    /// There is no such column.
    None,
    At(usize),
}

impl ColumnBuilder {
    pub fn new(choice: ColumnChoice, directory: PathBuf) -> Self {
        Self { choice, directory, columns: Vec::new(), by_address: AddressMap::default(), rows: 0 }
    }

    /// Adds the facts of one row.
    ///
    /// # Errors
    /// I/O errors of the spool.
    pub fn add_row(&mut self, facts: &[Fact]) -> Result<()> {
        for fact in facts {
            let (kind, tag, bits) = match &fact.measure {
                Measure::None => continue,
                Measure::Bool(value) => (IndexedType::Value, BOOL, u64::from(*value)),
                Measure::Int(value) => (IndexedType::Value, INT, value.cast_unsigned()),
                Measure::Uint(value) => (IndexedType::Value, UINT, *value),
                Measure::Huge(_) => (IndexedType::Value, MISSING, 1),
                Measure::Float(value) => (IndexedType::Value, FLOAT, value.to_bits()),
                Measure::Length(value) => (IndexedType::Length, UINT, *value),
                Measure::Text(value) => (IndexedType::Text, UINT, to_u64(value.len())),
            };
            let Some(at) = self.at(&fact.path, kind) else { continue };
            let column = &mut self.columns[at];
            if column.rows > self.rows {
                // A path that occurs twice in a row is inside a list, so it has no column.
                column.seen.unfit = true;
                continue;
            }
            column.pad(self.rows)?;
            column.push(tag, bits)?;
            if let (Measure::Text(value), Some(text)) = (&fact.measure, &mut column.text) {
                text.push(value.as_bytes())?;
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// Adds the cells of rows, in the order of the columns.
    ///
    /// # Errors
    /// The errors of [`Self::add_row`].
    pub(super) fn add_block(&mut self, columns: &[BlockColumn], rows: u64) -> Result<()> {
        for BlockColumn { path, kind, cells } in columns.iter().filter(|column| column.has_values()) {
            let Some(at) = self.at(path, *kind) else { continue };
            let column = &mut self.columns[at];
            column.pad(self.rows)?;
            column.push_all(cells)?;
        }
        self.rows += rows;
        Ok(())
    }

    /// Whether any earlier rows have values for a column.
    pub(super) fn has(&self, path: &Path, kind: IndexedType) -> bool {
        self.columns.iter().any(|column| column.kind == kind && *column.path == *path)
    }

    /// The columns so far, in the order of the footer.
    pub(super) fn names(&self) -> impl Iterator<Item = (&Arc<Path>, &IndexedType)> {
        self.columns.iter().map(|column| (&column.path, &column.kind))
    }

    fn at(&mut self, path: &Arc<Path>, kind: IndexedType) -> Option<usize> {
        let address = Arc::as_ptr(path).addr();
        match self.by_address.get(&address).map(|columns| columns.places[kind as usize]) {
            Some(Place::At(at)) => return Some(at),
            Some(Place::None) => return None,
            Some(Place::Unknown) | None => {}
        }
        let position = self.columns.iter().position(|column| column.kind == kind && column.path == *path);
        let at = position.or_else(|| {
            let named = |paths: &[Path]| paths.contains(&**path);
            let wanted = match &self.choice {
                ColumnChoice::Default => path.len() == 1,
                ColumnChoice::Also(paths) => path.len() == 1 || named(paths),
                ColumnChoice::Only(paths) => named(paths),
            };
            if !wanted || self.columns.len() >= MAX_COLUMNS {
                return None;
            }
            self.columns.push(IndexedColumn {
                path: Arc::clone(path),
                kind,
                rows: 0,
                cells: Cells::new(&self.directory),
                text: (kind == IndexedType::Text).then(|| Spool::new(&self.directory)),
                seen: SeenPath { min: i64::MAX, max: i64::MIN, ..SeenPath::default() },
            });
            Some(self.columns.len() - 1)
        });
        if self.by_address.len() >= MAX_REMEMBERED {
            self.by_address.clear();
        }
        let none = || PathColumns { _path: Arc::clone(path), places: [Place::Unknown; IndexedType::COUNT] };
        let columns = self.by_address.entry(address).or_insert_with(none);
        columns.places[kind as usize] = at.map_or(Place::None, Place::At);
        at
    }

    /// Writes the complete columns; the others are dropped.
    ///
    /// # Errors
    /// I/O errors.
    pub fn finish(&mut self, fields: &[FieldInfo], out: &mut impl ArraySink) -> Result<Vec<ColumnInfo>> {
        let mut infos = Vec::new();
        for mut column in std::mem::take(&mut self.columns) {
            let asked = match &self.choice {
                ColumnChoice::Default => false,
                ColumnChoice::Also(paths) | ColumnChoice::Only(paths) => paths.contains(&*column.path),
            };
            if !column.is_whole(fields, asked) {
                continue;
            }
            column.pad(self.rows)?;
            if let Some(info) = column.finish(out)? {
                infos.push(info);
            }
        }
        Ok(infos)
    }
}

/// Whether a column of some type may exist at a path that has values of a kind.
pub(super) fn may_hold(column: IndexedType, asked: bool, kind: &str) -> bool {
    let fitting: &[&str] = match column {
        IndexedType::Value => &[
            "bool", "int", "float", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
            "float32", "float64",
        ],
        IndexedType::Length if asked => &["list"],
        IndexedType::Length => &["str", "list"],
        IndexedType::Text => &["str"],
    };
    kind == "null" || fitting.contains(&kind)
}

impl IndexedColumn {
    /// Whether the column contains every value at the path: a path with numbers in some rows and strings in others has
    /// no column. For an explicitly indexed path, strings are in a separate column, and their lengths are not indexed.
    fn is_whole(&self, fields: &[FieldInfo], asked: bool) -> bool {
        let field = fields.iter().find(|field| field.path == *self.path);
        field.is_none_or(|field| field.kinds.keys().all(|kind| may_hold(self.kind, asked, kind)))
    }

    fn pad(&mut self, rows: u64) -> Result<()> {
        while self.rows < rows {
            self.push(MISSING, 0)?;
        }
        Ok(())
    }

    fn push(&mut self, tag: u8, bits: u64) -> Result<()> {
        self.see(tag, bits);
        self.cells.push(tag, bits)
    }

    fn push_all(&mut self, cells: &[(u8, u64)]) -> Result<()> {
        cells.iter().for_each(|(tag, bits)| self.see(*tag, *bits));
        self.cells.push_all(cells)
    }

    fn see(&mut self, tag: u8, bits: u64) {
        let seen = &mut self.seen;
        match tag {
            BOOL => seen.bools = true,
            INT => {
                let value = bits.cast_signed();
                seen.ints = true;
                seen.min = seen.min.min(value);
                seen.max = seen.max.max(value);
                seen.inexact_ints |= value.unsigned_abs() > EXACT;
            }
            UINT => {
                seen.ints = true;
                seen.max_unsigned = seen.max_unsigned.max(bits);
                seen.min = seen.min.min(i64::try_from(bits).unwrap_or(i64::MAX));
                seen.max = seen.max.max(i64::try_from(bits).unwrap_or(i64::MAX));
                seen.inexact_ints |= bits > EXACT;
            }
            FLOAT => seen.floats = true,
            _ => {
                seen.missing = true;
                seen.unfit |= bits != 0;
            }
        }
        self.rows += 1;
    }

    /// The narrowest type that can represent every value, if there is one.
    fn dtype(&self) -> Option<ColumnType> {
        let seen = &self.seen;
        if seen.unfit {
            return None;
        }
        if self.kind == IndexedType::Text {
            return Some(ColumnType::Utf8);
        }
        match (seen.bools, seen.ints, seen.floats) {
            (true, false, false) => Some(ColumnType::Bool),
            (false, _, true) if !seen.inexact_ints => Some(ColumnType::Float64),
            (false, true, false) => {
                narrowest(seen.min.into(), i128::from(seen.max).max(i128::from(seen.max_unsigned)))
            }
            _ => None,
        }
    }

    fn finish(mut self, out: &mut impl ArraySink) -> Result<Option<ColumnInfo>> {
        let Some(dtype) = self.dtype() else { return Ok(None) };
        let validity = if self.seen.missing {
            let mut bits = vec![0u8; to_usize(self.rows.div_ceil(8), "the validity of a column")?];
            let mut i = 0usize;
            self.cells.each(|tag, _| {
                if tag != MISSING {
                    bits[i / 8] |= 1 << (i % 8);
                }
                i += 1;
                Ok(())
            })?;
            Some(out.put_array(bits.len() as u64, &mut |write| write(&bits))?)
        } else {
            None
        };
        let rows = self.rows;
        let cells = &mut self.cells;
        let (offsets, data) = if let Some(text) = &mut self.text {
            let data = out.put_array(text.len(), &mut |write| text.read(1, &mut *write))?;
            let offsets = out.put_array((rows + 1) * 8, &mut |write| {
                let mut end = 0u64;
                write(&end.to_le_bytes())?;
                cells.each(|_, length| {
                    end += length;
                    write(&end.to_le_bytes())
                })
            })?;
            (Some(offsets), data)
        } else {
            let width = dtype.number_bytes();
            let data = out.put_array(rows * to_u64(width), &mut |write| {
                cells.blocks(|block| {
                    // Floats are stored as they are.
                    if let Some(floats) = block.all_of(FLOAT) {
                        return write(floats);
                    }
                    block.each(|tag, bits| write(&cell(dtype, tag, bits).to_le_bytes()[..width]))
                })
            })?;
            (None, data)
        };
        Ok(Some(ColumnInfo {
            path: (*self.path).clone(),
            kind: if self.kind == IndexedType::Length { "length" } else { "value" }.to_owned(),
            dtype: dtype.name().to_owned(),
            rows,
            width: None,
            nulls: None,
            zone: None,
            entries: None,
            codes: None,
            validity,
            offsets,
            data,
        }))
    }
}

/// The narrowest integer type for all values; if two are equally wide, the signed type.
pub(super) fn narrowest(min: i128, max: i128) -> Option<ColumnType> {
    let types = [
        (ColumnType::Int8, ColumnType::Uint8),
        (ColumnType::Int16, ColumnType::Uint16),
        (ColumnType::Int32, ColumnType::Uint32),
        (ColumnType::Int64, ColumnType::Uint64),
    ];
    types.into_iter().zip([8u32, 16, 32, 64]).find_map(|((signed, unsigned), bits)| {
        let half = 1i128 << (bits - 1);
        if min >= -half && max < half {
            Some(signed)
        } else {
            (min >= 0 && max < 2 * half).then_some(unsigned)
        }
    })
}

/// The bits of a cell; a narrow type keeps the low bytes.
pub(super) fn cell(dtype: ColumnType, tag: u8, bits: u64) -> u64 {
    if dtype != ColumnType::Float64 || tag == FLOAT || tag == MISSING {
        return if tag == MISSING { 0 } else { bits };
    }
    // Only integers below 2^53 get here.
    #[allow(clippy::cast_precision_loss)]
    let value = if tag == INT { bits.cast_signed() as f64 } else { bits as f64 };
    value.to_bits()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_never_come_again_are_not_kept() {
        let directory = tempfile::tempdir().unwrap();
        let mut columns = ColumnBuilder::new(ColumnChoice::Default, directory.path().to_owned());
        let fact = |path: &[&str], value| Fact {
            path: Arc::new(path.iter().map(|name| Some((*name).to_owned())).collect()),
            kind: "int",
            coded: None,
            quoted: false,
            mime: None,
            measure: Measure::Int(value),
        };
        for i in 0..20_000 {
            columns.add_row(&[fact(&["n"], i), fact(&["map", &i.to_string()], i)]).unwrap();
        }
        assert!(columns.by_address.len() <= MAX_REMEMBERED, "{}", columns.by_address.len());
        assert_eq!((columns.columns.len(), columns.columns[0].rows), (1, 20_000));
    }
}
