//! Finds duplicate names in an object by their hashes.

use super::scan::Members;
use super::text::unescape;
use super::{bad, emit, skip};
use crate::checked_math::to_u64;
use crate::error::{Error, Result};
use crate::row_events::Sink;
use jiter::{Jiter, Peek};
use twox_hash::XxHash3_64;

/// Like [`emit`], for text in which no object may have duplicate names.
///
/// # Errors
/// The errors of [`emit`], and `Corrupt` for a duplicate name; nothing has been emitted then.
pub fn emit_unique(text: &[u8], depth: usize, sink: &mut impl Sink) -> Result<()> {
    if has_duplicates(text, depth)? {
        return Err(Error::corrupt("a name appears twice in one dict"));
    }
    emit(text, depth, sink)
}

/// Checks text that will be copied unchanged: valid JSON without duplicate names. Returns how many elements or members
/// it has.
///
/// # Errors
/// The errors of [`emit_unique`].
pub fn check_unique(text: &[u8], depth: usize) -> Result<u64> {
    let mut jiter = Jiter::new(text);
    let peek = jiter.peek().map_err(bad)?;
    let mut finder = Finder { jiter, names: Vec::new(), found: false };
    let elements = finder.value(peek, depth)?;
    finder.jiter.finish().map_err(bad)?;
    if finder.found { Err(Error::corrupt("a name appears twice in one dict")) } else { Ok(elements) }
}

/// Whether an object in `text` has duplicate names.
///
/// # Errors
/// The errors of [`emit`].
pub fn has_duplicates(text: &[u8], depth: usize) -> Result<bool> {
    // Most values are numbers, strings or lists of these.
    if memchr::memchr(b'{', text).is_none() {
        return Ok(false);
    }
    let mut jiter = Jiter::new(text);
    let peek = jiter.peek().map_err(bad)?;
    let mut finder = Finder { jiter, names: Vec::new(), found: false };
    finder.value(peek, depth)?;
    Ok(finder.found)
}

/// The number of members of the dict in `text`; a later member replaces an earlier one with the same name.
///
/// # Errors
/// `Corrupt` where the text is not a JSON object.
pub fn count_names(text: &[u8]) -> Result<u64> {
    let mut members = Members::uncounted(text);
    let mut names = Vec::new();
    while let Some(member) = members.next_member()? {
        let raw = text.get(member.key_range()).unwrap_or_default();
        // Only a name with an escape differs from its raw text.
        names.push(match memchr::memchr(b'\\', raw) {
            None => XxHash3_64::oneshot(raw),
            Some(_) => XxHash3_64::oneshot(unescape(raw)?.as_bytes()),
        });
    }
    names.sort_unstable();
    names.dedup();
    Ok(to_u64(names.len()))
}

struct Finder<'t> {
    jiter: Jiter<'t>,
    /// The hashes of the names in all open objects, the innermost last.
    names: Vec<u64>,
    found: bool,
}

impl Finder<'_> {
    /// Returns the number of elements or members.
    fn value(&mut self, peek: Peek, depth: usize) -> Result<u64> {
        let mut elements = 0;
        match peek {
            Peek::Array => {
                crate::json::check_depth(depth)?;
                let mut next = self.jiter.known_array().map_err(bad)?;
                while let Some(peek) = next {
                    self.value(peek, depth + 1)?;
                    next = self.jiter.array_step().map_err(bad)?;
                    elements += 1;
                }
            }
            Peek::Object => {
                crate::json::check_depth(depth)?;
                let start = self.names.len();
                let mut name =
                    self.jiter.known_object().map_err(bad)?.map(|name| XxHash3_64::oneshot(name.as_bytes()));
                while let Some(hash) = name {
                    self.names.push(hash);
                    elements += 1;
                    let peek = self.jiter.peek().map_err(bad)?;
                    self.value(peek, depth + 1)?;
                    name =
                        self.jiter.next_key().map_err(bad)?.map(|name| XxHash3_64::oneshot(name.as_bytes()));
                }
                let names = &mut self.names[start..];
                names.sort_unstable();
                self.found |= names.windows(2).any(|pair| pair[0] == pair[1]);
                self.names.truncate(start);
            }
            peek => skip(&mut self.jiter, peek, depth)?,
        }
        Ok(elements)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_names_are_found_at_any_depth_and_nowhere_else() {
        for (text, expected) in [
            (r#"{"a":1,"b":{"a":2}}"#, false),
            (r#"[{"a":1},{"a":2}]"#, false),
            (r#"{"a":1,"b":2,"a":3}"#, true),
            (r#"{"a":1,"\u0061":3}"#, true),
            (r#"[[{"x":[{"a":1,"a":2}]}]]"#, true),
            (r#"{"a":{"b":1},"b":{"a":1}}"#, false),
            ("[1,2]", false),
        ] {
            assert_eq!(has_duplicates(text.as_bytes(), 0).unwrap(), expected, "{text}");
        }
        assert!(has_duplicates(b"{\"a\":", 0).is_err());
    }

    #[test]
    fn a_name_that_appears_twice_counts_once() {
        for (text, expected) in [
            ("{}", 0),
            (r#"{"a":{"b":1,"b":2}}"#, 1),
            (r#"{ "a" : 1, "b":[1,2] , "a":3 }"#, 2),
            (r#"{"a":1,"\u0061":3,"\\":4,"A":5}"#, 3),
        ] {
            assert_eq!(count_names(text.as_bytes()).unwrap(), expected, "{text}");
        }
        assert!(count_names(b"[1]").is_err());
    }
}
