//! The header of a `.npy` payload, checked before anything is allocated for it.
//!
//! numpy's own reader evaluates the header as a Python literal and trusts the shape; this one accepts three names and
//! compares the shape with the size of the payload.

use crate::checked_math::to_u64;
use crate::error::{Error, Result};
use crate::row_events::Payload;

/// The number of bytes with the length of the header.
pub const PREFIX_BYTES: usize = 12;
/// numpy 2 arrays have at most 64 dimensions.
const MAX_DIMENSIONS: usize = 64;
/// A plain header has 118 bytes; a version 1 header has at most this many.
const MAX_HEADER_BYTES: usize = 65_535;

/// The header of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NpyHeader {
    /// numpy's `dtype.str`, for example `<f4`.
    pub descr: String,
    pub fortran: bool,
    pub shape: Vec<u64>,
    /// The offset of the elements, in bytes.
    pub data_offset: usize,
    /// The size of one element in bytes.
    pub item_size: u64,
}

/// The size of all elements of an array in bytes.
///
/// # Errors
/// `Corrupt` if the product does not fit a signed 64-bit integer (without dimensions of zero): numpy cannot make that
/// array.
pub fn data_len(shape: &[u64], item_size: u64) -> Result<u64> {
    let huge = || Error::corrupt("an array whose shape does not fit 64 bits");
    let mut sizes = shape.iter().copied().filter(|size| *size != 0);
    let full = sizes.try_fold(item_size.max(1), u64::checked_mul);
    let full = full.filter(|length| i64::try_from(*length).is_ok()).ok_or_else(huge)?;
    // The array is empty if any dimension is zero, or if its items have zero bytes.
    Ok(if shape.contains(&0) || item_size == 0 { 0 } else { full })
}

impl NpyHeader {
    /// Compares the shape with the length of the whole payload.
    ///
    /// # Errors
    /// `Corrupt` when they differ.
    pub fn check_payload(&self, total_len: u64) -> Result<()> {
        let data = data_len(&self.shape, self.item_size)?;
        match total_len.checked_sub(to_u64(self.data_offset)) {
            Some(length) if length == data => Ok(()),
            length => Err(Error::corrupt(format!(
                "an array of shape {:?} and type {} has {} bytes of data, {data} are needed",
                self.shape,
                self.descr,
                length.unwrap_or_default()
            ))),
        }
    }
}

/// The end of the header, from the first [`PREFIX_BYTES`] of a payload.
///
/// # Errors
/// `Corrupt` if it is not a `.npy` payload.
pub fn header_end(prefix: &[u8]) -> Result<usize> {
    if prefix.starts_with(b"PK") {
        return Err(Error::corrupt("a ZIP archive instead of one array"));
    }
    if !prefix.starts_with(b"\x93NUMPY") {
        return Err(Error::corrupt("an array that does not begin with the magic bytes of .npy"));
    }
    let length =
        |bytes: &[u8]| bytes.iter().rev().fold(0usize, |length, byte| length << 8 | usize::from(*byte));
    let (start, length) = match (prefix.get(6..8), prefix.get(8..10), prefix.get(8..12)) {
        (Some([1, 0]), Some(two), _) => (10, length(two)),
        (Some([2 | 3, 0]), _, Some(four)) => (12, length(four)),
        (Some([1..=3, 0]) | None, _, _) => {
            return Err(Error::corrupt("an array that ends inside its header"));
        }
        (Some(version), _, _) => {
            return Err(Error::corrupt(format!("unknown .npy version {}.{}", version[0], version[1])));
        }
    };
    if length > MAX_HEADER_BYTES {
        return Err(Error::corrupt(format!("an array header of {length} bytes")));
    }
    Ok(start + length)
}

/// Parses the header at the start of `prefix`, which must contain all of it.
///
/// # Errors
/// `Corrupt` for anything that is not a plain array's header, `Unsupported` for structured types.
pub fn parse_header(prefix: &[u8]) -> Result<NpyHeader> {
    let end = header_end(prefix)?;
    let start = if prefix.get(6) == Some(&1) { 10 } else { 12 };
    let text =
        prefix.get(start..end).ok_or_else(|| Error::corrupt("an array that ends inside its header"))?;
    let mut literal = Literal { text, at: 0 };
    let (descr, fortran, shape) = literal.header()?;
    let item_size = item_size(&descr)?;
    Ok(NpyHeader { descr, fortran, shape, data_offset: end, item_size })
}

/// A `.npy` payload of `length` little-endian numbers. `dtype` is numpy's name of their type.
pub fn vector(dtype: &str, length: u64, data: &[u8]) -> Vec<u8> {
    let (kind, bits) = dtype.split_at(dtype.find(|c: char| c.is_ascii_digit()).unwrap_or(dtype.len()));
    let bytes = bits.parse::<usize>().unwrap_or(8) / 8;
    let order = if bytes > 1 { '<' } else { '|' };
    let letter = kind.get(..1).unwrap_or_default();
    let text =
        format!("{{'descr': '{order}{letter}{bytes}', 'fortran_order': False, 'shape': ({length},), }}");
    // numpy makes the length of prefix, text and newline a multiple of 64 bytes.
    let header = (PREFIX_BYTES - 2 + text.len() + 1).next_multiple_of(64) - (PREFIX_BYTES - 2);
    let mut payload = Vec::with_capacity(PREFIX_BYTES + header + data.len());
    payload.extend_from_slice(b"\x93NUMPY\x01\x00");
    payload.extend_from_slice(&u16::try_from(header).unwrap_or_default().to_le_bytes());
    payload.extend_from_slice(text.as_bytes());
    payload.resize(PREFIX_BYTES - 2 + header - 1, b' ');
    payload.push(b'\n');
    payload.extend_from_slice(data);
    payload
}

/// The size of one element of a plain dtype in bytes.
///
/// # Errors
/// `Corrupt` for objects and unknown types.
pub fn item_size(descr: &str) -> Result<u64> {
    let bad =
        || Error::corrupt(format!("an array of type '{descr}', which is not a plain number or string type"));
    let plain = descr.strip_prefix(['<', '>', '|', '=']).unwrap_or(descr);
    match plain {
        "b1" | "i1" | "u1" => return Ok(1),
        "i2" | "u2" | "f2" => return Ok(2),
        "i4" | "u4" | "f4" => return Ok(4),
        "i8" | "u8" | "f8" | "c8" | "M8" | "m8" => return Ok(8),
        "c16" => return Ok(16),
        _ => {}
    }
    if let Some(unit) = plain.strip_prefix("M8[").or_else(|| plain.strip_prefix("m8[")) {
        let unit = unit.strip_suffix(']').ok_or_else(bad)?.trim_start_matches(|c: char| c.is_ascii_digit());
        let units = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic"];
        return if units.contains(&unit) { Ok(8) } else { Err(bad()) };
    }
    let (digits, factor) = match (plain.strip_prefix('S'), plain.strip_prefix('U')) {
        (Some(digits), _) => (digits, 1),
        (_, Some(digits)) => (digits, 4),
        _ => return Err(bad()),
    };
    let count: u32 = digits.parse().ok().filter(|_| !digits.starts_with('+')).ok_or_else(bad)?;
    Ok(u64::from(count) * factor)
}

/// Checks the payload of an array or of a numpy scalar; other payloads need no check.
///
/// # Errors
/// The errors of [`parse_header`], [`NpyHeader::check_payload`] and [`check_scalar`].
pub fn check_blob(payload: Payload, bytes: &[u8]) -> Result<()> {
    match payload {
        Payload::Npy => parse_header(bytes)?.check_payload(to_u64(bytes.len())),
        Payload::Np => check_scalar(bytes),
        Payload::Raw | Payload::Pt => Ok(()),
    }
}

/// Like [`check_blob`], for a payload from another format: a tensor must also begin as `torch.save` writes it.
///
/// # Errors
/// `Corrupt` for anything else.
pub fn check_import(payload: Payload, bytes: &[u8]) -> Result<()> {
    // Either a ZIP archive, or a pickle as older versions wrote it.
    if payload == Payload::Pt && !bytes.starts_with(b"PK\x03\x04") && !bytes.starts_with(b"\x80") {
        return Err(Error::corrupt("a tensor that does not begin as torch.save writes it"));
    }
    check_blob(payload, bytes)
}

/// Checks the payload of a numpy scalar: its dtype, a zero byte, and exactly one item.
///
/// # Errors
/// `Corrupt` for anything else.
pub fn check_scalar(payload: &[u8]) -> Result<()> {
    let end = memchr::memchr(0, payload).ok_or_else(|| Error::corrupt("a scalar without its type"))?;
    let descr = std::str::from_utf8(&payload[..end])
        .map_err(|_| Error::corrupt("a scalar whose type is not text"))?;
    let (size, held) = (item_size(descr)?, to_u64(payload.len() - end - 1));
    if size == held {
        return Ok(());
    }
    Err(Error::corrupt(format!("a scalar of type {descr} with {held} bytes, {size} are needed")))
}

/// The subset of Python literals that a header uses.
struct Literal<'t> {
    text: &'t [u8],
    at: usize,
}

impl Literal<'_> {
    fn header(&mut self) -> Result<(String, bool, Vec<u64>)> {
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        self.expect(b'{')?;
        while !self.accept(b'}') {
            let name = self.string()?;
            self.expect(b':')?;
            let twice = match name.as_str() {
                "descr" if self.peek() == b'[' => {
                    return Err(Error::unsupported("arrays of structured types"));
                }
                "descr" => descr.replace(self.string()?).is_some(),
                "fortran_order" => fortran.replace(self.bool()?).is_some(),
                "shape" => shape.replace(self.shape()?).is_some(),
                _ => return Err(self.bad()),
            };
            if twice {
                return Err(self.bad());
            }
            if !self.accept(b',') && self.peek() != b'}' {
                return Err(self.bad());
            }
        }
        self.blanks();
        match (descr, fortran, shape) {
            (Some(descr), Some(fortran), Some(shape)) if self.at == self.text.len() => {
                Ok((descr, fortran, shape))
            }
            _ => Err(self.bad()),
        }
    }

    fn bad(&self) -> Error {
        Error::corrupt(format!("a damaged array header near byte {}", self.at))
    }

    fn blanks(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    /// The next byte that is not blank, or 0 at the end.
    fn peek(&mut self) -> u8 {
        self.blanks();
        self.text.get(self.at).copied().unwrap_or_default()
    }

    fn accept(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == byte;
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.accept(byte) { Ok(()) } else { Err(self.bad()) }
    }

    /// A quoted string of printable ASCII without escapes.
    fn string(&mut self) -> Result<String> {
        let quote = self.peek();
        if !matches!(quote, b'\'' | b'"') {
            return Err(self.bad());
        }
        let rest = self.text.get(self.at + 1..).unwrap_or_default();
        let end = memchr::memchr(quote, rest).ok_or_else(|| self.bad())?;
        let inner = &rest[..end];
        if inner.iter().any(|byte| !byte.is_ascii_graphic() || *byte == b'\\') {
            return Err(self.bad());
        }
        self.at += end + 2;
        Ok(String::from_utf8_lossy(inner).into_owned())
    }

    fn bool(&mut self) -> Result<bool> {
        self.blanks();
        let rest = self.text.get(self.at..).unwrap_or_default();
        for (word, value) in [(b"True".as_slice(), true), (b"False", false)] {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.bad())
    }

    fn shape(&mut self) -> Result<Vec<u64>> {
        let mut shape = Vec::new();
        self.expect(b'(')?;
        while !self.accept(b')') {
            if shape.len() == MAX_DIMENSIONS {
                return Err(Error::corrupt(format!("an array of more than {MAX_DIMENSIONS} dimensions")));
            }
            shape.push(self.number()?);
            let comma = self.accept(b',');
            // `(3)` is a number, not a tuple.
            if !comma && (self.peek() != b')' || shape.len() == 1) {
                return Err(self.bad());
            }
        }
        Ok(shape)
    }

    fn number(&mut self) -> Result<u64> {
        self.blanks();
        let rest = self.text.get(self.at..).unwrap_or_default();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let value = std::str::from_utf8(&rest[..digits]).ok().and_then(|digits| digits.parse().ok());
        self.at += digits;
        // Python 2 wrote `3L`.
        self.at += usize::from(self.text.get(self.at) == Some(&b'L'));
        value.ok_or_else(|| self.bad())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "npy_tests.rs"]
mod tests;
