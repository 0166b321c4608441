//! Hexadecimal text as `bytes.fromhex` accepts it: either case, with white space between bytes.

use super::{reserve, too_long};
use crate::checked_math::to_u64;
use crate::error::{Error, Result};

const BAD: u8 = 0xFF;

const VALUES: [u8; 256] = {
    let mut table = [BAD; 256];
    let mut value = 0u8;
    while value < 16 {
        table[b"0123456789abcdef"[value as usize] as usize] = value;
        table[b"0123456789ABCDEF"[value as usize] as usize] = value;
        value += 1;
    }
    table
};

pub(super) fn decode(text: &[u8], max: u64) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let bound = text.len() / 2;
    let cap = usize::try_from(max).unwrap_or(usize::MAX);
    reserve(&mut out, bound.min(cap))?;
    let mut at = 0;
    while let Some(&first) = text.get(at) {
        if matches!(first, b' ' | b'\t'..=b'\r') {
            at += 1;
            continue;
        }
        let second = text.get(at + 1).copied().unwrap_or(b' ');
        let (high, low) = (VALUES[usize::from(first)], VALUES[usize::from(second)]);
        if high == BAD || low == BAD {
            let bad = at + usize::from(high != BAD);
            return Err(Error::corrupt("not a pair of hexadecimal digits").at_byte(to_u64(bad)));
        }
        if out.len() >= cap {
            return Err(too_long(max));
        }
        out.push((high << 4) | low);
        at += 2;
    }
    Ok(out)
}
