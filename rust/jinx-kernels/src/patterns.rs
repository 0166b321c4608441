//! Replaces matches of regular expressions in texts, with a limit on backtracking.

use crate::per_text::map;
use fancy_regex::{Captures, Regex, RegexBuilder};
use jinx_core::Result;
use jinx_core::error::Error;

/// The maximum number of backtracking steps in one text. A pattern with lookaround, back references or word boundaries
/// takes about one step per character; other patterns take none.
const MAX_STEPS: usize = 10_000_000;

/// A regular expression, and the replacement of its matches.
pub struct Replacement {
    pattern: Regex,
    parts: Vec<Part>,
}

/// A part of the replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Text(String),
    /// The group with this number.
    Group(usize),
}

impl Replacement {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// `Invalid` if the pattern cannot be parsed, or does not have a group that a part names.
    pub fn new(pattern: &str, parts: Vec<Part>) -> Result<Self> {
        let compiled = RegexBuilder::new(pattern)
            .backtrack_limit(MAX_STEPS)
            .build()
            .map_err(|error| Error::invalid(format!("the pattern {pattern:?}: {error}")))?;
        let groups = compiled.captures_len();
        if let Some(Part::Group(group)) =
            parts.iter().find(|part| matches!(part, Part::Group(group) if *group >= groups))
        {
            return Err(Error::invalid(format!("the pattern {pattern:?} has no group {group}")));
        }
        Ok(Self { pattern: compiled, parts })
    }

    fn replaced(&self, text: &str) -> std::result::Result<Option<String>, String> {
        let mut out: Option<String> = None;
        let mut copied = 0;
        for captures in self.pattern.captures_iter(text) {
            let captures = captures.map_err(|error| error.to_string())?;
            let Some(whole) = captures.get(0) else { continue };
            let out = out.get_or_insert_with(|| String::with_capacity(text.len()));
            out.push_str(&text[copied..whole.start()]);
            self.append(&captures, out);
            copied = whole.end();
        }
        Ok(out.map(|mut out| {
            out.push_str(&text[copied..]);
            out
        }))
    }

    fn append(&self, captures: &Captures<'_>, out: &mut String) {
        for part in &self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Group(group) => {
                    out.push_str(captures.get(*group).map_or("", |group_match| group_match.as_str()))
                }
            }
        }
    }
}

/// Replaces the matches in each text; `None` for a text without a match.
///
/// # Errors
/// `Limit` if the pattern takes too many steps, naming the first such text; otherwise the errors of `per_text::fill`.
pub fn replace(texts: &[&str], replacement: &Replacement, threads: usize) -> Result<Vec<Option<String>>> {
    let results = map(texts, Ok(None), threads, || (), |(), text| replacement.replaced(text))?;
    results
        .into_iter()
        .enumerate()
        .map(|(at, text)| {
            text.map_err(|error| {
                let pattern = replacement.pattern.as_str();
                Error::limit(format!("text {at}: the pattern {pattern:?} takes too long: {error}"))
            })
        })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation)]
mod tests {
    use super::*;

    fn replaced(pattern: &str, parts: Vec<Part>, text: &str) -> Result<Option<String>> {
        Ok(replace(&[text], &Replacement::new(pattern, parts)?, 1)?.remove(0))
    }

    #[test]
    fn groups_lookaround_and_back_references() {
        let parts = vec![Part::Text("<".into()), Part::Group(1), Part::Text(">".into())];
        assert_eq!(replaced("(b+)", parts.clone(), "abba").unwrap(), Some("a<bb>a".into()));
        assert_eq!(replaced("(b)", parts.clone(), "aaa").unwrap(), None);
        assert_eq!(replaced(r"(\w)\1", parts, "abba").unwrap(), Some("a<b>a".into()));
        assert_eq!(replaced(r"(?<=中)文", vec![], "中文文").unwrap(), Some("中文".into()));
        assert_eq!(replaced("x*", vec![Part::Text("-".into())], "ab").unwrap(), Some("-a-b-".into()));
    }

    #[test]
    fn patterns_that_cannot_be() {
        assert!(replaced("(", vec![], "").is_err());
        assert!(replaced("a", vec![Part::Group(1)], "").is_err());
    }

    #[test]
    fn a_pattern_that_explodes_is_bounded() {
        let text = "a".repeat(60) + "!";
        let error = replaced("(?:(a|aa)(?!c))*x", vec![], &text).unwrap_err();
        assert!(error.to_string().contains("takes too long"), "{error}");
    }
}
