//! Bytes as text inside a JSON string, read exactly like Python's standard library does.

use super::{ascii85, hex, reserve, too_long};
use crate::checked_math::to_u64;
use crate::error::{Error, Result};

/// How inline bytes are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TextEncoding {
    Ascii85,
    Base64,
    Hex,
}

impl TextEncoding {
    /// The encoding for a footer's `encoding`, or for Python's longer name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "a85" | "ascii85" => Some(Self::Ascii85),
            "b64" | "base64" => Some(Self::Base64),
            "hex" | "base16" => Some(Self::Hex),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Ascii85 => "a85",
            Self::Base64 => "b64",
            Self::Hex => "hex",
        }
    }

    /// Decodes `text` as `base64.a85decode(foldspaces=True)`, `base64.b64decode` (which skips characters outside its
    /// alphabet) and `bytes.fromhex` decode a `str`.
    ///
    /// # Errors
    /// `Limit` past `max` bytes, `Corrupt` for text that Python refuses.
    pub fn decode(self, text: &[u8], max: u64) -> Result<Vec<u8>> {
        match self {
            Self::Ascii85 => ascii85::decode(text, max),
            Self::Base64 => decode_base64(text, max),
            Self::Hex => hex::decode(text, max),
        }
    }
}

/// The number of characters in the base64 text of `n` bytes, including padding.
pub fn base64_len(n: usize) -> usize {
    n.div_ceil(3).saturating_mul(4)
}

/// Appends the base64 text of `data`, standard alphabet with padding.
pub fn push_base64(out: &mut Vec<u8>, data: &[u8]) {
    // The encoder itself reserves exactly as much as it needs, which would make many small appends quadratic.
    out.reserve(base64_len(data.len()));
    base64_simd::STANDARD.encode_append(data, out);
}

fn decode_base64(text: &[u8], max: u64) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let bound = text.len().div_ceil(4).saturating_mul(3);
    if to_u64(bound.saturating_sub(2)) <= max {
        reserve(&mut out, bound)?;
        if base64_simd::STANDARD.decode_append(text, &mut out).is_ok() && to_u64(out.len()) <= max {
            return Ok(out);
        }
        out.clear();
    }
    lenient_base64(text, max, out)
}

const SKIP: u8 = 64;

const BASE64_VALUES: [u8; 256] = {
    let mut table = [SKIP; 256];
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut value = 0u8;
    while value < SKIP {
        table[alphabet[value as usize] as usize] = value;
        value += 1;
    }
    table
};

/// Python's lenient rules: foreign characters are skipped, and so is everything after complete padding.
fn lenient_base64(text: &[u8], max: u64, mut out: Vec<u8>) -> Result<Vec<u8>> {
    if let Some(at) = text.iter().position(|byte| !byte.is_ascii()) {
        return Err(Error::corrupt("base64 text holds a character that is not ASCII").at_byte(to_u64(at)));
    }
    let (mut quad, mut pads, mut left) = (0u8, 0u8, 0u8);
    for &byte in text {
        if byte == b'=' {
            pads = pads.saturating_add(u8::from(quad >= 2));
            if quad >= 2 && quad.saturating_add(pads) >= 4 {
                quad = 0;
                break;
            }
            continue;
        }
        let value = BASE64_VALUES[usize::from(byte)];
        if value == SKIP {
            continue;
        }
        pads = 0;
        let whole = match quad {
            0 => None,
            1 => Some((left << 2) | (value >> 4)),
            2 => Some((left << 4) | (value >> 2)),
            _ => Some((left << 6) | value),
        };
        if let Some(whole) = whole {
            if to_u64(out.len()) >= max {
                return Err(too_long(max));
            }
            if out.len() == out.capacity() {
                let step = out.len().clamp(64, 16 << 20);
                reserve(&mut out, step)?;
            }
            out.push(whole);
        }
        left = value;
        quad = (quad + 1) & 3;
    }
    match quad {
        0 => Ok(out),
        1 => Err(Error::corrupt("base64 text has one character more than a multiple of four")),
        _ => Err(Error::corrupt("base64 text lacks its padding")),
    }
}

/// Whether `text` is base64 as defined in RFC 4648: only the alphabet, whole groups, padding only at the end.
pub fn is_strict_base64(text: &[u8]) -> bool {
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    let body = &text[..text.len() - padding];
    text.len().is_multiple_of(4)
        && padding <= 2
        && body.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}
