//! Reads a decoder into memory, without trusting the lengths that headers claim.

use super::{reserve, too_long};
use crate::checked_math::{to_u64, to_usize};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::limits::FIRST_RESERVATION_BYTES;
use std::io::{ErrorKind, Read};

/// The smallest reservation, if the limits allow it.
const MIN_STEP_BYTES: u64 = 4096;
/// The number of bytes decoded between two checks for an interrupt: about 20 ms for the slowest codec.
const PIECE_BYTES: usize = 1 << 20;

/// How much to reserve before the first byte arrives: `hint`, but no more than the input makes likely.
pub(super) fn first_reservation(hint: Option<u64>, input_len: usize, max: u64) -> u64 {
    let input_len = to_u64(input_len);
    let hint = hint.unwrap_or_else(|| input_len.saturating_mul(4).max(MIN_STEP_BYTES));
    hint.min(input_len.saturating_mul(64).max(MIN_STEP_BYTES)).min(FIRST_RESERVATION_BYTES).min(max)
}

/// Reads `reader` to its end, but at most `max` bytes.
pub(super) fn read_all(
    mut reader: impl Read,
    hint: Option<u64>,
    input_len: usize,
    max: u64,
) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut step = to_usize(first_reservation(hint, input_len, max), "a reservation")?;
    loop {
        reserve(&mut out, step)?;
        let start = out.len();
        out.resize(start.saturating_add(step), 0);
        let got = fill(&mut reader, &mut out[start..])?;
        if got < step {
            out.truncate(start + got);
            return Ok(out);
        }
        // The buffer is full. Before growing it, read a little more: the first guess is often exact.
        let mut probe = [0; 64];
        let got = fill(&mut reader, &mut probe)?;
        if to_u64(out.len()).saturating_add(to_u64(got)) > max {
            return Err(too_long(max));
        }
        if got < probe.len() {
            reserve(&mut out, got)?;
            out.extend_from_slice(&probe[..got]);
            return Ok(out);
        }
        let room = max - to_u64(out.len());
        let wanted = to_u64(out.len()).max(MIN_STEP_BYTES).max(to_u64(got)).min(room);
        step = to_usize(wanted, "a reservation")?;
        reserve(&mut out, step)?;
        out.extend_from_slice(&probe[..got]);
        step -= got;
    }
}

/// Fills `out` from `reader`, which must have exactly as many bytes.
pub(super) fn read_exactly(mut reader: impl Read, out: &mut [u8]) -> Result<()> {
    let got = fill(&mut reader, out)?;
    if got < out.len() {
        return Err(Error::corrupt(format!("decodes to {got} bytes, not {}", out.len())));
    }
    match fill(&mut reader, &mut [0; 1])? {
        0 => Ok(()),
        _ => Err(Error::corrupt(format!("decodes to more than the expected {} bytes", out.len()))),
    }
}

/// Reads until `out` is full or `reader` ends; returns the number of bytes.
fn fill(reader: &mut impl Read, out: &mut [u8]) -> Result<usize> {
    let mut got = 0;
    let mut asked = 0;
    while got < out.len() {
        if got - asked >= PIECE_BYTES {
            asked = got;
            interrupt::check()?;
        }
        let end = out.len().min(got + PIECE_BYTES);
        match reader.read(&mut out[got..end]) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(got)
}
