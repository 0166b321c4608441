//! gzip members, with their checksums.

use super::members::{Step, StepResult, agrees};
use crate::checked_math::to_usize;
use crate::error::{Error, Result};
use flate2::{Decompress, FlushDecompress, Status};

const WINDOW_BITS: u8 = 15;

pub(super) struct GzipStep(Decompress);

impl GzipStep {
    pub fn new() -> Self {
        Self(Decompress::new_gzip(WINDOW_BITS))
    }
}

impl Step for GzipStep {
    const NAME: &'static str = "gzip";
    const ZERO_PADDED: bool = true;

    fn starts(&self, prefix: &[u8]) -> bool {
        agrees(prefix, b"\x1f\x8b")
    }

    fn restart(&mut self) -> Result<()> {
        *self = Self::new();
        Ok(())
    }

    fn step(&mut self, input: &[u8], output: &mut [u8], _last: bool) -> Result<StepResult> {
        let before = (self.0.total_in(), self.0.total_out());
        let status = self
            .0
            .decompress(input, output, FlushDecompress::None)
            .map_err(|error| Error::corrupt(format!("bad gzip data: {error}")))?;
        Ok(StepResult {
            read: to_usize(self.0.total_in() - before.0, "a gzip step")?,
            written: to_usize(self.0.total_out() - before.1, "a gzip step")?,
            ended: status == Status::StreamEnd,
        })
    }
}
