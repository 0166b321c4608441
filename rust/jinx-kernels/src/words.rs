//! Splits texts into words: at white space, without non-letters at both ends, or at Unicode's word boundaries.

use crate::per_text::map;
use jinx_core::Result;
use jinx_core::checked_math::to_u64;
use unicode_segmentation::UnicodeSegmentation;

/// How to split a text into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// At white space. Digits, punctuation and symbols at both ends are not part of a word. A word has at least one
    /// letter.
    Space,
    /// At the word boundaries of Unicode (UAX 29), for scripts without spaces: each ideograph is a word.
    Unicode,
}

/// Calls `each` with every word, in order.
pub fn for_each_word<'text>(text: &'text str, split: Split, mut each: impl FnMut(&'text str)) {
    match split {
        Split::Space => {
            for part in text.split_whitespace() {
                let word = part.trim_matches(|character: char| !character.is_alphabetic());
                if !word.is_empty() {
                    each(word);
                }
            }
        }
        Split::Unicode => {
            for word in text.unicode_words() {
                if word.contains(char::is_alphabetic) {
                    each(word);
                }
            }
        }
    }
}

/// The number of words in each text.
///
/// # Errors
/// The errors of `per_text::fill`.
pub fn count(texts: &[&str], split: Split, threads: usize) -> Result<Vec<u64>> {
    map(
        texts,
        0,
        threads,
        || (),
        |(), text| {
            let mut words = 0_usize;
            for_each_word(text, split, |_| words += 1);
            to_u64(words)
        },
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation)]
mod tests {
    use super::*;

    fn words(text: &str, split: Split) -> Vec<&str> {
        let mut list = Vec::new();
        for_each_word(text, split, |word| list.push(word));
        list
    }

    #[test]
    fn words_between_spaces() {
        assert_eq!(
            words("  It's (2024), \"well-known\"\n-- 3rd ", Split::Space),
            ["It's", "well-known", "rd"]
        );
        assert_eq!(count(&["a b", "", "1 2 ."], Split::Space, 1).unwrap(), [2, 0, 0]);
    }

    #[test]
    fn words_without_spaces() {
        assert_eq!(words("你好 world, 2024", Split::Unicode), ["你", "好", "world"]);
    }
}
