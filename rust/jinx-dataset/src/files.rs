//! The files of a dataset: their paths, and the open files that its views and samples share.

use jinx_core::io::joined;
use jinx_core::{Error, Result};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The paths of the files of a dataset. They remain known after the files are closed.
#[derive(Debug)]
pub struct Files {
    /// The paths as given by the caller.
    pub paths: Vec<PathBuf>,
    /// The directory from which relative paths start.
    pub base: PathBuf,
    /// The number of samples in the files.
    pub samples: u64,
}

impl Files {
    /// The absolute paths, and the URLs.
    pub fn places(&self) -> impl Iterator<Item = PathBuf> {
        self.paths.iter().map(|path| joined(&self.base, path))
    }
}

/// Open files that can be closed.
///
/// A reader keeps a reference while it reads. So `close` never waits: the last reader releases the files.
pub struct Closable<T> {
    open: Weak<T>,
    owner: Arc<Owner<T>>,
}

struct Owner<T> {
    /// No new read may start, although earlier reads may still be running.
    is_closed: AtomicBool,
    files: Mutex<Option<Arc<T>>>,
}

impl<T> Clone for Closable<T> {
    fn clone(&self) -> Self {
        Self { open: Weak::clone(&self.open), owner: Arc::clone(&self.owner) }
    }
}

impl<T> Closable<T> {
    pub fn new(files: T) -> Self {
        let files = Arc::new(files);
        let open = Arc::downgrade(&files);
        let owner = Owner { is_closed: AtomicBool::new(false), files: Mutex::new(Some(files)) };
        Self { open, owner: Arc::new(owner) }
    }

    /// Returns the open files. Keep the reference while you read.
    ///
    /// # Errors
    /// `Invalid` once the files are closed.
    #[inline]
    pub fn get(&self) -> Result<Arc<T>> {
        self.check()?;
        self.open.upgrade().ok_or_else(closed)
    }

    /// # Errors
    /// `Invalid` once the files are closed.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.owner.is_closed.load(Ordering::Acquire) { Err(closed()) } else { Ok(()) }
    }

    pub fn close(&self) {
        self.owner.is_closed.store(true, Ordering::Release);
        let files = self.owner.files.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(files);
    }
}

#[cold]
fn closed() -> Error {
    Error::invalid("the dataset is closed; open it again with jinx.open")
}
