//! A file that is read by position, so that readers in several threads share no cursor; a claimed length is checked
//! before memory is reserved.

use crate::arrow::failure::from_parquet;
use bytes::Bytes;
use jinx_core::checked_math::{range_within, to_u64, to_usize};
use jinx_core::error::{Error, Result};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Page headers are some 30 bytes; the data after them is read separately.
const HEADER_BUFFER_BYTES: usize = 1024;

#[derive(Clone)]
pub(crate) struct PreadFile {
    file: Arc<File>,
    len: u64,
    spare: Spare,
}

/// Buffers of finished pages. A page of media may have 50 MB: new memory for each costs more than the reading, because
/// the system must find and clear it.
type Spare = Arc<Mutex<Vec<Vec<u8>>>>;
/// The maximum number of buffers to keep. One is usually enough, since a compressed page is finished once it is
/// decompressed.
const MAX_SPARE: usize = 1;

/// The bytes of a page; their buffer is returned when they are dropped.
struct Page {
    buffer: Vec<u8>,
    length: usize,
    spare: Spare,
}

impl AsRef<[u8]> for Page {
    fn as_ref(&self) -> &[u8] {
        self.buffer.get(..self.length).unwrap_or_default()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        if let Ok(mut spare) = self.spare.lock()
            && spare.len() < MAX_SPARE
        {
            spare.push(std::mem::take(&mut self.buffer));
        }
    }
}

impl PreadFile {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| Error::io(path, &error))?;
        let metadata = file.metadata().map_err(|error| Error::io(path, &error))?;
        if metadata.is_dir() {
            return Err(
                Error::invalid("this is a directory, not a Parquet file; name the files in it").in_file(path)
            );
        }
        Ok(Self { file: Arc::new(file), len: metadata.len(), spare: Spare::default() })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn starts_with(&self, magic: &[u8; 4]) -> Result<bool> {
        self.is_at(0, magic)
    }

    pub(crate) fn ends_with(&self, magic: &[u8; 4]) -> Result<bool> {
        self.is_at(self.len.saturating_sub(4), magic)
    }

    /// The metadata, which is followed by eight bytes with its length and the magic.
    pub(crate) fn footer(&self) -> Result<Bytes> {
        let mut length = [0; 4];
        let end = self.len.saturating_sub(8);
        PreadCursor { file: self.file.clone(), at: end }.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length);
        let start = end
            .checked_sub(length.into())
            .ok_or_else(|| Error::truncated("the Parquet footer claims more bytes than the file has"))?;
        self.get_bytes(start, to_usize(length.into(), "a Parquet footer")?).map_err(from_parquet)
    }

    fn is_at(&self, at: u64, magic: &[u8; 4]) -> Result<bool> {
        if self.len < 4 {
            return Ok(false);
        }
        let mut bytes = [0; 4];
        PreadCursor { file: self.file.clone(), at }.read_exact(&mut bytes)?;
        Ok(bytes == *magic)
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
        let cursor = PreadCursor { file: self.file.clone(), at: start };
        Ok(BufReader::with_capacity(HEADER_BUFFER_BYTES, cursor))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let range = range_within(start, to_u64(length), self.len, "a Parquet page")
            .map_err(|error| ParquetError::External(Box::new(error)))?;
        let mut buffer = self.spare.lock().ok().and_then(|mut spare| spare.pop()).unwrap_or_default();
        if buffer.len() < length {
            buffer.resize(length, 0);
        }
        let unread = buffer.get_mut(..length).unwrap_or_default();
        PreadCursor { file: self.file.clone(), at: range.start }.read_exact(unread)?;
        Ok(Bytes::from_owner(Page { buffer, length, spare: self.spare.clone() }))
    }
}

pub(crate) struct PreadCursor {
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
