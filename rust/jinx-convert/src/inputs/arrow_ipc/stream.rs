//! Arrow IPC messages that follow one another.

use super::message::{BatchBlock, FILE_MARK, MAX_METADATA_BYTES, ends_early};
use crate::inputs::Input;
use arrow_buffer::Buffer;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::error::{Error, Result};
use jinx_core::limits::FIRST_RESERVATION_BYTES;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

const MAX_PADDING_WORDS: usize = 16;
const OLD_FEATHER_MARK: &[u8; 4] = b"FEA1";
const CONTINUES: u32 = u32::MAX;

/// Messages that follow one another.
pub(super) struct Stream {
    input: Input,
    /// A word that was already read.
    first: Option<u32>,
}

impl Stream {
    pub(super) fn begin(input: Input) -> Result<Self> {
        let mut messages = Self { input, first: None };
        let mark = messages.word()?.ok_or_else(ends_early)?.to_le_bytes();
        if &mark == OLD_FEATHER_MARK {
            let what = "this is Feather version 1; write it again with a newer pandas or pyarrow";
            return Err(Error::unsupported(what));
        }
        if !FILE_MARK.starts_with(&mark) {
            messages.first = Some(u32::from_le_bytes(mark));
            return Ok(messages);
        }
        if !FILE_MARK.ends_with(&messages.take(4)?) {
            return Err(Error::corrupt("this is not an Arrow file: it does not begin with ARROW1"));
        }
        // Some writers append zeros for alignment.
        for _ in 0..MAX_PADDING_WORDS {
            messages.first = messages.word()?;
            if messages.first != Some(0) {
                break;
            }
        }
        Ok(messages)
    }

    /// The next message; `None` after the last one.
    pub(super) fn next(&mut self) -> Result<Option<BatchBlock>> {
        let word = match self.first.take() {
            Some(word) => Some(word),
            None => self.word()?,
        };
        // A length of zero, or the end of the file, ends a stream. Before 2019, lengths had no marker.
        let length = match word {
            Some(CONTINUES) => self.word()?,
            other => other,
        };
        let Some(length) = length.filter(|length| *length > 0) else {
            // Read on: the checksum of a compressed file follows the last message.
            io::copy(&mut self.input, &mut io::sink())?;
            return Ok(None);
        };
        if u64::from(length) > MAX_METADATA_BYTES {
            return Err(Error::limit(format!("an Arrow message claims {length} bytes of metadata")));
        }
        let metadata = self.take(length.into())?;
        let block = BatchBlock { metadata, body: Buffer::from_vec(Vec::<u8>::new()) };
        let body = u64::try_from(block.header()?.bodyLength())
            .map_err(|_| Error::corrupt("an Arrow message has a negative length"))?;
        Ok(Some(BatchBlock { body: Buffer::from_vec(self.take(body)?), ..block }))
    }

    /// Counts the bytes that are read.
    pub(super) fn counter(&self) -> Arc<AtomicU64> {
        self.input.counter()
    }

    /// The next word; `None` at the end of the input.
    fn word(&mut self) -> Result<Option<u32>> {
        let bytes = self.up_to(4)?;
        match <[u8; 4]>::try_from(bytes.as_slice()) {
            Ok(word) => Ok(Some(u32::from_le_bytes(word))),
            Err(_) if bytes.is_empty() => Ok(None),
            Err(_) => Err(ends_early()),
        }
    }

    fn take(&mut self, length: u64) -> Result<Vec<u8>> {
        let bytes = self.up_to(length)?;
        if to_u64(bytes.len()) < length { Err(ends_early()) } else { Ok(bytes) }
    }

    /// Reads at most `length` bytes; memory grows only as bytes arrive.
    fn up_to(&mut self, length: u64) -> Result<Vec<u8>> {
        let first = to_usize(length.min(FIRST_RESERVATION_BYTES), "an Arrow message")?;
        let mut bytes = Vec::with_capacity(first);
        (&mut self.input).take(length).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}
