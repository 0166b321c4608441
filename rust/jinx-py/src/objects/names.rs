//! A cache of Python strings for short names. Nearly all JSON objects of a dataset share these names.

use pyo3::prelude::*;
use pyo3::types::PyString;

/// Longer names are not cached.
pub const MAX_NAME_BYTES: usize = 15;

const PLACES: usize = 1024;

/// The bytes of a name, padded with zeros, and its string object.
type Entry = Option<(u128, Py<PyString>)>;

/// A hash table. Each name is in the entry of its hash or in the neighboring one.
pub struct Names(Box<[Entry]>);

impl Default for Names {
    fn default() -> Self {
        Self(std::iter::repeat_with(|| None).take(PLACES).collect())
    }
}

impl Names {
    /// Returns the string object of `name`. `name` is ASCII without zero bytes, and `head` starts with it.
    #[inline]
    pub fn get<'py>(&mut self, py: Python<'py>, name: &[u8], head: [u8; 16]) -> Option<Bound<'py, PyString>> {
        debug_assert!(name.len() <= MAX_NAME_BYTES && head.starts_with(name));
        let packed = u128::from_le_bytes(head) & ((1 << (8 * name.len())) - 1);
        let place = place(packed);
        for at in [place, place ^ 1] {
            if let Some((known, object)) = &self.0[at]
                && *known == packed
            {
                return Some(object.bind(py).clone());
            }
        }
        let object = PyString::intern(py, std::str::from_utf8(name).ok()?);
        self.0.swap(place, place ^ 1);
        self.0[place] = Some((packed, object.clone().unbind()));
        Some(object)
    }
}

/// Fibonacci hashing: the upper bits of the product depend on all bits of the name.
#[inline]
fn place(packed: u128) -> usize {
    let bytes = packed.to_le_bytes();
    let (words, _) = bytes.as_chunks::<8>();
    let folded = words.iter().fold(0, |folded: u64, word| folded.rotate_left(29) ^ u64::from_le_bytes(*word));
    let [first, second, ..] = folded.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
    usize::from(u16::from_be_bytes([first, second])) % PLACES
}
