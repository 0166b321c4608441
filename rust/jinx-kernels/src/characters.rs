//! Counts the characters of texts.

use crate::per_text::map;
use jinx_core::Result;
use jinx_core::checked_math::to_u64;
use pulp::Arch;
use regex_syntax::hir::{Class as HirClass, HirKind};
use std::sync::LazyLock;

/// Which characters to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Every code point.
    All,
    /// Letters of any script, without the marks that some scripts use for vowels.
    Letter,
    /// Letters, digits and other numbers of any script.
    Alphanumeric,
    /// Digits of any script.
    Digit,
    /// White space of any kind.
    Whitespace,
    /// Neither letters nor digits nor white space.
    Symbol,
    /// Punctuation, symbols, digits and other numbers, white space, control characters, zero-width characters, and
    /// characters that turn another one into an emoji, in any script. Neither letters nor the marks that some scripts
    /// use for vowels.
    Special,
}

/// A set of characters, with one bit per code point.
struct Set(Vec<u64>);

impl Set {
    /// The characters matched by a character class of a regular expression.
    fn new(class: &str) -> Self {
        let mut bits = vec![0_u64; 0x11_0000 / 64];
        let parsed = regex_syntax::parse(class).map(|hir| hir.into_kind());
        if let Ok(HirKind::Class(HirClass::Unicode(class))) = parsed {
            let characters = class.ranges().iter().flat_map(|range| range.start()..=range.end());
            for code in characters.filter_map(|character| usize::try_from(u32::from(character)).ok()) {
                bits[code / 64] |= 1 << (code % 64);
            }
        }
        Self(bits)
    }

    fn has(&self, character: char) -> bool {
        let code = usize::try_from(u32::from(character)).unwrap_or(0);
        self.0.get(code / 64).is_some_and(|bits| bits >> (code % 64) & 1 == 1)
    }

    fn count_in(&self, text: &str) -> usize {
        text.chars().filter(|&character| self.has(character)).count()
    }
}

static LETTER: LazyLock<Set> = LazyLock::new(|| Set::new(r"\p{L}"));
static ALPHANUMERIC: LazyLock<Set> = LazyLock::new(|| Set::new(r"[\p{L}\p{N}]"));
static SPECIAL: LazyLock<Set> =
    LazyLock::new(|| Set::new(r"[\p{P}\p{S}\p{N}\p{Z}\p{Cc}\u{AD}\u{200B}\u{2060}\u{FE0F}\u{FEFF}]"));

impl Class {
    /// The class of this name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "all" => Self::All,
            "letter" => Self::Letter,
            "alphanumeric" => Self::Alphanumeric,
            "digit" => Self::Digit,
            "whitespace" => Self::Whitespace,
            "symbol" => Self::Symbol,
            "special" => Self::Special,
            _ => return None,
        })
    }
}

/// The number of code points of a class, for each text.
///
/// # Errors
/// The errors of `per_text::fill`.
pub fn count(texts: &[&str], class: Class, threads: usize) -> Result<Vec<u64>> {
    map(texts, 0, threads, || (), |(), text| to_u64(count_in(text, class)))
}

/// The number of bytes that start a character.
#[inline(always)]
fn starts_in(bytes: &[u8]) -> usize {
    // The sum of 128 bits fits into one byte. Vector instructions add bytes fastest.
    let sums =
        bytes.chunks(128).map(|part| part.iter().map(|byte| u8::from(byte & 0xC0 != 0x80)).sum::<u8>());
    sums.map(usize::from).sum()
}

fn count_in(text: &str, class: Class) -> usize {
    match class {
        Class::All => Arch::new().dispatch(|| starts_in(text.as_bytes())),
        Class::Letter => LETTER.count_in(text),
        Class::Alphanumeric => ALPHANUMERIC.count_in(text),
        Class::Special => SPECIAL.count_in(text),
        Class::Digit => text.chars().filter(|character| character.is_numeric()).count(),
        Class::Whitespace => text.chars().filter(|character| character.is_whitespace()).count(),
        Class::Symbol => text
            .chars()
            .filter(|character| !character.is_alphanumeric() && !character.is_whitespace())
            .count(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation)]
mod tests {
    use super::*;

    fn counts_all(text: &str) -> usize {
        usize::try_from(count(&[text], Class::All, 1).unwrap()[0]).unwrap()
    }

    #[test]
    fn classes_of_any_script() {
        let text = ["aB1 é中٣\t!·😀"];
        let counts = |class| count(&text, class, 1).unwrap()[0];
        assert_eq!(counts(Class::All), 11);
        assert_eq!(counts(Class::Letter), 4);
        assert_eq!(counts(Class::Digit), 2);
        assert_eq!(counts(Class::Alphanumeric), 6);
        assert_eq!(counts(Class::Whitespace), 2);
        assert_eq!(counts(Class::Symbol), 3);
        assert_eq!(counts(Class::Special), 7);
        assert_eq!(count(&["नमस्ते", "❤\u{FE0F}😀", "（。"], Class::Special, 1).unwrap(), [0, 3, 2]);
        assert_eq!(count(&["नमस्ते", "½Ⅷ٣一"], Class::Alphanumeric, 1).unwrap(), [4, 4]);
        for length in [0, 1, 127, 128, 129, 1000] {
            assert_eq!(counts_all(&"é".repeat(length)), length);
            assert_eq!(counts_all(&"a中".repeat(length)), 2 * length);
        }
        assert_eq!(Class::named("letter"), Some(Class::Letter));
        assert_eq!(Class::named("Letter"), None);
    }
}
