//! A file read by position, so that readers in several threads do not share a cursor, and no length that the
//! file claims is reserved before it is known to be there.

use bytes::Bytes;
use jinx_core::error::{Error, Result};
use jinx_core::num::{range_within, to_u64};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;

/// Page headers are some 30 bytes; what follows them is read by itself.
const HEADER_BUFFER_BYTES: usize = 1024;

#[derive(Clone)]
pub(super) struct PreadFile {
    file: Arc<File>,
    len: u64,
}

impl PreadFile {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| Error::io(path, &error))?;
        let metadata = file.metadata().map_err(|error| Error::io(path, &error))?;
        if metadata.is_dir() {
            return Err(Error::invalid("a folder is no Parquet file; name the files in it").in_file(path));
        }
        Ok(Self {
            file: Arc::new(file),
            len: metadata.len(),
        })
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn starts_with(&self, magic: &[u8; 4]) -> Result<bool> {
        self.is_at(0, magic)
    }

    pub(super) fn ends_with(&self, magic: &[u8; 4]) -> Result<bool> {
        self.is_at(self.len.saturating_sub(4), magic)
    }

    fn is_at(&self, at: u64, magic: &[u8; 4]) -> Result<bool> {
        if self.len < 4 {
            return Ok(false);
        }
        let mut found = [0; 4];
        PreadCursor {
            file: self.file.clone(),
            at,
        }
        .read_exact(&mut found)?;
        Ok(found == *magic)
    }
}

impl Length for PreadFile {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for PreadFile {
    type T = BufReader<PreadCursor>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        let cursor = PreadCursor {
            file: self.file.clone(),
            at: start,
        };
        Ok(BufReader::with_capacity(HEADER_BUFFER_BYTES, cursor))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let range = range_within(start, to_u64(length), self.len, "a Parquet page")
            .map_err(|error| ParquetError::External(Box::new(error)))?;
        let mut bytes = vec![0; length];
        PreadCursor {
            file: self.file.clone(),
            at: range.start,
        }
        .read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

pub(super) struct PreadCursor {
    file: Arc<File>,
    at: u64,
}

impl Read for PreadCursor {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = read_at(&self.file, buffer, self.at)?;
        self.at = self.at.saturating_add(to_u64(read));
        Ok(read)
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> std::io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, at)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> std::io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, at)
}
