//! JSON text as Python objects, in one pass.
//!
//! A row is a few dozen small objects, so parsing must be cheap compared to creating them. Names come from a cache.
//! Strings are searched eight bytes at a time and copied once into their objects.
//!
//! The parser gives up on rare input: invalid JSON, nesting deeper than [`MAX_DEPTH`], integers of more than 64 bits,
//! and floats out of range for a double. The caller then uses the parser of the core, which implements every rule and
//! reports what is wrong.

use crate::ffi::json_text::{PlainRun, Unescaped};
use crate::objects::names::{MAX_NAME_BYTES, Names};
use jinx_core::json::swar::{eight, string_marks};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum nesting of lists and dicts, including the outermost.
const MAX_DEPTH: usize = 128;
/// The capacity for elements and for text that is kept for the next parser.
const KEPT_ITEMS: usize = 4096;
const KEPT_BYTES: usize = 1 << 16;
/// Integers with more digits may not fit into 64 bits.
const SAFE_DIGITS: usize = 18;

/// Parses the value in `text`. Returns `None` if the parser of the core must parse it. With `unique`, this includes
/// objects with a duplicate key.
pub fn parse<'py>(py: Python<'py>, text: &[u8], unique: bool) -> Option<Bound<'py, PyAny>> {
    let memory = kept().take().unwrap_or_default();
    let mut parser = Parser { py, text, at: 0, depth: 0, unique, memory };
    let value = parser.value().filter(|_| parser.blanks().is_none());
    let mut memory = parser.memory;
    memory.items.clear();
    memory.items.shrink_to(KEPT_ITEMS);
    memory.unescaped.clear(KEPT_BYTES);
    // Python code, such as a destructor, may have run and also parsed something. Drop its memory after releasing the
    // lock.
    let others = kept().replace(memory);
    drop(others);
    value
}

/// Memory that a parser passes on to the next one. A parser takes it out, so no lock is held while Python code runs.
#[derive(Default)]
struct Memory {
    names: Names,
    /// Elements of unfinished lists.
    items: Vec<Py<PyAny>>,
    unescaped: Unescaped,
}

fn kept() -> MutexGuard<'static, Option<Box<Memory>>> {
    static KEPT: Mutex<Option<Box<Memory>>> = Mutex::new(None);
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Parser<'t, 'py> {
    py: Python<'py>,
    text: &'t [u8],
    at: usize,
    depth: usize,
    unique: bool,
    memory: Box<Memory>,
}

impl<'t, 'py> Parser<'t, 'py> {
    /// Skips whitespace and returns the next byte without consuming it.
    #[inline]
    fn blanks(&mut self) -> Option<u8> {
        loop {
            match *self.text.get(self.at)? {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                byte => return Some(byte),
            }
        }
    }

    fn value(&mut self) -> Option<Bound<'py, PyAny>> {
        match self.blanks()? {
            b'"' => self.string(),
            b'{' => self.nested(Self::object),
            b'[' => self.nested(Self::list),
            b'n' => self.word(b"null").map(|()| self.py.None().into_bound(self.py)),
            b't' => self.word(b"true").map(|()| PyBool::new(self.py, true).to_owned().into_any()),
            b'f' => self.word(b"false").map(|()| PyBool::new(self.py, false).to_owned().into_any()),
            _ => self.number(),
        }
    }

    fn nested(
        &mut self,
        container: impl FnOnce(&mut Self) -> Option<Bound<'py, PyAny>>,
    ) -> Option<Bound<'py, PyAny>> {
        self.depth += 1;
        self.at += 1;
        let value = if self.depth <= MAX_DEPTH { container(self) } else { None };
        self.depth -= 1;
        value
    }

    fn list(&mut self) -> Option<Bound<'py, PyAny>> {
        if self.blanks()? == b']' {
            self.at += 1;
            return Some(PyList::empty(self.py).into_any());
        }
        let first = self.memory.items.len();
        loop {
            let value = self.value()?;
            self.memory.items.push(value.unbind());
            let next = self.blanks()?;
            self.at += 1;
            match next {
                b',' => {}
                b']' => return Some(PyList::new(self.py, self.memory.items.drain(first..)).ok()?.into_any()),
                _ => return None,
            }
        }
    }

    fn object(&mut self) -> Option<Bound<'py, PyAny>> {
        let dict = PyDict::new(self.py);
        if self.blanks()? == b'}' {
            self.at += 1;
            return Some(dict.into_any());
        }
        let mut members = 0;
        loop {
            if self.blanks()? != b'"' {
                return None;
            }
            let name = self.name()?;
            if self.blanks()? != b':' {
                return None;
            }
            self.at += 1;
            let value = self.value()?;
            dict.set_item(name, value).ok()?;
            members += 1;
            let next = self.blanks()?;
            self.at += 1;
            match next {
                b',' => {}
                b'}' => return (!self.unique || dict.len() == members).then(|| dict.into_any()),
                _ => return None,
            }
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.text[self.at..].starts_with(word).then(|| self.at += word.len())
    }

    /// Parses a name. The next byte is its opening quote.
    #[inline]
    fn name(&mut self) -> Option<Bound<'py, PyAny>> {
        let rest = &self.text[self.at + 1..];
        if let Some(head) = rest.first_chunk::<16>() {
            let length = plain_len(head);
            if rest.get(length) == Some(&b'"') && length <= MAX_NAME_BYTES {
                self.at += length + 2;
                return Some(self.memory.names.get(self.py, &rest[..length], *head)?.into_any());
            }
        }
        let run = PlainRun::at_start_of(rest)?;
        if rest[run.len()] == b'"' {
            let name = std::str::from_utf8(run.bytes()).ok()?;
            self.at += run.len() + 2;
            return Some(PyString::intern(self.py, name).into_any());
        }
        self.string()
    }

    /// Parses a string. The next byte is its opening quote.
    #[inline]
    fn string(&mut self) -> Option<Bound<'py, PyAny>> {
        self.at += 1;
        let run = self.plain_run()?;
        if self.text[self.at - 1] == b'"' {
            return run.to_object(self.py);
        }
        self.memory.unescaped.begin(run);
        self.escaped()
    }

    /// Returns the text up to the next quote or backslash, and skips that character. Gives up at control characters.
    #[inline]
    fn plain_run(&mut self) -> Option<PlainRun<'t>> {
        let run = PlainRun::at_start_of(self.text.get(self.at..)?)?;
        self.at += run.len() + 1;
        Some(run)
    }

    /// Parses the rest of a string after its first backslash.
    fn escaped(&mut self) -> Option<Bound<'py, PyAny>> {
        loop {
            let byte = *self.text.get(self.at)?;
            self.at += 1;
            let unescaped = match byte {
                b'"' | b'\\' | b'/' => char::from(byte),
                b'n' => '\n',
                b't' => '\t',
                b'r' => '\r',
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'u' => self.unicode()?,
                _ => return None,
            };
            self.memory.unescaped.push_char(unescaped);
            let run = self.plain_run()?;
            self.memory.unescaped.push(run);
            if self.text[self.at - 1] == b'"' {
                return self.memory.unescaped.to_object(self.py);
            }
        }
    }

    /// Parses four hexadecimal digits, or a surrogate pair, as a character.
    fn unicode(&mut self) -> Option<char> {
        let high = self.four_digits()?;
        if !(0xD800..0xDC00).contains(&high) {
            return char::from_u32(high);
        }
        self.word(b"\\u")?;
        let low = self.four_digits()?.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
        char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + low)
    }

    fn four_digits(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..)?.first_chunk::<4>()?;
        self.at += 4;
        digits.iter().try_fold(0, |value, digit| Some(value << 4 | char::from(*digit).to_digit(16)?))
    }

    fn digits(&mut self) -> Option<usize> {
        let digits = self.text[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += digits;
        (digits > 0).then_some(digits)
    }

    fn number(&mut self) -> Option<Bound<'py, PyAny>> {
        let start = self.at;
        let is_negative = self.text[start] == b'-';
        self.at += usize::from(is_negative);
        let leading = self.at;
        let digits = self.digits()?;
        if digits > 1 && self.text[leading] == b'0' {
            return None;
        }
        let is_float = matches!(self.text.get(self.at), Some(b'.' | b'e' | b'E'));
        if !is_float && digits <= SAFE_DIGITS {
            let value = self.text[leading..self.at]
                .iter()
                .fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
            return Some(PyInt::new(self.py, if is_negative { -value } else { value }).into_any());
        }
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.text.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.text.get(self.at), Some(b'+' | b'-')));
            self.digits()?;
        }
        let number = std::str::from_utf8(&self.text[start..self.at]).ok()?;
        if is_float {
            let value = number.parse().ok().filter(|value: &f64| value.is_finite())?;
            return Some(PyFloat::new(self.py, value).into_any());
        }
        let signed = number.parse::<i64>().map(|value| PyInt::new(self.py, value));
        signed
            .or_else(|_| number.parse::<u64>().map(|value| PyInt::new(self.py, value)))
            .ok()
            .map(Bound::into_any)
    }
}

/// Counts the bytes before the first quote, backslash, control character or non-ASCII byte.
#[inline]
fn plain_len(bytes: &[u8; 16]) -> usize {
    let word = |at: usize| bytes[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
    let ends = |word: u64| (string_marks(word) | word & eight(0x80)).trailing_zeros() as usize / 8;
    match ends(word(0)) {
        8 => 8 + ends(word(8)),
        length => length,
    }
}
