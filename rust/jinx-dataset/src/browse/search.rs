//! Finds samples that contain a word in one of their strings.

use crate::dataset::Dataset;
use crate::shards::ShardRows;
use jinx_core::checked_math::to_u64;
use jinx_core::row_events::{Blob, Dtype, Number, Payload, Sink, UnreadValue};
use jinx_core::{Error, Result};
use jinx_format::expression::parallel::in_blocks;
use jinx_format::fields::FieldInfo;
use std::ops::Range;
use std::sync::Arc;

/// Returns the first `limit` samples in `range` that have a string containing `word`. ASCII letters match in both
/// cases.
///
/// # Errors
/// `Invalid` for an empty word or a range past the end; read errors.
pub fn search(dataset: &Dataset, word: &str, range: Range<usize>, limit: u64) -> Result<Vec<u64>> {
    let needle = Needle::new(word.as_bytes()).ok_or_else(|| Error::invalid("nothing to search for"))?;
    if range.end > dataset.len() {
        return Err(Error::invalid(format!("sample {} of {}", range.end, dataset.len())));
    }
    let lines = Lines::of(dataset, word)?;
    let count = to_u64(range.len());
    in_blocks(count, Some(limit), |block| {
        let block = range.start + block.start..range.start + block.end;
        let candidates = match &lines {
            Some(lines) => lines.candidates(dataset, block)?,
            None => block.collect(),
        };
        let mut found = Vec::new();
        let mut strings = Strings { needle: &needle, is_found: false };
        for i in candidates {
            strings.is_found = false;
            let position = dataset.position(i);
            dataset.rows.emit(position, &mut strings).map_err(|error| error.in_sample(position))?;
            if strings.is_found {
                found.push(to_u64(i));
            }
        }
        Ok(found)
    })
}

/// Rows whose text can show that a sample does not contain the word.
struct Lines {
    rows: Arc<ShardRows>,
    /// A part of the word that JSON only ever escapes as `\u`.
    part: Needle,
}

impl Lines {
    /// `None` if all samples must be read: they are not rows, strings are compressed, or the word would be escaped.
    fn of(dataset: &Dataset, word: &str) -> Result<Option<Self>> {
        let Ok(rows) = Arc::clone(&dataset.rows).into_any().downcast::<ShardRows>() else { return Ok(None) };
        let is_escaped = |byte: &u8| *byte < b' ' || matches!(*byte, b'"' | b'\\' | b'/' | 0x7f);
        let parts = word.as_bytes().split(is_escaped).max_by_key(|part| part.len());
        let Some(part) = parts.and_then(Needle::new) else { return Ok(None) };
        let statistics = dataset.rows.statistics()?;
        let is_coded = |field: &FieldInfo| field.open || field.coded > 0 && field.kinds.contains_key("str");
        let has_coded = statistics.iter().any(is_coded);
        let is_plain = dataset.rows.kind() == "jsonl" || dataset.rows.lists_columns()?;
        Ok((is_plain && !has_coded).then_some(Self { rows, part }))
    }

    /// The samples whose row may contain the word.
    fn candidates(&self, dataset: &Dataset, block: Range<usize>) -> Result<Vec<usize>> {
        let shards = self.rows.shards.get()?;
        let mut found = Vec::new();
        let (mut next, mut numbers) = (block.start, Vec::new());
        while next < block.end {
            // Samples whose rows are adjacent in one file are read together.
            let first = next;
            let (shard, row) = shards.locate(dataset.position(next))?;
            numbers.clear();
            numbers.push(row);
            next += 1;
            while next < block.end {
                let last = numbers.last().copied().unwrap_or_default();
                let follows = dataset.position(next) == dataset.position(next - 1) + 1;
                if !follows || last + 1 >= shard.len() {
                    break;
                }
                numbers.push(last + 1);
                next += 1;
            }
            shard.each_line(&numbers, &mut |at, line| {
                if self.part.is_in(line) || memchr::memmem::find(line, b"\\u").is_some() {
                    found.push(first + at);
                }
                Ok(())
            })?;
        }
        Ok(found)
    }
}

/// A word to search for; the case of ASCII letters is ignored.
struct Needle {
    word: Vec<u8>,
    /// The position of the byte that is least common in other text.
    rarest: usize,
}

impl Needle {
    /// `None` for an empty word.
    fn new(word: &[u8]) -> Option<Self> {
        let word = word.to_ascii_lowercase();
        let rarest = (0..word.len()).min_by_key(|i| frequency(word[*i]))?;
        Some(Self { word, rarest })
    }

    fn is_in(&self, text: &[u8]) -> bool {
        let byte = self.word[self.rarest];
        let is_here = |at: usize| {
            let start = at.checked_sub(self.rarest);
            let there = start.and_then(|start| text.get(start..start.checked_add(self.word.len())?));
            there.is_some_and(|there| there.eq_ignore_ascii_case(&self.word))
        };
        memchr::memchr2_iter(byte, byte.to_ascii_uppercase(), text).any(is_here)
    }
}

/// A rank of how often a byte occurs in rows: JSON's own bytes and common letters are worse to look for.
fn frequency(byte: u8) -> u8 {
    const BY_FREQUENCY: &[u8] = b"zqxjkvbpygfwmucldrhsnioate0123456789 ";
    let place = BY_FREQUENCY.iter().position(|other| *other == byte);
    // In texts in another script, where the word occurs, bytes of that script are common.
    place.map_or(if byte.is_ascii() { u8::MAX } else { 20 }, |place| u8::try_from(place).unwrap_or(u8::MAX))
}

/// Searches every string of a sample for the word.
struct Strings<'n> {
    needle: &'n Needle,
    is_found: bool,
}

impl Sink for Strings<'_> {
    fn null(&mut self) -> Result<()> {
        Ok(())
    }
    fn bool(&mut self, _value: bool) -> Result<()> {
        Ok(())
    }
    fn int(&mut self, _value: i64) -> Result<()> {
        Ok(())
    }
    fn big_int(&mut self, _digits: &str) -> Result<()> {
        Ok(())
    }
    fn float(&mut self, _value: f64) -> Result<()> {
        Ok(())
    }
    fn str(&mut self, value: &str) -> Result<()> {
        self.is_found = self.is_found || self.needle.is_in(value.as_bytes());
        Ok(())
    }
    fn blob(&mut self, _payload: Payload, _blob: Blob<'_>) -> Result<()> {
        Ok(())
    }
    fn reads_bytes(&self) -> bool {
        false
    }
    fn unread(&mut self, value: UnreadValue) -> Result<bool> {
        Ok(value.payload.is_some())
    }
    fn scalar(&mut self, _dtype: Dtype, _value: Number) -> Result<()> {
        Ok(())
    }
    fn media_path(&mut self, _path: &str) -> Result<()> {
        Ok(())
    }
    fn begin_list(&mut self, _len: usize) -> Result<()> {
        Ok(())
    }
    fn end_list(&mut self) -> Result<()> {
        Ok(())
    }
    fn begin_dict(&mut self, _len: usize) -> Result<()> {
        Ok(())
    }
    fn key(&mut self, _name: &str) -> Result<()> {
        Ok(())
    }
    fn end_dict(&mut self) -> Result<()> {
        Ok(())
    }
}
