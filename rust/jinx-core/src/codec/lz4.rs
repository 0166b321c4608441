//! LZ4 frames. The frame decoder ends silently at a cut between blocks and at an empty block, so this module follows
//! the layout of the bytes that the decoder reads.

use super::members::{agrees, io_error, truncated};
use crate::error::Error;
use lz4_flex::frame::{Error as Lz4Error, FrameDecoder};
use std::io::{self, BufRead, ErrorKind, Read};

const MAGIC: u32 = 0x184D_2204;
const SKIPPABLE: u32 = 0x184D_2A50;

/// The content size of a single frame that covers all of `input`, if its blocks can contain as much.
pub(super) fn declared_len(input: &[u8]) -> Option<u64> {
    if u32::from_le_bytes(*input.first_chunk()?) != MAGIC {
        return None;
    }
    let flags = *input.get(4)?;
    let (has_content_size, has_dictionary) = (flags & 0x08 != 0, flags & 0x01 != 0);
    if !has_content_size || has_dictionary {
        return None;
    }
    let content = u64::from_le_bytes(*input.get(6..)?.first_chunk()?);
    let mut layout = FrameLayout::new();
    let behind = layout.follow(input);
    (layout.has_ended() && behind.is_empty() && content <= layout.bound).then_some(content)
}

/// The part of a frame to which the next bytes belong.
enum Part {
    /// The magic number, the flags and the block size.
    Start,
    RestOfHeader,
    BlockLength,
    Block,
    ContentChecksum,
    Ended,
}

/// The layout of one frame, tracked through its bytes from the first on.
struct FrameLayout {
    part: Part,
    /// The number of bytes that are missing from the part.
    left: usize,
    /// The last four bytes.
    word: [u8; 4],
    flags: u8,
    max_block: u64,
    /// The maximum number of decoded bytes in the blocks so far.
    bound: u64,
}

impl FrameLayout {
    fn new() -> Self {
        Self { part: Part::Start, left: 6, word: [0; 4], flags: 0, max_block: 0, bound: 0 }
    }

    fn has_ended(&self) -> bool {
        matches!(self.part, Part::Ended)
    }

    /// Processes the next bytes; returns those after the end of the frame.
    fn follow<'b>(&mut self, mut bytes: &'b [u8]) -> &'b [u8] {
        while !self.has_ended() && !bytes.is_empty() {
            let (taken, rest) = bytes.split_at(self.left.min(bytes.len()));
            for byte in &taken[taken.len().saturating_sub(4)..] {
                self.word.rotate_left(1);
                self.word[3] = *byte;
            }
            self.left -= taken.len();
            while self.left == 0 && !self.has_ended() {
                self.next_part();
            }
            bytes = rest;
        }
        bytes
    }

    fn next_part(&mut self) {
        let checksum = |flag| if self.flags & flag != 0 { 4 } else { 0 };
        (self.part, self.left) = match self.part {
            Part::Start => {
                let [.., flags, sizes] = self.word;
                self.flags = flags;
                self.max_block = 1 << (8 + 2 * u32::from((sizes >> 4) & 7));
                (Part::RestOfHeader, if flags & 0x08 != 0 { 9 } else { 1 })
            }
            Part::RestOfHeader | Part::Block => (Part::BlockLength, 4),
            Part::BlockLength => match u32::from_le_bytes(self.word) {
                0 => (Part::ContentChecksum, checksum(0x04)),
                header => {
                    let stored = header & 0x7FFF_FFFF;
                    let holds = if header >> 31 == 1 { u64::from(stored) } else { self.max_block };
                    self.bound = self.bound.saturating_add(holds);
                    // A block has at most 4 MiB; the decoder reads no longer blocks.
                    (Part::Block, stored as usize + checksum(0x10))
                }
            },
            Part::ContentChecksum | Part::Ended => (Part::Ended, 0),
        };
    }
}

/// A source that is tracked through one frame, and whether it has ended.
struct Watched<R> {
    source: R,
    dry: bool,
    layout: FrameLayout,
}

impl<R> Watched<R> {
    fn new(source: R) -> Self {
        Self { source, dry: false, layout: FrameLayout::new() }
    }
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let got = self.source.read(buf)?;
        self.dry = got == 0 && !buf.is_empty();
        self.layout.follow(&buf[..got]);
        Ok(got)
    }
}

enum FrameState<R: Read> {
    Between(R),
    Inside(Box<FrameDecoder<Watched<R>>>),
    Ended,
    Failed,
}

/// Reads the decoded bytes of all frames in the source.
pub(super) struct Lz4Reader<R: Read> {
    state: FrameState<R>,
    frames: u64,
}

impl<R: BufRead> Lz4Reader<R> {
    pub fn new(source: R) -> Self {
        Self { state: FrameState::Between(source), frames: 0 }
    }

    /// Opens the next data frame; skippable frames are skipped.
    fn open(&self, mut source: R) -> io::Result<FrameState<R>> {
        loop {
            let prefix = source.fill_buf()?;
            if prefix.is_empty() {
                return if self.frames == 0 {
                    Err(io_error(truncated("lz4")))
                } else {
                    Ok(FrameState::Ended)
                };
            }
            if agrees(prefix, &MAGIC.to_le_bytes()) {
                return Ok(FrameState::Inside(Box::new(FrameDecoder::new(Watched::new(source)))));
            }
            if !((0x50..=0x5F).contains(&prefix[0]) && agrees(&prefix[1..], &SKIPPABLE.to_le_bytes()[1..])) {
                let what = if self.frames == 0 {
                    "not an lz4 frame"
                } else {
                    "other bytes follow the end of the lz4 data"
                };
                return Err(io_error(Error::corrupt(what)));
            }
            let mut header = [0; 8];
            source.read_exact(&mut header).map_err(typed)?;
            let [.., a, b, c, d] = header;
            let size = u64::from(u32::from_le_bytes([a, b, c, d]));
            let skipped = io::copy(&mut (&mut source).take(size), &mut io::sink())?;
            if skipped < size {
                return Err(io_error(truncated("lz4")));
            }
        }
    }
}

impl<R: BufRead> Read for Lz4Reader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        loop {
            // Put the reader back only after success, so that every read after an error fails.
            match std::mem::replace(&mut self.state, FrameState::Failed) {
                FrameState::Between(source) => self.state = self.open(source)?,
                FrameState::Ended => {
                    self.state = FrameState::Ended;
                    return Ok(0);
                }
                FrameState::Failed => {
                    return Err(io_error(Error::corrupt("the lz4 data is bad, as an earlier read found")));
                }
                FrameState::Inside(mut frame) => match frame.read(buf).map_err(typed)? {
                    0 if frame.get_ref().layout.has_ended() => {
                        self.frames += 1;
                        self.state = FrameState::Between(frame.into_inner().source);
                    }
                    0 if frame.get_ref().dry => return Err(io_error(truncated("lz4"))),
                    0 => self.state = FrameState::Inside(frame),
                    got => {
                        self.state = FrameState::Inside(frame);
                        return Ok(got);
                    }
                },
            }
        }
    }
}

/// Classifies the decoder's errors; errors of the source stay unchanged.
fn typed(error: io::Error) -> io::Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Lz4Error>()) {
        Some(Lz4Error::DictionaryNotSupported) => {
            io_error(Error::unsupported("the lz4 frame needs a dictionary"))
        }
        Some(inner) => io_error(Error::corrupt(format!("bad lz4 data: {inner}"))),
        None if error.kind() == ErrorKind::UnexpectedEof && error.raw_os_error().is_none() => {
            io_error(truncated("lz4"))
        }
        None => error,
    }
}
