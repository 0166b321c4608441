//! Arrays of little-endian u64: the index and the line hashes.

use crate::footer::ArrayRef;
use bytes::Bytes;
use jinx_core::checked_math::{range_within, to_u64};
use jinx_core::error::{Error, Result};
use jinx_core::io::Source;
use std::ops::Range;

/// An array in memory (including a map of the sidecar), or one in the sidecar.
#[derive(Debug)]
pub enum Array {
    Memory(Bytes),
    Sidecar { offset: u64, length: u64 },
}

impl Default for Array {
    fn default() -> Self {
        Self::Memory(Bytes::new())
    }
}

impl Array {
    pub fn owned(bytes: Vec<u8>) -> Self {
        Self::Memory(Bytes::from(bytes))
    }

    /// Opens an array, which must have `expected` bytes, for a main file of `file_bytes`.
    ///
    /// # Errors
    /// `Corrupt` for another length, `Truncated` outside the sidecar.
    pub fn open(
        place: &ArrayRef,
        expected: u64,
        file_bytes: u64,
        side: Option<&Source>,
        what: &str,
    ) -> Result<Self> {
        let wrong = |length| Error::corrupt(format!("{what} has {length} bytes, {expected} are needed"));
        match place {
            ArrayRef::Inline { data, length, x } => {
                if *length != expected {
                    return Err(wrong(*length));
                }
                Ok(Self::owned(ArrayRef::decode_inline(data, *length, x, file_bytes)?))
            }
            ArrayRef::Sidecar { offset, length, .. } => {
                if *length != expected {
                    return Err(wrong(*length));
                }
                let side = side.ok_or_else(|| {
                    Error::mismatch(format!("the sidecar, which holds the {what}, is missing"))
                })?;
                range_within(*offset, *length, side.len(), what)?;
                match side.is_mapped() {
                    true => side.read(*offset, *length).map(Self::Memory),
                    false => Ok(Self::Sidecar { offset: *offset, length: *length }),
                }
            }
        }
    }

    /// Entry `i`.
    ///
    /// # Errors
    /// `Truncated` past the end.
    #[inline]
    pub fn u64_at(&self, i: u64, side: Option<&Source>) -> Result<u64> {
        self.entries(i, side).map(|[entry]| entry)
    }

    /// The entries from `i` on.
    ///
    /// # Errors
    /// `Truncated` past the end.
    #[inline]
    pub fn entries<const N: usize>(&self, i: u64, side: Option<&Source>) -> Result<[u64; N]> {
        match self {
            Self::Memory(bytes) => {
                let at = usize::try_from(i).ok().and_then(|i| i.checked_mul(8));
                at.and_then(|at| words(bytes.get(at..)?)).ok_or_else(|| past(i))
            }
            Self::Sidecar { .. } => {
                let range = self.place(i, to_u64(N)).ok_or_else(|| past(i))?;
                let side = side.ok_or_else(|| past(i))?;
                words(&side.slice(range.start, range.end - range.start)?).ok_or_else(|| past(i))
            }
        }
    }

    /// Like [`Array::entries`], for each of `rows`; adjacent entries are read together.
    ///
    /// # Errors
    /// The errors of [`Array::entries`].
    pub fn many<const N: usize>(&self, rows: &[u64], side: Option<&Source>) -> Result<Vec<[u64; N]>> {
        let (Self::Sidecar { .. }, Some(side)) = (self, side) else {
            return rows.iter().map(|row| self.entries(*row, side)).collect();
        };
        let place = |row: &u64| self.place(*row, to_u64(N)).ok_or_else(|| past(*row));
        let places = rows.iter().map(place).collect::<Result<Vec<_>>>()?;
        let found = side.read_many(&places)?;
        rows.iter().zip(found).map(|(row, bytes)| words(&bytes).ok_or_else(|| past(*row))).collect()
    }

    /// The position in the sidecar of `count` entries from `i` on; `None` for an array in memory, and past the end.
    pub fn place(&self, i: u64, count: u64) -> Option<Range<u64>> {
        let Self::Sidecar { offset, length } = self else { return None };
        let (start, end) = (i.checked_mul(8)?, i.checked_add(count)?.checked_mul(8)?);
        (end <= *length).then(|| offset + start..offset + end)
    }

    /// All bytes.
    ///
    /// # Errors
    /// I/O errors of the sidecar.
    pub fn bytes(&self, side: Option<&Source>) -> Result<Bytes> {
        match self {
            Self::Memory(bytes) => Ok(bytes.clone()),
            Self::Sidecar { offset, length } => {
                side.ok_or_else(|| Error::mismatch("the sidecar is missing"))?.read(*offset, *length)
            }
        }
    }
}

/// The first words of `bytes`.
#[inline]
fn words<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    let (words, _) = bytes.as_chunks::<8>();
    words.first_chunk::<N>().map(|words| words.map(u64::from_le_bytes))
}

#[cold]
fn past(i: u64) -> Error {
    Error::truncated(format!("entry {i} is past the end of its array"))
}
