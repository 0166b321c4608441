//! An immutable file of a dataset, read at offsets: [`Blocks`] with the name that errors give.

use super::access::ACCESS_VARIABLE;
use super::blocks::{Blocks, Density, Version};
use super::local_file::LocalFile;
use super::store::{Store, joined, url_of};
use super::{Access, UninitSlice};
use crate::checked_math::{range_within, to_u64, to_usize};
use crate::error::{Cause, Error, Result};
use bytes::Bytes;
use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf, absolute};

/// The directory from which relative `paths` start: the current working directory, or an empty path if none is
/// relative.
pub fn base_of(paths: &[PathBuf]) -> PathBuf {
    match paths.iter().all(|path| path.is_absolute() || url_of(path).is_some()) {
        true => PathBuf::new(),
        // Without a working directory, opening a relative path fails.
        false => std::env::current_dir().unwrap_or_default(),
    }
}

/// An open file whose content does not change. It has no position, so threads and forked processes may share it.
#[derive(Debug)]
pub struct Source {
    blocks: Box<dyn Blocks>,
    /// The path as given, for messages.
    path: PathBuf,
    length: u64,
    map: Option<Bytes>,
    is_remote: bool,
}

impl Source {
    /// Opens a regular file.
    ///
    /// # Errors
    /// `Io` when the file is missing or refused, or when it cannot be mapped and `access` is `Mmap`; `Invalid` when
    /// it is a directory, a pipe or a device, or when the environment variable `JINX_IO` holds an unknown name.
    pub fn open(path: impl AsRef<Path>, access: Access) -> Result<Self> {
        Self::open_from(Path::new(""), path, access)
    }

    /// Like [`Source::open`], but a relative path starts at `base` (see [`base_of`]).
    ///
    /// # Errors
    /// The errors of [`Source::open`].
    pub fn open_from(base: &Path, path: impl AsRef<Path>, access: Access) -> Result<Self> {
        let path = path.as_ref();
        let open = || {
            let access = access.or_from_environment(std::env::var_os(ACCESS_VARIABLE).as_deref())?;
            let joined = base.join(path);
            // An empty path has no absolute form; opening it reports a missing file.
            LocalFile::open(absolute(&joined).unwrap_or(joined), access)
        };
        open().map(|file| Self::of(Box::new(file), path)).map_err(|error| error.in_file(path))
    }

    /// Like [`Source::open_from`], for a path that may be a URL, which `store` opens.
    ///
    /// # Errors
    /// The errors of [`Source::open`]; `Unsupported` for a URL without a store; errors of the network and of the store.
    pub fn open_anywhere(
        store: Option<&dyn Store>,
        base: &Path,
        path: &Path,
        access: Access,
    ) -> Result<Self> {
        let place = joined(base, path);
        let Some(url) = url_of(&place) else { return Self::open_from(base, path, access) };
        let refused = || Error::unsupported("this is a URL; only local files are read here");
        let open = || store.ok_or_else(refused)?.open(url);
        Ok(Self::of(open().map_err(|error| error.in_file(&place))?, place))
    }

    /// Bytes from any place, with the name to use in errors.
    pub fn of(blocks: Box<dyn Blocks>, path: impl Into<PathBuf>) -> Self {
        let (length, map) = (blocks.len(), blocks.as_mapped());
        let is_remote = matches!(blocks.version(), Version::Tag(_));
        Self { blocks, path: path.into(), length, map, is_remote }
    }

    /// The size of the file in bytes at the time of opening.
    pub fn len(&self) -> u64 {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The path as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All bytes, if they are mapped.
    pub fn mapped(&self) -> Option<&Bytes> {
        self.map.as_ref()
    }

    pub fn is_mapped(&self) -> bool {
        self.map.is_some()
    }

    /// Whether it is an object in a store, where reading may take a while.
    pub fn is_remote(&self) -> bool {
        self.is_remote
    }

    /// The version at opening, to compare with the version at a later opening.
    pub fn version(&self) -> Version {
        self.blocks.version()
    }

    /// Fails if the path now leads to another file, or this file has changed.
    ///
    /// # Errors
    /// `Mismatch` naming the file; `Io` when it cannot be looked at.
    pub fn require_unchanged(&self) -> Result<()> {
        self.named(self.blocks.require_unchanged())
    }

    /// Fills `out` with the bytes from `offset` on; later changes of the file do not affect them.
    ///
    /// # Errors
    /// `Truncated` when the range lies outside the file, or the file has become shorter; `Mismatch` when it had to be
    /// opened again and is another one now; `Interrupted`.
    pub fn read_at<'o>(&self, offset: u64, out: UninitSlice<'o>) -> Result<&'o mut [u8]> {
        self.range(offset, to_u64(out.len()))?;
        self.named(self.blocks.read_into(offset, out))
    }

    /// The `length` bytes from `offset` on, in new memory.
    ///
    /// # Errors
    /// The errors of [`Source::read_at`]; `Limit` when memory runs out.
    pub fn read_vec(&self, offset: u64, length: u64) -> Result<Vec<u8>> {
        let range = self.range(offset, length)?;
        self.named(self.blocks.read_vec(range))
    }

    /// The `length` bytes from `offset` on, without a copy if they are in memory.
    ///
    /// # Errors
    /// The errors of [`Source::read_vec`].
    pub fn read(&self, offset: u64, length: u64) -> Result<Bytes> {
        let range = self.range(offset, length)?;
        self.named(self.blocks.read(range))
    }

    /// Like [`Source::read`], for bytes that must pass `check`. Those of an object in a store are fetched once more if
    /// they do not: a copy on the way may be damaged.
    ///
    /// # Errors
    /// The errors of [`Source::read`] and of `check`.
    pub fn read_checked(
        &self,
        offset: u64,
        length: u64,
        check: impl Fn(&[u8]) -> Result<()>,
    ) -> Result<Bytes> {
        let bytes = self.read(offset, length)?;
        match check(&bytes) {
            Ok(()) => return Ok(bytes),
            Err(error) if !self.may_fetch_again(&error, offset..offset.saturating_add(length)) => {
                return Err(error);
            }
            Err(_) => {}
        }
        let bytes = self.read(offset, length)?;
        check(&bytes).map(|()| bytes)
    }

    /// Whether an error may come from cached copies of an object in a store; these are then dropped, so that the range
    /// is fetched again.
    pub fn may_fetch_again(&self, error: &Error, range: Range<u64>) -> bool {
        let is_damage = matches!(error.cause(), Cause::Corrupt | Cause::Truncated);
        if !self.is_remote || !is_damage {
            return false;
        }
        self.blocks.forget(range.start.min(self.length)..range.end.min(self.length));
        true
    }

    /// Like [`Source::read`], for many ranges; adjacent ranges are read together.
    ///
    /// # Errors
    /// The errors of [`Source::read`].
    pub fn read_many(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        for range in ranges {
            self.range(range.start, range.end.saturating_sub(range.start))?;
        }
        self.named(self.blocks.read_many(ranges))
    }

    /// Like [`Source::read`], for bytes that are used at once: borrowed from the map if there is one, which costs
    /// nothing, not even a reference count over which threads would contend.
    ///
    /// # Errors
    /// The errors of [`Source::read`].
    pub fn slice(&self, offset: u64, length: u64) -> Result<Cow<'_, [u8]>> {
        let range = self.range(offset, length)?;
        let Some(map) = &self.map else { return self.named(self.blocks.read_vec(range)).map(Cow::Owned) };
        let (start, end) = (to_usize(range.start, "an offset")?, to_usize(range.end, "an offset")?);
        let bytes = map.get(start..end).ok_or_else(|| Error::truncated("a range outside the map"));
        self.named(bytes.map(Cow::Borrowed))
    }

    /// Whether reading the byte at `offset` would not wait. When in doubt, `false`.
    pub fn is_cached(&self, offset: u64) -> bool {
        offset < self.length && self.blocks.is_cached(offset)
    }

    /// Announces ranges that will be read soon. Ranges outside the file are ignored, because reading them reports the
    /// error.
    pub fn will_need(&self, ranges: &[Range<u64>], density: Density) {
        let inside = ranges.iter().map(|range| range.start..range.end.min(self.length));
        let inside: Vec<_> = inside.filter(|range| range.start < range.end).collect();
        self.blocks.will_need(&inside, density);
    }

    /// See [`Blocks::set_read_ahead`].
    pub fn set_read_ahead(&self, is_on: bool) {
        self.blocks.set_read_ahead(is_on);
    }

    #[inline]
    fn range(&self, offset: u64, length: u64) -> Result<Range<u64>> {
        self.named(range_within(offset, length, self.length, "a range"))
    }

    #[inline]
    fn named<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| error.in_file(&self.path))
    }
}
