//! Replaces single characters in texts.

use crate::per_text::map;
use jinx_core::Result;
use std::collections::HashMap;

/// The replacements of characters.
pub struct Table {
    /// Whether a byte is the first byte of a replaced character.
    starts: [bool; 256],
    replacements: HashMap<char, String>,
    is_trimmed: bool,
}

impl Table {
    /// Makes a table of replacements. `is_trimmed` also drops white space at both ends of a text.
    pub fn new(replacements: HashMap<char, String>, is_trimmed: bool) -> Self {
        let mut starts = [false; 256];
        for character in replacements.keys() {
            let [first, ..] = utf8(*character);
            starts[usize::from(first)] = true;
        }
        Self { starts, replacements, is_trimmed }
    }

    fn replacement(&self, character: char) -> Option<&str> {
        let [first, ..] = utf8(character);
        if !self.starts[usize::from(first)] {
            return None;
        }
        self.replacements.get(&character).map(String::as_str)
    }

    /// Whether the character is white space after replacement.
    fn is_space(&self, character: char) -> bool {
        self.replacement(character).map_or(character.is_whitespace(), |becomes| becomes.trim().is_empty())
    }

    fn translated(&self, text: &str) -> Option<String> {
        let kept =
            if self.is_trimmed { text.trim_matches(|character| self.is_space(character)) } else { text };
        let mut out: Option<String> = None;
        let mut copied = 0;
        let mut at = 0;
        // In UTF-8, no byte inside a character can be the first byte of another one.
        while let Some(step) = kept.as_bytes()[at..].iter().position(|&byte| self.starts[usize::from(byte)]) {
            at += step;
            let Some(character) = kept[at..].chars().next() else { break };
            let next = at + character.len_utf8();
            if let Some(replacement) = self.replacement(character) {
                let out = out.get_or_insert_with(|| String::with_capacity(kept.len()));
                out.push_str(&kept[copied..at]);
                out.push_str(replacement);
                copied = next;
            }
            at = next;
        }
        match out {
            Some(mut out) => {
                out.push_str(&kept[copied..]);
                Some(out)
            }
            None if kept.len() < text.len() => Some(kept.to_owned()),
            None => None,
        }
    }
}

/// The UTF-8 bytes of a character, padded with zeros.
fn utf8(character: char) -> [u8; 4] {
    let mut bytes = [0; 4];
    character.encode_utf8(&mut bytes);
    bytes
}

/// Replaces characters in each text; `None` for a text that does not change.
///
/// # Errors
/// The errors of `per_text::fill`.
pub fn replace(texts: &[&str], table: &Table, threads: usize) -> Result<Vec<Option<String>>> {
    map(texts, None, threads, || (), |(), text| table.translated(text))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation)]
mod tests {
    use super::*;

    #[test]
    fn characters_become_others() {
        let table = |is_trimmed| {
            let pairs = [('，', ","), ('…', "..."), ('x', ""), ('\u{3000}', " ")];
            Table::new(pairs.into_iter().map(|(from, to)| (from, to.to_owned())).collect(), is_trimmed)
        };
        let texts = ["a，b…", "plain", "xx", " \u{3000}a ", ""];
        let wanted = [Some("a,b..."), None, Some(""), Some("  a "), None].map(|text| text.map(str::to_owned));
        assert_eq!(replace(&texts, &table(false), 1).unwrap(), wanted);
        assert_eq!(replace(&texts[3..], &table(true), 1).unwrap(), [Some("a".to_owned()), None]);
        assert_eq!(replace(&["x\u{3000}xa x"], &table(true), 1).unwrap(), [Some("a".to_owned())]);
    }
}
