//! Snappy: the framed stream, and the raw block that MDS samples use.

use super::members::{io_error, truncated};
use super::{reserve, too_long};
use crate::checked_math::{to_u64, to_usize};
use crate::error::{Error, Result};
use snap::raw::{Decoder, decompress_len};
use std::io::{self, BufRead, ErrorKind, Read};

/// An element of a raw block yields at most 64 bytes, so a larger claim is false.
const MAX_RATIO: u64 = 64;

/// Decodes one raw block (no frames) of at most `max` bytes.
///
/// # Errors
/// `Limit` when the block holds more than `max`, `Truncated` and `Corrupt` for bad data.
pub fn decode_snappy_raw(input: &[u8], max: u64) -> Result<Vec<u8>> {
    let length = decompress_len(input).map_err(|error| raw_error(&error))?;
    if input.is_empty() {
        return Err(truncated("snappy"));
    }
    if to_u64(length) > max {
        return Err(too_long(max));
    }
    if to_u64(length) > to_u64(input.len()).saturating_mul(MAX_RATIO) {
        return Err(Error::corrupt(format!(
            "{} bytes of snappy data cannot hold {length} bytes",
            input.len()
        )));
    }
    let mut out = Vec::new();
    reserve(&mut out, length)?;
    out.resize(length, 0);
    let written = Decoder::new().decompress(input, &mut out).map_err(|error| raw_error(&error))?;
    out.truncate(to_usize(to_u64(written), "a snappy block")?);
    Ok(out)
}

fn raw_error(error: &snap::Error) -> Error {
    match error {
        snap::Error::Empty => truncated("snappy"),
        snap::Error::Literal { len, src_len, .. } | snap::Error::CopyRead { len, src_len }
            if len > src_len =>
        {
            truncated("snappy")
        }
        other => Error::corrupt(format!("bad snappy data: {other}")),
    }
}

/// Reads the framed stream. The format has no end mark: a cut between two chunks cannot be detected.
pub(super) struct SnappyReader<R: Read> {
    frames: snap::read::FrameDecoder<R>,
    started: bool,
    failed: bool,
}

impl<R: BufRead> SnappyReader<R> {
    pub fn new(source: R) -> Self {
        Self { frames: snap::read::FrameDecoder::new(source), started: false, failed: false }
    }

    fn advance(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if !self.started {
            if self.frames.get_mut().fill_buf()?.is_empty() {
                return Err(io_error(truncated("snappy")));
            }
            self.started = true;
        }
        self.frames.read(buf).map_err(typed)
    }
}

impl<R: BufRead> Read for SnappyReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        if self.failed {
            return Err(io_error(Error::corrupt("the snappy data is bad, as an earlier read found")));
        }
        let result = self.advance(buf);
        self.failed = result.is_err();
        result
    }
}

fn typed(error: io::Error) -> io::Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<snap::Error>()) {
        Some(inner) => io_error(Error::corrupt(format!("bad snappy data: {inner}"))),
        None if error.kind() == ErrorKind::UnexpectedEof && error.raw_os_error().is_none() => {
            io_error(truncated("snappy"))
        }
        None => error,
    }
}
