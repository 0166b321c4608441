//! Reads numpy scalars of types that are not stored as JSON numbers (`float64`, `float16`, `bool_`) as numbers.

use crate::expression::tree::{Cell, NarrowFloat};

/// The value of a payload: its dtype in ASCII, a zero byte, and its bytes.
pub fn cell_of(payload: &[u8]) -> Cell<'static> {
    let other = Cell::Other("a numpy scalar");
    let Some(end) = memchr::memchr(0, payload) else { return other };
    let (descr, bytes) = (&payload[..end], &payload[end + 1..]);
    let Some((order, kind)) = descr.split_first() else { return other };
    let mut wide = [0u8; 8];
    let Some(cell) = wide.get_mut(..bytes.len()) else { return other };
    cell.copy_from_slice(bytes);
    if *order == b'>' {
        cell.reverse();
    }
    let bits = u64::from_le_bytes(wide);
    let signed = |width: usize| {
        let shift = 64 - 8 * width;
        i64::from_le_bytes((bits << shift).to_le_bytes()) >> shift
    };
    match (kind, bytes.len()) {
        (b"b1", 1) => Cell::Bool(bits != 0),
        (b"i1", width @ 1) | (b"i2", width @ 2) | (b"i4", width @ 4) | (b"i8", width @ 8) => {
            Cell::Int(i128::from(signed(width)))
        }
        (b"u1", 1) | (b"u2", 2) | (b"u4", 4) | (b"u8", 8) => Cell::Int(i128::from(bits)),
        (b"f8", 8) => Cell::Float(f64::from_bits(bits)),
        (b"f4", 4) => {
            let value = f32::from_le_bytes([wide[0], wide[1], wide[2], wide[3]]);
            Cell::Narrow(f64::from(value), NarrowFloat::Float32)
        }
        (b"f2", 2) => Cell::Narrow(half(u16::from_le_bytes([wide[0], wide[1]])), NarrowFloat::Float16),
        _ => other,
    }
}

/// A 16-bit float: a sign, 5 bits of exponent and 10 of fraction.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_type_are_read() {
        for (payload, expected) in [
            (&b"<f8\0\0\0\0\0\0\0\xe0\x3f"[..], Cell::Float(0.5)),
            (b">f8\0\x3f\xe0\0\0\0\0\0\0", Cell::Float(0.5)),
            (b"<f4\0\0\0\x20\xc0", Cell::Narrow(-2.5, NarrowFloat::Float32)),
            (b"<f2\0\x00\x3c", Cell::Narrow(1.0, NarrowFloat::Float16)),
            (b"<f2\0\x01\x80", Cell::Narrow(-(2f64.powi(-24)), NarrowFloat::Float16)),
            (b"<f2\0\xff\x7b", Cell::Narrow(65504.0, NarrowFloat::Float16)),
            (b"<f2\0\x00\xfc", Cell::Narrow(f64::NEG_INFINITY, NarrowFloat::Float16)),
            (b"|b1\0\x01", Cell::Bool(true)),
            (b"|i1\0\xff", Cell::Int(-1)),
            (b"<i4\0\xfe\xff\xff\xff", Cell::Int(-2)),
            (b"<u8\0\xff\xff\xff\xff\xff\xff\xff\xff", Cell::Int(i128::from(u64::MAX))),
        ] {
            assert_eq!(cell_of(payload), expected);
        }
        for other in [
            &b""[..],
            b"<f8",
            b"<f8\0\0",
            b"\0",
            b"<c16\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
            b"<M8[s]\0\0\0\0\0\0\0\0\0",
        ] {
            assert_eq!(cell_of(other), Cell::Other("a numpy scalar"));
        }
        assert!(matches!(cell_of(b"<f2\0\x01\x7e"), Cell::Narrow(value, _) if value.is_nan()));
    }
}
