//! bzip2 streams.

use super::members::{Step, StepResult, agrees};
use crate::checked_math::to_usize;
use crate::error::{Error, Result};
use bzip2::{Decompress, Status};

pub(super) struct Bzip2Step(Decompress);

impl Bzip2Step {
    pub fn new() -> Self {
        Self(Decompress::new(false))
    }
}

impl Step for Bzip2Step {
    const NAME: &'static str = "bzip2";

    fn starts(&self, prefix: &[u8]) -> bool {
        agrees(prefix, b"BZh")
    }

    fn restart(&mut self) -> Result<()> {
        *self = Self::new();
        Ok(())
    }

    fn step(&mut self, input: &[u8], output: &mut [u8], _last: bool) -> Result<StepResult> {
        let before = (self.0.total_in(), self.0.total_out());
        let status = self
            .0
            .decompress(input, output)
            .map_err(|error| Error::corrupt(format!("bad bzip2 data: {error}")))?;
        if status == Status::MemNeeded {
            return Err(Error::limit("no memory for a bzip2 decoder"));
        }
        Ok(StepResult {
            read: to_usize(self.0.total_in() - before.0, "a bzip2 step")?,
            written: to_usize(self.0.total_out() - before.1, "a bzip2 step")?,
            ended: status == Status::StreamEnd,
        })
    }
}
