//! Text, 64 bytes at a time, with one bit for each structural byte.
#![allow(unsafe_code)]

/// Which of 64 bytes are of each kind; the lowest bit is the first byte.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Block {
    pub quotes: u64,
    pub backslashes: u64,
    pub commas: u64,
    /// `{` and `[`.
    pub opens: u64,
    /// `}` and `]`.
    pub closes: u64,
}

/// As [`Block`], of 16 bytes.
struct Lane {
    quotes: u16,
    backslashes: u16,
    commas: u16,
    opens: u16,
    closes: u16,
}

impl Block {
    #[inline]
    pub fn new(bytes: &[u8; 64]) -> Self {
        let mut block = Self::default();
        for (i, bytes) in bytes.as_chunks::<16>().0.iter().enumerate() {
            let (lane, shift) = (Lane::new(*bytes), 16 * i);
            block.quotes |= u64::from(lane.quotes) << shift;
            block.backslashes |= u64::from(lane.backslashes) << shift;
            block.commas |= u64::from(lane.commas) << shift;
            block.opens |= u64::from(lane.opens) << shift;
            block.closes |= u64::from(lane.closes) << shift;
        }
        block
    }
}

impl Lane {
    #[cfg(target_arch = "x86_64")]
    #[inline]
    fn new(bytes: [u8; 16]) -> Self {
        use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8};

        // SAFETY: every x86-64 has SSE2, and any 16 bytes are a vector.
        unsafe {
            let vector = std::mem::transmute::<[u8; 16], __m128i>(bytes);
            let equal = |vector, byte: u8| {
                let mask = _mm_movemask_epi8(_mm_cmpeq_epi8(vector, _mm_set1_epi8(byte.cast_signed())));
                mask.to_le_bytes().first_chunk().map_or(0, |low| u16::from_le_bytes(*low))
            };
            // This bit is all that tells `{` from `[` and `}` from `]`.
            let folded = _mm_or_si128(vector, _mm_set1_epi8(0x20));
            Self {
                quotes: equal(vector, b'"'),
                backslashes: equal(vector, b'\\'),
                commas: equal(vector, b','),
                opens: equal(folded, b'{'),
                closes: equal(folded, b'}'),
            }
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    #[inline]
    fn new(bytes: [u8; 16]) -> Self {
        let equal = |fold: u8, wanted: u8| {
            bytes.iter().enumerate().fold(0, |mask, (i, byte)| mask | u16::from(byte | fold == wanted) << i)
        };
        Self {
            quotes: equal(0, b'"'),
            backslashes: equal(0, b'\\'),
            commas: equal(0, b','),
            opens: equal(0x20, b'{'),
            closes: equal(0x20, b'}'),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_told_at_every_place() {
        for at in 0..64 {
            for byte in 0..=255 {
                let mut bytes = [b' '; 64];
                bytes[at] = byte;
                let bit = |is: bool| u64::from(is) << at;
                let expected = Block {
                    quotes: bit(byte == b'"'),
                    backslashes: bit(byte == b'\\'),
                    commas: bit(byte == b','),
                    opens: bit(byte == b'{' || byte == b'['),
                    closes: bit(byte == b'}' || byte == b']'),
                };
                assert_eq!(Block::new(&bytes), expected, "byte {byte} at {at}");
            }
        }
    }
}
