//! Finds the members of one JSON object without parsing their values.
//!
//! A row is 1-5 kB of text of which a caller often wants one field: the scanner steps over strings with
//! `memchr` and counts brackets between them, and stops where the caller stops. It checks only what it needs
//! to stay inside the line; whoever converts a value parses it fully.

use crate::error::{Error, Result};
use std::ops::Range;

/// Where one member lies in its line. Lines are below 4 GiB (`MAX_RECORD_BYTES`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The key's raw text between its quotes.
    pub key: (u32, u32),
    pub value: (u32, u32),
}

impl Span {
    pub fn key_range(&self) -> Range<usize> {
        self.key.0 as usize..self.key.1 as usize
    }

    pub fn value_range(&self) -> Range<usize> {
        self.value.0 as usize..self.value.1 as usize
    }
}

/// Steps through the members of the object that `line` consists of.
#[derive(Debug)]
pub struct Members<'l> {
    line: &'l [u8],
    at: usize,
    started: bool,
}

impl<'l> Members<'l> {
    pub fn new(line: &'l [u8]) -> Self {
        Self { line, at: 0, started: false }
    }

    /// The next member, or `None` after the last.
    ///
    /// # Errors
    /// `Corrupt` where the line is not a JSON object.
    pub fn next_member(&mut self) -> Result<Option<Span>> {
        self.at = skip_blanks(self.line, self.at);
        if !self.started {
            if self.line.get(self.at) != Some(&b'{') {
                return Err(bad("a row that is not a JSON object", self.at));
            }
            self.started = true;
            self.at = skip_blanks(self.line, self.at + 1);
            if self.line.get(self.at) == Some(&b'}') {
                return self.finish();
            }
        } else {
            match self.line.get(self.at) {
                Some(b',') => self.at = skip_blanks(self.line, self.at + 1),
                Some(b'}') => return self.finish(),
                _ => return Err(bad("',' or '}' expected", self.at)),
            }
        }
        if self.line.get(self.at) != Some(&b'"') {
            return Err(bad("a member's name expected", self.at));
        }
        let key_start = self.at + 1;
        let after_key = skip_string(self.line, key_start)?;
        let colon = skip_blanks(self.line, after_key);
        if self.line.get(colon) != Some(&b':') {
            return Err(bad("':' expected", colon));
        }
        let value_start = skip_blanks(self.line, colon + 1);
        let value_end = skip_value(self.line, value_start)?;
        self.at = value_end;
        Ok(Some(Span {
            key: (narrow(key_start)?, narrow(after_key - 1)?),
            value: (narrow(value_start)?, narrow(value_end)?),
        }))
    }

    fn finish(&mut self) -> Result<Option<Span>> {
        let rest = skip_blanks(self.line, self.at + 1);
        if rest < self.line.len() {
            return Err(bad("text after the row's end", rest));
        }
        Ok(None)
    }
}

/// Steps through the elements of the list that `text` consists of.
#[derive(Debug)]
pub struct Elements<'t> {
    text: &'t [u8],
    at: usize,
    started: bool,
}

impl<'t> Elements<'t> {
    pub fn new(text: &'t [u8]) -> Self {
        Self { text, at: 0, started: false }
    }

    /// Where the next element lies, or `None` after the last.
    ///
    /// # Errors
    /// `Corrupt` where the text is not a list.
    pub fn next_element(&mut self) -> Result<Option<Range<usize>>> {
        self.at = skip_blanks(self.text, self.at);
        let expected: &[u8] = if self.started { b",]" } else { b"[" };
        let byte = self.text.get(self.at).copied().filter(|byte| expected.contains(byte));
        let byte = byte.ok_or_else(|| bad("a list expected", self.at))?;
        if byte == b']' {
            return Ok(None);
        }
        let start = skip_blanks(self.text, self.at + 1);
        if !self.started && self.text.get(start) == Some(&b']') {
            return Ok(None);
        }
        self.started = true;
        self.at = skip_value(self.text, start)?;
        Ok(Some(start..self.at))
    }
}

fn narrow(at: usize) -> Result<u32> {
    u32::try_from(at).map_err(|_| Error::limit("a row of 4 GiB or more"))
}

fn bad(what: &str, at: usize) -> Error {
    Error::corrupt(format!("not valid JSON: {what} at column {at}"))
}

fn skip_blanks(line: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = line.get(at) {
        at += 1;
    }
    at
}

/// The position after the closing quote of a string whose content starts at `at`.
#[inline]
fn skip_string(line: &[u8], mut at: usize) -> Result<usize> {
    loop {
        let rest = line.get(at..).unwrap_or_default();
        match memchr::memchr2(b'"', b'\\', rest) {
            Some(found) if rest[found] == b'"' => return Ok(at + found + 1),
            Some(found) => at += found + 2,
            None => return Err(bad("a string without an end", at)),
        }
    }
}

/// The position after the value that starts at `at`.
fn skip_value(line: &[u8], at: usize) -> Result<usize> {
    match line.get(at) {
        Some(b'"') => skip_string(line, at + 1),
        Some(b'{' | b'[') => walk(line, at, |_, _| {}),
        Some(_) => {
            let rest = &line[at..];
            let end = rest
                .iter()
                .position(|byte| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t'))
                .unwrap_or(rest.len());
            if end == 0 { Err(bad("a value expected", at)) } else { Ok(at + end) }
        }
        None => Err(bad("a value expected", at)),
    }
}

/// Walks over one list or object; calls `see(depth, byte)` for each bracket and comma outside strings.
#[inline]
fn walk(line: &[u8], mut at: usize, mut see: impl FnMut(usize, u8)) -> Result<usize> {
    let mut depth = 0usize;
    while let Some(&byte) = line.get(at) {
        at += 1;
        match byte {
            b'"' => at = skip_string(line, at)?,
            b'{' | b'[' => {
                see(depth, byte);
                depth += 1;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Ok(at);
                }
            }
            b',' => see(depth, byte),
            _ => {}
        }
    }
    Err(bad("brackets without an end", at))
}

/// Number of elements of the list, or members of the object, that `value` is.
///
/// # Errors
/// `Corrupt` when the brackets do not close.
pub fn count_elements(value: &[u8]) -> Result<u64> {
    let inner = skip_blanks(value, 1);
    if matches!(value.get(inner), Some(b']' | b'}')) {
        return Ok(0);
    }
    let mut commas = 0u64;
    walk(value, 0, |depth, byte| {
        if depth == 1 && byte == b',' {
            commas += 1;
        }
    })?;
    Ok(commas + 1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn members(line: &str) -> Vec<(String, String)> {
        let mut scan = Members::new(line.as_bytes());
        let mut found = Vec::new();
        while let Some(span) = scan.next_member().unwrap() {
            found.push((line[span.key_range()].to_owned(), line[span.value_range()].to_owned()));
        }
        found
    }

    #[test]
    fn finds_members_of_every_form() {
        let line = r#"{"a":1,"b":"x\"},","c":[1,{"d":"]"}],"e":{},"f":null}"#;
        let names: Vec<_> = members(line).into_iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(names, ["a=1", r#"b="x\"},""#, r#"c=[1,{"d":"]"}]"#, "e={}", "f=null"]);
        assert_eq!(
            members(" { \"a\" : 1 , \"b\" : [ ] } "),
            [("a".into(), "1".into()), ("b".into(), "[ ]".into())]
        );
        assert!(members("{}").is_empty());
    }

    #[test]
    fn counts_elements_at_the_first_level_only() {
        for (text, count) in
            [("[]", 0), ("[ ]", 0), ("[1]", 1), ("[[1,2],{\"a\":1,\"b\":2},\",\"]", 3), ("{\"a\":[1,2]}", 1)]
        {
            assert_eq!(count_elements(text.as_bytes()).unwrap(), count, "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_object() {
        for text in [
            "",
            "[]",
            "{",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1",
            "{\"a\":[1}",
            "{a:1}",
            "{\"a\":1}x",
            "{\"a\":1,}",
            "{\"a\\",
        ] {
            let mut scan = Members::new(text.as_bytes());
            let mut result = scan.next_member();
            while let Ok(Some(_)) = result {
                result = scan.next_member();
            }
            assert!(result.is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(line in proptest::collection::vec(proptest::sample::select(b"{}[]\",:\\a1 ".to_vec()), 0..40)) {
            let mut scan = Members::new(&line);
            while let Ok(Some(_)) = scan.next_member() {}
            let _ = count_elements(&line);
            let mut elements = Elements::new(&line);
            while let Ok(Some(_)) = elements.next_element() {}
        }
    }
}
