//! N-grams as nodes of a tree. A node is the n-gram of its parent with one more word.

use jinx_core::error::{Error, Result};
use std::collections::HashMap;

/// The node of the empty n-gram.
pub const ROOT: u32 = 0;

/// Nodes, by parent and word. They are numbered in the order in which they are added.
pub struct Trie {
    children: HashMap<(u32, u32), u32>,
    /// The number of nodes, including the root.
    size: u32,
}

impl Default for Trie {
    fn default() -> Self {
        Self { children: HashMap::new(), size: 1 }
    }
}

impl Trie {
    pub fn child(&self, parent: u32, word: u32) -> Option<u32> {
        self.children.get(&(parent, word)).copied()
    }

    /// Returns the child, and whether this call added it.
    ///
    /// # Errors
    /// `Limit` for more than 4 billion nodes.
    pub fn insert(&mut self, parent: u32, word: u32) -> Result<(u32, bool)> {
        let next = self.size;
        let node = *self.children.entry((parent, word)).or_insert(next);
        if node == next {
            self.size = next.checked_add(1).ok_or_else(|| {
                Error::limit("a language model of more than 4 billion n-grams; lower the order".to_owned())
            })?;
        }
        Ok((node, node == next))
    }
}

/// How to split a line into the words of a language model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Units {
    /// Split at white space.
    Words,
    /// Each character is a word; white space is `▁`.
    Characters,
}

/// The mark at the start of a line.
pub const BEGIN: &str = "<s>";
/// The mark at the end of a line.
pub const END: &str = "</s>";
/// The mark for every word that is not in the model.
pub const UNKNOWN: &str = "<unk>";
const SPACE: &str = "\u{2581}";

/// Calls `each` with every word of a line. A word that is spelled like a mark is an unknown word.
pub fn for_each_unit(line: &str, units: Units, mut each: impl FnMut(&str) -> Result<()>) -> Result<()> {
    for (at, part) in line.split_whitespace().enumerate() {
        match units {
            Units::Words => each(if matches!(part, BEGIN | END) { UNKNOWN } else { part })?,
            Units::Characters => {
                if at > 0 {
                    each(SPACE)?;
                }
                for character in part.chars() {
                    each(character.encode_utf8(&mut [0; 4]))?;
                }
            }
        }
    }
    Ok(())
}
