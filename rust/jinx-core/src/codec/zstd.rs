//! zstd, the codec that JINX writes; each thread keeps its contexts.

use super::bounded::{first_reservation, read_all, read_exactly};
use super::members::{Members, Step, StepResult};
use super::{reserve, too_long, zstd_frame};
use crate::checked_math::{to_u64, to_usize};
use crate::error::{Error, Result};
use crate::io::UninitSlice;
use crate::limits::MAX_ZSTD_WINDOW_LOG;
use std::cell::RefCell;
use zstd::zstd_safe::zstd_sys::ZSTD_ErrorCode;
use zstd::zstd_safe::{
    CCtx, CParameter, DCtx, DParameter, InBuffer, OutBuffer, ResetDirective, compress_bound, get_error_name,
    max_c_level, min_c_level,
};

/// A context that has grown past this size (for a large window) is not kept for the thread's next value.
const MAX_KEPT_CONTEXT_BYTES: usize = 8 << 20;
/// Longer values are decoded piece by piece, so that decoding can be interrupted.
const MAX_AT_ONCE_BYTES: usize = 64 << 20;

thread_local! {
    static CONTEXT: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
}

fn new_context() -> Result<DCtx<'static>> {
    let mut context = DCtx::try_create().ok_or_else(|| Error::limit("no memory for a zstd decoder"))?;
    context.set_parameter(DParameter::WindowLogMax(MAX_ZSTD_WINDOW_LOG)).map_err(decode_error)?;
    Ok(context)
}

fn take_context() -> Result<DCtx<'static>> {
    // Take the context, and put it back only after success: no state may survive a bad frame.
    match CONTEXT.with(RefCell::take) {
        Some(context) => Ok(context),
        None => new_context(),
    }
}

fn keep_context(context: DCtx<'static>) {
    if context.sizeof() <= MAX_KEPT_CONTEXT_BYTES {
        CONTEXT.set(Some(context));
    }
}

pub(super) fn decode(input: &[u8], max: u64) -> Result<Vec<u8>> {
    let declared = zstd_frame::declared_len(input);
    if declared.is_some_and(|length| length > max) {
        return Err(too_long(max));
    }
    match declared {
        Some(length) if length == first_reservation(declared, input.len(), max) => {
            let mut context = take_context()?;
            let mut out = Vec::new();
            reserve(&mut out, to_usize(length, "a zstd frame")?)?;
            context.decompress(&mut out, input).map_err(decode_error)?;
            keep_context(context);
            if to_u64(out.len()) != length {
                return Err(Error::corrupt("the zstd frame does not match its header"));
            }
            Ok(out)
        }
        _ => {
            let mut members = Members::new(ZstdStep::reusing(take_context()?)?, input);
            let out = read_all(&mut members, declared, input.len(), max)?;
            keep_context(members.into_step().context);
            Ok(out)
        }
    }
}

pub(super) fn decode_into<'o>(input: &[u8], mut out: UninitSlice<'o>) -> Result<&'o mut [u8]> {
    if !input.is_empty() && out.len() <= MAX_AT_ONCE_BYTES {
        let mut context = take_context()?;
        if context.decompress(&mut out, input) == Ok(out.len()) {
            keep_context(context);
            return out.written().ok_or_else(|| Error::corrupt("the zstd frame does not match its header"));
        }
    }
    // The slower decoder reports the exact error, and can be interrupted.
    let out = out.cleared();
    read_exactly(Members::new(ZstdStep::new()?, input), out)?;
    Ok(out)
}

/// A streaming decoder; its window is limited by [`MAX_ZSTD_WINDOW_LOG`].
pub(super) struct ZstdStep {
    context: DCtx<'static>,
}

impl ZstdStep {
    pub fn new() -> Result<Self> {
        Ok(Self { context: new_context()? })
    }

    fn reusing(mut context: DCtx<'static>) -> Result<Self> {
        context.reset(ResetDirective::SessionOnly).map_err(decode_error)?;
        Ok(Self { context })
    }
}

impl Step for ZstdStep {
    const NAME: &'static str = "zstd";

    fn starts(&self, prefix: &[u8]) -> bool {
        zstd_frame::starts(prefix)
    }

    fn restart(&mut self) -> Result<()> {
        // After a complete frame, the context is ready for the next one.
        Ok(())
    }

    fn step(&mut self, input: &[u8], output: &mut [u8], _last: bool) -> Result<StepResult> {
        let mut from = InBuffer::around(input);
        let mut to = OutBuffer::around(output);
        let hint = self.context.decompress_stream(&mut to, &mut from).map_err(decode_error)?;
        Ok(StepResult { read: from.pos(), written: to.pos(), ended: hint == 0 })
    }
}

fn decode_error(code: usize) -> Error {
    let is = |known: ZSTD_ErrorCode| code.wrapping_neg() == known as usize;
    if is(ZSTD_ErrorCode::ZSTD_error_srcSize_wrong) {
        super::members::truncated("zstd")
    } else if is(ZSTD_ErrorCode::ZSTD_error_frameParameter_windowTooLarge) {
        Error::limit(format!("the zstd window is larger than 2^{MAX_ZSTD_WINDOW_LOG} bytes"))
    } else if is(ZSTD_ErrorCode::ZSTD_error_memory_allocation) {
        Error::limit("no memory for a zstd decoder")
    } else if is(ZSTD_ErrorCode::ZSTD_error_dictionary_wrong) {
        Error::unsupported("the zstd frame needs a dictionary")
    } else {
        Error::corrupt(format!("bad zstd data: {}", get_error_name(code)))
    }
}

/// An encoder that is reused. Frames carry their content size and no checksum; equal input gives equal bytes.
pub struct Compressor {
    context: CCtx<'static>,
}

impl Compressor {
    /// An encoder of zstd frames.
    ///
    /// # Errors
    /// `Invalid` for a level zstd does not have, `Limit` if there is not enough memory.
    pub fn zstd(level: i32) -> Result<Self> {
        check_level(level)?;
        let mut context = CCtx::try_create().ok_or_else(|| Error::limit("no memory for a zstd encoder"))?;
        for parameter in [
            CParameter::CompressionLevel(level),
            CParameter::ContentSizeFlag(true),
            CParameter::ChecksumFlag(false),
        ] {
            context.set_parameter(parameter).map_err(encode_error)?;
        }
        Ok(Self { context })
    }

    /// Compresses all of `input` into one frame.
    ///
    /// # Errors
    /// `Limit` if there is not enough memory.
    pub fn compress(&mut self, input: &[u8]) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.compress_into(input, &mut out)?;
        Ok(out)
    }

    /// Like [`Self::compress`], but replaces the content of `out` and keeps its memory.
    ///
    /// # Errors
    /// `Limit` if there is not enough memory.
    pub fn compress_into(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        reserve(out, compress_bound(input.len()))?;
        self.context.compress2(out, input).map_err(encode_error)?;
        Ok(())
    }
}

pub(super) fn check_level(level: i32) -> Result<()> {
    let (low, high) = (min_c_level(), max_c_level());
    if (low..=high).contains(&level) {
        return Ok(());
    }
    Err(Error::invalid(format!("zstd has no level {level}; use {low} to {high}")))
}

fn encode_error(code: usize) -> Error {
    Error::limit(format!("zstd cannot compress: {}", get_error_name(code)))
}
