//! Bytes objects that are created first and filled later, by any thread and without the GIL.
//!
//! The safe way to create such an object zeroes its memory first. That costs as much as reading a value, and the page
//! faults occur in the thread that holds the GIL.
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

/// The type of object to create.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Container {
    Bytes,
    Bytearray,
}

/// The state of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    Empty,
    /// A thread is writing it.
    Busy,
    Filled,
    Failed,
}

/// A bytes or bytearray object. There is no other reference to it until it is filled.
#[derive(Debug)]
pub struct UninitBytes {
    object: Py<PyAny>,
    memory: NonNull<u8>,
    length: usize,
    state: AtomicU8,
}

// SAFETY: `memory` belongs to `object`, which lives as long as this struct. Only the thread that changes the state from
// `EMPTY` to `BUSY` writes to it. `object` is returned only in the state `FILLED`, which is final.
unsafe impl Send for UninitBytes {}
// SAFETY: as above.
unsafe impl Sync for UninitBytes {}

impl UninitBytes {
    /// # Errors
    /// `MemoryError` when there is no memory for `length` bytes.
    pub fn new(py: Python<'_>, container: Container, length: usize) -> PyResult<Self> {
        let size = ffi::Py_ssize_t::try_from(length)?;
        // SAFETY: for a null pointer, both functions leave the memory uninitialized. They return a new object, or null
        // with an exception; `from_owned_ptr_or_err` handles both.
        let object = unsafe {
            let object = match container {
                Container::Bytes => ffi::PyBytes_FromStringAndSize(ptr::null(), size),
                Container::Bytearray => ffi::PyByteArray_FromStringAndSize(ptr::null(), size),
            };
            Bound::from_owned_ptr_or_err(py, object)?
        };
        // SAFETY: the object has the type that was just created. It owns the memory, and the memory does not move: no
        // other code has a reference that could resize a bytearray.
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

    /// Fills the object, unless another call has already started to.
    ///
    /// # Errors
    /// Errors of `write`.
    pub fn fill(&self, write: impl for<'m> FnOnce(UninitSlice<'m>) -> Result<&'m mut [u8]>) -> Result<()> {
        if self.state.compare_exchange(EMPTY, BUSY, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return Ok(());
        }
        /// Marks the object as failed if the writer panics, so that no thread waits forever.
        struct Finish<'s>(&'s AtomicU8, u8);
        impl Drop for Finish<'_> {
            fn drop(&mut self) {
                self.0.store(self.1, Ordering::Release);
            }
        }
        let mut finish = Finish(&self.state, FAILED);
        // SAFETY: the object owns `length` bytes at this address, and the state admits only one thread at a time.
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
