//! Text in blocks of 64 bytes, with one bit for each structural byte.
//!
//! A scan is compiled once for every processor and once for those with AVX2, which take half the time.
#![allow(unsafe_code)]

/// Which of 64 bytes are of each kind; the lowest bit stands for the first byte.
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

/// Instructions for which a scan is compiled.
pub trait Vectors {
    fn block(bytes: &[u8; 64]) -> Block;

    /// Replaces each bit with the parity of all bits up to it.
    #[inline(always)]
    fn parities(mut bits: u64) -> u64 {
        for shift in [1, 2, 4, 8, 16, 32] {
            bits ^= bits << shift;
        }
        bits
    }
}

/// A scan over text. Its methods must be `#[inline(always)]`, so that all of it uses the same instructions.
pub trait Scan {
    type Found;

    fn scan<V: Vectors>(self) -> Self::Found;
}

/// Runs a scan with the best instructions that this processor supports.
#[inline]
pub fn scanned<S: Scan>(scan: S) -> S::Found {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("pclmulqdq")
        && is_x86_feature_detected!("popcnt")
    {
        // SAFETY: the processor supports these instructions.
        return unsafe { avx2::scanned(scan) };
    }
    scan.scan::<Lanes>()
}

/// The instructions that every processor supports.
pub struct Lanes;

impl Vectors for Lanes {
    #[inline(always)]
    fn block(bytes: &[u8; 64]) -> Block {
        let mut block = Block::default();
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

/// Like [`Block`], for 16 bytes.
struct Lane {
    quotes: u16,
    backslashes: u16,
    commas: u16,
    opens: u16,
    closes: u16,
}

impl Lane {
    #[cfg(target_arch = "x86_64")]
    #[inline]
    fn new(bytes: [u8; 16]) -> Self {
        use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8};

        // SAFETY: every x86-64 processor has SSE2, and any 16 bytes are a valid vector.
        unsafe {
            let vector = std::mem::transmute::<[u8; 16], __m128i>(bytes);
            let equal = |vector, byte: u8| {
                let mask = _mm_movemask_epi8(_mm_cmpeq_epi8(vector, _mm_set1_epi8(byte.cast_signed())));
                mask.to_le_bytes().first_chunk().map_or(0, |low| u16::from_le_bytes(*low))
            };
            // Only this bit distinguishes `{` from `[` and `}` from `]`.
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

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{Block, Scan, Vectors};
    use std::arch::x86_64::{
        __m256i, _mm_clmulepi64_si128, _mm_cvtsi128_si64, _mm_set_epi64x, _mm_set1_epi8, _mm256_cmpeq_epi8,
        _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
    };

    /// # Safety
    /// The processor must have these instructions.
    #[target_feature(enable = "avx2,pclmulqdq,popcnt")]
    pub(super) unsafe fn scanned<S: Scan>(scan: S) -> S::Found {
        scan.scan::<Avx2>()
    }

    /// # Safety
    /// As [`scanned`].
    #[inline(always)]
    unsafe fn equal(vector: __m256i, byte: u8) -> u64 {
        // SAFETY: guaranteed by the caller.
        let mask =
            unsafe { _mm256_movemask_epi8(_mm256_cmpeq_epi8(vector, _mm256_set1_epi8(byte.cast_signed()))) };
        u64::from(mask.cast_unsigned())
    }

    /// Used only in [`scanned`].
    struct Avx2;

    impl Vectors for Avx2 {
        #[inline(always)]
        fn block(bytes: &[u8; 64]) -> Block {
            let mut block = Block::default();
            for (i, bytes) in bytes.as_chunks::<32>().0.iter().enumerate() {
                // SAFETY: this is called only on processors with AVX2, and any 32 bytes are a valid vector.
                unsafe {
                    let vector = std::mem::transmute::<[u8; 32], __m256i>(*bytes);
                    // Only this bit distinguishes `{` from `[` and `}` from `]`.
                    let folded = _mm256_or_si256(vector, _mm256_set1_epi8(0x20));
                    block.quotes |= equal(vector, b'"') << (32 * i);
                    block.backslashes |= equal(vector, b'\\') << (32 * i);
                    block.commas |= equal(vector, b',') << (32 * i);
                    block.opens |= equal(folded, b'{') << (32 * i);
                    block.closes |= equal(folded, b'}') << (32 * i);
                }
            }
            block
        }

        #[inline(always)]
        fn parities(bits: u64) -> u64 {
            // SAFETY: as above. The carry-less product with all ones gives, at each bit, the parity of the bits up to
            // it.
            unsafe {
                let product =
                    _mm_clmulepi64_si128(_mm_set_epi64x(0, bits.cast_signed()), _mm_set1_epi8(-1), 0);
                _mm_cvtsi128_si64(product).cast_unsigned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct OneBlock<'b>(&'b [u8; 64]);

    impl Scan for OneBlock<'_> {
        type Found = Block;

        #[inline(always)]
        fn scan<V: Vectors>(self) -> Block {
            V::block(self.0)
        }
    }

    struct Parities(u64);

    impl Scan for Parities {
        type Found = u64;

        #[inline(always)]
        fn scan<V: Vectors>(self) -> u64 {
            V::parities(self.0)
        }
    }

    #[test]
    fn parities_are_those_of_the_bits_up_to_each() {
        for bits in [0, 1, 0b1001, u64::MAX, 1 << 63, 0x8000_0001_0000_8001, 0x0123_4567_89ab_cdef] {
            let expected = (0..64).fold(0, |all, at| {
                let up_to = bits & (u64::MAX >> (63 - at));
                all | u64::from(up_to.count_ones() % 2) << at
            });
            assert_eq!(Lanes::parities(bits), expected, "{bits:x}");
            assert_eq!(scanned(Parities(bits)), expected, "{bits:x}");
        }
    }

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
                assert_eq!(Lanes::block(&bytes), expected, "byte {byte} at {at}");
                assert_eq!(scanned(OneBlock(&bytes)), expected, "byte {byte} at {at}");
            }
        }
    }
}
