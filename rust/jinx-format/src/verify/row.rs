//! Checks one row completely: its text, every name, chain, pointer and decoded value.
//!
//! It trusts nothing that the footer states about the row; its findings are compared with the footer afterwards.

use crate::fields::{Path, in_path};
use crate::key::{Chain, Form, FormatVersion, Kind, kind_name};
use crate::read::shard::Shard;
use crate::read::stored::{EncodedValue, Location};
use jinx_core::Cause;
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use jinx_core::json::markers::Markers;
use jinx_core::json::scan::{Elements, Members};
use jinx_core::json::text::unescape;
use jinx_core::json::{self, markers};
use jinx_core::key_set::KeySet;
use jinx_core::limits::MAX_DEPTH;
use jinx_core::npy;
use jinx_core::row_events::{Discard, Payload};

/// A value of a row that the footer must list.
#[derive(Debug)]
pub struct Fact {
    pub path: Path,
    pub kind: &'static str,
    /// The stored and decoded length of a value with a chain; zero for numbers.
    pub coded: Option<(u64, u64)>,
    pub quoted: bool,
}

/// What a check found out about a row.
#[derive(Debug, Default)]
pub struct RowReport {
    /// Offset and length of every value in the sidecar, in the order of the text.
    pub values: Vec<(u64, u64)>,
    pub facts: Vec<Fact>,
    pub problems: Vec<Error>,
}

/// Checks the text of sample `i`, without its newline.
pub fn check_row(shard: &Shard, line: &[u8]) -> RowReport {
    let mut walker = Walker { shard, path: Vec::new(), report: RowReport::default() };
    if shard.rules() == FormatVersion::Plain && markers::is_marked(line) {
        let read = markers::emit_line(line, Markers::default(), &mut Discard);
        read.unwrap_or_else(|error| walker.problem(error));
        return walker.report;
    }
    if let Err(error) = json::emit(line, 0, &mut Discard) {
        walker.problem(error);
        return walker.report;
    }
    if line.trim_ascii_start().first() == Some(&b'{') {
        walker.object(line, 1);
    } else {
        walker.problem(Error::corrupt("a row that is not a JSON object"));
    }
    walker.report
}

struct Walker<'s> {
    shard: &'s Shard,
    path: Path,
    report: RowReport,
}

impl Walker<'_> {
    fn is_new(&self) -> bool {
        self.shard.rules() == FormatVersion::V1_1
    }

    fn problem(&mut self, error: Error) {
        self.report.problems.push(in_path(error, &self.path));
    }

    fn object(&mut self, text: &[u8], depth: usize) {
        let mut members = Members::new(text);
        let mut unique = KeySet::default();
        loop {
            let span = match members.next_member() {
                Ok(Some(span)) => span,
                Ok(None) => return,
                Err(error) => return self.problem(error),
            };
            let value = &text[span.value_range()];
            let split = unescape(&text[span.key_range()]).and_then(|key| {
                let quoted = self.is_new() && key.ends_with(self.shard.footer().sep.as_str());
                self.shard.footer().split_key(key, value).map(|(name, chain)| (name, chain, quoted))
            });
            let (name, chain, quoted) = match split {
                Ok(split) => split,
                Err(error) => {
                    self.problem(error);
                    continue;
                }
            };
            self.path.push(Some(name.clone().into_owned()));
            if unique.insert(&name).is_some() && self.is_new() {
                self.problem(Error::corrupt("the name appears twice"));
            }
            self.value(chain, value, quoted && chain.is_none(), depth + 1);
            self.path.pop();
        }
    }

    fn list(&mut self, text: &[u8], depth: usize) {
        self.path.push(None);
        let mut elements = Elements::new(text);
        loop {
            match elements.next_element() {
                Ok(Some(range)) => self.element(&text[range], depth + 1),
                Ok(None) => break,
                Err(error) => {
                    self.problem(error);
                    break;
                }
            }
        }
        self.path.pop();
    }

    /// Checks an element, which in 1.1 may be wrapped to have a chain.
    fn element(&mut self, text: &[u8], depth: usize) {
        match self.shard.footer().unwrap_element(text) {
            Ok(Some((chain, value))) => self.value(Some(chain), value, false, depth),
            Ok(None) => self.value(None, text, false, depth),
            Err(error) => self.problem(error),
        }
    }

    fn value(&mut self, chain: Option<Chain>, text: &[u8], quoted: bool, depth: usize) {
        if depth > MAX_DEPTH + 1 {
            return self.problem(Error::limit(format!("lists and dicts nested deeper than {MAX_DEPTH}")));
        }
        if let Some(chain) = chain {
            match self.stored(chain, text) {
                Ok(coded) => self.fact(kind_of_chain(chain), Some(coded), quoted),
                Err(error) => self.problem(error),
            }
            return;
        }
        let kind = match Form::of(text.first().copied().unwrap_or_default()) {
            Form::Null => "null",
            Form::Bool => "bool",
            Form::Str => "str",
            Form::List => "list",
            Form::Dict => "dict",
            Form::Number if text.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')) => "float",
            Form::Number => "int",
        };
        if quoted || self.path.len() == 1 {
            self.fact(kind, None, quoted);
        }
        match kind {
            "list" => self.list(text, depth),
            "dict" => self.object(text, depth),
            _ => {}
        }
    }

    fn fact(&mut self, kind: &'static str, coded: Option<(u64, u64)>, quoted: bool) {
        self.report.facts.push(Fact { path: self.path.clone(), kind, coded, quoted });
    }

    /// Fetches and decodes a value; returns its stored and its decoded length.
    fn stored(&mut self, chain: Chain, text: &[u8]) -> Result<(u64, u64)> {
        let stored = EncodedValue::parse(chain, text)?;
        if let Location::Sidecar(pointer) = &stored.place {
            self.report.values.push((pointer.offset, pointer.length));
        }
        if matches!(chain.kind, Kind::Scalar(_)) {
            self.shard.emit_stored(&stored, None, &mut Discard)?;
            return Ok((0, 0));
        }
        let bytes = self.shard.load(&stored)?;
        match chain.kind {
            Kind::Str => {
                std::str::from_utf8(&bytes).map_err(|_| Error::corrupt("a string that is not UTF-8"))?;
            }
            Kind::Json => json::emit(&bytes, 0, &mut Discard)?,
            Kind::Blob(payload) => match npy::check_blob(payload, &bytes) {
                // 1.0 wrote structured arrays, which are valid there but cannot be read.
                Err(error) if error.cause() == Cause::Unsupported && !self.is_new() => {}
                result => result?,
            },
            Kind::Scalar(_) | Kind::Marked => {}
        }
        Ok((Shard::stored_len(&stored), to_u64(bytes.len())))
    }
}

/// The name of the kind of a value in the footer's `fields`.
fn kind_of_chain(chain: Chain) -> &'static str {
    match chain.kind {
        Kind::Blob(Payload::Raw) => "bytes",
        Kind::Blob(Payload::Npy) => "ndarray",
        Kind::Blob(Payload::Pt) => "tensor",
        kind => kind_name(kind),
    }
}
