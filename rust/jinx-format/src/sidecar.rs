//! The sidecar's 64-byte header.

use jinx_core::checked_math::u64_at;
use jinx_core::error::{Error, Result};
use jinx_core::io::{Access, Source};
use std::path::Path;
use twox_hash::XxHash3_64;

pub const MAGIC: [u8; 8] = *b"\x89BINX\r\n\x1a";
pub const HEADER_BYTES: u64 = 64;
/// Values and arrays begin at multiples of this: a cache line, as in numpy's own files.
pub const ALIGNMENT: u64 = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// 32 hex digits, the same as in the footer.
    pub id: String,
    /// The end of the last value.
    pub values_end: u64,
}

impl Header {
    /// The header's bytes for the 128-bit `id`.
    pub fn encode(id: u128, values_end: u64) -> [u8; 64] {
        let mut bytes = [0u8; 64];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&1u16.to_le_bytes());
        bytes[10..12].copy_from_slice(&1u16.to_le_bytes());
        bytes[16..32].copy_from_slice(&id.to_be_bytes());
        bytes[32..40].copy_from_slice(&values_end.to_le_bytes());
        let hash = XxHash3_64::oneshot(&bytes[..56]);
        bytes[56..].copy_from_slice(&hash.to_le_bytes());
        bytes
    }

    /// Parses a header.
    ///
    /// # Errors
    /// `Truncated`, `Corrupt` or `Unsupported`.
    pub fn parse(bytes: &[u8], file_len: u64) -> Result<Self> {
        if bytes.len() < 64 {
            return Err(Error::truncated("a sidecar shorter than its header"));
        }
        if bytes[..8] != MAGIC {
            return Err(Error::corrupt("not a JINX 1.1 sidecar (magic bytes differ)"));
        }
        if u64_at(bytes, 56) != Some(XxHash3_64::oneshot(&bytes[..56])) {
            return Err(Error::corrupt("the sidecar's header is damaged (checksum)"));
        }
        if bytes[8..10] != 1u16.to_le_bytes() || bytes[12..16] != [0; 4] {
            return Err(Error::unsupported("a sidecar of a newer format"));
        }
        let values_end = u64_at(bytes, 32).unwrap_or_default();
        if values_end < HEADER_BYTES || values_end > file_len {
            return Err(Error::truncated(format!(
                "the sidecar's values end at {values_end}, it has {file_len} bytes"
            )));
        }
        let id = bytes[16..32].iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { id, values_end })
    }

    pub fn read(side: &Source) -> Result<Self> {
        let length = side.len().min(HEADER_BYTES);
        Self::parse(&side.slice(0, length)?, side.len()).map_err(|error| error.in_file(side.path()))
    }
}

/// The id in the header of a file; `None` for a file that cannot be read or has no valid header.
pub(crate) fn id_of(sidecar: &Path) -> Option<String> {
    Header::read(&Source::open(sidecar, Access::Pread).ok()?).ok().map(|header| header.id)
}
