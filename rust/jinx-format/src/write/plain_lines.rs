//! Writes plain JSON rows in another order, without parsing them. Lines and checksums are copied. The facts for the
//! footer come from the source's footer and columns.

use crate::fields::{Fact, FieldInfo, Path};
use crate::footer::Footer;
use crate::key::needs_quotes;
use crate::read::chunked::ChunkedColumn;
use crate::read::column_view::ColumnView;
use crate::read::columns::ColumnKind;
use crate::read::shard::Shard;
use crate::write::columns::{IndexedType, MISSING, UINT, default_type};
use crate::write::encode::RowEncoder;
use crate::write::line_block::{BlockColumn, LineBlock, kind_fact};
use crate::write::options::{ColumnChoice, WriteOptions};
use crate::write::tagged_cell::tagged_cell;
use bytes::Bytes;
use jinx_core::checked_math::{to_u64, to_usize, u64_at};
use jinx_core::error::{Error, Result};
use jinx_core::io::Source;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use twox_hash::XxHash3_64;

/// The start of `writer` in the footers of our own writers. Their lines have the form that this writer gives them.
const OUR_WRITER: &str = "jinx-data ";
/// The approximate size of a block: the number of bytes in its lines.
const BLOCK_BYTES: u64 = 1 << 20;
const MIN_BLOCK_ROWS: u64 = 16;
const MAX_BLOCK_ROWS: u64 = 4096;
/// The largest array to keep in memory if it is not mapped.
const MAX_OWNED_BYTES: usize = 1 << 20;
/// The number of lines whose first and last byte are read before they are copied, so that the processor fetches them at
/// the same time.
const TOUCHED: usize = 32;

/// The rows of several shards, as one sequence. Their lines can be written without changes.
pub struct PlainLines<'s> {
    pub(super) shards: Vec<PlainShard<'s>>,
    /// The first row of each shard, and the total number of rows at the end.
    pub(super) starts: Vec<u64>,
    /// The indexed columns of the output.
    pub(super) columns: Vec<(Arc<Path>, IndexedType)>,
    pub(super) longest: u64,
    /// The lines of each shard, if these are mapped.
    mapped: Vec<Option<Bytes>>,
    block: usize,
    /// Filled when the cells of all rows were compared with their checksums.
    checked: OnceLock<()>,
}

pub(super) struct PlainShard<'s> {
    pub(super) shard: &'s Shard,
    pub(super) index: Bytes,
    /// The checksums with which lines are compared.
    pub(super) hashes: Option<Bytes>,
    pub(super) fields: Vec<PlainField<'s>>,
}

/// A column of a shard whose values are all of one kind, or null.
pub(super) struct PlainField<'s> {
    pub(super) path: Arc<Path>,
    pub(super) kind: &'static str,
    /// Whether rows without a value of this kind have null there. Otherwise, they do not have the column.
    pub(super) has_null: bool,
    /// The column's place in [`PlainLines::columns`], and its cells, which [`PlainLines::require`] compares.
    pub(super) cells: Option<(usize, ChunkedColumn<'s>)>,
}

impl<'s> PlainLines<'s> {
    /// The lines of `shards`, if rows stay the same when they are written with `options`.
    ///
    /// # Errors
    /// Errors of reading indexes and columns.
    pub fn of(shards: &[&'s Shard], options: &WriteOptions) -> Result<Option<Self>> {
        let encode = &options.encode;
        let keeps_rows =
            encode.sidecar && encode.columns.is_empty() && options.columns == ColumnChoice::Default;
        if !keeps_rows || options.view.is_some() {
            return Ok(None);
        }
        let longest = encode.string_threshold.min(encode.max_row_bytes);
        let mut lines = Self {
            shards: Vec::new(),
            starts: vec![0],
            columns: Vec::new(),
            longest,
            mapped: Vec::new(),
            block: 0,
            checked: OnceLock::new(),
        };
        let mut paths = HashMap::new();
        let (mut rows, mut bytes) = (0u64, 0u64);
        for shard in shards {
            let Some(plain) = lines.plain_shard(shard, &mut paths)? else { return Ok(None) };
            lines.shards.push(plain);
            lines.mapped.push(shard.main().mapped().cloned());
            (rows, bytes) = (rows.saturating_add(shard.len()), bytes.saturating_add(shard.footer_offset()));
            lines.starts.push(rows);
        }
        let mean = (bytes / rows.max(1)).max(1);
        lines.block =
            to_usize((BLOCK_BYTES / mean).clamp(MIN_BLOCK_ROWS, MAX_BLOCK_ROWS), "the rows of a block")?;
        Ok(Some(lines))
    }

    fn plain_shard(
        &mut self,
        shard: &'s Shard,
        paths: &mut HashMap<Path, Arc<Path>>,
    ) -> Result<Option<PlainShard<'s>>> {
        let footer = shard.footer();
        if !shard.is_plain_json() || !is_ours(footer) || footer.view.is_some() {
            return Ok(None);
        }
        let index = shard.index_bytes()?;
        let hashes = shard.stored_line_hashes().transpose()?;
        let map = shard.sidecar().and_then(Source::mapped);
        let is_mapped = |bytes: &Bytes| map.is_some_and(|map| map.as_ptr_range().contains(&bytes.as_ptr()));
        let is_small = |bytes: &Bytes| bytes.len() <= MAX_OWNED_BYTES || is_mapped(bytes);
        if !is_small(&index) || !hashes.as_ref().is_none_or(is_small) {
            return Ok(None);
        }
        let mut fields = Vec::new();
        for field in footer.fields.iter().filter(|field| field.path.len() == 1) {
            let path =
                Arc::clone(paths.entry(field.path.clone()).or_insert_with(|| Arc::new(field.path.clone())));
            let Some((kind, has_null)) = only_kind(field, shard.len()) else { return Ok(None) };
            let cells = match default_type(kind) {
                None => None,
                Some(indexed) => {
                    let stored =
                        if indexed == IndexedType::Length { ColumnKind::Length } else { ColumnKind::Value };
                    let Some(column) = shard.chunked_column(&field.path, stored)? else { return Ok(None) };
                    if !is_small(&column.data) || !column.dtype.is_of(kind) {
                        return Ok(None);
                    }
                    Some((self.place(&path, indexed), column))
                }
            };
            let is_complete = count(field, kind).saturating_add(count(field, "null")) == shard.len();
            // Without cells, it is unknown which rows have null and which lack the column.
            let is_known = if cells.is_some() { is_complete || !has_null } else { is_complete && !has_null };
            if !is_known {
                return Ok(None);
            }
            fields.push(PlainField { path, kind, has_null, cells });
        }
        Ok(Some(PlainShard { shard, index, hashes, fields }))
    }

    fn place(&mut self, path: &Arc<Path>, kind: IndexedType) -> usize {
        let position = self.columns.iter().position(|(other, indexed)| other == path && *indexed == kind);
        position.unwrap_or_else(|| {
            self.columns.push((Arc::clone(path), kind));
            self.columns.len() - 1
        })
    }

    pub fn len(&self) -> u64 {
        self.starts.last().copied().unwrap_or_default()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The size of all lines in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.shards.iter().map(|shard| shard.shard.footer_offset()).sum()
    }

    /// Whether no line is longer than the output allows.
    pub(super) fn are_short(&self) -> bool {
        self.shards.iter().all(|shard| shard.has_lines_up_to(self.longest))
    }

    /// Compares the cells of rows with the checksums of their chunks, each chunk once. Lines have checksums of their own,
    /// which are compared when they are copied.
    ///
    /// # Errors
    /// `Corrupt` for cells that do not match.
    pub(super) fn require(&self, rows: &Range<u64>) -> Result<()> {
        for (shard, start) in self.shards.iter().zip(&self.starts) {
            let of_shard = rows.start.saturating_sub(*start)..rows.end.saturating_sub(*start);
            let columns = shard.fields.iter().filter_map(|field| field.cells.as_ref());
            columns.map(|(_, column)| column).try_for_each(|column| column.require(of_shard.clone()))?;
        }
        Ok(())
    }

    /// Like [`Self::require`], for all rows.
    ///
    /// # Errors
    /// The errors of [`Self::require`].
    pub(super) fn require_all(&self) -> Result<()> {
        if self.checked.get().is_none() {
            self.require(&(0..self.len()))?;
            self.checked.get_or_init(|| ());
        }
        Ok(())
    }

    /// The number of rows in a block.
    pub(super) fn block_rows(&self) -> usize {
        self.block
    }

    /// The length of a line.
    ///
    /// # Errors
    /// `Corrupt` if the index does not say where it is.
    pub fn line_bytes(&self, row: u64) -> Result<u64> {
        let (shard, row) = self.locate(row)?;
        self.shards[shard].bounds(row).map(|(start, end)| end - start)
    }

    /// The lengths of the lines of `rows`; `None` if any of them may change its form in the output.
    ///
    /// # Errors
    /// The errors of [`Self::line_bytes`].
    pub(super) fn lengths(&self, rows: &[u64]) -> Result<Option<Vec<u64>>> {
        let mut lengths = Vec::with_capacity(rows.len());
        for row in rows {
            let length = self.line_bytes(*row)?;
            if length == 0 || length > self.longest {
                return Ok(None);
            }
            lengths.push(length);
        }
        Ok(Some(lengths))
    }

    /// The shard of a row, and the row's number in that shard.
    pub(super) fn locate(&self, row: u64) -> Result<(usize, u64)> {
        if row >= self.len() {
            return Err(Error::invalid(format!("sample {row} of {}", self.len())));
        }
        let is_one = self.shards.len() == 1;
        let shard = if is_one { 0 } else { self.starts.partition_point(|start| *start <= row) - 1 };
        Ok((shard, row - self.starts[shard]))
    }

    /// Emits one row, like any other source.
    ///
    /// # Errors
    /// Errors of reading, and of the encoder.
    pub fn emit(&self, row: u64, encoder: &mut RowEncoder) -> Result<()> {
        let (shard, row) = self.locate(row)?;
        self.shards[shard].shard.emit_row(row, encoder)
    }

    /// The lines of `rows`; `None` if any of them may change its form in the output.
    ///
    /// # Errors
    /// The errors of [`Self::lines`].
    pub(super) fn block(&self, rows: &[u64]) -> Result<Option<LineBlock>> {
        let places = rows.iter().map(|row| self.locate(*row)).collect::<Result<Vec<_>>>()?;
        let mut bounds = Vec::with_capacity(rows.len());
        for (shard, row) in &places {
            let (start, end) = self.shards[*shard].bounds(*row)?;
            if end - start > self.longest || end == start {
                return Ok(None);
            }
            bounds.push((start, end));
        }
        let (lines, ends, hashes) = self.lines(&places, &bounds)?;
        let (columns, kinds) = self.facts(&places)?;
        Ok(Some(LineBlock { lines, ends, hashes, columns, kinds }))
    }

    /// The lines, their ends, and their checksums.
    ///
    /// # Errors
    /// Errors of reading; `Corrupt` for a line that does not match its checksum or the index.
    #[allow(clippy::type_complexity)]
    pub(super) fn lines(
        &self,
        places: &[(usize, u64)],
        bounds: &[(u64, u64)],
    ) -> Result<(Vec<u8>, Vec<u64>, Vec<u8>)> {
        let bytes = bounds.iter().map(|(start, end)| end - start).sum();
        let mut lines = Vec::with_capacity(to_usize(bytes, "the length of lines")?);
        let mut ends = Vec::with_capacity(bounds.len());
        let mut hashes = Vec::with_capacity(bounds.len() * 8);
        let mut expected = Vec::with_capacity(TOUCHED);
        let mut stored = Vec::with_capacity(TOUCHED);
        for (places, bounds) in places.chunks(TOUCHED).zip(bounds.chunks(TOUCHED)) {
            expected.clear();
            stored.clear();
            let mut touched = self.touch(places, bounds);
            for ((shard, row), (start, end)) in places.iter().zip(bounds) {
                let source = &self.shards[*shard];
                expected.push(source.hash(*row)?);
                let line = source.shard.main().slice(*start, end - start);
                let line = line.map_err(|error| source.shard.here(error, *row))?;
                touched ^=
                    line.first().copied().unwrap_or_default() ^ line.last().copied().unwrap_or_default();
                stored.push(line);
            }
            std::hint::black_box(touched);
            for (((shard, row), stored), expected) in places.iter().zip(&stored).zip(&expected) {
                let begin = lines.len();
                lines.extend_from_slice(stored);
                // Check the copy, because it is what is written.
                let line = &lines[begin..];
                let hash = XxHash3_64::oneshot(line);
                if expected.is_some_and(|expected| expected != hash) {
                    let what = "the line's checksum does not match: the file was changed or damaged";
                    return Err(self.shards[*shard].shard.here(Error::corrupt(what), *row));
                }
                if line.last() != Some(&b'\n') {
                    let what = "the line does not end where the index says";
                    return Err(self.shards[*shard].shard.here(Error::corrupt(what), *row));
                }
                ends.push(to_u64(lines.len()));
                hashes.extend_from_slice(&hash.to_le_bytes());
            }
        }
        Ok((lines, ends, hashes))
    }

    /// Reads the checksums and both ends of lines in a loop that does nothing else, because the processor looks only a
    /// few hundred instructions ahead for reads that it can start.
    fn touch(&self, places: &[(usize, u64)], bounds: &[(u64, u64)]) -> u8 {
        let ([source], [Some(lines)]) = (self.shards.as_slice(), self.mapped.as_slice()) else { return 0 };
        let hashes = source.hashes.as_deref().unwrap_or_default().as_chunks::<8>().0;
        let at = |place: u64| usize::try_from(place).unwrap_or(usize::MAX);
        let line = |place: u64| lines.get(at(place)).copied().unwrap_or_default();
        let touched =
            bounds.iter().fold(0, |sum, (start, end)| sum ^ line(*start) ^ line(end.wrapping_sub(1)));
        let hash = |row: u64| hashes.get(at(row)).map_or(0, |hash| hash[0]);
        places.iter().fold(touched, |sum, (_, row)| sum ^ hash(*row))
    }

    /// The cells of all columns, and the number of values of each kind.
    #[allow(clippy::type_complexity)]
    fn facts(&self, places: &[(usize, u64)]) -> Result<(Vec<BlockColumn>, Vec<(Fact, u64)>)> {
        self.require_all()?;
        let mut rows_of = vec![0u64; self.shards.len()];
        places.iter().for_each(|(shard, _)| rows_of[*shard] += 1);
        let mut kinds: Vec<(Fact, u64)> = Vec::new();
        let mut add = |path: &Arc<Path>, kind: &'static str, values: u64| {
            let is_same = |(fact, _): &&mut (Fact, u64)| fact.kind == kind && Arc::ptr_eq(&fact.path, path);
            match kinds.iter_mut().find(is_same) {
                Some((_, count)) => *count += values,
                None if values > 0 => kinds.push((kind_fact(path, kind), values)),
                None => {}
            }
        };
        let mut columns: Vec<BlockColumn> = Vec::with_capacity(self.columns.len());
        for (at, (path, kind)) in self.columns.iter().enumerate() {
            let sources: Vec<_> = self.shards.iter().map(|shard| shard.cells(at)).collect();
            let mut valid = vec![0u64; self.shards.len()];
            let mut cells = Vec::with_capacity(places.len());
            for (shard, row) in places {
                let cell = match &sources[*shard] {
                    Some(source) => tagged_cell(source, *row)?,
                    None => (MISSING, 0),
                };
                let is_there = cell.0 != MISSING;
                valid[*shard] += u64::from(is_there);
                let is_length = is_there && *kind == IndexedType::Length;
                cells.push(if is_length { (UINT, cell.1) } else { cell });
            }
            for (shard, valid) in self.shards.iter().zip(&valid) {
                let of_column =
                    |field: &&PlainField| field.cells.as_ref().is_some_and(|(place, _)| *place == at);
                if let Some(field) = shard.fields.iter().find(of_column) {
                    add(&field.path, field.kind, *valid);
                }
            }
            for ((shard, valid), rows) in self.shards.iter().zip(&valid).zip(&rows_of) {
                let of_column =
                    |field: &&PlainField| field.cells.as_ref().is_some_and(|(place, _)| *place == at);
                if let Some(field) = shard.fields.iter().find(of_column).filter(|field| field.has_null) {
                    add(&field.path, "null", rows - valid);
                }
            }
            columns.push(BlockColumn { path: Arc::clone(path), kind: *kind, cells });
        }
        for (shard, rows) in self.shards.iter().zip(&rows_of) {
            for field in shard.fields.iter().filter(|field| field.cells.is_none()) {
                add(&field.path, field.kind, *rows);
            }
        }
        Ok((columns, kinds))
    }
}

impl PlainShard<'_> {
    pub(super) fn bounds(&self, row: u64) -> Result<(u64, u64)> {
        let bound =
            |i: u64| to_usize(i, "a sample").ok().and_then(|i| u64_at(&self.index, i.checked_mul(8)?));
        match (bound(row), bound(row + 1)) {
            (Some(start), Some(end)) if start <= end && end <= self.shard.footer_offset() => Ok((start, end)),
            _ => Err(self.shard.here(Error::corrupt("the index does not say where its line is"), row)),
        }
    }

    fn hash(&self, row: u64) -> Result<Option<u64>> {
        let Some(hashes) = &self.hashes else { return Ok(None) };
        let hash = to_usize(row, "a sample").ok().and_then(|row| u64_at(hashes, row.checked_mul(8)?));
        let missing = || self.shard.here(Error::corrupt("its line has no checksum"), row);
        hash.map(Some).ok_or_else(missing)
    }

    /// Whether the index is ascending, and no line is empty or longer than `longest`.
    fn has_lines_up_to(&self, longest: u64) -> bool {
        let (bounds, _) = self.index.as_chunks::<8>();
        let mut bounds = bounds.iter().map(|bound| u64::from_le_bytes(*bound));
        let mut start = bounds.next().unwrap_or_default();
        bounds.all(|end| {
            let length = end.wrapping_sub(start);
            start = end;
            (1..=longest).contains(&length)
        })
    }

    /// The cells of this shard for a column of the output.
    pub(super) fn cells(&self, place: usize) -> Option<ColumnView<'_>> {
        let mut columns = self.fields.iter().filter_map(|field| field.cells.as_ref());
        let (_, column) = columns.find(|(at, _)| *at == place)?;
        Some(column.view())
    }
}

fn is_ours(footer: &Footer) -> bool {
    footer.writer.as_deref().is_some_and(|writer| writer.starts_with(OUR_WRITER))
}

fn count(field: &FieldInfo, kind: &str) -> u64 {
    field.kinds.get(kind).and_then(Json::as_u64).unwrap_or_default()
}

/// The kind of all values except null, and whether there are nulls. `None` if there are several kinds, or if the name
/// differs from its key.
fn only_kind(field: &FieldInfo, rows: u64) -> Option<(&'static str, bool)> {
    let [Some(name)] = field.path.as_slice() else { return None };
    if needs_quotes(name) || name.bytes().any(|byte| byte < b' ' || matches!(byte, b'\\' | b'"')) {
        return None;
    }
    let mut kinds = field.kinds.keys().filter(|kind| *kind != "null");
    let has_null = field.kinds.contains_key("null");
    let Some(kind) = kinds.next() else { return (count(field, "null") == rows).then_some(("null", false)) };
    let known = ["bool", "int", "float", "str", "list", "dict"].into_iter().find(|known| known == kind)?;
    kinds.next().is_none().then_some((known, has_null))
}
