//! The files of a dataset: which they are, and what its views and samples share while they are open.

use jinx_core::{Error, Result};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Which files a dataset has, known also when they are closed.
#[derive(Debug)]
pub struct Files {
    /// As they were given.
    pub paths: Vec<PathBuf>,
    /// What relative paths count from.
    pub base: PathBuf,
    /// Samples in them.
    pub samples: u64,
}

/// What is read from while the files are open.
///
/// Whoever reads holds it for as long as that takes, so `close` waits for nobody: the last reader lets the files go.
pub struct Closable<T> {
    open: Weak<T>,
    owner: Arc<Owner<T>>,
}

struct Owner<T> {
    /// Nobody begins to read any more, although others may not be done.
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

    /// What is read from, to be held while that is done.
    ///
    /// # Errors
    /// `Invalid` once it is closed.
    #[inline]
    pub fn get(&self) -> Result<Arc<T>> {
        self.check()?;
        self.open.upgrade().ok_or_else(closed)
    }

    /// # Errors
    /// `Invalid` once it is closed.
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
