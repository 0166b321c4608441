//! Read-only memory maps: beside `blank.rs` the only place of the crate with `unsafe`.
#![allow(unsafe_code)]

use memmap2::{Mmap, MmapOptions};
use std::fs::File;
use std::io;

/// A whole file mapped for reading.
#[derive(Debug)]
pub(crate) struct Map(Mmap);

impl Map {
    /// Maps the first `length` bytes; `length` must not be zero and not exceed the file.
    pub(crate) fn new(file: &File, length: usize) -> io::Result<Self> {
        // SAFETY: the map is private to `Map` and handed out only as `&[u8]` tied to its lifetime. What the
        // compiler cannot check is that nobody changes the file meanwhile. Our own writers never write into or
        // shrink a published file, they publish by rename, which leaves this inode alone. A foreign process that
        // writes in place can change bytes we see: every consumer copies first and then checks and parses the
        // copy, so no bounds decision is taken on bytes that are read twice. One that shrinks the file makes a
        // touch behind the end a SIGBUS, which ends the process but exposes no memory; `io="pread"` avoids it.
        unsafe { MmapOptions::new().len(length).map(file) }.map(Self)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
