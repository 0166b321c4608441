//! A local file.

use super::blocks::{Blocks, Density, Version};
use super::kernel_advice::{expect_reads, is_cached};
use super::local_disk::is_remote;
use super::map::Map;
use super::process_limits::max_open_files;
use super::runs::runs;
use super::{Access, UninitSlice};
use crate::checked_math::{to_u64, to_usize};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::limits::FIRST_RESERVATION_BYTES;
use bytes::Bytes;
use rustix::buffer::spare_capacity;
use rustix::io::retry_on_intr;
use std::fs::{File, Metadata};
use std::io;
use std::ops::{Deref, Range};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// The number of bytes read between two checks for an interrupt: about 30 ms from memory.
const MAX_READ_BYTES: usize = 64 << 20;
/// The largest gap to read over, because reading it takes less time than another call.
const GAP_BYTES: u64 = 4 << 10;
/// The maximum number of bytes that are read at once.
const RUN_BYTES: u64 = 4 << 20;
/// The largest gap between ranges that one call of advice covers.
const ADVICE_GAP_BYTES: u64 = 16 << 10;

/// Identifies one version of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    pub device: u64,
    pub inode: u64,
    /// The size in bytes.
    pub size: u64,
    /// Time of the last change: seconds since 1970, and nanoseconds.
    pub modified: (i64, i64),
}

impl Identity {
    /// The time of the last change in nanoseconds since 1970.
    pub fn modified_nanoseconds(&self) -> i128 {
        i128::from(self.modified.0) * 1_000_000_000 + i128::from(self.modified.1)
    }
}

impl From<&Metadata> for Identity {
    fn from(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

/// An open file with unchanging content. It has no position, so threads and forked processes may share it.
#[derive(Debug)]
pub(crate) struct LocalFile {
    handle: Handle,
    /// The absolute path, which stays valid if the working directory changes.
    place: PathBuf,
    identity: Identity,
    map: Option<Bytes>,
    /// The mapping that owns these bytes.
    mapping: Option<Map>,
}

/// How the file is held: a process has few handles, and a dataset may have thousands of files.
#[derive(Debug)]
enum Handle {
    Held(File),
    /// The file is opened again for each read.
    Released,
}

impl Handle {
    /// Keeps the file open, unless half of the handles that this process may have are in use.
    fn of(file: File) -> Self {
        let number = u64::try_from(file.as_raw_fd()).unwrap_or_default();
        match max_open_files() {
            Some(limit) if number >= limit / 2 => Self::Released,
            _ => Self::Held(file),
        }
    }
}

impl LocalFile {
    /// Opens the regular file at an absolute path.
    ///
    /// # Errors
    /// The errors of [`super::Source::open`].
    pub(crate) fn open(place: PathBuf, access: Access) -> Result<Self> {
        // Check before opening, because opening a pipe without a writer blocks forever.
        require_regular(&place.metadata()?)?;
        let file = File::open(&place)?;
        let metadata = file.metadata()?;
        require_regular(&metadata)?;
        let mapping = map_if_wanted(&file, metadata.len(), access)?;
        let map = mapping.clone().map(Bytes::from_owner);
        Ok(Self { handle: Handle::of(file), place, identity: Identity::from(&metadata), map, mapping })
    }

    /// Opens the regular file at an absolute path without mapping it, and keeps its handle: later, its name may lead
    /// nowhere, and its size may change.
    ///
    /// # Errors
    /// The errors of [`super::Source::open`].
    pub(crate) fn open_held(place: PathBuf) -> Result<Self> {
        require_regular(&place.metadata()?)?;
        let file = File::open(&place)?;
        let metadata = file.metadata()?;
        require_regular(&metadata)?;
        Ok(Self {
            handle: Handle::Held(file),
            place,
            identity: Identity::from(&metadata),
            map: None,
            mapping: None,
        })
    }

    fn mapped<'m>(&self, map: &'m [u8], range: &Range<u64>) -> Result<&'m [u8]> {
        let (start, end) = (to_usize(range.start, "an offset")?, to_usize(range.end, "an offset")?);
        map.get(start..end).ok_or_else(|| self.shrunk(range.start))
    }

    /// The bytes in the map, if the whole file is mapped.
    fn only_mapped(&self, range: &Range<u64>) -> Result<Option<&[u8]>> {
        match (&self.handle, &self.map) {
            (Handle::Released, Some(map)) => self.mapped(map, range).map(Some),
            _ => Ok(None),
        }
    }

    /// The file, opened again if its handle was released.
    fn file(&self) -> Result<OpenFile<'_>> {
        match &self.handle {
            Handle::Held(file) => Ok(OpenFile::Held(file)),
            Handle::Released => self.opened_again(),
        }
    }

    fn opened_again(&self) -> Result<OpenFile<'_>> {
        let file = File::open(&self.place)?;
        self.require_same(&file.metadata()?)?;
        Ok(OpenFile::Own(file))
    }

    fn require_same(&self, metadata: &Metadata) -> Result<()> {
        if Identity::from(metadata) == self.identity {
            return Ok(());
        }
        let what = "the file was changed or replaced after it was opened; open the dataset again";
        Err(Error::mismatch(what))
    }

    fn shrunk(&self, offset: u64) -> Error {
        let length = self.identity.size;
        Error::truncated(format!("the file had {length} bytes when it was opened and is shorter now"))
            .at_byte(offset)
    }
}

impl Blocks for LocalFile {
    fn len(&self) -> u64 {
        self.identity.size
    }

    fn version(&self) -> Version {
        Version::File(self.identity)
    }

    fn require_unchanged(&self) -> Result<()> {
        self.require_same(&self.place.metadata()?)
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        match &self.map {
            Some(map) => self.mapped(map, &range).map(|part| map.slice_ref(part)),
            None => self.read_vec(range).map(Bytes::from),
        }
    }

    fn read_many(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        if self.map.is_some() {
            return ranges.iter().map(|range| self.read(range.clone())).collect();
        }
        let mut parts = vec![Bytes::new(); ranges.len()];
        for run in runs(ranges, GAP_BYTES, RUN_BYTES) {
            let start = run.range.start;
            let bytes = self.read(run.range)?;
            for i in run.members {
                let first = to_usize(ranges[i].start - start, "an offset")?;
                parts[i] = bytes.slice(first..first + to_usize(ranges[i].end - ranges[i].start, "a length")?);
            }
        }
        Ok(parts)
    }

    /// Uses positioned reads if the file is held open, so that a truncated file causes an error, not a signal.
    ///
    /// That costs little: 47 kB take 7.1 us, against 6.8 us from an untouched map and 4.4 us from a touched one (Linux
    /// 6.18, page cache warm); from a cold disk all three wait for the disk.
    fn read_into<'o>(&self, offset: u64, mut out: UninitSlice<'o>) -> Result<&'o mut [u8]> {
        if let Some(bytes) = self.only_mapped(&(offset..offset + to_u64(out.len())))? {
            return out.copied(bytes).ok_or_else(|| self.shrunk(offset));
        }
        let mut file = self.file()?;
        loop {
            let at = offset + to_u64(out.filled());
            match out.read_some(&file, at, MAX_READ_BYTES) {
                Ok(0) => break,
                Ok(_) if out.filled() < out.len() => interrupt::check()?,
                Ok(_) => {}
                Err(error) if file.may_be_stale(&error) => file = self.opened_again()?,
                Err(error) => return Err(Error::from(&error).at_byte(at)),
            }
        }
        out.written().ok_or_else(|| self.shrunk(offset))
    }

    /// Like [`Blocks::read_into`]; the memory grows as bytes arrive.
    fn read_vec(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let length = range.end - range.start;
        let no_memory = |_| Error::limit(format!("no memory for {length} bytes"));
        let wanted = to_usize(length, "a length")?;
        let first = to_usize(FIRST_RESERVATION_BYTES, "a length")?;
        let mut bytes = Vec::new();
        if let Some(mapped) = self.only_mapped(&range)? {
            bytes.try_reserve_exact(wanted).map_err(no_memory)?;
            bytes.extend_from_slice(mapped);
            return Ok(bytes);
        }
        let mut file = self.file()?;
        while bytes.len() < wanted {
            if bytes.len() == bytes.capacity() {
                if !bytes.is_empty() {
                    interrupt::check()?;
                }
                let chunk = bytes.len().max(first).min(wanted - bytes.len()).min(MAX_READ_BYTES);
                bytes.try_reserve_exact(chunk).map_err(no_memory)?;
            }
            let at = range.start + to_u64(bytes.len());
            match retry_on_intr(|| rustix::io::pread(&*file, spare_capacity(&mut bytes), at)) {
                Ok(0) => return Err(self.shrunk(at)),
                Ok(_) => {}
                Err(error) if file.may_be_stale(&error.into()) => file = self.opened_again()?,
                Err(error) => return Err(Error::from(&io::Error::from(error)).at_byte(at)),
            }
        }
        // An allocator may reserve more room than requested, and then the last read may return more bytes.
        bytes.truncate(wanted);
        Ok(bytes)
    }

    fn is_cached(&self, offset: u64) -> bool {
        match &self.handle {
            Handle::Held(file) => is_cached(file, offset),
            // There is no open file to give advice about.
            Handle::Released => true,
        }
    }

    fn will_need(&self, ranges: &[Range<u64>], _: Density) {
        let Handle::Held(file) = &self.handle else { return };
        for run in runs(ranges, ADVICE_GAP_BYTES, u64::MAX) {
            expect_reads(file, run.range);
        }
    }

    fn set_read_ahead(&self, is_on: bool) {
        if let Some(map) = &self.mapping {
            map.set_read_ahead(is_on);
        }
    }

    fn as_mapped(&self) -> Option<Bytes> {
        self.map.clone()
    }
}

/// A file that is open for one read.
enum OpenFile<'s> {
    Held(&'s File),
    Own(File),
}

impl OpenFile<'_> {
    /// Whether the handle may be stale: network file systems lose handles when their server restarts, but the name
    /// still works.
    fn may_be_stale(&self, error: &io::Error) -> bool {
        matches!(self, Self::Held(_)) && error.kind() == io::ErrorKind::StaleNetworkFileHandle
    }
}

impl Deref for OpenFile<'_> {
    type Target = File;

    fn deref(&self) -> &File {
        match self {
            Self::Held(file) => file,
            Self::Own(file) => file,
        }
    }
}

fn require_regular(metadata: &Metadata) -> Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    let kind = if metadata.is_dir() { "a directory" } else { "a pipe or a device" };
    Err(Error::invalid(format!("this is {kind}; a regular file is needed")))
}

fn map_if_wanted(file: &File, length: u64, access: Access) -> Result<Option<Map>> {
    // An empty file cannot be mapped.
    if length == 0
        || access == Access::Pread
        || (access == Access::Auto && (is_remote(file) || Map::are_many()))
    {
        return Ok(None);
    }
    let mapped =
        to_usize(length, "the file's size").and_then(|length| Map::new(file, length).map_err(Error::from));
    match (mapped, access) {
        (Ok(map), _) => Ok(Some(map)),
        (Err(_), Access::Auto) => Ok(None),
        (Err(error), _) => Err(error),
    }
}
