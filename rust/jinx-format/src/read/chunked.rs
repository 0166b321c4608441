//! Arrays whose parts are checked when they are read: positions of views, and columns of numbers.

use crate::chunk_checksums::ChunkChecks;
use crate::footer::{ArrayRef, ColumnInfo};
use crate::read::columns::{ColumnKind, IndexedColumn};
use crate::read::shard::Shard;
use bytes::Bytes;
use jinx_core::checked_math::{range_within, to_u64, to_usize};
use jinx_core::error::{Cause, Error, Result};
use jinx_core::io::Source;
use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

/// The maximum number of damaged parts of an array that a message lists.
const MOST_NAMED: usize = 10;

impl Shard {
    /// Compares the chunk of the positions that contains entry `i`, because a damaged position would show another,
    /// intact sample.
    ///
    /// # Errors
    /// `Corrupt` when it does not match.
    pub(super) fn check_position(&self, i: u64) -> Result<()> {
        let place = self.footer().view.as_ref().and_then(|view| view.positions.as_ref());
        let Some(place @ ArrayRef::Sidecar { .. }) = place else { return Ok(()) };
        let named = |error: Error| Error::new(error.cause(), format!("positions: {}", error.what()));
        let checks = match self.checked_positions.get() {
            Some(checks) => checks,
            None => {
                let checks = ChunkChecks::of(place, self.main().len()).map_err(named)?;
                self.checked_positions.get_or_init(|| checks)
            }
        };
        let Some(checks) = checks else { return Ok(()) };
        let start = i.saturating_mul(8);
        self.require_chunks(place, checks, start..start.saturating_add(8)).map_err(named)
    }

    /// Compares all chunks of an array in the sidecar with their checksums.
    ///
    /// # Errors
    /// `Corrupt` when one does not match.
    pub(crate) fn check_chunks(&self, place: &ArrayRef) -> Result<()> {
        let ArrayRef::Sidecar { length, chunk: Some(_), .. } = place else { return Ok(()) };
        let Some(checks) = ChunkChecks::of(place, self.main().len())? else { return Ok(()) };
        self.require_chunks(place, &checks, 0..*length)
    }

    /// Compares the chunks of an array in the sidecar that contain a range of it. Those of an object in a store are
    /// fetched once more if they do not match.
    fn require_chunks(&self, place: &ArrayRef, checks: &ChunkChecks, range: Range<u64>) -> Result<()> {
        let ArrayRef::Sidecar { offset, length, .. } = place else { return Ok(()) };
        let require = || {
            let read = |at: u64, length: u64| self.sidecar_bytes(offset.saturating_add(at), length);
            checks.require(range.clone(), read)
        };
        // Fetch the whole array again whichever chunk failed, because arrays are small compared with values.
        let whole = *offset..offset.saturating_add(*length);
        match require() {
            Err(error) if self.side()?.may_fetch_again(&error, whole) => require(),
            done => done,
        }
    }

    /// The bytes of an array in the sidecar that do not match the checksums of their chunks.
    ///
    /// # Errors
    /// `Corrupt` for damaged checksums; `Truncated` outside the sidecar; I/O errors.
    pub(crate) fn damaged_chunks(&self, place: &ArrayRef) -> Result<Vec<Range<u64>>> {
        let ArrayRef::Sidecar { offset, .. } = place else { return Ok(Vec::new()) };
        let Some(checks) = ChunkChecks::of(place, self.main().len())? else { return Ok(Vec::new()) };
        checks.damaged(|at, length| self.sidecar_bytes(offset.saturating_add(at), length))
    }

    /// Adds the damaged chunks of an array that does not match its checksum to the error.
    pub(super) fn with_damaged_chunks(&self, error: Error, place: &ArrayRef) -> Error {
        let ArrayRef::Sidecar { chunk: Some(_), .. } = place else { return error };
        let ranges = self.damaged_chunks(place).unwrap_or_default();
        let ranges: Vec<String> =
            ranges.iter().take(MOST_NAMED).map(|range| format!("{} to {}", range.start, range.end)).collect();
        match ranges.is_empty() {
            true => error,
            false => {
                let what = format!("its bytes {} do not match their checksum", ranges.join(", "));
                Error::new(error.cause(), what)
            }
        }
    }

    /// Like [`Shard::column`], but chunks of numbers are compared only when [`ChunkedColumn::require`] asks
    /// for them.
    ///
    /// # Errors
    /// The errors of [`Shard::column`].
    pub fn chunked_column(
        &self,
        path: &[Option<String>],
        kind: ColumnKind,
    ) -> Result<Option<ChunkedColumn<'_>>> {
        let Some(info) = self.column_info(path, kind) else { return Ok(None) };
        let own = self.own_columns().iter().position(|own| std::ptr::eq(own, info));
        let kept = own.and_then(|at| self.open_own.get(at));
        let open = match kept.and_then(OnceLock::get) {
            Some(open) => Arc::clone(open),
            None => {
                let open = Arc::new(self.open_column(info).map_err(|error| self.in_column(error, info))?);
                match kept {
                    Some(kept) => Arc::clone(kept.get_or_init(|| open)),
                    None => open,
                }
            }
        };
        Ok(Some(ChunkedColumn { shard: self, info, open }))
    }

    fn open_column(&self, info: &ColumnInfo) -> Result<OpenColumn> {
        let is_mapped = self.sidecar().is_some_and(Source::is_mapped);
        let mut unchecked = Vec::new();
        let mut open = |place: &ArrayRef, expected: u64, bits: u64, what: &str| {
            let mut in_chunks = || -> Result<Option<Bytes>> {
                let Some((mut array, bytes)) = self.unchecked_array(place, expected, bits)? else {
                    return Ok(None);
                };
                array.held = (!is_mapped).then(|| bytes.clone());
                unchecked.push(array);
                Ok(Some(bytes))
            };
            if is_mapped && let Some(bytes) = in_chunks()? {
                return Ok(bytes);
            }
            match self.array_bytes(place, Some(expected), what) {
                // The rows of intact chunks can be read all the same.
                Err(error) if error.cause() == Cause::Corrupt => in_chunks().ok().flatten().ok_or(error),
                read => read,
            }
        };
        let column = self.assemble_column(info, &mut open)?;
        Ok(OpenColumn { column, unchecked })
    }

    /// An array of `expected` bytes whose chunks are compared when they are read; `None` if it has none.
    fn unchecked_array(
        &self,
        place: &ArrayRef,
        expected: u64,
        bits: u64,
    ) -> Result<Option<(UncheckedArray, Bytes)>> {
        let ArrayRef::Sidecar { offset, length, chunk: Some(_), .. } = place else { return Ok(None) };
        let Some(side) = self.sidecar().filter(|_| *length == expected) else { return Ok(None) };
        let bytes = side.read(*offset, *length)?;
        let checks = ChunkChecks::of(place, self.main().len())?;
        Ok(checks.map(|checks| (UncheckedArray { checks, offset: *offset, bits, held: None }, bytes)))
    }
}

/// Some bytes of an array in memory.
fn slice(array: &Bytes, at: u64, length: u64) -> Result<Bytes> {
    let range = range_within(at, length, to_u64(array.len()), "a chunk of an array")?;
    Ok(array.slice(to_usize(range.start, "offset")?..to_usize(range.end, "offset")?))
}

/// An array of a column.
#[derive(Debug)]
struct UncheckedArray {
    checks: ChunkChecks,
    offset: u64,
    /// The number of bits per row.
    bits: u64,
    /// The bytes that were read, if they are not mapped: those that are compared must be those that are given out.
    held: Option<Bytes>,
}

/// A column that is checked when it is read.
#[derive(Debug)]
pub struct ChunkedColumn<'s> {
    shard: &'s Shard,
    info: &'s ColumnInfo,
    open: Arc<OpenColumn>,
}

/// A column, with arrays that are compared when they are read.
#[derive(Debug)]
pub(super) struct OpenColumn {
    column: IndexedColumn,
    unchecked: Vec<UncheckedArray>,
}

impl ChunkedColumn<'_> {
    /// Checks the chunks that contain these rows against their checksums, each chunk once. Rows past the end have none.
    ///
    /// # Errors
    /// `Corrupt` for a chunk that does not match.
    #[inline]
    pub fn require(&self, rows: Range<u64>) -> Result<()> {
        for array in &self.open.unchecked {
            let bytes = self.bytes_of(array, &rows);
            let read = |at: u64, length: u64| match &array.held {
                Some(held) => slice(held, at, length),
                None => self.shard.sidecar_bytes(array.offset.saturating_add(at), length),
            };
            array.checks.require(bytes, read).map_err(|error| self.shard.in_column(error, self.info))?;
        }
        Ok(())
    }

    /// The bytes of the sidecar that [`ChunkedColumn::require`] reads for these rows: whole chunks. `None` for a column
    /// that was compared as a whole.
    pub fn chunks_of(&self, rows: &Range<u64>) -> Option<Vec<Range<u64>>> {
        let arrays = &self.open.unchecked;
        let chunks = |array: &UncheckedArray| {
            let chunks = array.checks.chunks_with(self.bytes_of(array, rows));
            array.offset.saturating_add(chunks.start)..array.offset.saturating_add(chunks.end)
        };
        (!arrays.is_empty()).then(|| arrays.iter().map(chunks).collect())
    }

    /// The bytes of an array that hold these rows.
    #[inline]
    fn bytes_of(&self, array: &UncheckedArray, rows: &Range<u64>) -> Range<u64> {
        let end = rows.end.min(self.open.column.rows);
        let start = rows.start.min(end);
        // No overflow: the array's bytes are counted in 64 bits.
        (start / 8 * array.bits + start % 8 * array.bits / 8)
            ..(end / 8 * array.bits + (end % 8 * array.bits).div_ceil(8))
    }
}

impl Deref for ChunkedColumn<'_> {
    type Target = IndexedColumn;

    /// The column; its cells are correct where [`ChunkedColumn::require`] has checked them.
    fn deref(&self) -> &IndexedColumn {
        &self.open.column
    }
}
