//! The files of a dataset: which they are, and what its views and samples share while they are open.

use jinx_core::{Error, Result};
use std::path::PathBuf;
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
/// Whoever reads holds them for as long as that takes, so `close` waits for nobody: the last reader lets them go.
pub struct Closable<T> {
    open: Weak<T>,
    owner: Arc<Mutex<Option<Arc<T>>>>,
}

impl<T> Clone for Closable<T> {
    fn clone(&self) -> Self {
        Self { open: Weak::clone(&self.open), owner: Arc::clone(&self.owner) }
    }
}

impl<T> Closable<T> {
    pub fn new(open: T) -> Self {
        let files = Arc::new(open);
        Self { open: Arc::downgrade(&files), owner: Arc::new(Mutex::new(Some(files))) }
    }

    /// The files, to be held while they are read.
    ///
    /// # Errors
    /// `Invalid` once they are closed.
    #[inline]
    pub fn get(&self) -> Result<Arc<T>> {
        self.open.upgrade().ok_or_else(closed)
    }

    /// # Errors
    /// `Invalid` once they are closed.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.open.strong_count() == 0 { Err(closed()) } else { Ok(()) }
    }

    /// Lets the files go; nobody can begin to read them any more.
    pub fn close(&self) {
        let files = self.owner.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(files);
    }
}

fn closed() -> Error {
    Error::invalid("the dataset is closed; open it again with jinx.open")
}
