//! The `.xz` container and, for the name `lzma`, the older `.lzma` container.

use super::members::{Step, StepResult, agrees};
use crate::checked_math::to_usize;
use crate::error::{Error, Result};
use crate::limits::MAX_LZMA_MEMORY_BYTES;
use liblzma::stream::{Action, Error as LzmaError, Status, Stream};

const MAGIC: &[u8] = b"\xfd7zXZ\0";

pub(super) struct XzStep {
    stream: Stream,
    /// Whether the first member may be a `.lzma` file, which has no magic number.
    legacy: bool,
}

impl XzStep {
    pub fn xz() -> Result<Self> {
        let stream = Stream::new_stream_decoder(MAX_LZMA_MEMORY_BYTES, 0).map_err(error)?;
        Ok(Self { stream, legacy: false })
    }

    pub fn lzma() -> Result<Self> {
        let stream = Stream::new_auto_decoder(MAX_LZMA_MEMORY_BYTES, 0).map_err(error)?;
        Ok(Self { stream, legacy: true })
    }
}

impl Step for XzStep {
    const NAME: &'static str = "xz";
    const ZERO_PADDED: bool = true;

    fn starts(&self, prefix: &[u8]) -> bool {
        let untouched = self.stream.total_in() == 0;
        (self.legacy && untouched) || agrees(prefix, MAGIC)
    }

    fn restart(&mut self) -> Result<()> {
        *self = Self::xz()?;
        Ok(())
    }

    fn step(&mut self, input: &[u8], output: &mut [u8], last: bool) -> Result<StepResult> {
        let before = (self.stream.total_in(), self.stream.total_out());
        let action = if last { Action::Finish } else { Action::Run };
        let status = self.stream.process(input, output, action).map_err(error)?;
        Ok(StepResult {
            read: to_usize(self.stream.total_in() - before.0, "an xz step")?,
            written: to_usize(self.stream.total_out() - before.1, "an xz step")?,
            ended: status == Status::StreamEnd,
        })
    }
}

fn error(error: LzmaError) -> Error {
    match error {
        LzmaError::MemLimit => {
            Error::limit(format!("the xz data needs more than {MAX_LZMA_MEMORY_BYTES} bytes of memory"))
        }
        LzmaError::Mem => Error::limit("no memory for an xz decoder"),
        LzmaError::Options | LzmaError::UnsupportedCheck => {
            Error::unsupported(format!("unknown xz features: {error}"))
        }
        _ => Error::corrupt(format!("bad xz data: {error}")),
    }
}
