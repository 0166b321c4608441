//! A list of positions in bounded memory. A long list is stored in an unnamed file.

use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::error::{Error, Result};
use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The number of bytes per write to the file.
const BLOCK: usize = 512 << 10;

/// A list of numbers. First append numbers; then any thread can read ranges of them.
#[derive(Debug)]
pub struct PositionList {
    folder: PathBuf,
    /// The size of a number in bytes.
    width: usize,
    /// The numbers that are not in the file.
    tail: Vec<u8>,
    /// The maximum number of bytes in memory.
    limit: usize,
    file: Option<File>,
    len: u64,
}

impl PositionList {
    /// A list of numbers below `end`. If a file is needed, it is created in `folder`. It has no name and disappears when
    /// the process ends.
    pub fn new(folder: &Path, limit: usize, end: u64) -> Self {
        let width = if end <= 1 << u32::BITS { 4 } else { 8 };
        Self { folder: folder.to_owned(), width, tail: Vec::new(), limit, file: None, len: 0 }
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    /// # Errors
    /// `Io` if the file cannot be created or written.
    pub fn push(&mut self, position: u64) -> Result<()> {
        self.extend(&[position])
    }

    /// # Errors
    /// The errors of [`Self::push`].
    pub fn extend(&mut self, positions: &[u64]) -> Result<()> {
        if self.width == 4 {
            for position in positions {
                let position =
                    u32::try_from(*position).map_err(|_| Error::invalid("a position past the end"))?;
                self.tail.extend_from_slice(&position.to_le_bytes());
            }
        } else {
            positions.iter().for_each(|position| self.tail.extend_from_slice(&position.to_le_bytes()));
        }
        self.len += to_u64(positions.len());
        if self.tail.len() >= BLOCK && (self.file.is_some() || self.tail.len() > self.limit) {
            self.spill()?;
        }
        Ok(())
    }

    /// # Errors
    /// The errors of [`Self::push`].
    pub fn finish(&mut self) -> Result<()> {
        if self.file.is_some() { self.spill() } else { Ok(()) }
    }

    fn spill(&mut self) -> Result<()> {
        let failed = |error: &std::io::Error| Error::io(&self.folder, error);
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile_in(&self.folder).map_err(|error| failed(&error))?),
        };
        file.write_all(&self.tail).map_err(|error| Error::io(&self.folder, &error))?;
        self.tail = Vec::new();
        Ok(())
    }

    /// Replaces the contents of `out` with the numbers in `range`.
    ///
    /// # Errors
    /// `Invalid` past the end; `Io` if the file cannot be read.
    pub fn read(&self, range: Range<u64>, out: &mut Vec<u64>) -> Result<()> {
        out.clear();
        if range.start > range.end || range.end > self.len {
            return Err(Error::invalid(format!("positions up to {} of {}", range.end, self.len)));
        }
        let width = to_u64(self.width);
        let count = to_usize((range.end - range.start) * width, "the number of positions")?;
        let Some(file) = &self.file else {
            let start = to_usize(range.start * width, "a position")?;
            self.decode(&self.tail[start..start + count], out);
            return Ok(());
        };
        let mut bytes = vec![0; count];
        file.read_exact_at(&mut bytes, range.start * width)
            .map_err(|error| Error::io(&self.folder, &error))?;
        self.decode(&bytes, out);
        Ok(())
    }

    fn decode(&self, bytes: &[u8], out: &mut Vec<u64>) {
        if self.width == 4 {
            out.extend(bytes.as_chunks::<4>().0.iter().map(|word| u64::from(u32::from_le_bytes(*word))));
        } else {
            out.extend(bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)));
        }
    }

    /// The size of the file in bytes.
    pub fn file_bytes(&self) -> u64 {
        if self.file.is_some() { self.len * to_u64(self.width) - to_u64(self.tail.len()) } else { 0 }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn gives_back_what_was_pushed_from_memory_and_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let ends = [1 << 20, 1 << 40];
        for (limit, end) in
            [0, 600_000, usize::MAX].into_iter().flat_map(|limit| ends.map(|end| (limit, end)))
        {
            let mut list = PositionList::new(folder.path(), limit, end);
            (0..200_000u64).for_each(|i| list.push(3 * i).unwrap());
            list.finish().unwrap();
            let bytes = if end == 1 << 20 { 800_000 } else { 1_600_000 };
            assert_eq!(list.file_bytes(), if limit == usize::MAX { 0 } else { bytes });
            let mut found = Vec::new();
            for range in [0..0, 0..5, 65_530..65_545, 199_999..200_000, 0..200_000] {
                list.read(range.clone(), &mut found).unwrap();
                assert_eq!(found, range.map(|i| 3 * i).collect::<Vec<_>>());
            }
            assert!(list.read(199_999..200_001, &mut found).is_err());
            assert_eq!(list.push(1 << 32).is_err(), end == 1 << 20);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
