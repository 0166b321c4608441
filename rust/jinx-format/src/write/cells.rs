//! Collects the cells of an indexed column in bounded memory. A cell is a tag and eight bytes.

use crate::write::spool::Spool;
use jinx_core::checked_math::u64_at;
use jinx_core::error::Result;
use std::path::{Path, PathBuf};

/// The size in bytes of a cell without its tag; `TAGGED` includes the tag.
const PLAIN: usize = 8;
const TAGGED: usize = 9;

/// Cells in the order of the rows. Tags are stored only if they differ.
#[derive(Debug)]
pub(super) struct Cells {
    directory: PathBuf,
    spool: Spool,
    /// The tag of all cells, as long as they have the same one.
    tag: Option<u8>,
    is_tagged: bool,
}

impl Cells {
    /// `directory` is the argument of [`Spool::new`].
    pub(super) fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), spool: Spool::new(directory), tag: None, is_tagged: false }
    }

    /// # Errors
    /// I/O errors of the spool.
    pub(super) fn push(&mut self, tag: u8, bits: u64) -> Result<()> {
        if !self.is_tagged {
            if *self.tag.get_or_insert(tag) == tag {
                return self.spool.push(&bits.to_le_bytes());
            }
            self.add_tags()?;
        }
        self.spool.push(&tagged(tag, bits))
    }

    /// Adds several cells, in order.
    ///
    /// # Errors
    /// I/O errors of the spool.
    pub(super) fn push_all(&mut self, cells: &[(u8, u64)]) -> Result<()> {
        let tag = self.tag.or(cells.first().map(|(tag, _)| *tag));
        if self.is_tagged || cells.iter().any(|(other, _)| Some(*other) != tag) {
            return cells.iter().try_for_each(|(tag, bits)| self.push(*tag, *bits));
        }
        self.tag = tag;
        let bytes: Vec<u8> = cells.iter().flat_map(|(_, bits)| bits.to_le_bytes()).collect();
        self.spool.push(&bytes)
    }

    fn add_tags(&mut self) -> Result<()> {
        let mut spool = Spool::new(&self.directory);
        self.each(|tag, bits| spool.push(&tagged(tag, bits)))?;
        self.spool = spool;
        self.is_tagged = true;
        Ok(())
    }

    /// Passes all cells to `see`.
    ///
    /// # Errors
    /// I/O errors, and errors of `see`.
    pub(super) fn each(&mut self, mut see: impl FnMut(u8, u64) -> Result<()>) -> Result<()> {
        self.blocks(|cells| cells.each(&mut see))
    }

    /// Passes all cells to `see`, in blocks.
    ///
    /// # Errors
    /// The errors of [`Self::each`].
    pub(super) fn blocks(&mut self, mut see: impl FnMut(CellBlock<'_>) -> Result<()>) -> Result<()> {
        let tag = self.tag.filter(|_| !self.is_tagged);
        let unit = if self.is_tagged { TAGGED } else { PLAIN };
        self.spool.read(unit, |bytes| see(CellBlock { tag, bytes }))
    }
}

/// Consecutive cells.
pub(super) struct CellBlock<'b> {
    /// The tag of all cells. `None` if tags differ; then each tag is stored before the bits of its cell.
    tag: Option<u8>,
    bytes: &'b [u8],
}

impl CellBlock<'_> {
    /// The bits of all cells, one after another, if all cells have this tag.
    pub(super) fn all_of(&self, tag: u8) -> Option<&[u8]> {
        (self.tag == Some(tag)).then_some(self.bytes)
    }

    /// # Errors
    /// Errors of `see`.
    pub(super) fn each(&self, mut see: impl FnMut(u8, u64) -> Result<()>) -> Result<()> {
        match self.tag {
            Some(tag) => {
                let mut cells = self.bytes.chunks_exact(PLAIN);
                cells.try_for_each(|cell| see(tag, u64_at(cell, 0).unwrap_or_default()))
            }
            None => {
                let mut cells = self.bytes.chunks_exact(TAGGED);
                cells.try_for_each(|cell| see(cell[0], u64_at(cell, 1).unwrap_or_default()))
            }
        }
    }
}

fn tagged(tag: u8, bits: u64) -> [u8; TAGGED] {
    let mut cell = [tag; TAGGED];
    cell[1..].copy_from_slice(&bits.to_le_bytes());
    cell
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn cells_come_back_whenever_their_tags_begin_to_differ() {
        let directory = tempfile::tempdir().unwrap();
        for same in [0u64, 1, 5, 200_000] {
            let mut cells = Cells::new(directory.path());
            let expected: Vec<(u8, u64)> =
                (0..same).map(|i| (3, i)).chain([(1, 7), (3, 8), (0, 0)]).collect();
            for (tag, bits) in &expected {
                cells.push(*tag, *bits).unwrap();
            }
            let mut cells_read = Vec::new();
            cells
                .each(|tag, bits| {
                    cells_read.push((tag, bits));
                    Ok(())
                })
                .unwrap();
            assert_eq!(cells_read, expected);
        }
    }
}
