//! Hashes of word n-grams, for finding texts that overlap with others.

use crate::per_text::map;
use crate::repetition::hash_lowercase;
use crate::words::{Split, for_each_word};
use jinx_core::error::{Error, Result};
use std::collections::HashMap;

/// The hashes of n-grams, each with the number of its text.
#[derive(Default)]
pub struct Index {
    texts: HashMap<u64, u64>,
}

impl Index {
    /// Adds the n-grams of texts. An n-gram that occurs in several texts belongs to the first one.
    ///
    /// A text with fewer than `n` words has one n-gram of all its words.
    ///
    /// # Errors
    /// `Invalid` for an `n` of 0; the errors of `per_text::fill`.
    pub fn add(
        &mut self,
        texts: &[&str],
        numbers: &[u64],
        n: usize,
        split: Split,
        threads: usize,
    ) -> Result<()> {
        let hashes = of_texts(texts, n, split, threads)?;
        for (hashes, &number) in hashes.iter().zip(numbers) {
            for &hash in hashes {
                self.texts.entry(hash).or_insert(number);
            }
        }
        Ok(())
    }

    /// Finds the first n-gram of each text that is in the index. Returns the number of the indexed text that it belongs
    /// to, and the place of its first word among the words of the text; `u64::MAX` twice if there is none.
    ///
    /// # Errors
    /// The errors of `add`.
    pub fn find(&self, texts: &[&str], n: usize, split: Split, threads: usize) -> Result<Vec<[u64; 2]>> {
        check(n)?;
        map(texts, [u64::MAX; 2], threads, Vec::new, |words, text| {
            words.clear();
            for_each_word(text, split, |word| words.push(hash_lowercase(word)));
            let windows = words.windows(n.min(words.len().max(1)));
            (0_u64..)
                .zip(windows)
                .find_map(|(at, window)| self.texts.get(&mixed(window)).map(|&number| [number, at]))
                .unwrap_or([u64::MAX; 2])
        })
    }
}

/// The hashes of the n-grams of each text.
fn of_texts(texts: &[&str], n: usize, split: Split, threads: usize) -> Result<Vec<Vec<u64>>> {
    check(n)?;
    map(texts, Vec::new(), threads, Vec::new, |words, text| {
        words.clear();
        for_each_word(text, split, |word| words.push(hash_lowercase(word)));
        if words.is_empty() {
            return Vec::new();
        }
        words.windows(n.min(words.len())).map(mixed).collect()
    })
}

fn check(n: usize) -> Result<()> {
    if n == 0 { Err(Error::invalid("n-grams of 0 words".to_owned())) } else { Ok(()) }
}

fn mixed(words: &[u64]) -> u64 {
    words
        .iter()
        .fold(0, |mixed: u64, &word| (mixed.rotate_left(23) ^ word).wrapping_mul(0x9FB2_1C65_1E98_DF25))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation)]
mod tests {
    use super::*;

    #[test]
    fn shared_ngrams_are_found() {
        let mut index = Index::default();
        index.add(&["one two three four", "x", ""], &[5, 6, 7], 3, Split::Space, 1).unwrap();
        let texts = ["zero One, TWO three.", "two three", "x", "x y z", "", "two three four"];
        let none = [u64::MAX; 2];
        let wanted = [[5, 1], none, [6, 0], none, none, [5, 0]];
        assert_eq!(index.find(&texts, 3, Split::Space, 1).unwrap(), wanted);
        assert!(index.find(&texts, 0, Split::Space, 1).is_err());
    }
}
