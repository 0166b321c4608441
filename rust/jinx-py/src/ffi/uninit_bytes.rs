//! Bytes objects that are made first and filled later, by any thread and without the GIL.
//!
//! The safe way to make such an object clears its memory first, which costs as much as reading a value and brings the
//! page faults to the thread that holds the GIL.
#![allow(unsafe_code)]

use jinx_core::Result;
use jinx_core::io::UninitSlice;
use pyo3::ffi;
use pyo3::prelude::*;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU8, Ordering};

const EMPTY: u8 = 0;
const BUSY: u8 = 1;
const FILLED: u8 = 2;
const FAILED: u8 = 3;

/// Which object is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Container {
    Bytes,
    Bytearray,
}

/// How far an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    Empty,
    /// A thread is writing it.
    Busy,
    Filled,
    Failed,
}

/// A bytes or bytearray object that nobody else knows until it is filled.
#[derive(Debug)]
pub struct UninitBytes {
    object: Py<PyAny>,
    memory: NonNull<u8>,
    length: usize,
    state: AtomicU8,
}

// SAFETY: `memory` belongs to `object`, which lives as long as this. Only the one thread that moves the state from
// `EMPTY` to `BUSY` writes there, and `object` is handed out only in the state `FILLED`, which never changes again.
unsafe impl Send for UninitBytes {}
// SAFETY: as above.
unsafe impl Sync for UninitBytes {}

impl UninitBytes {
    /// # Errors
    /// `MemoryError` when there is no memory for `length` bytes.
    pub fn new(py: Python<'_>, container: Container, length: usize) -> PyResult<Self> {
        let size = ffi::Py_ssize_t::try_from(length)?;
        // SAFETY: both functions take a null pointer for memory that is not set, and return a new object or null
        // with an exception, which `from_owned_ptr_or_err` tells apart.
        let object = unsafe {
            let object = match container {
                Container::Bytes => ffi::PyBytes_FromStringAndSize(ptr::null(), size),
                Container::Bytearray => ffi::PyByteArray_FromStringAndSize(ptr::null(), size),
            };
            Bound::from_owned_ptr_or_err(py, object)?
        };
        // SAFETY: the object is of the type that was just made; the memory is its own and does not move, because
        // nobody who could resize a bytearray knows it.
        let memory = unsafe {
            match container {
                Container::Bytes => ffi::PyBytes_AsString(object.as_ptr()),
                Container::Bytearray => ffi::PyByteArray_AsString(object.as_ptr()),
            }
        };
        let memory = NonNull::new(memory.cast::<u8>()).ok_or_else(|| PyErr::fetch(py))?;
        Ok(Self { object: object.unbind(), memory, length, state: AtomicU8::new(EMPTY) })
    }

    pub fn len(&self) -> usize {
        self.length
    }

    pub fn progress(&self) -> Progress {
        match self.state.load(Ordering::Acquire) {
            EMPTY => Progress::Empty,
            BUSY => Progress::Busy,
            FILLED => Progress::Filled,
            _ => Progress::Failed,
        }
    }

    /// Fills the object, unless somebody has begun to.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn fill(&self, write: impl for<'m> FnOnce(UninitSlice<'m>) -> Result<&'m mut [u8]>) -> Result<()> {
        if self.state.compare_exchange(EMPTY, BUSY, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return Ok(());
        }
        /// A writer that panics leaves a failed object and nobody waiting forever.
        struct Finish<'s>(&'s AtomicU8, u8);
        impl Drop for Finish<'_> {
            fn drop(&mut self) {
                self.0.store(self.1, Ordering::Release);
            }
        }
        let mut finish = Finish(&self.state, FAILED);
        // SAFETY: the object owns `length` bytes there, and the state lets one thread in.
        let memory = unsafe {
            std::slice::from_raw_parts_mut(self.memory.as_ptr().cast::<MaybeUninit<u8>>(), self.length)
        };
        let written = write(UninitSlice::from(memory))?;
        if ptr::eq(written.as_ptr(), self.memory.as_ptr()) && written.len() == self.length {
            finish.1 = FILLED;
        }
        Ok(())
    }

    /// The object, once it is filled.
    pub fn object<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        (self.progress() == Progress::Filled).then(|| self.object.bind(py).clone())
    }
}
