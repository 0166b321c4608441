//! A list of positions in bounded memory. A long list is stored in an unnamed file.

use jinx_core::error::{Error, Result};
use jinx_core::num::{to_u64, to_usize};
use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Positions per write to the file.
const BLOCK: usize = 1 << 16;

/// A list of numbers. First append numbers; then any thread can read ranges of them.
#[derive(Debug)]
pub struct PositionList {
    folder: PathBuf,
    /// The numbers that are not in the file.
    tail: Vec<u64>,
    /// The most numbers in memory.
    limit: usize,
    file: Option<File>,
    len: u64,
}

impl PositionList {
    /// If a file is needed, it is created in `folder`. It has no name and disappears when the process ends.
    pub fn new(folder: &Path, limit: usize) -> Self {
        Self { folder: folder.to_owned(), tail: Vec::new(), limit, file: None, len: 0 }
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    /// # Errors
    /// `Io` if the file cannot be created or written.
    pub fn push(&mut self, position: u64) -> Result<()> {
        self.tail.push(position);
        self.len += 1;
        if self.tail.len() >= BLOCK && (self.file.is_some() || self.tail.len() > self.limit) {
            self.spill()?;
        }
        Ok(())
    }

    /// # Errors
    /// As [`Self::push`].
    pub fn finish(&mut self) -> Result<()> {
        if self.file.is_some() { self.spill() } else { Ok(()) }
    }

    fn spill(&mut self) -> Result<()> {
        let failed = |error: &std::io::Error| Error::io(&self.folder, error);
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile_in(&self.folder).map_err(|error| failed(&error))?),
        };
        for block in self.tail.chunks(BLOCK) {
            let bytes: Vec<u8> = block.iter().flat_map(|position| position.to_le_bytes()).collect();
            file.write_all(&bytes).map_err(|error| Error::io(&self.folder, &error))?;
        }
        self.tail = Vec::new();
        Ok(())
    }

    /// Replaces the contents of `found` with the numbers in `range`.
    ///
    /// # Errors
    /// `Invalid` past the end; `Io` if the file cannot be read.
    pub fn read(&self, range: Range<u64>, found: &mut Vec<u64>) -> Result<()> {
        found.clear();
        if range.start > range.end || range.end > self.len {
            return Err(Error::invalid(format!("positions up to {} of {}", range.end, self.len)));
        }
        let count = to_usize(range.end - range.start, "the number of positions")?;
        let Some(file) = &self.file else {
            let start = to_usize(range.start, "a position")?;
            found.extend_from_slice(&self.tail[start..start + count]);
            return Ok(());
        };
        let mut bytes = vec![0; 8 * count];
        file.read_exact_at(&mut bytes, 8 * range.start).map_err(|error| Error::io(&self.folder, &error))?;
        let (words, _) = bytes.as_chunks::<8>();
        found.extend(words.iter().map(|word| u64::from_le_bytes(*word)));
        Ok(())
    }

    /// Bytes in the file.
    pub fn file_bytes(&self) -> u64 {
        if self.file.is_some() { 8 * (self.len - to_u64(self.tail.len())) } else { 0 }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn gives_back_what_was_pushed_from_memory_and_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        for limit in [0, 70_000, usize::MAX] {
            let mut list = PositionList::new(folder.path(), limit);
            (0..200_000u64).for_each(|i| list.push(3 * i).unwrap());
            list.finish().unwrap();
            assert_eq!(list.file_bytes(), if limit == usize::MAX { 0 } else { 1_600_000 });
            let mut found = Vec::new();
            for range in [0..0, 0..5, 65_530..65_545, 199_999..200_000, 0..200_000] {
                list.read(range.clone(), &mut found).unwrap();
                assert_eq!(found, range.map(|i| 3 * i).collect::<Vec<_>>());
            }
            assert!(list.read(199_999..200_001, &mut found).is_err());
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
