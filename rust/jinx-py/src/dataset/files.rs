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
/// Whoever reads holds them for as long as that takes, so `close` waits for nobody: the last reader lets them go.
pub struct Closable<T> {
    open: Weak<T>,
    owner: Arc<Owner<T>>,
}

struct Owner<T> {
    files: Mutex<Option<Arc<T>>>,
    /// Known at once, also while somebody still reads.
    is_closed: AtomicBool,
}

impl<T> Clone for Closable<T> {
    fn clone(&self) -> Self {
        Self { open: Weak::clone(&self.open), owner: Arc::clone(&self.owner) }
    }
}

impl<T> Closable<T> {
    pub fn new(open: T) -> Self {
        let files = Arc::new(open);
        let open = Arc::downgrade(&files);
        let owner = Owner { files: Mutex::new(Some(files)), is_closed: AtomicBool::new(false) };
        Self { open, owner: Arc::new(owner) }
    }

    /// The files, to be held while they are read.
    ///
    /// # Errors
    /// `Invalid` once they are closed.
    #[inline]
    pub fn get(&self) -> Result<Arc<T>> {
        self.check()?;
        self.open.upgrade().ok_or_else(closed)
    }

    /// # Errors
    /// `Invalid` once they are closed.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.owner.is_closed.load(Ordering::Relaxed) { Err(closed()) } else { Ok(()) }
    }

    /// Lets the files go; nobody can begin to read them any more.
    pub fn close(&self) {
        self.owner.is_closed.store(true, Ordering::Relaxed);
        let files = self.owner.files.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(files);
    }
}

fn closed() -> Error {
    Error::invalid("the dataset is closed; open it again with jinx.open")
}
