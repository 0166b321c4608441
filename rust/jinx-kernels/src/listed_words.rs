//! Counts the words of a text that are in a list.

use crate::per_text::fill;
use crate::repetition::hash_lowercase;
use crate::words::{Split, for_each_word};
use jinx_core::Result;
use jinx_core::checked_math::to_u64;
use std::collections::HashSet;

/// A list of words, and how they are looked up.
pub struct Lexicon {
    hashes: HashSet<u64>,
    /// The sizes of groups of consecutive words. The joined words of a group are also looked for.
    groups: Vec<usize>,
    joiner: String,
}

impl Lexicon {
    /// Words are compared in lower case.
    ///
    /// `groups` has sizes of groups of successive words. Joined with `joiner`, each group counts as another word.
    pub fn new<'a>(words: impl IntoIterator<Item = &'a str>, groups: &[usize], joiner: &str) -> Self {
        Self {
            hashes: words.into_iter().map(hash_lowercase).collect(),
            groups: groups.iter().copied().filter(|&size| size > 1).collect(),
            joiner: joiner.to_owned(),
        }
    }
}

/// Two numbers per text, one after the other: its words that are in the list, and all its words.
///
/// # Errors
/// The errors of `per_text::fill`.
pub fn count(texts: &[&str], listed_words: &Lexicon, split: Split, threads: usize) -> Result<Vec<u64>> {
    fill(texts, 2, 0, threads, String::new, |buffer, text, row| {
        if let [found, all] = row {
            (*found, *all) = counted(text, listed_words, split, buffer);
        }
    })
}

fn counted(text: &str, listed_words: &Lexicon, split: Split, buffer: &mut String) -> (u64, u64) {
    let (mut listed, mut all) = (0, 0_usize);
    let mut words: Vec<&str> = Vec::new();
    for_each_word(text, split, |word| {
        all += 1;
        listed += u64::from(listed_words.hashes.contains(&hash_lowercase(word)));
        if !listed_words.groups.is_empty() {
            words.push(word);
        }
    });
    for &size in &listed_words.groups {
        for group in words.windows(size) {
            buffer.clear();
            for (at, word) in group.iter().enumerate() {
                if at > 0 {
                    buffer.push_str(&listed_words.joiner);
                }
                buffer.push_str(word);
            }
            all += 1;
            listed += u64::from(listed_words.hashes.contains(&hash_lowercase(buffer)));
        }
    }
    (listed, to_u64(all))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_list() {
        let list = Lexicon::new(["bad", "你好", "ab"], &[], "");
        let texts = ["A BAD, bad day", "", "1 2", "你好 a b"];
        assert_eq!(count(&texts, &list, Split::Space, 1).unwrap(), [2, 4, 0, 0, 0, 0, 1, 3]);
        let groups = Lexicon::new(["你好", "ab"], &[2], "");
        assert_eq!(count(&["你好", "A b c"], &groups, Split::Unicode, 1).unwrap(), [1, 3, 1, 5]);
    }
}
