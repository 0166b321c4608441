//! An immutable file, read at offsets.

use super::UninitSlice;
use super::local_disk::is_remote;
use super::map::Map;
use super::process_limits::max_open_files;
use crate::checked_math::{range_within, to_u64, to_usize};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::limits::FIRST_RESERVATION_BYTES;
use rustix::buffer::spare_capacity;
use rustix::io::retry_on_intr;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::ops::Deref;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf, absolute};

/// The environment variable that decides what [`Access::Auto`] does.
pub const ACCESS_VARIABLE: &str = "JINX_IO";

/// Bytes read between two checks for an interrupt: about 30 ms from memory.
const MAX_READ_BYTES: usize = 64 << 20;

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// Maps files on local file systems; positioned reads elsewhere and where mapping fails.
    #[default]
    Auto,
    /// Maps the file or fails.
    Mmap,
    /// Positioned reads only: safe even if another process shrinks the file.
    Pread,
}

impl Access {
    /// `"auto"`, `"mmap"` or `"pread"`; any other name is an `Invalid` error.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "auto" => Ok(Self::Auto),
            "mmap" => Ok(Self::Mmap),
            "pread" => Ok(Self::Pread),
            _ => Err(Error::invalid(format!("io is {name:?}; it must be \"auto\", \"mmap\" or \"pread\""))),
        }
    }

    /// Replaces `Auto` by the value of the environment variable, if it is set.
    pub(crate) fn or_from_environment(self, variable: Option<&OsStr>) -> Result<Self> {
        match variable {
            Some(value) if self == Self::Auto => Self::from_name(&value.to_string_lossy()).map_err(|error| {
                Error::invalid(format!("environment variable {ACCESS_VARIABLE}: {}", error.what()))
            }),
            _ => Ok(self),
        }
    }
}

/// Identifies one state of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    pub device: u64,
    pub inode: u64,
    /// Bytes.
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

/// The base of relative `paths`: the current working directory, or an empty path if none of them is relative.
pub fn base_of(paths: &[PathBuf]) -> PathBuf {
    match paths.iter().all(|path| path.is_absolute()) {
        true => PathBuf::new(),
        // Without a working directory, opening them fails.
        false => std::env::current_dir().unwrap_or_default(),
    }
}

/// An open file whose content does not change. It has no position, so threads and forked processes may share it.
#[derive(Debug)]
pub struct Source {
    handle: Handle,
    /// As it was given, for messages.
    path: PathBuf,
    /// The absolute path, which no change of the working directory affects.
    place: PathBuf,
    length: u64,
    identity: Identity,
    map: Option<Map>,
}

/// How the file is kept: a process has few handles, and a dataset may have thousands of files.
#[derive(Debug)]
enum Handle {
    Held(File),
    /// Opened again for each read.
    Released,
}

impl Handle {
    /// Keeps the file open, unless half of the handles this process may have are in use.
    fn of(file: File) -> Self {
        let number = u64::try_from(file.as_raw_fd()).unwrap_or_default();
        match max_open_files() {
            Some(limit) if number >= limit / 2 => Self::Released,
            _ => Self::Held(file),
        }
    }
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

    /// As [`Source::open`], for a relative path that counts from `base` (see [`base_of`]).
    ///
    /// # Errors
    /// As [`Source::open`].
    pub fn open_from(base: &Path, path: impl AsRef<Path>, access: Access) -> Result<Self> {
        let path = path.as_ref();
        Self::open_plain(base, path, access).map_err(|error| error.in_file(path))
    }

    fn open_plain(base: &Path, path: &Path, access: Access) -> Result<Self> {
        let access = access.or_from_environment(std::env::var_os(ACCESS_VARIABLE).as_deref())?;
        let joined = base.join(path);
        // An empty path has no absolute form; opening it reports a missing file.
        let place = absolute(&joined).unwrap_or(joined);
        // Checked before opening, because opening a pipe without a writer blocks forever.
        require_regular(&place.metadata()?)?;
        let file = File::open(&place)?;
        let metadata = file.metadata()?;
        require_regular(&metadata)?;
        let length = metadata.len();
        let map = map_if_wanted(&file, length, access)?;
        let (handle, identity) = (Handle::of(file), Identity::from(&metadata));
        Ok(Self { handle, path: path.to_owned(), place, length, identity, map })
    }

    /// Bytes in the file when it was opened.
    pub fn len(&self) -> u64 {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The path as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether [`Source::slice`] borrows from a map.
    pub fn is_mapped(&self) -> bool {
        self.map.is_some()
    }

    /// Device, inode, size and time at opening, to compare with those of a later opening.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Fills `out` with the bytes from `offset` on, by positioned reads wherever the file is held open: a file that was
    /// shrunk is an error, not a signal.
    ///
    /// That costs little: 47 kB take 7.1 us, against 6.8 us from an untouched map and 4.4 us from a touched one (Linux
    /// 6.18, page cache warm); from a cold disk all three wait for the disk.
    ///
    /// # Errors
    /// `Truncated` when the range lies outside the file, or the file has become shorter; `Mismatch` when it had to be
    /// opened again and is another one now; `Interrupted`.
    pub fn read_at<'o>(&self, offset: u64, mut out: UninitSlice<'o>) -> Result<&'o mut [u8]> {
        let length = to_u64(out.len());
        self.check(offset, length)?;
        if let Some(bytes) = self.only_mapped(offset, length)? {
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
                Err(error) => return Err(self.failed(&error, at)),
            }
        }
        out.written().ok_or_else(|| self.shrunk(offset))
    }

    /// The `length` bytes from `offset` on, in new memory that grows as bytes arrive.
    ///
    /// # Errors
    /// As [`Source::read_at`]; `Limit` when memory runs out.
    pub fn read_vec(&self, offset: u64, length: u64) -> Result<Vec<u8>> {
        self.check(offset, length)?;
        let wanted = to_usize(length, "a length")?;
        let first = to_usize(FIRST_RESERVATION_BYTES, "a length")?;
        let mut bytes = Vec::new();
        if let Some(mapped) = self.only_mapped(offset, length)? {
            bytes.try_reserve_exact(wanted).map_err(|_| self.no_memory(length))?;
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
                bytes.try_reserve_exact(chunk).map_err(|_| self.no_memory(length))?;
            }
            let at = offset + to_u64(bytes.len());
            match retry_on_intr(|| rustix::io::pread(&*file, spare_capacity(&mut bytes), at)) {
                Ok(0) => return Err(self.shrunk(at)),
                Ok(_) => {}
                Err(error) if file.may_be_stale(&error.into()) => file = self.opened_again()?,
                Err(error) => return Err(self.failed(&error.into(), at)),
            }
        }
        // An allocator may give more room than requested, and the last read then returns more bytes.
        bytes.truncate(wanted);
        Ok(bytes)
    }

    /// The `length` bytes from `offset` on: borrowed from the map where there is one, else read.
    ///
    /// # Errors
    /// As [`Source::read_vec`].
    pub fn slice(&self, offset: u64, length: u64) -> Result<Cow<'_, [u8]>> {
        self.check(offset, length)?;
        match &self.map {
            Some(map) => self.mapped(map, offset, length).map(Cow::Borrowed),
            None => self.read_vec(offset, length).map(Cow::Owned),
        }
    }

    /// Bytes of the file, if it is mapped.
    pub fn mapped_slice(&self, offset: u64, length: u64) -> Option<&[u8]> {
        let map = self.map.as_ref()?;
        self.check(offset, length).and_then(|()| self.mapped(map, offset, length)).ok()
    }

    fn mapped<'m>(&self, map: &'m Map, offset: u64, length: u64) -> Result<&'m [u8]> {
        let start = to_usize(offset, "an offset")?;
        let end = to_usize(offset + length, "an offset")?;
        map.bytes().get(start..end).ok_or_else(|| self.shrunk(offset))
    }

    /// The bytes in the map, where that is all there is.
    fn only_mapped(&self, offset: u64, length: u64) -> Result<Option<&[u8]>> {
        match (&self.handle, &self.map) {
            (Handle::Released, Some(map)) => self.mapped(map, offset, length).map(Some),
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
        let file = File::open(&self.place).map_err(|error| Error::io(&self.path, &error))?;
        let metadata = file.metadata().map_err(|error| Error::io(&self.path, &error))?;
        self.require_same(&metadata)?;
        Ok(OpenFile::Own(file))
    }

    /// Fails if the path leads to another file now, or to this one after a change.
    ///
    /// # Errors
    /// `Mismatch` naming the file; `Io` when it cannot be looked at.
    pub fn require_unchanged(&self) -> Result<()> {
        let metadata = self.place.metadata().map_err(|error| Error::io(&self.path, &error))?;
        self.require_same(&metadata)
    }

    fn require_same(&self, metadata: &Metadata) -> Result<()> {
        if Identity::from(metadata) == self.identity {
            return Ok(());
        }
        let what = "the file was changed or replaced after it was opened; open the dataset again";
        Err(Error::mismatch(what).in_file(&self.path))
    }

    fn no_memory(&self, length: u64) -> Error {
        Error::limit(format!("no memory for {length} bytes")).in_file(&self.path)
    }

    fn check(&self, offset: u64, length: u64) -> Result<()> {
        range_within(offset, length, self.length, "a range")
            .map(drop)
            .map_err(|error| error.in_file(&self.path))
    }

    fn shrunk(&self, offset: u64) -> Error {
        Error::truncated(format!("the file had {} bytes when it was opened and is shorter now", self.length))
            .at_byte(offset)
            .in_file(&self.path)
    }

    fn failed(&self, error: &io::Error, offset: u64) -> Error {
        Error::io(&self.path, error).at_byte(offset)
    }
}

/// A file for one read.
enum OpenFile<'s> {
    Held(&'s File),
    Own(File),
}

impl OpenFile<'_> {
    /// A network file system loses its handles when its server restarts; the name still works.
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
