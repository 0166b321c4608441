//! Opens pipes, which waits for a process at the other end.

use crate::error::{Error, Result};
use crate::interrupt;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::path::Path;

/// Opens a pipe or a device to read from it. A signal (Ctrl-C) ends the wait for a writer.
///
/// # Errors
/// `Io`; `Interrupted` when the program wants to stop.
pub fn open_to_read(path: &Path) -> Result<File> {
    open(path, OFlags::RDONLY)
}

/// Opens a pipe or a device to write to it. A signal (Ctrl-C) ends the wait for a reader.
///
/// # Errors
/// The errors of [`open_to_read`].
pub fn open_to_write(path: &Path) -> Result<File> {
    open(path, OFlags::WRONLY)
}

fn open(path: &Path, direction: OFlags) -> Result<File> {
    loop {
        match rustix::fs::open(path, direction | OFlags::CLOEXEC, Mode::empty()) {
            Ok(file) => return Ok(file.into()),
            Err(Errno::INTR) => interrupt::check()?,
            Err(error) => return Err(Error::io(path, &error.into())),
        }
    }
}
