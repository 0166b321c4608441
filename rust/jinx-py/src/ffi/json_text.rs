//! Converts JSON strings to str objects. One pass finds both the end of a string and whether it is ASCII.
#![allow(unsafe_code)]

use jinx_core::json::swar::{eight, string_marks};
use pyo3::prelude::*;
use pyo3::types::PyString;

/// The content of a JSON string up to the next quote or backslash.
#[derive(Clone, Copy)]
pub struct PlainRun<'t> {
    bytes: &'t [u8],
    /// Never true if a byte is above 127. The unsafe code below relies on this.
    is_ascii: bool,
}

impl<'t> PlainRun<'t> {
    /// Returns the run at the start of `text`. `None` if a control character or the end of the text comes first.
    #[inline]
    pub fn at_start_of(text: &'t [u8]) -> Option<Self> {
        let (mut at, mut high) = (0, 0);
        while let Some(word) = text.get(at..).and_then(<[u8]>::first_chunk::<8>) {
            let word = u64::from_le_bytes(*word);
            let marks = string_marks(word);
            if marks != 0 {
                let bits = marks.trailing_zeros() & !7;
                high |= word & ((1 << bits) - 1);
                at += (bits / 8) as usize;
                let is_ascii = high & eight(0x80) == 0;
                return (text[at] >= b' ').then_some(Self { bytes: &text[..at], is_ascii });
            }
            high |= word;
            at += 8;
        }
        loop {
            match *text.get(at)? {
                b'"' | b'\\' => break,
                0..b' ' => return None,
                byte => high |= u64::from(byte),
            }
            at += 1;
        }
        Some(Self { bytes: &text[..at], is_ascii: high & eight(0x80) == 0 })
    }

    pub fn len(self) -> usize {
        self.bytes.len()
    }

    pub fn bytes(self) -> &'t [u8] {
        self.bytes
    }

    /// A str, or `None` for bytes that are not UTF-8.
    #[inline]
    pub fn to_object(self, py: Python<'_>) -> Option<Bound<'_, PyAny>> {
        // SAFETY: `is_ascii` was computed from these bytes.
        unsafe { text(py, self.bytes, self.is_ascii) }
    }
}

/// The unescaped part of a JSON string with escapes.
#[derive(Default)]
pub struct Unescaped {
    bytes: Vec<u8>,
    /// Never true if a byte is above 127.
    is_ascii: bool,
}

impl Unescaped {
    #[inline]
    pub fn begin(&mut self, run: PlainRun<'_>) {
        self.bytes.clear();
        self.is_ascii = true;
        self.push(run);
    }

    #[inline]
    pub fn push(&mut self, run: PlainRun<'_>) {
        self.bytes.extend_from_slice(run.bytes);
        self.is_ascii &= run.is_ascii;
    }

    #[inline]
    pub fn push_char(&mut self, character: char) {
        self.bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        self.is_ascii &= character.is_ascii();
    }

    /// A str, or `None` for bytes that are not UTF-8.
    #[inline]
    pub fn to_object<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        // SAFETY: `is_ascii` was computed from all runs and characters in these bytes.
        unsafe { text(py, &self.bytes, self.is_ascii) }
    }

    /// Clears the text and keeps a capacity of at most `kept` bytes.
    pub fn clear(&mut self, kept: usize) {
        self.bytes.clear();
        self.bytes.shrink_to(kept);
    }
}

/// # Safety
/// `is_ascii` must be false if a byte is above 127.
#[inline]
unsafe fn text<'py>(py: Python<'py>, bytes: &[u8], is_ascii: bool) -> Option<Bound<'py, PyAny>> {
    // For strings of up to one character, Python has shared objects.
    let text = if is_ascii && bytes.len() > 1 {
        // SAFETY: guaranteed by the caller.
        unsafe { ascii_text(py, bytes) }?
    } else {
        PyString::new(py, std::str::from_utf8(bytes).ok()?)
    };
    Some(text.into_any())
}

/// Creates a str from `bytes`. `None` if there is no memory for it.
///
/// # Safety
/// All bytes must be below 128. Python reads other bytes as characters that its own code excludes in an ASCII str.
#[cfg(not(feature = "abi3"))]
#[inline]
unsafe fn ascii_text<'py>(py: Python<'py>, bytes: &[u8]) -> Option<Bound<'py, PyString>> {
    use pyo3::ffi;

    debug_assert!(bytes.is_ascii());
    let length = ffi::Py_ssize_t::try_from(bytes.len()).ok()?;
    // SAFETY: the new object is compact with one byte per character; its memory holds `length` characters; there is no
    // other reference to it yet; and the caller guarantees that the bytes are ASCII.
    unsafe {
        let object = Bound::from_owned_ptr_or_err(py, ffi::PyUnicode_New(length, 127)).ok()?;
        let memory = ffi::PyUnicode_DATA(object.as_ptr()).cast::<u8>();
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len());
        Some(object.cast_into_unchecked())
    }
}

/// The same function for the limited API.
///
/// # Safety
/// This version has no requirements. It is unsafe only to match the other version.
#[cfg(feature = "abi3")]
#[inline]
unsafe fn ascii_text<'py>(py: Python<'py>, bytes: &[u8]) -> Option<Bound<'py, PyString>> {
    std::str::from_utf8(bytes).ok().map(|text| PyString::new(py, text))
}
