//! Brotli streams, which have neither a magic number nor members.

use super::members::{Step, StepResult};
use crate::error::{Error, Result};
use brotli::enc::StandardAlloc;
use brotli::{BrotliDecompressStream, BrotliResult, BrotliState};

type State = BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>;

pub(super) struct BrotliStep(Box<State>);

impl BrotliStep {
    pub fn new() -> Self {
        // Strict mode: windows of at most 16 MiB, as in RFC 7932.
        let alloc = StandardAlloc::default;
        Self(Box::new(State::new_strict(alloc(), alloc(), alloc())))
    }
}

impl Step for BrotliStep {
    const NAME: &'static str = "brotli";
    const MULTI: bool = false;

    fn starts(&self, _prefix: &[u8]) -> bool {
        true
    }

    fn restart(&mut self) -> Result<()> {
        *self = Self::new();
        Ok(())
    }

    fn step(&mut self, input: &[u8], output: &mut [u8], _last: bool) -> Result<StepResult> {
        let (mut input_left, mut output_left) = (input.len(), output.len());
        let (mut read, mut written, mut total) = (0, 0, 0);
        let result = BrotliDecompressStream(
            &mut input_left,
            &mut read,
            input,
            &mut output_left,
            &mut written,
            output,
            &mut total,
            &mut self.0,
        );
        match result {
            BrotliResult::ResultFailure => Err(Error::corrupt("bad brotli data")),
            other => Ok(StepResult { read, written, ended: matches!(other, BrotliResult::ResultSuccess) }),
        }
    }
}
