//! Unchanging bytes that are read at offsets: the basis of all readers of a dataset's files.

use super::{Identity, UninitSlice};
use crate::checked_math::to_u64;
use crate::error::{Error, Result};
use bytes::Bytes;
use std::fmt::Debug;
use std::fs::Metadata;
use std::ops::Range;

/// A local file, or an object in a store.
///
/// Any thread may call any method, and waits until the bytes have arrived. Ranges lie inside: [`super::Source`], which
/// owns the bytes' name, checks them and names the file in errors.
pub trait Blocks: Debug + Send + Sync {
    /// The length in bytes at the time of opening.
    fn len(&self) -> u64;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The version that was opened. All reads return bytes of this state, or an error.
    fn version(&self) -> Version;

    /// Fails if the name now leads to another version.
    ///
    /// # Errors
    /// `Mismatch`; `Io` when it cannot be looked at.
    fn require_unchanged(&self) -> Result<()>;

    /// The bytes of a range; without a copy if they are in memory.
    ///
    /// # Errors
    /// `Truncated` when there are fewer bytes than at opening, `Mismatch` when they are others, `Limit` when memory runs
    /// out, `Interrupted`, `Io`.
    fn read(&self, range: Range<u64>) -> Result<Bytes>;

    /// The bytes of each range, in the order of `ranges`. Neighbours are read together.
    ///
    /// # Errors
    /// The errors of [`Blocks::read`].
    fn read_many(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>>;

    /// Like [`Blocks::read`], but into the caller's memory, so that a value goes directly into its final object.
    ///
    /// # Errors
    /// The errors of [`Blocks::read`].
    fn read_into<'o>(&self, offset: u64, out: UninitSlice<'o>) -> Result<&'o mut [u8]> {
        let bytes = self.read(offset..offset + to_u64(out.len()))?;
        out.copied(&bytes).ok_or_else(|| Error::truncated("fewer bytes than were asked for"))
    }

    /// Like [`Blocks::read`], but in memory to which nothing else refers.
    ///
    /// # Errors
    /// The errors of [`Blocks::read`].
    fn read_vec(&self, range: Range<u64>) -> Result<Vec<u8>> {
        self.read(range).map(Vec::from)
    }

    /// Whether reading the byte at `offset` would not wait. When in doubt, `false`.
    fn is_cached(&self, offset: u64) -> bool;

    /// Announces ranges that will be read soon, so that they can be fetched now; in larger pieces if they are dense.
    /// This neither waits nor fails.
    fn will_need(&self, ranges: &[Range<u64>], density: Density);

    /// Sets whether more than what is used is read from the disk, if bytes are mapped into memory: `false` is for
    /// callers that announce their reads with [`Blocks::will_need`].
    fn set_read_ahead(&self, _is_on: bool) {}

    /// Drops kept copies of a range that does not match its checksum.
    fn forget(&self, _range: Range<u64>) {}

    /// All bytes, if they are mapped into memory.
    fn as_mapped(&self) -> Option<Bytes>;
}

/// Whether most of the bytes around some ranges will also be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Density {
    /// Most will not be read, as far as is known.
    Sparse,
    /// Most will be read soon.
    Dense,
}

/// Identifies a version of some bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Version {
    File(Identity),
    /// The tag that a store gives to each version of an object.
    Tag(String),
}

impl From<&Metadata> for Version {
    fn from(metadata: &Metadata) -> Self {
        Self::File(Identity::from(metadata))
    }
}

impl Version {
    /// A string that is the same on every machine, so it contains no device or inode numbers.
    pub fn portable(&self) -> String {
        match self {
            Self::File(identity) => format!("{}-{}", identity.size, identity.modified_nanoseconds()),
            Self::Tag(tag) => tag.clone(),
        }
    }
}
