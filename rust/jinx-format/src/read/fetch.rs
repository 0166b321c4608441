//! Reads the stored bytes of values.

use crate::key::FormatVersion;
use crate::read::options::Verify;
use crate::read::pointer::Pointer;
use crate::read::shard::Shard;
use crate::sidecar;
use bytes::Bytes;
use jinx_core::checked_math::{range_within, to_u64, to_usize};
use jinx_core::error::{Error, Result};
use jinx_core::io::{SourceRange, UninitSlice};
use std::sync::Arc;
use twox_hash::XxHash3_64;

impl Shard {
    /// Reads a value's stored bytes.
    ///
    /// # Errors
    /// `Truncated` outside the sidecar, `Limit`, and `Corrupt` from `Verify::Full` on.
    pub fn fetch(&self, pointer: &Pointer) -> Result<Vec<u8>> {
        if self.side()?.is_remote() {
            return self.fetch_shared(pointer).map(Vec::from);
        }
        self.check_pointer(pointer)?;
        let bytes = self.side()?.read_vec(pointer.offset, pointer.length)?;
        self.check_value(pointer, &bytes)?;
        Ok(bytes)
    }

    /// Like [`Shard::fetch`], without a copy if the bytes are in memory.
    ///
    /// # Errors
    /// The errors of [`Shard::fetch`].
    pub fn fetch_shared(&self, pointer: &Pointer) -> Result<Bytes> {
        self.check_pointer(pointer)?;
        let check = |bytes: &[u8]| self.check_value(pointer, bytes);
        self.side()?.read_checked(pointer.offset, pointer.length, check)
    }

    /// Like [`Shard::fetch`], into memory that has the stored length.
    ///
    /// # Errors
    /// The errors of [`Shard::fetch`].
    pub fn fetch_into<'o>(&self, pointer: &Pointer, out: UninitSlice<'o>) -> Result<&'o mut [u8]> {
        self.check_pointer(pointer)?;
        if to_u64(out.len()) != pointer.length {
            return Err(Error::invalid("memory of a different length than the value"));
        }
        if self.side()?.is_remote() {
            let bytes = self.fetch_shared(pointer)?;
            return out.copied(&bytes).ok_or_else(|| Error::invalid("memory of a different length"));
        }
        let bytes = self.side()?.read_at(pointer.offset, out)?;
        self.check_value(pointer, bytes)?;
        Ok(bytes)
    }

    fn check_pointer(&self, pointer: &Pointer) -> Result<()> {
        range_within(pointer.offset, pointer.length, self.side()?.len(), "a value in the sidecar")?;
        if self.footer().rules == FormatVersion::V1_1
            && (pointer.x.is_none() || pointer.offset < sidecar::HEADER_BYTES)
        {
            return Err(Error::corrupt("a sidecar pointer without a checksum, or into the sidecar's header"));
        }
        if pointer.length > self.limits().max_value_bytes {
            return Err(Error::limit(format!(
                "a value of {} bytes; raise max_value_bytes to read it",
                pointer.length
            )));
        }
        to_usize(pointer.length, "value length").map(|_| ())
    }

    /// The stored bytes as a range of the sidecar, after checking them; `None` if they are on another machine.
    ///
    /// # Errors
    /// The errors of [`Shard::fetch`].
    pub(super) fn range(&self, pointer: &Pointer) -> Result<Option<SourceRange>> {
        self.check_pointer(pointer)?;
        let side = self.side()?;
        if side.is_remote() {
            return Ok(None);
        }
        let range = SourceRange::of(Arc::clone(side), pointer.offset, pointer.length)?;
        self.check_hash(pointer, || range.checksum())?;
        Ok(Some(range))
    }

    fn check_value(&self, pointer: &Pointer, bytes: &[u8]) -> Result<()> {
        self.check_hash(pointer, || Ok(XxHash3_64::oneshot(bytes)))
    }

    fn check_hash(&self, pointer: &Pointer, hash: impl FnOnce() -> Result<u64>) -> Result<()> {
        match pointer.x {
            Some(x) if self.options().verify >= Verify::Full && hash()? != x => Err(Error::corrupt(format!(
                "the value's checksum does not match: the sidecar is damaged at byte {}",
                pointer.offset
            ))),
            _ => Ok(()),
        }
    }
}
