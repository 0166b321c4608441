//! Long values that are read before they are used.

use crate::ffi::uninit_bytes::{Container, Progress, UninitBytes};
use crate::objects::image::{self, Pixels};
use crate::prefetch::work::{Turn, Work};
use jinx_core::Result;
use jinx_core::io::UninitSlice;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The location of a value's bytes, and the kind of object that holds them unchanged.
pub trait ValueSource: Send + Sync + 'static {
    fn container(&self) -> Container;

    fn len(&self) -> usize;

    /// # Errors
    /// Read errors.
    fn read_into<'o>(&self, out: UninitSlice<'o>) -> Result<&'o mut [u8]>;

    /// The maximum size of the array in bytes, if an image is requested as an array.
    fn pixel_limit(&self) -> Option<u64> {
        None
    }
}

/// A value that any thread may read into its final object.
pub struct PendingValue<S> {
    pub source: S,
    object: UninitBytes,
    /// The pixels of an image that is requested as an array, once the object is filled.
    pixels: Mutex<Option<Pixels>>,
    turn: Turn,
}

impl<S: ValueSource> PendingValue<S> {
    /// # Errors
    /// `MemoryError`.
    pub fn new(py: Python<'_>, source: S) -> PyResult<Self> {
        let object = UninitBytes::new(py, source.container(), source.len())?;
        Ok(Self { source, object, pixels: Mutex::default(), turn: Turn::default() })
    }

    /// The object with the bytes of the value. `None` if reading failed; a normal lookup then reports the error.
    pub fn object<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        if matches!(self.object.progress(), Progress::Empty | Progress::Busy) {
            py.detach(|| {
                self.run();
                self.turn.wait(|| self.object.progress() == Progress::Busy);
            });
        }
        self.object.object(py)
    }

    /// Takes the pixels of a value that has been read. `None` if they were not decoded here or are already taken.
    pub fn take_pixels(&self) -> Option<Pixels> {
        self.pixels().take()
    }

    fn pixels(&self) -> MutexGuard<'_, Option<Pixels>> {
        self.pixels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: ValueSource> Work for PendingValue<S> {
    fn run(&self) {
        let _ = self.object.fill(|out| {
            let bytes = self.source.read_into(out)?;
            if let Some(limit) = self.source.pixel_limit() {
                *self.pixels() = image::decode(bytes, limit);
            }
            Ok(bytes)
        });
    }

    fn bytes(&self) -> usize {
        self.object.len()
    }

    fn is_final(&self) -> bool {
        true
    }

    fn turn(&self) -> &Turn {
        &self.turn
    }

    fn let_go(self: Arc<Self>) {
        // Hold the GIL to drop the last reference. PyO3 queues objects that are dropped without the GIL behind a lock.
        // If the process is forked while another thread holds that lock, the child waits for it forever.
        if let Some(last) = Arc::into_inner(self) {
            let _ = Python::try_attach(|_| drop(last));
        }
    }
}
