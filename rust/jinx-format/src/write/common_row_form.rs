//! The common form of all rows of [`PlainLines`], independent of their order: names, kinds and columns. With
//! it, a writer can give every array its final place before the first row is written.

use crate::fields::{Fact, Path};
use crate::read::column_view::ColumnView;
use crate::read::columns::ColumnType;
use crate::write::columns::{ColumnBuilder, IndexedType, MAX_COLUMNS, MISSING, cell, may_hold};
use crate::write::encode::RowEncoder;
use crate::write::form_facts::FormFacts;
use crate::write::options::{ColumnChoice, WriteOptions};
use crate::write::plain_lines::PlainLines;
use crate::write::tagged_cell::tagged_cell;
use bytes::Bytes;
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use jinx_core::io::Density;
use std::collections::HashSet;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// The approximate size of a block, in bytes of lines.
const BLOCK_BYTES: u64 = 512 << 10;
/// The number of rows in a block must be a multiple of this, so that the bits of a validity array fill whole bytes.
pub(super) const UNIT_ROWS: u64 = 8;
const MAX_BLOCK_UNITS: u64 = 1024;
/// The number of first rows that usually show the names and columns of a footer, which are in the order in which they
/// first occur.
pub const FIRST_ROWS: u64 = 4096;

/// The form of all rows of a pair.
#[derive(Debug)]
pub struct RowForm<'l> {
    pub(super) rows: u64,
    /// Columns, in the order of the footer.
    pub(super) columns: Vec<ColumnForm<'l>>,
    /// A fact for each column and kind of value, in the order of the footer, with the number of values.
    pub(super) kinds: Vec<(Fact, u64)>,
    block_rows: u64,
}

#[derive(Debug)]
pub(super) struct ColumnForm<'l> {
    pub(super) path: Arc<Path>,
    pub(super) kind: IndexedType,
    pub(super) dtype: ColumnType,
    pub(super) has_missing: bool,
    /// The cells of each shard that has any.
    sources: Vec<Option<ColumnView<'l>>>,
}

impl ColumnForm<'_> {
    pub(super) fn width(&self) -> usize {
        self.dtype.number_bytes()
    }

    /// Appends the cells at `places`, preceded by their validity if values are missing.
    fn gather(&self, places: &[(usize, u64)], arrays: &mut Vec<Vec<u8>>) -> Result<()> {
        if let [Some(source)] = self.sources.as_slice()
            && source.validity.is_none()
        {
            // A narrower integer consists of the low bytes of a wider one.
            let from = source.dtype.number_bytes();
            let cells = match self.width() {
                1 => low_bytes::<1>(source.data, from, places),
                2 => low_bytes::<2>(source.data, from, places),
                4 => low_bytes::<4>(source.data, from, places),
                _ => low_bytes::<8>(source.data, from, places),
            };
            arrays.push(cells.ok_or_else(|| Error::corrupt("a column with fewer cells than samples"))?);
            return Ok(());
        }
        let width = self.width();
        let mut validity = vec![0u8; places.len().div_ceil(8)];
        let mut cells = Vec::with_capacity(places.len() * width);
        for (i, (shard, row)) in places.iter().enumerate() {
            let (tag, bits) = match &self.sources[*shard] {
                Some(source) => tagged_cell(source, *row)?,
                None => (MISSING, 0),
            };
            if tag != MISSING {
                validity[i / 8] |= 1 << (i % 8);
            }
            cells.extend_from_slice(&cell(self.dtype, tag, bits).to_le_bytes()[..width]);
        }
        if self.has_missing {
            arrays.push(validity);
        }
        arrays.push(cells);
        Ok(())
    }
}

/// Consecutive rows of an output.
#[derive(Debug, Default)]
pub struct LineArrays {
    /// The lines with their newlines.
    pub lines: Vec<u8>,
    /// The end of each line.
    pub ends: Vec<u64>,
    /// The checksums of the lines; then, for each column, its validity if values are missing, and its cells.
    pub arrays: Vec<Vec<u8>>,
}

/// The rows of an output in blocks.
pub struct FormBlocks<'m> {
    pub count: u64,
    /// Makes the block with this number.
    pub make: &'m (dyn Fn(u64) -> Result<LineArrays> + Sync),
    /// The maximum number of threads that may make blocks; `None` for as many as the writer uses.
    pub threads: Option<usize>,
}

impl<'l> RowForm<'l> {
    /// The form of all rows of `lines`, in an order that begins with `first` ([`FIRST_ROWS`] rows or all); `None` if it
    /// is unknown before they are written.
    ///
    /// # Errors
    /// Errors of reading and encoding the first rows; `Interrupted`.
    pub(super) fn of(
        lines: &'l PlainLines<'_>,
        first: &[u64],
        options: &WriteOptions,
        encoder: &mut RowEncoder,
    ) -> Result<Option<Self>> {
        if !lines.are_short() {
            return Ok(None);
        }
        Self::of_facts(lines, &FormFacts::of_all(lines)?, first, options, encoder)
    }

    /// The form of rows with these facts; no line is longer than the output allows.
    ///
    /// # Errors
    /// The errors of [`Self::of`].
    pub(super) fn of_facts(
        lines: &'l PlainLines<'_>,
        facts: &FormFacts,
        first: &[u64],
        options: &WriteOptions,
        encoder: &mut RowEncoder,
    ) -> Result<Option<Self>> {
        if options.columns != ColumnChoice::Default || lines.columns.len() > MAX_COLUMNS {
            return Ok(None);
        }
        let Some(columns) = columns_of(lines, facts) else { return Ok(None) };
        let kinds = facts.kinds(lines);
        let is_dropped = |column: &ColumnForm<'_>| {
            let mut kinds = kinds.iter().filter(|(fact, _)| fact.path == column.path);
            !kinds.all(|(fact, _)| may_hold(column.kind, false, fact.kind))
        };
        if columns.iter().any(is_dropped) {
            return Ok(None);
        }
        let Some((columns, kinds)) = in_order_of(lines, first, columns, &kinds, encoder)? else {
            return Ok(None);
        };
        let units = BLOCK_BYTES / UNIT_ROWS / (lines.bytes() / lines.len().max(1)).max(1);
        let block_rows = UNIT_ROWS * units.clamp(1, MAX_BLOCK_UNITS);
        Ok(Some(Self { rows: facts.rows(), columns, kinds, block_rows }))
    }

    /// The number of arrays in [`LineArrays::arrays`].
    pub(super) fn arrays(&self) -> usize {
        1 + self.columns.iter().map(|column| 1 + usize::from(column.has_missing)).sum::<usize>()
    }

    /// The number of bits per row in each of [`LineArrays::arrays`].
    pub fn array_bits(&self) -> Vec<u64> {
        let mut bits = vec![64];
        for column in &self.columns {
            bits.extend(column.has_missing.then_some(1));
            bits.push(8 * to_u64(column.width()));
        }
        bits
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The number of rows in every block except the last.
    pub fn block_rows(&self) -> u64 {
        self.block_rows
    }
}

/// Columns, and the values of each kind, in the order of a footer.
type InOrder<'l> = (Vec<ColumnForm<'l>>, Vec<(Fact, u64)>);

/// The rows in which names and columns first occur, which determine their order.
fn in_order_of<'l>(
    lines: &PlainLines<'_>,
    first: &[u64],
    mut columns: Vec<ColumnForm<'l>>,
    kinds: &[(Fact, u64)],
    encoder: &mut RowEncoder,
) -> Result<Option<InOrder<'l>>> {
    let mut builder = ColumnBuilder::new(ColumnChoice::Default, PathBuf::new());
    let (mut ordered, mut seen) = (Vec::with_capacity(kinds.len()), HashSet::new());
    for row in first {
        let encoded = encoder.encode(|encoder| lines.emit(*row, encoder))?;
        for fact in &encoded.facts {
            if seen.contains(&(Arc::clone(&fact.path), fact.kind)) {
                continue;
            }
            let match_ = kinds.iter().find(|(other, _)| other.path == fact.path && other.kind == fact.kind);
            let Some(match_) = match_ else { return Ok(None) };
            ordered.push(match_.clone());
            seen.insert((Arc::clone(&fact.path), fact.kind));
        }
        builder.add_row(&encoded.facts)?;
        if ordered.len() == kinds.len() && builder.names().count() == columns.len() {
            break;
        }
    }
    let paths =
        |facts: &[(Fact, u64)]| facts.iter().map(|(fact, _)| Arc::clone(&fact.path)).collect::<HashSet<_>>();
    if paths(&ordered).len() < paths(kinds).len() || builder.names().count() < columns.len() {
        return Ok(None);
    }
    // Only the order of the paths matters, because the kinds of each path are sorted.
    ordered.extend(
        kinds.iter().filter(|(fact, _)| !seen.contains(&(Arc::clone(&fact.path), fact.kind))).cloned(),
    );
    let rank = |column: &ColumnForm<'_>| {
        builder.names().position(|(path, kind)| *kind == column.kind && *path == column.path)
    };
    if columns.iter().any(|column| rank(column).is_none()) {
        return Ok(None);
    }
    columns.sort_by_key(rank);
    Ok(Some((columns, ordered)))
}

/// The columns with values; `None` if the values of one have no common type.
fn columns_of<'l>(lines: &'l PlainLines<'_>, facts: &FormFacts) -> Option<Vec<ColumnForm<'l>>> {
    let mut forms = Vec::new();
    for (at, (path, kind)) in lines.columns.iter().enumerate() {
        let Some((dtype, values)) = facts.column(lines, at) else { continue };
        let sources = lines.shards.iter().map(|shard| shard.cells(at)).collect();
        let has_missing = values < facts.rows();
        forms.push(ColumnForm { path: Arc::clone(path), kind: *kind, dtype: dtype?, has_missing, sources });
    }
    Some(forms)
}

impl PlainLines<'_> {
    /// The lines and cells of `rows`.
    ///
    /// # Errors
    /// Errors of reading; `Corrupt` for a line that does not match its checksum, and for cells that do not.
    pub fn gather(&self, rows: &[u64], form: &RowForm<'_>) -> Result<LineArrays> {
        self.require_all()?;
        self.gather_checked(rows, form)
    }

    /// Like [`Self::gather`], for consecutive rows. The cells of other rows need not be read.
    ///
    /// # Errors
    /// The errors of [`Self::gather`].
    pub fn gather_range(&self, rows: Range<u64>, form: &RowForm<'_>) -> Result<LineArrays> {
        self.require(&rows)?;
        self.gather_checked(&rows.collect::<Vec<_>>(), form)
    }

    /// Like [`Self::gather`], for rows whose cells were compared.
    fn gather_checked(&self, rows: &[u64], form: &RowForm<'_>) -> Result<LineArrays> {
        let places = rows.iter().map(|row| self.locate(*row)).collect::<Result<Vec<_>>>()?;
        let bounds = places.iter().map(|(shard, row)| self.shards[*shard].bounds(*row));
        let bounds = bounds.collect::<Result<Vec<_>>>()?;
        let (lines, ends, hashes) = self.lines(&places, &bounds)?;
        let mut arrays = Vec::with_capacity(form.arrays());
        arrays.push(hashes);
        for column in &form.columns {
            column.gather(&places, &mut arrays)?;
        }
        Ok(LineArrays { lines, ends, arrays })
    }

    /// Sets whether the system reads ahead in every array as far as the disk's setting allows, up to megabytes. With
    /// little memory, most of that is dropped before it is used, and read again.
    pub fn set_read_ahead(&self, is_on: bool) {
        for shard in &self.shards {
            shard.shard.main().set_read_ahead(is_on);
            if let Some(sidecar) = shard.shard.sidecar() {
                sidecar.set_read_ahead(is_on);
            }
        }
    }

    /// Asks the system to read what [`Self::gather_range`] needs for `rows`: lines, and chunks of cells.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn read_ahead(&self, rows: Range<u64>) -> Result<()> {
        for (shard, start) in self.shards.iter().zip(&self.starts) {
            let first = rows.start.max(*start) - start;
            let end = rows.end.saturating_sub(*start).min(shard.shard.len());
            if first >= end {
                continue;
            }
            if let Some(sidecar) = shard.shard.sidecar() {
                let mut arrays = vec![(&shard.index, 8)];
                arrays.extend(shard.hashes.as_ref().map(|hashes| (hashes, 8)));
                let mut ranges = Vec::new();
                for (_, column) in shard.fields.iter().filter_map(|field| field.cells.as_ref()) {
                    match column.chunks_of(&(first..end)) {
                        Some(chunks) => ranges.extend(chunks),
                        None => arrays.push((&column.data, to_u64(column.dtype.number_bytes()))),
                    }
                }
                let of_rows = |(array, width): (&Bytes, u64)| {
                    let start = place_in(array, sidecar.mapped()?)?;
                    Some(
                        start.checked_add(first.checked_mul(width)?)?
                            ..start.checked_add(end.checked_mul(width)?)?,
                    )
                };
                ranges.extend(arrays.into_iter().filter_map(of_rows));
                sidecar.will_need(&ranges, Density::Dense);
            }
            let lines = shard.bounds(first)?.0..shard.bounds(end - 1)?.1;
            shard.shard.main().will_need(&[lines], Density::Dense);
        }
        Ok(())
    }
}

/// The position of an array in a map; `None` if it is elsewhere in memory.
fn place_in(array: &[u8], map: &[u8]) -> Option<u64> {
    let range = map.as_ptr_range();
    let start = array.as_ptr();
    range.contains(&start).then(|| to_u64(start.addr() - range.start.addr()))
}

/// The low `WIDTH` bytes of the cells at `places` of a shard, which have `from` bytes each.
fn low_bytes<const WIDTH: usize>(data: &[u8], from: usize, places: &[(usize, u64)]) -> Option<Vec<u8>> {
    let cell = |row: u64| {
        let start = usize::try_from(row).ok()?.checked_mul(from)?;
        data.get(start..)?.first_chunk::<WIDTH>().copied()
    };
    Some(places.iter().map(|(_, row)| cell(*row)).collect::<Option<Vec<_>>>()?.into_flattened())
}
