//! Emits the events of a stored row, or of one value in it.

use super::fields::FieldNode;
use super::key::{self, Form, Kind, Rules};
use super::scan::Members;
use super::shard::Shard;
use super::stored::{Place, Stored};
use super::unique::Unique;
use crate::error::{Error, Result};
use crate::json;
use crate::limits::MAX_DEPTH;
use crate::sink::{Blob, Dtype, Number, Payload, Sink};
use crate::value::{TreeBuilder, Value};
use bytes::Bytes;
use jiter::{Jiter, Peek};
use std::borrow::Cow;

/// A JSON key's text without its escapes.
///
/// # Errors
/// `Corrupt` for text that is no JSON string.
pub fn unescape(raw: &[u8]) -> Result<Cow<'_, str>> {
    let bad = || Error::corrupt("a name that is not valid text");
    if memchr::memchr(b'\\', raw).is_none() {
        return std::str::from_utf8(raw).map(Cow::Borrowed).map_err(|_| bad());
    }
    let quoted = [b"\"", raw, b"\""].concat();
    let text = Jiter::new(&quoted).next_str().map_err(|_| bad())?.to_owned();
    Ok(Cow::Owned(text))
}

impl Shard {
    /// Emits row `i`.
    ///
    /// # Errors
    /// Names sample and field.
    pub fn emit_row(&self, i: u64, sink: &mut impl Sink) -> Result<()> {
        let line = self.line(i)?;
        self.emit_line(&line, &|_| true, sink).map_err(|error| self.here(error, i))
    }

    /// Emits the fields of a line for which `wanted` says yes.
    ///
    /// # Errors
    /// `Corrupt` for damaged text, also for a name that stands twice (1.1; before, the last one holds).
    pub fn emit_line(&self, line: &[u8], wanted: &dyn Fn(&str) -> bool, sink: &mut impl Sink) -> Result<()> {
        let mut members = Members::new(line);
        let mut rows: Vec<(Cow<'_, str>, Option<key::Chain>, &[u8])> = Vec::new();
        let mut unique = Unique::default();
        while let Some(span) = members.next_member()? {
            let physical = unescape(&line[span.key_range()])?;
            let value = &line[span.value_range()];
            let (name, chain) = self.split_key(physical, value)?;
            match unique.insert(&name) {
                Some(_) if self.rules() == Rules::V1_1 => return Err(Error::corrupt("the name stands twice").in_field(&name)),
                Some(at) => rows[at] = (name, chain, value),
                None => rows.push((name, chain, value)),
            }
        }
        sink.begin_dict(rows.len())?;
        for (name, chain, value) in rows {
            if wanted(&name) {
                sink.key(&name)?;
                let node = self.tree().member(&name);
                self.emit_value(chain, value, node, 1, sink).map_err(|error| error.in_field(&name))?;
            }
        }
        sink.end_dict()
    }

    /// Name and chain of a physical key.
    ///
    /// # Errors
    /// As [`key::split`].
    pub fn split_key<'k>(&self, physical: Cow<'k, str>, value: &[u8]) -> Result<(Cow<'k, str>, Option<key::Chain>)> {
        let form = Form::of(value.first().copied().unwrap_or_default());
        let sep = &self.footer().sep;
        match physical {
            Cow::Borrowed(text) => {
                let (name, chain) = key::split(text, form, self.rules(), sep)?;
                Ok((Cow::Borrowed(name), chain))
            }
            Cow::Owned(text) => {
                let (name, chain) = key::split(&text, form, self.rules(), sep)?;
                Ok((Cow::Owned(name.to_owned()), chain))
            }
        }
    }

    /// Emits one value from its text. `depth` counts the containers around it.
    ///
    /// # Errors
    /// As [`Shard::emit_row`].
    pub fn emit_value(
        &self,
        chain: Option<key::Chain>,
        text: &[u8],
        node: Option<&FieldNode>,
        depth: usize,
        sink: &mut impl Sink,
    ) -> Result<()> {
        if let Some(chain) = chain {
            return self.emit_stored(&Stored::parse(chain, text)?, node, sink);
        }
        let plain = match self.rules() {
            Rules::Plain => true,
            Rules::V1_0 => memchr::memmem::find(text, self.footer().sep.as_bytes()).is_none(),
            Rules::V1_1 => node.is_none(),
        };
        if plain {
            return json::emit(text, depth, sink);
        }
        let mut walk = Walk { shard: self, jiter: Jiter::new(text), text, sink };
        let peek = walk.jiter.peek().map_err(json::bad)?;
        walk.value(peek, node, depth)?;
        walk.jiter.finish().map_err(json::bad)
    }

    /// Emits a value that has a chain.
    ///
    /// # Errors
    /// As [`Shard::load`].
    pub fn emit_stored(&self, stored: &Stored<'_>, node: Option<&FieldNode>, sink: &mut impl Sink) -> Result<()> {
        match stored.chain.kind {
            Kind::Scalar(dtype) => self.emit_scalar(dtype, stored, sink),
            Kind::Blob(payload) => {
                let mut blob = Blob::shared(Bytes::from(self.load(stored)?));
                let path = match &stored.place {
                    Place::Sidecar(pointer) => pointer.path.as_deref(),
                    _ => None,
                };
                if path.is_some() || node.is_some_and(|node| node.media) {
                    blob = blob.with_path(path);
                }
                sink.blob(payload, blob)
            }
            Kind::Str => {
                let bytes = self.load(stored)?;
                sink.str(std::str::from_utf8(&bytes).map_err(|_| Error::corrupt("text that is not UTF-8"))?)
            }
            Kind::Json => json::emit(&self.load(stored)?, 0, sink),
        }
    }

    fn emit_scalar(&self, dtype: Dtype, stored: &Stored<'_>, sink: &mut impl Sink) -> Result<()> {
        let misfit = || Error::corrupt(format!("a value that is no {}", dtype.name()));
        let number = if dtype.is_float() {
            let value = match &stored.place {
                Place::Null => f64::NAN,
                Place::Number(text) => text.parse().map_err(|_| misfit())?,
                Place::Inline(text) => parse_non_finite(text).ok_or_else(misfit)?,
                Place::Sidecar(_) => return Err(misfit()),
            };
            if dtype == Dtype::Float64 && self.rules() == Rules::V1_1 {
                return sink.float(value);
            }
            Number::Float(value)
        } else {
            let Place::Number(text) = &stored.place else { return Err(misfit()) };
            match (text.parse::<i64>(), text.parse::<u64>()) {
                (Ok(value), _) => Number::Int(value),
                (_, Ok(value)) => Number::Uint(value),
                _ => return Err(misfit()),
            }
        };
        if !fits(dtype, number) {
            return Err(misfit());
        }
        sink.scalar(dtype, number)
    }
}

/// Whether a stored number is in the dtype's range.
fn fits(dtype: Dtype, number: Number) -> bool {
    let value = match number {
        Number::Int(value) => i128::from(value),
        Number::Uint(value) => i128::from(value),
        Number::Float(_) => return dtype.is_float(),
    };
    let (low, high) = match dtype {
        Dtype::Int8 => (i128::from(i8::MIN), i128::from(i8::MAX)),
        Dtype::Int16 => (i128::from(i16::MIN), i128::from(i16::MAX)),
        Dtype::Int32 => (i128::from(i32::MIN), i128::from(i32::MAX)),
        Dtype::Int64 => (i128::from(i64::MIN), i128::from(i64::MAX)),
        Dtype::Uint8 => (0, i128::from(u8::MAX)),
        Dtype::Uint16 => (0, i128::from(u16::MAX)),
        Dtype::Uint32 => (0, i128::from(u32::MAX)),
        Dtype::Uint64 => (0, i128::from(u64::MAX)),
        Dtype::Float32 | Dtype::Float64 => return false,
    };
    (low..=high).contains(&value)
}

/// The texts Python's `float()` takes for what JSON numbers cannot say.
fn parse_non_finite(text: &str) -> Option<f64> {
    let text = text.trim();
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    match rest.to_ascii_lowercase().as_str() {
        "inf" | "infinity" => Some(sign * f64::INFINITY),
        "nan" => Some(f64::NAN),
        other => other.parse::<f64>().ok().filter(|_| !other.is_empty()).map(|value| sign * value),
    }
}

/// Walks nested text in which keys may carry chains.
struct Walk<'s, 't, S> {
    shard: &'s Shard,
    jiter: Jiter<'t>,
    text: &'t [u8],
    sink: &'s mut S,
}

impl<S: Sink> Walk<'_, '_, S> {
    fn value(&mut self, peek: Peek, node: Option<&FieldNode>, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(Error::limit(format!("lists and dicts nested deeper than {MAX_DEPTH}")));
        }
        let is_old = self.shard.rules() == Rules::V1_0;
        match peek {
            // In 1.1 nothing below a path without a node carries a chain.
            Peek::Object | Peek::Array if !is_old && node.is_none() => {
                let start = self.jiter.current_index();
                json::skip(&mut self.jiter, peek, depth)?;
                let end = self.jiter.current_index();
                json::emit(&self.text[start..end], depth, self.sink)
            }
            Peek::Object if !is_old && node.is_some_and(|node| node.media) => self.media(depth),
            Peek::Object => self.dict(node, depth),
            Peek::Array => {
                let node = node.and_then(|node| if node.open { Some(node) } else { node.element() });
                self.sink.begin_list(0)?;
                let mut next = self.jiter.known_array().map_err(json::bad)?;
                let mut i = 0usize;
                while let Some(peek) = next {
                    self.element(peek, node, depth + 1).map_err(|error| error.in_field(&format!("[{i}]")))?;
                    next = self.jiter.array_step().map_err(json::bad)?;
                    i += 1;
                }
                self.sink.end_list()
            }
            peek => json::emit_scalar(&mut self.jiter, peek, self.sink),
        }
    }

    /// A list element: in 1.1 an object whose only member is the quoted empty name is the value itself.
    fn element(&mut self, peek: Peek, node: Option<&FieldNode>, depth: usize) -> Result<()> {
        if peek == Peek::Object && self.shard.rules() == Rules::V1_1 && node.is_some() {
            let start = self.jiter.current_index();
            let sep = &self.shard.footer().sep;
            let prefix = format!("{{\"{sep}{sep}");
            let rest = &self.text[start..];
            if rest.starts_with(prefix.as_bytes())
                && let Some(span) = Members::new(rest).next_member()?
            {
                let value = &rest[span.value_range()];
                let (name, chain) = self.shard.split_key(unescape(&rest[span.key_range()])?, value)?;
                if name.is_empty() {
                    json::skip(&mut self.jiter, peek, depth)?;
                    let end = self.jiter.current_index();
                    if self.text[start..end].trim_ascii_end().len() != span.value_range().end + 1 {
                        return Err(Error::corrupt("a list element that is wrapped and holds more than its value"));
                    }
                    return self.shard.emit_value(chain, value, node, depth, self.sink);
                }
            }
        }
        self.value(peek, node, depth)
    }

    fn dict(&mut self, node: Option<&FieldNode>, depth: usize) -> Result<()> {
        let is_old = self.shard.rules() == Rules::V1_0;
        let start = self.jiter.current_index();
        json::skip(&mut self.jiter, Peek::Object, depth)?;
        let end = self.jiter.current_index();
        let text = &self.text[start..end];
        let mut members = Members::new(text);
        let mut found: Vec<(Cow<'_, str>, Option<key::Chain>, &[u8])> = Vec::new();
        let mut unique = Unique::default();
        while let Some(span) = members.next_member()? {
            let value = &text[span.value_range()];
            let (name, chain) = self.shard.split_key(unescape(&text[span.key_range()])?, value)?;
            match unique.insert(&name) {
                Some(_) if !is_old => return Err(Error::corrupt("the name stands twice").in_field(&name)),
                Some(at) => found[at] = (name, chain, value),
                None => found.push((name, chain, value)),
            }
        }
        self.sink.begin_dict(found.len())?;
        for (name, chain, value) in found {
            self.sink.key(&name)?;
            let node = node.and_then(|node| if node.open { Some(node) } else { node.member(&name) });
            self.shard.emit_value(chain, value, node, depth + 1, self.sink).map_err(|error| error.in_field(&name))?;
        }
        self.sink.end_dict()
    }

    /// A media struct in the row: its bytes where there are any, else the struct.
    fn media(&mut self, depth: usize) -> Result<()> {
        let start = self.jiter.current_index();
        json::skip(&mut self.jiter, Peek::Object, depth)?;
        let text = &self.text[start..self.jiter.current_index()];
        let mut tree = TreeBuilder::default();
        self.shard.emit_value(None, text, Some(&FieldNode::anything()), depth, &mut tree)?;
        let value = tree.take()?;
        let path = match value.get("path") {
            Some(Value::Str(path)) => Some(path.as_str()),
            _ => None,
        };
        match (value.get("bytes"), path) {
            (Some(Value::Blob { data, .. }), path) => {
                self.sink.blob(Payload::Raw, Blob::shared(data.clone()).with_path(path))
            }
            (None | Some(Value::Null), Some(path)) => self.sink.media_path(path),
            _ => value.emit(self.sink),
        }
    }
}
