//! Syncs a file in the background while it is being written, so that the final sync is short.

use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use jinx_core::io::{FileOps, RealOps};
use jinx_core::threads;
use std::fs::File;
use std::io;
use std::path::Path;
use std::thread::JoinHandle;

/// The number of bytes of a file between two syncs.
const STEP: u64 = 64 << 20;

/// The syncs of one growing file.
#[derive(Debug, Default)]
pub(super) struct EarlySync {
    bytes: u64,
    running: Option<JoinHandle<io::Result<()>>>,
}

impl EarlySync {
    /// Counts bytes that were written to the file. Starts a sync in the background after every [`STEP`] bytes.
    ///
    /// # Errors
    /// `Io` of an earlier sync. The system reports each failure only once, so no later sync would report it.
    pub(super) fn wrote(&mut self, file: &File, bytes: usize, path: &Path) -> Result<()> {
        self.bytes += to_u64(bytes);
        if self.bytes < STEP || self.running.as_ref().is_some_and(|running| !running.is_finished()) {
            return Ok(());
        }
        self.finish(path)?;
        // Without a second file handle or thread, the sync at the end writes everything.
        if let Ok(file) = file.try_clone() {
            let path = path.to_owned();
            self.running = threads::background("jinx-sync", move || RealOps.sync_file(&file, &path)).ok();
        }
        self.bytes = 0;
        Ok(())
    }

    /// Waits for the running sync.
    ///
    /// # Errors
    /// The errors of [`Self::wrote`].
    pub(super) fn finish(&mut self, path: &Path) -> Result<()> {
        let ended = self.running.take().map(JoinHandle::join);
        match ended {
            None | Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(error))) => Err(Error::io(path, &error)),
            Some(Err(_)) => Err(Error::invalid("a syncing thread ended without a result")),
        }
    }
}
