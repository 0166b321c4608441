//! Finds the members of one JSON object without parsing their values.
//!
//! A row is 1-5 kB of text of which a caller often wants one column: the scanner steps over strings with
//! `memchr` and over lists and objects 64 bytes at a time, and stops where the caller stops. It checks only what it
//! needs to stay inside the line; the conversion of a value parses it fully.

use crate::checked_math::to_u64;
use crate::error::{Error, Result};
use crate::json::blocks::{Block, Scan, Vectors, scanned};
use crate::json::swar::{eight, zero_bytes};
use std::ops::Range;

/// The number of eight-byte groups that are searched before a string counts as long.
const SHORT_WORDS: usize = 3;

/// The position of a member in its line. Lines are below 4 GiB (`MAX_ROW_BYTES`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The raw text of the key, between its quotes.
    pub key: (u32, u32),
    pub value: (u32, u32),
    /// The number of elements or members, if the value is a list or object and they were counted.
    pub elements: u32,
}

impl Span {
    pub fn key_range(&self) -> Range<usize> {
        self.key.0 as usize..self.key.1 as usize
    }

    pub fn value_range(&self) -> Range<usize> {
        self.value.0 as usize..self.value.1 as usize
    }
}

/// Steps through the members of the object in `line`.
#[derive(Debug)]
pub struct Members<'l> {
    line: &'l [u8],
    at: usize,
    started: bool,
    is_counted: bool,
}

impl<'l> Members<'l> {
    pub fn new(line: &'l [u8]) -> Self {
        Self { line, at: 0, started: false, is_counted: true }
    }

    /// The same without counting [`Span::elements`], which is faster.
    pub fn uncounted(line: &'l [u8]) -> Self {
        Self { is_counted: false, ..Self::new(line) }
    }

    /// Continues after the member whose value ends at `at`.
    pub fn behind(line: &'l [u8], at: usize) -> Self {
        Self { at, started: true, ..Self::new(line) }
    }

    /// The next member; `None` after the last.
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
        let (value_end, elements) = skip_value(self.line, value_start, self.is_counted)?;
        self.at = value_end;
        Ok(Some(Span {
            key: (narrow(key_start)?, narrow(after_key - 1)?),
            value: (narrow(value_start)?, narrow(value_end)?),
            elements: narrow(elements)?,
        }))
    }

    /// The position where the next member begins: at its comma, or at the brace of the object.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The value of the next member, if the text before it is `start`: the text of an earlier member, from its
    /// [`Members::position`] to its value. Otherwise `None`; [`Members::next_member`] then reads what is there.
    ///
    /// # Errors
    /// The errors of [`Members::next_member`].
    #[inline]
    pub fn next_like(&mut self, start: &[u8]) -> Result<Option<Range<usize>>> {
        if !self.line.get(self.at..).is_some_and(|rest| rest.starts_with(start)) {
            return Ok(None);
        }
        let value_start = skip_blanks(self.line, self.at + start.len());
        let (value_end, _) = skip_value(self.line, value_start, self.is_counted)?;
        self.started = true;
        self.at = value_end;
        Ok(Some(value_start..value_end))
    }

    fn finish(&mut self) -> Result<Option<Span>> {
        let rest = skip_blanks(self.line, self.at + 1);
        if rest < self.line.len() {
            return Err(bad("text after the row's end", rest));
        }
        Ok(None)
    }
}

/// Steps through the elements of the list in `text`.
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

    /// The position of the next element; `None` after the last.
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
        (self.at, _) = skip_value(self.text, start, false)?;
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

/// The first quote or backslash among eight bytes, and whether it is a quote.
#[inline]
fn first_mark(bytes: [u8; 8]) -> Option<(usize, bool)> {
    let word = u64::from_le_bytes(bytes);
    let quotes = zero_bytes(word ^ eight(b'"'));
    let marks = quotes | zero_bytes(word ^ eight(b'\\'));
    let first = marks & marks.wrapping_neg();
    (marks != 0).then(|| ((marks.trailing_zeros() / 8) as usize, quotes & first != 0))
}

/// The position after the closing quote of a string whose content starts at `at`.
#[inline]
fn skip_string(line: &[u8], mut at: usize) -> Result<usize> {
    // Names and many values are so short that a call of `memchr` does not pay off.
    for _ in 0..SHORT_WORDS {
        let Some(bytes) = line.get(at..).and_then(<[u8]>::first_chunk::<8>) else { break };
        match first_mark(*bytes) {
            Some((offset, true)) => return Ok(at + offset + 1),
            Some((offset, false)) => at += offset + 2,
            None => at += 8,
        }
    }
    loop {
        let rest = line.get(at..).unwrap_or_default();
        match memchr::memchr2(b'"', b'\\', rest) {
            Some(offset) if rest[offset] == b'"' => return Ok(at + offset + 1),
            Some(offset) => at += offset + 2,
            None => return Err(bad("a string without an end", at)),
        }
    }
}

/// The position after the value that starts at `at`, and how many elements it has.
fn skip_value(line: &[u8], at: usize, is_counted: bool) -> Result<(usize, usize)> {
    match line.get(at) {
        Some(b'"') => Ok((skip_string(line, at + 1)?, 0)),
        Some(b'{' | b'[') => skip_container(line, at, is_counted),
        Some(_) => {
            let rest = &line[at..];
            let end = rest
                .iter()
                .position(|byte| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t'))
                .unwrap_or(rest.len());
            if end == 0 { Err(bad("a value expected", at)) } else { Ok((at + end, 0)) }
        }
        None => Err(bad("a value expected", at)),
    }
}

/// The position after the list or object that starts at `at`, and the number of its elements or members, which is
/// meaningless if they are not counted.
fn skip_container(line: &[u8], at: usize, is_counted: bool) -> Result<(usize, usize)> {
    match is_counted {
        true => scanned(Container::<true> { line, at }),
        false => scanned(Container::<false> { line, at }),
    }
}

/// The container whose end [`skip_container`] finds.
struct Container<'l, const COUNTED: bool> {
    line: &'l [u8],
    at: usize,
}

impl<const COUNTED: bool> Scan for Container<'_, COUNTED> {
    type Found = Result<(usize, usize)>;

    #[inline(always)]
    fn scan<V: Vectors>(self) -> Self::Found {
        let Self { line, at } = self;
        let inner = skip_blanks(line, at + 1);
        let is_empty = matches!(line.get(inner), Some(b']' | b'}'));
        let (mut depth, mut commas) = (0usize, 0usize);
        let mut strings = Strings::default();
        let mut start = at;
        while start < line.len() {
            let mut padded = [b' '; 64];
            let block = V::block(line[start..].first_chunk().unwrap_or_else(|| {
                padded[..line.len() - start].copy_from_slice(&line[start..]);
                &padded
            }));
            let outside = !strings.next::<V>(&block);
            let (opens, closes) = (block.opens & outside, block.closes & outside);
            let closing = closes.count_ones() as usize;
            // Most blocks are nested too deeply to end the container or to contain one of its commas.
            if depth > closing + usize::from(COUNTED) {
                depth += opens.count_ones() as usize;
                depth -= closing;
                start += 64;
                continue;
            }
            let separators = block.commas & outside;
            let mut brackets = opens | closes;
            let mut passed = 0;
            while brackets != 0 {
                let bracket = brackets & brackets.wrapping_neg();
                brackets ^= bracket;
                if COUNTED && depth == 1 {
                    commas += (separators & (bracket - 1) & !passed).count_ones() as usize;
                }
                passed = bracket - 1;
                if block.opens & bracket != 0 {
                    depth += 1;
                    continue;
                }
                depth -= 1;
                if depth == 0 {
                    let end = start + bracket.trailing_zeros() as usize + 1;
                    return Ok((end, if is_empty { 0 } else { commas + 1 }));
                }
            }
            if COUNTED && depth == 1 {
                commas += (separators & !passed).count_ones() as usize;
            }
            start += 64;
        }
        Err(bad(
            if strings.is_open() { "a string without an end" } else { "brackets without an end" },
            line.len(),
        ))
    }
}

/// Tracks where strings are, from block to block.
#[derive(Debug, Default)]
struct Strings {
    /// All ones if a string continues after the block.
    open: u64,
    /// One if a backslash at the end of the block escapes the next byte.
    escaped: u64,
}

impl Strings {
    /// The bytes of the next block that are inside a string, including its first quote.
    #[inline(always)]
    fn next<V: Vectors>(&mut self, block: &Block) -> u64 {
        let mut quotes = block.quotes & !self.escaped;
        // Few blocks contain a backslash; doing this for all blocks made reading one column 10 % slower.
        if block.backslashes != 0 {
            quotes &= !self.taken(block.backslashes);
        } else {
            self.escaped = 0;
        }
        // After an odd number of quotes, a string is open.
        let inside = V::parities(quotes) ^ self.open;
        self.open = if inside >> 63 == 1 { u64::MAX } else { 0 };
        inside
    }

    /// The bytes that a backslash escapes.
    fn taken(&mut self, backslashes: u64) -> u64 {
        let mut taken = self.escaped;
        let mut left = backslashes & !taken;
        self.escaped = 0;
        while left != 0 {
            let backslash = left & left.wrapping_neg();
            let next = backslash << 1;
            self.escaped = u64::from(next == 0);
            taken |= next;
            left &= !(backslash | next);
        }
        taken
    }

    fn is_open(&self) -> bool {
        self.open != 0
    }
}

/// The number of elements of a list, or of members of an object.
///
/// # Errors
/// `Corrupt` when the brackets do not close.
pub fn count_elements(value: &[u8]) -> Result<u64> {
    match value.first() {
        Some(b'{' | b'[') => skip_container(value, 0, true).map(|(_, elements)| to_u64(elements)),
        _ => Err(bad("a list or object expected", 0)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn members(line: &str) -> Vec<(String, String)> {
        let mut scan = Members::new(line.as_bytes());
        let mut pairs = Vec::new();
        while let Some(span) = scan.next_member().unwrap() {
            pairs.push((line[span.key_range()].to_owned(), line[span.value_range()].to_owned()));
        }
        pairs
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

    /// Like [`skip_container`], but byte by byte.
    fn skipped(text: &[u8]) -> Option<(usize, usize)> {
        let (mut depth, mut commas, mut is_string, mut is_empty) = (0, 0, false, true);
        let mut at = 0;
        while let Some(byte) = text.get(at) {
            at += 1;
            match byte {
                b'\\' if is_string => at += 1,
                b'"' => is_string = !is_string,
                _ if is_string => {}
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth == 1 => return Some((at, if is_empty { 0 } else { commas + 1 })),
                b'}' | b']' => depth -= 1,
                b',' if depth == 1 => commas += 1,
                _ => {}
            }
            is_empty &= at == 1 || *byte == b' ';
        }
        None
    }

    #[test]
    fn strings_of_every_length_end_at_their_quote() {
        for length in 0..80 {
            for escape in 0..=length {
                let text = format!("{}{}{}", "é".repeat(escape), "\\\"\\\\", "x".repeat(length - escape));
                let line = format!("{{\"k\":\"{text}\",\"after\":[\"{text}\",1]}}");
                let expected =
                    [("k".into(), format!("\"{text}\"")), ("after".into(), format!("[\"{text}\",1]"))];
                assert_eq!(members(&line), expected);
            }
        }
    }

    proptest! {
        #[test]
        fn containers_end_where_a_slow_count_says(
            before in 0..140usize,
            pieces in proptest::collection::vec(
                proptest::sample::select(vec![r#""""#, r#""\\\"""#, r#""a,]}""#, r#""\\\\é""#, "[", "]", "{", "}", ",", "12", " "]),
                0..120,
            ),
        ) {
            let text = format!("[\"{}\"{}", "x".repeat(before), pieces.concat());
            let expected = skipped(text.as_bytes());
            prop_assert_eq!(skip_container(text.as_bytes(), 0, true).ok(), expected);
            let uncounted = skip_container(text.as_bytes(), 0, false).ok();
            prop_assert_eq!(uncounted.map(|(end, _)| end), expected.map(|(end, _)| end));
        }

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
