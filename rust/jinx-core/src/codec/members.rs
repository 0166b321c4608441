//! The loop of all block decoders: decodes one member after another. An early end or other bytes at the end are errors.

use crate::error::{Cause, Error, Result};
use std::io::{self, BufRead, ErrorKind, Read};

/// The result of one call of a decoder.
pub(super) struct StepResult {
    pub read: usize,
    pub written: usize,
    /// Whether the member is complete, and all its output was delivered.
    pub ended: bool,
}

/// A decoder that turns slices into slices.
pub(super) trait Step {
    /// The codec's name in messages.
    const NAME: &'static str;
    /// Whether a file may contain several members.
    const MULTI: bool = true;
    /// Whether zero bytes may follow a member.
    const ZERO_PADDED: bool = false;

    /// Whether a member can start with `prefix`, which has at least one byte but maybe fewer than the magic number.
    fn starts(&self, prefix: &[u8]) -> bool;
    /// Prepares for the next member.
    fn restart(&mut self) -> Result<()>;
    /// One step; `last` means that no more input follows, and `input` may then be empty.
    fn step(&mut self, input: &[u8], output: &mut [u8], last: bool) -> Result<StepResult>;
}

/// The number of calls without progress after which a decoder counts as stuck; working decoders need one or two.
const MAX_IDLE_STEPS: u32 = 16;

/// Reads the decoded bytes of all members in `source`.
pub(super) struct Members<S, R> {
    step: S,
    source: R,
    between: bool,
    members: u64,
    failed: bool,
}

impl<S: Step, R: BufRead> Members<S, R> {
    pub fn new(step: S, source: R) -> Self {
        Self { step, source, between: true, members: 0, failed: false }
    }

    /// Returns the decoder for reuse.
    pub fn into_step(self) -> S {
        self.step
    }

    /// Moves to the next member; false at the end of the source.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            let input = self.source.fill_buf()?;
            if input.is_empty() {
                return match self.members {
                    0 => Err(io_error(truncated(S::NAME))),
                    _ => Ok(false),
                };
            }
            let zeros = input.iter().take_while(|&&byte| byte == 0).count();
            if S::ZERO_PADDED && self.members > 0 && zeros > 0 {
                self.source.consume(zeros);
                continue;
            }
            if self.members > 0 && !(S::MULTI && self.step.starts(input)) {
                return Err(io_error(Error::corrupt(format!(
                    "other bytes follow the end of the {} data",
                    S::NAME
                ))));
            }
            if !self.step.starts(input) {
                return Err(io_error(Error::corrupt(format!("not {} data", S::NAME))));
            }
            if self.members > 0 {
                self.step.restart().map_err(io_error)?;
            }
            self.between = false;
            return Ok(true);
        }
    }

    fn advance(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let mut idle = 0;
        loop {
            if self.between && !self.begin()? {
                return Ok(0);
            }
            let input = self.source.fill_buf()?;
            let last = input.is_empty();
            let progress = self.step.step(input, buf, last).map_err(io_error)?;
            self.source.consume(progress.read);
            if progress.ended {
                self.between = true;
                self.members += 1;
            }
            if progress.written > 0 {
                return Ok(progress.written);
            }
            if progress.ended || progress.read > 0 {
                idle = 0;
                continue;
            }
            if last {
                return Err(io_error(truncated(S::NAME)));
            }
            idle += 1;
            if idle > MAX_IDLE_STEPS {
                return Err(io_error(Error::corrupt(format!(
                    "the {} data cannot be decoded further",
                    S::NAME
                ))));
            }
        }
    }
}

impl<S: Step, R: BufRead> Read for Members<S, R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        if self.failed {
            return Err(io_error(Error::corrupt(format!(
                "the {} data is bad, as an earlier read found",
                S::NAME
            ))));
        }
        let result = self.advance(buf);
        if let Err(error) = &result {
            self.failed = error.kind() != ErrorKind::Interrupted;
        }
        result
    }
}

pub(super) fn truncated(name: &str) -> Error {
    Error::truncated(format!("the {name} data ends early"))
}

/// Carries a typed error through [`Read`]; `From<io::Error>` extracts it.
pub(super) fn io_error(error: Error) -> io::Error {
    let kind = match error.cause() {
        Cause::Truncated => ErrorKind::UnexpectedEof,
        Cause::Limit => ErrorKind::OutOfMemory,
        Cause::Unsupported => ErrorKind::Unsupported,
        _ => ErrorKind::InvalidData,
    };
    io::Error::new(kind, error)
}

/// Whether `prefix` begins with `magic`, or `magic` with `prefix`.
pub(super) fn agrees(prefix: &[u8], magic: &[u8]) -> bool {
    prefix.iter().zip(magic).all(|(a, b)| a == b)
}
