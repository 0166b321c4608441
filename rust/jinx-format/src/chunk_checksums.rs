//! Checksums of the chunks of an array, so that a reader of a part checks only that part, and each chunk only once.

use crate::footer::ArrayRef;
use bytes::Bytes;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::error::{Cause, Error, Result};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use twox_hash::XxHash3_64;

/// The size in bytes of the chunks that writers make.
const CHUNK_BYTES: u64 = 1 << 20;
/// The maximum number of chunks, because more would make the footer large; longer arrays have larger chunks.
const MAX_CHUNKS: u64 = 4096;

/// The size in bytes of the chunks of an array of `length` bytes; `None` if it is one chunk.
pub(crate) fn chunk_bytes(length: u64) -> Option<u64> {
    let mut chunk = CHUNK_BYTES;
    while length.div_ceil(chunk) > MAX_CHUNKS {
        chunk *= 2;
    }
    (chunk < length).then_some(chunk)
}

/// Checks that `chunk` and `xs` of a pointer to `length` bytes are consistent.
///
/// # Errors
/// `Corrupt` when they do not.
pub(crate) fn check_members(length: u64, chunk: Option<u64>, xs: Option<&ArrayRef>) -> Result<()> {
    let (chunk, listed) = match (chunk, xs) {
        (None, None) => return Ok(()),
        (Some(chunk), Some(ArrayRef::Inline { length, .. })) => (chunk, *length),
        _ => {
            return Err(Error::corrupt(
                "an array with only one of 'chunk' and 'xs', or an 'xs' that is not inline",
            ));
        }
    };
    if chunk == 0 || !chunk.is_multiple_of(8) || chunk >= length {
        return Err(Error::corrupt(format!("chunks of {chunk} bytes in an array of {length}")));
    }
    let count = length.div_ceil(chunk);
    if count.checked_mul(8) != Some(listed) {
        let what = format!("the checksums of {count} chunks have {listed} bytes");
        return Err(Error::corrupt(what));
    }
    Ok(())
}

/// The checksums of one array's chunks, and which chunks were already compared with them.
///
/// An array without `chunk` is one chunk.
#[derive(Debug)]
pub(crate) struct ChunkChecks {
    length: u64,
    chunk: u64,
    sums: Vec<u64>,
    /// One bit per chunk.
    compared: Box<[AtomicU64]>,
    /// Held while a chunk is compared, so that threads reading adjacent parts do not all compare it.
    comparing: Mutex<()>,
}

impl ChunkChecks {
    /// The checks for an array in the sidecar of a main file of `file_bytes`; `None` for an array in the
    /// footer, which is checked when it is decoded.
    ///
    /// # Errors
    /// `Corrupt` when the checksums are missing or damaged.
    pub(crate) fn of(place: &ArrayRef, file_bytes: u64) -> Result<Option<Self>> {
        let ArrayRef::Sidecar { length, x, chunk, xs, .. } = place else { return Ok(None) };
        let (chunk, sums) = match (chunk, xs.as_deref()) {
            (Some(chunk), Some(ArrayRef::Inline { data, length, x })) => {
                let bytes = ArrayRef::decode_inline(data, *length, x, file_bytes)
                    .map_err(|error| Error::new(error.cause(), format!("'xs': {}", error.what())))?;
                let (words, _) = bytes.as_chunks::<8>();
                (*chunk, words.iter().map(|word| u64::from_le_bytes(*word)).collect())
            }
            _ => (*length, vec![number_of(x.as_deref())?]),
        };
        let compared = (0..sums.len().div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Ok(Some(Self { length: *length, chunk: chunk.max(1), sums, compared, comparing: Mutex::new(()) }))
    }

    /// Compares the chunks with these bytes of the array, unless they were already compared. `read` returns bytes of
    /// the array.
    ///
    /// # Errors
    /// `Corrupt` for a chunk that does not match; errors of `read`.
    #[inline]
    pub(crate) fn require(&self, bytes: Range<u64>, read: impl Fn(u64, u64) -> Result<Bytes>) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        for chunk in bytes.start / self.chunk..=(bytes.end - 1) / self.chunk {
            let at = to_usize(chunk, "a chunk")?;
            if !self.is_compared(at) {
                self.compare(at, &read)?;
            }
        }
        Ok(())
    }

    /// The bytes of the chunks that hold these bytes of the array.
    pub(crate) fn chunks_with(&self, bytes: Range<u64>) -> Range<u64> {
        if bytes.is_empty() {
            return bytes;
        }
        let start = bytes.start / self.chunk * self.chunk;
        start..bytes.end.div_ceil(self.chunk).saturating_mul(self.chunk).min(self.length)
    }

    /// The bytes of all chunks that do not match; neighbours are one range.
    ///
    /// # Errors
    /// Errors of `read`.
    pub(crate) fn damaged(&self, read: impl Fn(u64, u64) -> Result<Bytes>) -> Result<Vec<Range<u64>>> {
        let mut damaged: Vec<Range<u64>> = Vec::new();
        for at in 0..self.sums.len() {
            match self.compare(at, &read) {
                Ok(()) => continue,
                Err(error) if error.cause() == Cause::Corrupt => {}
                Err(error) => return Err(error),
            }
            let start = to_u64(at).saturating_mul(self.chunk);
            let end = start.saturating_add(self.chunk).min(self.length);
            match damaged.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => damaged.push(start..end),
            }
        }
        Ok(damaged)
    }

    #[inline]
    fn is_compared(&self, at: usize) -> bool {
        let word = self.compared.get(at / 64);
        word.is_some_and(|word| word.load(Ordering::Relaxed) >> (at % 64) & 1 == 1)
    }

    #[cold]
    fn compare(&self, at: usize, read: &impl Fn(u64, u64) -> Result<Bytes>) -> Result<()> {
        let _comparing = self.comparing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_compared(at) {
            return Ok(());
        }
        let start = to_u64(at).saturating_mul(self.chunk);
        let (Some(sum), Some(left)) = (self.sums.get(at), self.length.checked_sub(start)) else {
            return Err(Error::truncated(format!("chunk {at} is past the end of its array")));
        };
        let length = left.min(self.chunk);
        if XxHash3_64::oneshot(&read(start, length)?) != *sum {
            let what =
                format!("its bytes {start} to {} do not match their checksum", start.saturating_add(length));
            return Err(Error::corrupt(what));
        }
        if let Some(word) = self.compared.get(at / 64) {
            word.fetch_or(1 << (at % 64), Ordering::Relaxed);
        }
        Ok(())
    }
}

/// The number in sixteen lower-case hex digits.
fn number_of(x: Option<&str>) -> Result<u64> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let digits = x.filter(|x| x.len() == 16 && x.bytes().all(is_digit));
    let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    number.ok_or_else(|| Error::corrupt("it has no checksum"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::write::array_hasher::ArrayHasher;
    use std::cell::RefCell;

    fn pointer(bytes: &[u8], chunk: Option<u64>) -> ArrayRef {
        let mut hasher = ArrayHasher::with_chunk(chunk);
        bytes.chunks(13).for_each(|piece| hasher.write(piece));
        hasher.pointer(64, to_u64(bytes.len())).unwrap()
    }

    fn members(place: &ArrayRef) -> Result<()> {
        let ArrayRef::Sidecar { length, chunk, xs, .. } = place else { panic!("inline") };
        check_members(*length, *chunk, xs.as_deref())
    }

    #[test]
    fn chunks_are_few_and_smaller_than_their_array() {
        assert_eq!(chunk_bytes(0), None);
        assert_eq!(chunk_bytes(CHUNK_BYTES), None);
        assert_eq!(chunk_bytes(CHUNK_BYTES + 1), Some(CHUNK_BYTES));
        assert_eq!(chunk_bytes(MAX_CHUNKS * CHUNK_BYTES), Some(CHUNK_BYTES));
        assert_eq!(chunk_bytes(MAX_CHUNKS * CHUNK_BYTES + 8), Some(2 * CHUNK_BYTES));
        assert_eq!(chunk_bytes(u64::MAX), Some(1 << 52));
    }

    #[test]
    fn what_is_written_is_accepted_and_each_chunk_is_read_once() {
        let bytes: Vec<u8> = (0..=255).collect();
        for chunk in [None, Some(8), Some(64), Some(248)] {
            let place = pointer(&bytes, chunk);
            members(&place).unwrap();
            let checks = ChunkChecks::of(&place, 0).unwrap().unwrap();
            let reads = RefCell::new(Vec::new());
            let read = |at: u64, length: u64| {
                reads.borrow_mut().push((at, length));
                let at = usize::try_from(at).unwrap();
                Ok(Bytes::copy_from_slice(&bytes[at..at + usize::try_from(length).unwrap()]))
            };
            for _ in 0..2 {
                checks.require(96..104, read).unwrap();
                checks.require(0..0, read).unwrap();
            }
            let size = chunk.unwrap_or(256);
            assert_eq!(*reads.borrow(), [(96 / size * size, size)]);
            checks.require(0..256, read).unwrap();
            let mut all = reads.borrow().clone();
            all.sort_unstable();
            let expected: Vec<_> = (0..256).step_by(usize::try_from(size).unwrap()).collect();
            assert_eq!(all.iter().map(|(at, _)| *at).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn a_damaged_chunk_is_refused_again_and_again_and_the_others_are_read() {
        let mut bytes: Vec<u8> = (0..=255).collect();
        let checks = ChunkChecks::of(&pointer(&bytes, Some(64)), 0).unwrap().unwrap();
        bytes[130] ^= 1;
        let read = |at: u64, length: u64| {
            let at = usize::try_from(at).unwrap();
            Ok(Bytes::copy_from_slice(&bytes[at..at + usize::try_from(length).unwrap()]))
        };
        for _ in 0..2 {
            checks.require(0..128, read).unwrap();
            checks.require(192..256, read).unwrap();
            for range in [128..136, 184..192, 0..256] {
                let error = checks.require(range, read).unwrap_err();
                assert_eq!(error.cause(), Cause::Corrupt);
                assert!(error.what().contains("128 to 192"), "{error}");
            }
        }
        assert_eq!(checks.require(256..264, read).unwrap_err().cause(), Cause::Truncated);
    }

    #[test]
    fn members_that_do_not_fit_are_corrupt() {
        let ArrayRef::Sidecar { xs, .. } = pointer(&[1; 256], Some(64)) else { panic!("inline") };
        let xs = xs.as_deref();
        assert!(check_members(256, Some(64), xs).is_ok());
        let wrong = [
            (256, None, xs),
            (256, Some(64), None),
            (256, Some(0), xs),
            (256, Some(60), xs),
            (256, Some(256), xs),
            (256, Some(u64::MAX - 7), xs),
            (256, Some(72), xs.filter(|_| false)),
            (192, Some(64), xs),
            (257, Some(64), xs),
            (u64::MAX, Some(8), xs),
        ];
        for (length, chunk, xs) in wrong {
            let error = check_members(length, chunk, xs).unwrap_err();
            assert_eq!(error.cause(), Cause::Corrupt, "{length} {chunk:?}");
        }
        let pointer = pointer(&[1; 32], None);
        assert!(check_members(256, Some(64), Some(&pointer)).is_err());
    }
}
