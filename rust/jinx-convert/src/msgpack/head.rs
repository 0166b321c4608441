//! The first bytes of a value: its type, and the number of bytes or values that follow.

use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::error::{Error, Result};
use rmp::Marker;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Head {
    Nil,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    /// The number of bytes of text that follow.
    Str(usize),
    Bin(usize),
    /// The number of values that follow.
    Array(usize),
    /// The number of pairs of values that follow.
    Map(usize),
    /// The type, and the number of bytes that follow.
    Ext(i8, usize),
}

impl Head {
    /// The number of bytes that belong to the value itself, and of values that come after it.
    pub(crate) fn rest(self) -> (usize, u64) {
        match self {
            Self::Str(length) | Self::Bin(length) | Self::Ext(_, length) => (length, 0),
            Self::Array(length) => (0, to_u64(length)),
            Self::Map(length) => (0, to_u64(length).saturating_mul(2)),
            _ => (0, 0),
        }
    }

    /// The type, for messages.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Bool(_) => "a bool",
            Self::Int(_) | Self::Uint(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Str(_) => "text",
            Self::Bin(_) => "bytes",
            Self::Array(_) => "an array",
            Self::Map(_) => "a map",
            Self::Ext(..) => "an extension value",
        }
    }
}

/// The head at the start of `bytes`, and its size; `None` if `bytes` ends inside it.
///
/// # Errors
/// `Corrupt` for the one byte that MessagePack never uses.
pub(crate) fn head(bytes: &[u8]) -> Result<Option<(Head, usize)>> {
    let Some(&first) = bytes.first() else {
        return Ok(None);
    };
    let size = |n: u8| usize::from(n);
    let head_of_value = match Marker::from_u8(first) {
        Marker::FixPos(value) => Some((Head::Int(value.into()), 1)),
        Marker::FixNeg(value) => Some((Head::Int(value.into()), 1)),
        Marker::Null => Some((Head::Nil, 1)),
        Marker::False => Some((Head::Bool(false), 1)),
        Marker::True => Some((Head::Bool(true), 1)),
        Marker::FixStr(n) => Some((Head::Str(size(n)), 1)),
        Marker::FixArray(n) => Some((Head::Array(size(n)), 1)),
        Marker::FixMap(n) => Some((Head::Map(size(n)), 1)),
        Marker::U8 => number(bytes).map(|[n]: [u8; 1]| (Head::Int(n.into()), 2)),
        Marker::U16 => number(bytes).map(|n| (Head::Int(u16::from_be_bytes(n).into()), 3)),
        Marker::U32 => number(bytes).map(|n| (Head::Int(u32::from_be_bytes(n).into()), 5)),
        Marker::U64 => number(bytes).map(|n| (unsigned(u64::from_be_bytes(n)), 9)),
        Marker::I8 => number(bytes).map(|n| (Head::Int(i8::from_be_bytes(n).into()), 2)),
        Marker::I16 => number(bytes).map(|n| (Head::Int(i16::from_be_bytes(n).into()), 3)),
        Marker::I32 => number(bytes).map(|n| (Head::Int(i32::from_be_bytes(n).into()), 5)),
        Marker::I64 => number(bytes).map(|n| (Head::Int(i64::from_be_bytes(n)), 9)),
        Marker::F32 => number(bytes).map(|n| (Head::Float(f32::from_be_bytes(n).into()), 5)),
        Marker::F64 => number(bytes).map(|n| (Head::Float(f64::from_be_bytes(n)), 9)),
        Marker::Str8 => sized(bytes, 1)?.map(|(n, at)| (Head::Str(n), at)),
        Marker::Str16 => sized(bytes, 2)?.map(|(n, at)| (Head::Str(n), at)),
        Marker::Str32 => sized(bytes, 4)?.map(|(n, at)| (Head::Str(n), at)),
        Marker::Bin8 => sized(bytes, 1)?.map(|(n, at)| (Head::Bin(n), at)),
        Marker::Bin16 => sized(bytes, 2)?.map(|(n, at)| (Head::Bin(n), at)),
        Marker::Bin32 => sized(bytes, 4)?.map(|(n, at)| (Head::Bin(n), at)),
        Marker::Array16 => sized(bytes, 2)?.map(|(n, at)| (Head::Array(n), at)),
        Marker::Array32 => sized(bytes, 4)?.map(|(n, at)| (Head::Array(n), at)),
        Marker::Map16 => sized(bytes, 2)?.map(|(n, at)| (Head::Map(n), at)),
        Marker::Map32 => sized(bytes, 4)?.map(|(n, at)| (Head::Map(n), at)),
        Marker::FixExt1 => extension(bytes, Some((1, 1))),
        Marker::FixExt2 => extension(bytes, Some((2, 1))),
        Marker::FixExt4 => extension(bytes, Some((4, 1))),
        Marker::FixExt8 => extension(bytes, Some((8, 1))),
        Marker::FixExt16 => extension(bytes, Some((16, 1))),
        Marker::Ext8 => extension(bytes, sized(bytes, 1)?),
        Marker::Ext16 => extension(bytes, sized(bytes, 2)?),
        Marker::Ext32 => extension(bytes, sized(bytes, 4)?),
        Marker::Reserved => return Err(Error::corrupt("not MessagePack: the byte 0xc1 begins no value")),
    };
    Ok(head_of_value)
}

fn unsigned(value: u64) -> Head {
    i64::try_from(value).map_or(Head::Uint(value), Head::Int)
}

fn number<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.get(1..=N)?.try_into().ok()
}

/// A length of `width` bytes after the marker, and the position where it ends.
fn sized(bytes: &[u8], width: usize) -> Result<Option<(usize, usize)>> {
    let Some(digits) = bytes.get(1..=width) else {
        return Ok(None);
    };
    let value = digits.iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    Ok(Some((to_usize(value, "a length")?, 1 + width)))
}

fn extension(bytes: &[u8], sized: Option<(usize, usize)>) -> Option<(Head, usize)> {
    let (length, at) = sized?;
    let kind = i8::from_be_bytes([*bytes.get(at)?]);
    Some((Head::Ext(kind, length), at + 1))
}
