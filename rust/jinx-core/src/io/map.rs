//! Read-only memory maps.
#![allow(unsafe_code)]

use super::process_limits::max_maps;
use bytes::Bytes;
use memmap2::{Advice, Mmap, MmapOptions};
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of maps that exist now.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A whole file, mapped for reading. A clone is the same map.
#[derive(Debug, Clone)]
pub(crate) struct Map(Arc<CountedMap>);

#[derive(Debug)]
struct CountedMap(Mmap);

impl Map {
    /// Maps the first `length` bytes, which must not be zero or exceed the file.
    pub(crate) fn new(file: &File, length: usize) -> io::Result<Self> {
        Self::with(MmapOptions::new().len(length), file)
    }

    fn with(options: &MmapOptions, file: &File) -> io::Result<Self> {
        // SAFETY: the map is private to `Map`, and is only handed out as `&[u8]` with its lifetime and as `Bytes` that
        // own the `Map`. The compiler cannot check that nobody changes the file meanwhile. Our own writers never write
        // into a published file or shrink it: they publish by rename, which does not touch this inode. Another program
        // that writes in place can change the bytes that we see. Therefore, whatever is parsed or becomes text is
        // copied first: footers, lines, columns of strings, values. Code that works on the map itself accepts any bytes
        // at any time: hashes; searches for one byte; numbers (of the index and of columns), which are checked again
        // wherever they are used as a position; the first bytes of a format; and decompressors, which stay within their
        // input and output whatever they read. No unchecked conversion relies on an earlier check of bytes in the map.
        // If another program shrinks the file, an access past the end raises SIGBUS, which ends the process but exposes
        // no memory; `io="pread"` avoids this for local files.
        // The same holds for the chunks of the cache of remote data: a directory that only its user may write to, files
        // that are written under another name, renamed, and then only unlinked, which leaves their maps alone.
        // `JINX_IO=pread`, which is read when a cache is opened, avoids their maps.
        let map = unsafe { options.map(file) }?;
        COUNT.fetch_add(1, Ordering::Relaxed);
        Ok(Self(Arc::new(CountedMap(map))))
    }

    /// Sets whether the system reads more than the page that is used first, as far as the disk's setting allows.
    pub(crate) fn set_read_ahead(&self, is_on: bool) {
        // If the advice fails, reading gives the same bytes.
        let _ = self.0.0.advise(if is_on { Advice::Normal } else { Advice::Random });
    }

    /// Whether this library has half of the maps that a process may have; the rest is for memory and other libraries.
    pub(crate) fn are_many() -> bool {
        COUNT.load(Ordering::Relaxed) >= max_maps() / 2
    }
}

/// The first `length` bytes of a file, which must not be zero or exceed the file. All of it is mapped in one step: for
/// bytes that will all be read, such as those of a checksum.
///
/// # Errors
/// `OutOfMemory` if this library has half of the maps that a process may have, and the errors of the system: then read
/// the file instead.
pub fn mapped(file: &File, length: usize) -> io::Result<Bytes> {
    if Map::are_many() {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    Map::with(MmapOptions::new().len(length).populate(), file).map(Bytes::from_owner)
}

impl AsRef<[u8]> for Map {
    fn as_ref(&self) -> &[u8] {
        &self.0.0
    }
}

impl Drop for CountedMap {
    fn drop(&mut self) {
        COUNT.fetch_sub(1, Ordering::Relaxed);
    }
}
