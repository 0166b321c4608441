//! Hashes of texts, for finding exact duplicates.

use crate::per_text::map;
use jinx_core::Result;
use twox_hash::XxHash3_128;

/// Differences between texts that are ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ignore {
    /// Ignore upper and lower case.
    pub case: bool,
    /// Ignore everything that is not a letter: white space, digits, punctuation, symbols. Has no effect on a text
    /// without letters, so that different texts without letters have different hashes.
    pub non_letters: bool,
    /// Ignore white space at both ends.
    pub ends: bool,
}

/// A 128-bit hash of each text, as (low, high).
///
/// # Errors
/// The errors of `per_text::fill`.
pub fn hash128(texts: &[&str], ignore: Ignore, threads: usize) -> Result<Vec<[u64; 2]>> {
    map(texts, [0; 2], threads, String::new, |buffer, text| {
        let hash = XxHash3_128::oneshot(normal(text, ignore, buffer).as_bytes());
        let bytes = hash.to_le_bytes();
        let half = |at: usize| jinx_core::checked_math::u64_at(&bytes, at).unwrap_or(0);
        [half(0), half(8)]
    })
}

fn normal<'a>(text: &'a str, ignore: Ignore, buffer: &'a mut String) -> &'a str {
    let text = if ignore.ends { text.trim() } else { text };
    if !ignore.case && !ignore.non_letters {
        return text;
    }
    buffer.clear();
    if ignore.case {
        *buffer = text.to_lowercase();
    } else {
        buffer.push_str(text);
    }
    if ignore.non_letters && buffer.contains(char::is_alphabetic) {
        buffer.retain(char::is_alphabetic);
    }
    buffer
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_makes_no_difference() {
        let texts = ["A b", "a b", "a, b!", "ab 1"];
        let hashes = |ignore| hash128(&texts, ignore, 1).unwrap();
        let exact = hashes(Ignore::default());
        assert!(exact[0] != exact[1] && exact[1] != exact[2]);
        let lower = hashes(Ignore { case: true, ..Ignore::default() });
        assert!(lower[0] == lower[1] && lower[1] != lower[2]);
        let letters = Ignore { case: true, non_letters: true, ends: false };
        assert!(hashes(letters).windows(2).all(|pair| pair[0] == pair[1]));
        let without = hash128(&["😀", "☃", "", "12"], letters, 1).unwrap();
        assert!(without[0] != without[1] && without[1] != without[2] && without[2] != without[3]);
        let ends = hash128(&[" a\n", "a", "b"], Ignore { ends: true, ..Ignore::default() }, 1).unwrap();
        assert!(ends[0] == ends[1] && ends[1] != ends[2]);
    }
}
