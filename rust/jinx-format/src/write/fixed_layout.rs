//! Writes rows with a known form: every array has its final position from the start. So all threads write, and nothing
//! is written twice.
//!
//! ```text
//! main file:  lines of block 0 | lines of block 1 | ...
//! sidecar:    header | index | checksums of lines | columns      each block writes its part of every array
//! ```
//! Small arrays lie in the footer, which is written at the end: they are collected in memory.

use crate::footer::{ArrayRef, ColumnInfo};
use crate::sidecar::{ALIGNMENT, HEADER_BYTES};
use crate::write::array_hasher::ArrayHasher;
use crate::write::columns::IndexedType;
use crate::write::common_row_form::{FormBlocks, LineArrays, RowForm, UNIT_ROWS};
use crate::write::early_sync::EarlySync;
use crate::write::sidecar_writer::{SIDECAR_ARRAY_BYTES, inline_array};
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use jinx_core::interrupt;
use jinx_core::panics::caught;
use jinx_core::threads;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use twox_hash::XxHash3_128;

/// The position of an array.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// The offset in the sidecar; `None` for a small array, which is in the footer.
    offset: Option<u64>,
    length: u64,
    /// Bits of one row.
    bits: u64,
}

/// All arrays: the index, the checksums of lines, and the arrays of the columns.
#[derive(Debug)]
pub(super) struct Layout {
    places: Vec<Place>,
    /// Zero if all arrays are in the footer.
    pub(super) sidecar_bytes: u64,
}

impl Layout {
    /// `None` if the sizes overflow.
    pub(super) fn of(form: &RowForm<'_>) -> Option<Self> {
        // The index has one entry more than there are rows.
        let mut sizes =
            vec![(form.rows.checked_add(1)?.checked_mul(8)?, 64), (form.rows.checked_mul(8)?, 64)];
        for column in &form.columns {
            if column.has_missing {
                sizes.push((form.rows.div_ceil(8), 1));
            }
            let width = to_u64(column.width());
            sizes.push((form.rows.checked_mul(width)?, 8 * width));
        }
        let (mut places, mut sidecar_bytes) = (Vec::with_capacity(sizes.len()), 0);
        for (length, bits) in sizes {
            let mut offset = None;
            if length >= SIDECAR_ARRAY_BYTES {
                let start = sidecar_bytes.max(HEADER_BYTES).checked_next_multiple_of(ALIGNMENT)?;
                sidecar_bytes = start.checked_add(length)?;
                offset = Some(start);
            }
            places.push(Place { offset, length, bits });
        }
        Some(Self { places, sidecar_bytes })
    }
}

/// The arrays of a pair, for its footer.
pub(super) struct Arrays {
    pub(super) id: u128,
    pub(super) index: ArrayRef,
    pub(super) line_hash: ArrayRef,
    pub(super) columns: Vec<ColumnInfo>,
}

/// The files of a pair whose rows are being written.
pub(super) struct PlacedFiles<'f> {
    pub(super) form: &'f RowForm<'f>,
    pub(super) layout: &'f Layout,
    pub(super) main: File,
    /// `None` if all arrays are in the footer.
    pub(super) side: Option<File>,
    pub(super) main_path: PathBuf,
    pub(super) side_path: PathBuf,
    /// Syncs of both files, which begin while they are being written; `None` if the files are not synced.
    pub(super) syncs: Option<Mutex<(EarlySync, EarlySync)>>,
}

/// State that depends on the order of the blocks.
struct Turns {
    next: u64,
    is_stopped: bool,
    rows: u64,
    main_len: u64,
    id: XxHash3_128,
    arrays: Vec<Array>,
}

/// The state of an array.
enum Array {
    /// The hashes of an array in the sidecar.
    InSidecar(Box<ArrayHasher>),
    /// The bytes of an array in the footer.
    InFooter(Vec<u8>),
}

impl Array {
    fn at(place: &Place) -> Self {
        match place.offset {
            Some(_) => Self::InSidecar(Box::new(ArrayHasher::new(place.length))),
            None => Self::InFooter(Vec::new()),
        }
    }

    fn append(&mut self, bytes: &[u8]) {
        match self {
            Self::InSidecar(hash) => hash.write(bytes),
            Self::InFooter(array) => array.extend_from_slice(bytes),
        }
    }

    fn finished(self, place: &Place) -> Result<ArrayRef> {
        match self {
            Self::InSidecar(hash) => hash.pointer(place.offset.unwrap_or_default(), place.length),
            Self::InFooter(array) => inline_array(&array),
        }
    }
}

/// The result of writing.
pub(super) struct Written {
    pub(super) rows: u64,
    pub(super) main_len: u64,
    pub(super) arrays: Arrays,
}

/// The position of a block.
struct Turn {
    first_row: u64,
    start: u64,
    ends: Vec<u8>,
}

impl PlacedFiles<'_> {
    /// Writes all blocks on `threads` threads. Calls `tell` with the number of rows of each.
    ///
    /// # Errors
    /// The error of the first block that cannot be made or written; errors of `tell`; `Interrupted`.
    pub(super) fn write(
        &self,
        blocks: &FormBlocks<'_>,
        threads: usize,
        tell: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<Written> {
        let mut arrays: Vec<Array> = self.layout.places.iter().map(Array::at).collect();
        arrays[0].append(&0u64.to_le_bytes());
        let turns =
            Turns { next: 0, is_stopped: false, rows: 0, main_len: 0, id: XxHash3_128::new(), arrays };
        let turns = (Mutex::new(turns), Condvar::new());
        let what = "a thread that writes lines";
        let write = |block: u64, done: &mut dyn FnMut(u64) -> Result<()>| -> Result<()> {
            if lock(&turns.0).is_stopped {
                return Ok(());
            }
            let lines = interrupt::check().and_then(|()| caught(|| (blocks.make)(block), what));
            let Some((turn, lines)) = self.take_turn(&turns, block, lines)? else { return Ok(()) };
            self.put(&turn, &lines)?;
            done(to_u64(lines.ends.len()))
        };
        // Other threads may be waiting for the turn of the block that failed.
        let write = |block: u64, done: &mut dyn FnMut(u64) -> Result<()>| {
            write(block, done).inspect_err(|_| stop(&turns))
        };
        // A single block needs no thread.
        let threads = threads.min(blocks.threads.unwrap_or(usize::MAX));
        let threads = if blocks.count <= 1 || threads <= 1 { 0 } else { threads };
        threads::report(threads, blocks.count, what, &write, tell)?;
        let turns = turns.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        if turns.rows != self.form.rows {
            return Err(Error::invalid(format!("{} of {} rows were written", turns.rows, self.form.rows)));
        }
        Ok(Written { rows: turns.rows, main_len: turns.main_len, arrays: self.finished(turns)? })
    }

    /// Waits until all earlier blocks have positions, and gives this one its own. `None` after an error elsewhere.
    fn take_turn(
        &self,
        (turns, changed): &(Mutex<Turns>, Condvar),
        block: u64,
        lines: Result<LineArrays>,
    ) -> Result<Option<(Turn, LineArrays)>> {
        let mut turns = lock(turns);
        while turns.next < block && !turns.is_stopped {
            turns = changed.wait(turns).unwrap_or_else(PoisonError::into_inner);
        }
        if turns.is_stopped {
            return Ok(None);
        }
        let lines = lines?;
        let (first_row, start) = (turns.rows, turns.main_len);
        let rows = to_u64(lines.ends.len());
        let is_whole = rows.is_multiple_of(UNIT_ROWS) || first_row + rows == self.form.rows;
        let fits = first_row + rows <= self.form.rows && lines.arrays.len() + 1 == self.layout.places.len();
        let mut arrays = lines.arrays.iter().zip(&self.layout.places[1..]);
        if !is_whole
            || !fits
            || !arrays.all(|(array, place)| to_u64(array.len()) == (rows * place.bits).div_ceil(8))
        {
            return Err(Error::invalid("a block of rows that does not have the form of the others"));
        }
        let ends: Vec<[u8; 8]> = lines.ends.iter().map(|end| (start + end).to_le_bytes()).collect();
        let ends = ends.into_flattened();
        turns.arrays[0].append(&ends);
        turns.id.write(&lines.arrays[0]);
        for (array, block) in turns.arrays[1..].iter_mut().zip(&lines.arrays) {
            array.append(block);
        }
        turns.rows += rows;
        turns.main_len += to_u64(lines.lines.len());
        turns.next += 1;
        changed.notify_all();
        Ok(Some((Turn { first_row, start, ends }, lines)))
    }

    fn put(&self, turn: &Turn, lines: &LineArrays) -> Result<()> {
        let failed = |path: &Path, error: &std::io::Error| Error::io(path, error);
        self.main.write_all_at(&lines.lines, turn.start).map_err(|error| failed(&self.main_path, &error))?;
        // The first entry of the index is zero, like any part of a file that was never written.
        let index = (turn.first_row + 1, &turn.ends);
        let columns = lines.arrays.iter().map(|array| (turn.first_row, array));
        let mut bytes = 0;
        for (place, (row, array)) in self.layout.places.iter().zip(std::iter::once(index).chain(columns)) {
            let (Some(start), Some(side)) = (place.offset, &self.side) else { continue };
            let offset = start + row * place.bits / 8;
            side.write_all_at(array, offset).map_err(|error| failed(&self.side_path, &error))?;
            bytes += array.len();
        }
        let Some(syncs) = &self.syncs else { return Ok(()) };
        let (main, side) = &mut *lock(syncs);
        main.wrote(&self.main, lines.lines.len(), &self.main_path)?;
        match &self.side {
            Some(file) => side.wrote(file, bytes, &self.side_path),
            None => Ok(()),
        }
    }

    fn finished(&self, turns: Turns) -> Result<Arrays> {
        let mut arrays = self.layout.places.iter().zip(turns.arrays);
        let mut next = || match arrays.next() {
            Some((place, array)) => array.finished(place),
            None => Err(Error::invalid("a layout with fewer arrays than its form")),
        };
        let (index, line_hash) = (next()?, next()?);
        let columns = self.form.columns.iter().map(|column| {
            Ok(ColumnInfo {
                path: (*column.path).clone(),
                kind: if column.kind == IndexedType::Length { "length" } else { "value" }.to_owned(),
                dtype: column.dtype.name().to_owned(),
                rows: self.form.rows,
                width: None,
                nulls: None,
                zone: None,
                entries: None,
                codes: None,
                validity: column.has_missing.then(&mut next).transpose()?,
                offsets: None,
                data: next()?,
            })
        });
        let columns = columns.collect::<Result<_>>()?;
        Ok(Arrays { id: turns.id.finish_128(), index, line_hash, columns })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the threads, including those that wait for their turn.
fn stop((turns, changed): &(Mutex<Turns>, Condvar)) {
    lock(turns).is_stopped = true;
    changed.notify_all();
}
