//! A growing array in bounded memory: what exceeds it goes to an unnamed file.

use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The number of bytes kept in memory; a writer has a handful of spools.
const MEMORY_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub struct Spool {
    directory: PathBuf,
    tail: Vec<u8>,
    file: Option<File>,
    len: u64,
}

impl Spool {
    /// `directory` is for the file, if one is needed; it has no name and disappears with the process.
    pub fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), tail: Vec::new(), file: None, len: 0 }
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.len += to_u64(bytes.len());
        self.tail.extend_from_slice(bytes);
        if self.tail.len() >= MEMORY_BYTES {
            self.spill()?;
        }
        Ok(())
    }

    fn spill(&mut self) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let file = tempfile::tempfile_in(&self.directory)
                    .map_err(|error| Error::io(&self.directory, &error))?;
                self.file.insert(file)
            }
        };
        file.write_all(&self.tail).map_err(|error| Error::io(&self.directory, &error))?;
        self.tail.clear();
        Ok(())
    }

    /// Passes all bytes to `see`, in blocks that are multiples of `unit` bytes.
    ///
    /// # Errors
    /// I/O errors, and whatever `see` reports.
    pub fn read(&mut self, unit: usize, mut see: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        if self.file.is_some() {
            self.spill()?;
        }
        let Some(file) = &mut self.file else { return see(&self.tail) };
        let mut block = vec![0; MEMORY_BYTES / unit * unit];
        let mut left = self.len;
        let fail = |error: &std::io::Error| Error::io(&self.directory, error);
        file.seek(SeekFrom::Start(0)).map_err(|error| fail(&error))?;
        while left > 0 {
            let take = usize::try_from(left).unwrap_or(usize::MAX).min(block.len());
            file.read_exact(&mut block[..take]).map_err(|error| fail(&error))?;
            see(&block[..take])?;
            left -= to_u64(take);
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn gives_back_what_was_pushed_with_and_without_a_file() {
        let directory = tempfile::tempdir().unwrap();
        for count in [0u64, 10, 400_000] {
            let mut spool = Spool::new(directory.path());
            for i in 0..count {
                spool.push(&i.to_le_bytes()).unwrap();
            }
            for _ in 0..2 {
                let mut next = 0u64;
                spool
                    .read(8, |block| {
                        for bytes in block.chunks(8) {
                            assert_eq!(bytes, next.to_le_bytes());
                            next += 1;
                        }
                        Ok(())
                    })
                    .unwrap();
                assert_eq!(next, count);
            }
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
