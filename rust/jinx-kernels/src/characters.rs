//! Counting characters.

use crate::rows::map;
use jinx_core::Result;
use jinx_core::num::to_u64;

/// Which characters to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Every code point.
    All,
    /// Letters of any script.
    Letter,
    /// Letters and digits of any script.
    Alphanumeric,
    /// Digits of any script.
    Digit,
    /// White space of any kind.
    Whitespace,
    /// Neither letters nor digits nor white space.
    Symbol,
}

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
            _ => return None,
        })
    }

    fn has(self, character: char) -> bool {
        match self {
            Self::All => true,
            Self::Letter => character.is_alphabetic(),
            Self::Alphanumeric => character.is_alphanumeric(),
            Self::Digit => character.is_numeric(),
            Self::Whitespace => character.is_whitespace(),
            Self::Symbol => !character.is_alphanumeric() && !character.is_whitespace(),
        }
    }
}

/// How many code points of a class each text has.
///
/// # Errors
/// As `rows::fill`.
pub fn count(texts: &[&str], class: Class, threads: usize) -> Result<Vec<u64>> {
    map(texts, 0, threads, || (), |(), text| to_u64(count_in(text, class)))
}

fn count_in(text: &str, class: Class) -> usize {
    match class {
        Class::All => text.chars().count(),
        class => text.chars().filter(|&character| class.has(character)).count(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation)]
mod tests {
    use super::*;

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
        assert_eq!(Class::named("letter"), Some(Class::Letter));
        assert_eq!(Class::named("Letter"), None);
    }
}
