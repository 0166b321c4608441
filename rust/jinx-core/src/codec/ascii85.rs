//! Ascii85, the default text encoding of JINX 1.0.

use super::{reserve, too_long};
use crate::checked_math::to_u64;
use crate::error::{Error, Result};

/// The number of groups that are decoded at once into a small buffer before they are appended.
const RUN_GROUPS: usize = 64;

pub(super) fn decode(text: &[u8], max: u64) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    // A little more than the usual length; only `z` and `y` groups can need more.
    reserve(
        &mut out,
        text.len().div_ceil(5).saturating_mul(4).min(usize::try_from(max).unwrap_or(usize::MAX)),
    )?;
    let mut group = [0u8; 5];
    let mut filled = 0;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        if filled == 0 {
            let taken = decode_run(&text[at..], &mut out, max)?;
            if taken > 0 {
                at += taken;
                continue;
            }
        }
        match byte {
            b'!'..=b'u' => {
                group[filled] = byte - b'!';
                filled += 1;
                if filled == 5 {
                    filled = 0;
                    let word = word(&group).ok_or_else(|| overflow(at))?;
                    append(&mut out, &word, max)?;
                }
            }
            b'z' | b'y' if filled > 0 => {
                return Err(
                    Error::corrupt(format!("'{}' inside an Ascii85 group", byte as char)).at_byte(to_u64(at))
                );
            }
            b'z' => append(&mut out, &[0; 4], max)?,
            b'y' => append(&mut out, b"    ", max)?,
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b => {}
            _ => return Err(Error::corrupt("not an Ascii85 character").at_byte(to_u64(at))),
        }
        at += 1;
    }
    if filled > 0 {
        group[filled..].fill(84);
        let word = word(&group).ok_or_else(|| overflow(at))?;
        append(&mut out, &word[..filled - 1], max)?;
    }
    Ok(out)
}

/// Decodes whole groups of plain digits at the start of `text`; returns how many characters they took.
fn decode_run(text: &[u8], out: &mut Vec<u8>, max: u64) -> Result<usize> {
    let mut buffer = [0u8; RUN_GROUPS * 4];
    let mut groups = 0;
    for (digits, bytes) in text.chunks_exact(5).zip(buffer.chunks_exact_mut(4)) {
        let mut group = [0u8; 5];
        let mut bad = false;
        for (digit, &byte) in group.iter_mut().zip(digits) {
            *digit = byte.wrapping_sub(b'!');
            bad |= *digit > 84;
        }
        if bad {
            break;
        }
        // The caller's slow path handles an overflow, because it knows the position.
        let Some(word) = word(&group) else { break };
        bytes.copy_from_slice(&word);
        groups += 1;
    }
    append(out, &buffer[..groups * 4], max)?;
    Ok(groups * 5)
}

fn word(group: &[u8; 5]) -> Option<[u8; 4]> {
    // The first four digits stay below 85^4 < 2^26, so only the last step can exceed 32 bits.
    let head = group[..4].iter().fold(0u32, |value, &digit| value * 85 + u32::from(digit));
    let value = u64::from(head) * 85 + u64::from(group[4]);
    u32::try_from(value).ok().map(u32::to_be_bytes)
}

fn append(out: &mut Vec<u8>, bytes: &[u8], max: u64) -> Result<()> {
    if to_u64(out.len()).saturating_add(to_u64(bytes.len())) > max {
        return Err(too_long(max));
    }
    if out.capacity() - out.len() < bytes.len() {
        let step = out.len().clamp(bytes.len().max(64), 16 << 20);
        reserve(out, step)?;
    }
    out.extend_from_slice(bytes);
    Ok(())
}

fn overflow(at: usize) -> Error {
    Error::corrupt("an Ascii85 group stands for more than 32 bits").at_byte(to_u64(at))
}
