//! The end and size of zstd frames, from their headers only.

use crate::checked_math::to_u64;

const MAGIC: u32 = 0xFD2F_B528;
const SKIPPABLE: u32 = 0x184D_2A50;
const MAX_BLOCK_BYTES: u64 = 128 << 10;

struct FrameHeader {
    /// The number of encoded bytes, including magic number and checksum.
    len: usize,
    content: Option<u64>,
    /// The maximum number of bytes to which the frame's blocks can decode.
    bound: u64,
}

/// Whether a zstd frame, possibly a skippable one, can start with `prefix`.
pub(super) fn starts(prefix: &[u8]) -> bool {
    let agrees = |magic: [u8; 4]| prefix.iter().zip(magic).all(|(&a, b)| a == b);
    let skippable = match prefix.split_first() {
        Some((first, rest)) => {
            (0x50..=0x5F).contains(first) && rest.iter().zip([0x2A, 0x4D, 0x18]).all(|(&a, b)| a == b)
        }
        None => true,
    };
    skippable || agrees(MAGIC.to_le_bytes())
}

/// The sum of the frames' content sizes, if each has one that its blocks can contain, and they cover all of `input`.
pub(super) fn declared_len(mut input: &[u8]) -> Option<u64> {
    if input.is_empty() {
        return None;
    }
    let mut total = 0u64;
    while !input.is_empty() {
        let frame = outline(input)?;
        let content = frame.content.filter(|&content| content <= frame.bound)?;
        total = total.checked_add(content)?;
        input = input.get(frame.len..)?;
    }
    Some(total)
}

fn outline(input: &[u8]) -> Option<FrameHeader> {
    let magic = u32::from_le_bytes(*input.first_chunk()?);
    if magic & !0xF == SKIPPABLE {
        let size = u32::from_le_bytes(*input.get(4..)?.first_chunk()?);
        let len = usize::try_from(size).ok()?.checked_add(8)?;
        return Some(FrameHeader { len, content: Some(0), bound: 0 });
    }
    if magic != MAGIC {
        return None;
    }
    let descriptor = *input.get(4)?;
    let single_segment = descriptor & 0x20 != 0;
    let dictionary_bytes = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let size_at = 5 + usize::from(!single_segment) + dictionary_bytes;
    let size_field = input.get(size_at..)?;
    let (size_bytes, content) = match descriptor >> 6 {
        0 if !single_segment => (0, None),
        0 => (1, Some(u64::from(*size_field.first()?))),
        1 => (2, Some(u64::from(u16::from_le_bytes(*size_field.first_chunk()?)) + 256)),
        2 => (4, Some(u64::from(u32::from_le_bytes(*size_field.first_chunk()?)))),
        _ => (8, Some(u64::from_le_bytes(*size_field.first_chunk()?))),
    };
    let mut at = size_at + size_bytes;
    let mut bound = 0u64;
    loop {
        let [a, b, c] = *input.get(at..)?.first_chunk::<3>()?;
        let header = u32::from_le_bytes([a, b, c, 0]);
        let size = usize::try_from(header >> 3).ok()?;
        let (stored, decoded) = match (header >> 1) & 3 {
            0 => (size, to_u64(size)),
            1 => (1, to_u64(size)),
            2 => (size, MAX_BLOCK_BYTES),
            _ => return None,
        };
        at = at.checked_add(3)?.checked_add(stored)?;
        bound = bound.checked_add(decoded.min(MAX_BLOCK_BYTES))?;
        if header & 1 == 1 {
            break;
        }
    }
    let checksum_bytes = if descriptor & 4 == 0 { 0 } else { 4 };
    Some(FrameHeader { len: at.checked_add(checksum_bytes)?, content, bound })
}
