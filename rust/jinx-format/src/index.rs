//! Arrays of little-endian u64: the index and the line hashes.

use crate::footer::ArrayRef;
use jinx_core::checked_math::{range_within, to_u64, to_usize};
use jinx_core::error::{Error, Result};
use jinx_core::io::Source;
use std::borrow::Cow;

/// An array in memory or in the sidecar, where a memory map makes it free to open.
#[derive(Debug)]
pub enum Array {
    Owned(Vec<u8>),
    Sidecar { offset: u64, length: u64 },
}

impl Default for Array {
    fn default() -> Self {
        Self::Owned(Vec::new())
    }
}

impl Array {
    pub fn owned(bytes: Vec<u8>) -> Self {
        Self::Owned(bytes)
    }

    /// Opens an array that must have `expected` bytes, of a main file of `file_bytes`.
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
                Ok(Self::Owned(ArrayRef::decode_inline(data, *length, x, file_bytes)?))
            }
            ArrayRef::Sidecar { offset, length, .. } => {
                if *length != expected {
                    return Err(wrong(*length));
                }
                let side = side.ok_or_else(|| {
                    Error::mismatch(format!("the sidecar, which holds the {what}, is missing"))
                })?;
                range_within(*offset, *length, side.len(), what)?;
                Ok(Self::Sidecar { offset: *offset, length: *length })
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
        let past = || Error::truncated(format!("entry {i} is past the end of its array"));
        let wanted = to_u64(8 * N);
        let at = i.checked_mul(8).ok_or_else(past)?;
        let bytes = match self {
            Self::Owned(bytes) => {
                let at = to_usize(at, "an array's entry")?;
                Cow::Borrowed(bytes.get(at..).and_then(|rest| rest.get(..8 * N)).ok_or_else(past)?)
            }
            Self::Sidecar { offset, length } => {
                if at.checked_add(wanted).is_none_or(|end| end > *length) {
                    return Err(past());
                }
                side.ok_or_else(past)?.slice(offset + at, wanted)?
            }
        };
        let (words, _) = bytes.as_chunks::<8>();
        words.first_chunk::<N>().map(|words| words.map(u64::from_le_bytes)).ok_or_else(past)
    }

    /// All bytes.
    ///
    /// # Errors
    /// I/O errors of the sidecar.
    pub fn bytes<'a>(&'a self, side: Option<&'a Source>) -> Result<Cow<'a, [u8]>> {
        match self {
            Self::Owned(bytes) => Ok(bytes.into()),
            Self::Sidecar { offset, length } => {
                side.ok_or_else(|| Error::mismatch("the sidecar is missing"))?.slice(*offset, *length)
            }
        }
    }
}
