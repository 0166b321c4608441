//! Splits a stream into rows without building them: lengths determine what is read, but never what is allocated.

use crate::msgpack::head::head;
use bytes::Bytes;
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use std::io::Read;
use std::ops::Range;

const READ_BYTES: usize = 256 << 10;

/// Complete rows, one after another.
#[derive(Debug, Clone)]
pub struct Block {
    pub bytes: Bytes,
    /// The position of each row.
    pub rows: Vec<Range<usize>>,
    /// Number of the first row in its file.
    pub first: u64,
}

/// Reads rows from a stream.
pub struct Rows<R> {
    source: R,
    /// Bytes that were read after the last block.
    rest: Vec<u8>,
    next: u64,
    max_row_bytes: u64,
}

/// How far one row has been scanned.
struct Scan {
    at: usize,
    /// The number of values that are still missing.
    values: u64,
}

impl<R: Read> Rows<R> {
    pub fn new(source: R, max_row_bytes: u64) -> Self {
        Self { source, rest: Vec::new(), next: 0, max_row_bytes }
    }

    pub fn source(&self) -> &R {
        &self.source
    }

    /// The next rows, at least `at_least` bytes of them unless the stream ends; `None` at its end.
    ///
    /// # Errors
    /// `Truncated` when the stream ends inside a row, `Corrupt`, `Limit` for a row that is too long; all with the row's
    /// number. Errors of the stream.
    pub fn next_block(&mut self, at_least: usize) -> Result<Option<Block>> {
        let mut bytes = std::mem::take(&mut self.rest);
        let mut rows: Vec<Range<usize>> = Vec::new();
        let first = self.next;
        loop {
            let start = rows.last().map_or(0, |row| row.end);
            if start >= at_least {
                break;
            }
            match self.row_end(&mut bytes, start).map_err(|error| error.in_sample(self.next))? {
                Some(end) => rows.push(start..end),
                None => break,
            }
            self.next += 1;
        }
        let Some(end) = rows.last().map(|row| row.end) else {
            return Ok(None);
        };
        self.rest = bytes[end..].to_vec();
        bytes.truncate(end);
        Ok(Some(Block { bytes: Bytes::from(bytes), rows, first }))
    }

    /// Reads the row that begins at `start` and returns its end; `None` when there is no row.
    fn row_end(&mut self, bytes: &mut Vec<u8>, start: usize) -> Result<Option<usize>> {
        let mut scan = Scan { at: start, values: 1 };
        loop {
            let wanted = scan.advance(bytes)?;
            if to_u64(wanted - start) > self.max_row_bytes {
                return Err(Error::limit(format!("a row of more than {} bytes", self.max_row_bytes)));
            }
            if wanted <= bytes.len() {
                return Ok(Some(wanted));
            }
            let missing = to_u64((wanted - bytes.len()).max(READ_BYTES));
            (&mut self.source).take(missing).read_to_end(bytes)?;
            if bytes.len() == start {
                return Ok(None);
            }
            if bytes.len() < wanted {
                return Err(Error::truncated("the file ends inside this row"));
            }
        }
    }
}

impl Scan {
    /// Scans to the end of `bytes`; returns how many more bytes are needed, or the end of the row.
    fn advance(&mut self, bytes: &[u8]) -> Result<usize> {
        while self.values > 0 {
            let Some((head_of_value, size)) = head(bytes.get(self.at..).unwrap_or_default())? else {
                return Ok(bytes.len().max(self.at).saturating_add(1));
            };
            let (length, values) = head_of_value.rest();
            self.at = self.at.saturating_add(size).saturating_add(length);
            self.values = (self.values - 1).saturating_add(values);
        }
        Ok(self.at)
    }
}
