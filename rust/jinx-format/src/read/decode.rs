//! Emits the events of a stored row, or of one value in it.

use crate::fields::FieldNode;
use crate::key::{self, Form, FormatVersion, Kind};
use crate::read::as_stored::AsStored;
use crate::read::json_lines;
use crate::read::shard::Shard;
use crate::read::stored::EncodedValue;
use bytes::Bytes;
use jinx_core::error::{Error, Result};
use jinx_core::json::scan::Members;
use jinx_core::json::{self, markers};
use jinx_core::key_set::KeySet;
use jinx_core::limits::MAX_DEPTH;
use jinx_core::npy;
use jinx_core::sink::{Blob, Payload, Sink};
use jinx_core::value::{TreeBuilder, Value};
use jiter::{Jiter, Peek};
use std::borrow::Cow;

/// A JSON key's text without its escapes.
///
/// # Errors
/// `Corrupt` for text that is no JSON string.
pub fn unescape(raw: &[u8]) -> Result<Cow<'_, str>> {
    let bad = || Error::corrupt("a name that is not valid text");
    if raw.iter().all(|byte| *byte >= b' ' && *byte != b'\\') {
        return std::str::from_utf8(raw).map(Cow::Borrowed).map_err(|_| bad());
    }
    let quoted = [b"\"", raw, b"\""].concat();
    let text = Jiter::new(&quoted).next_str().map_err(|_| bad())?.to_owned();
    Ok(Cow::Owned(text))
}

/// Whether a 1.1 key begins as the quoted empty name does.
fn is_wrapper(key: &[u8]) -> bool {
    key.starts_with(b"..")
}

/// Whether a 1.0 value can carry the chain its key ends with, as far as its form alone does not say.
fn fits_old(key: &str, form: Form, value: &[u8]) -> bool {
    if form != Form::Dict || !key.ends_with("bin") {
        return true;
    }
    let (mut members, mut found) = (Members::new(value), 0);
    while let Ok(Some(span)) = members.next_member() {
        found += usize::from(matches!(&value[span.key_range()], b"offset" | b"length"));
    }
    found >= 2
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
        sink.begin_dict(0)?;
        self.emit_members(line, wanted, sink)?;
        sink.end_dict()
    }

    /// As [`Shard::emit_line`], without the dict around the fields, so that others can follow.
    ///
    /// # Errors
    /// As [`Shard::emit_line`].
    pub fn emit_members(
        &self,
        line: &[u8],
        wanted: &dyn Fn(&str) -> bool,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let (mut members, is_marked) = self.members(line)?;
        let mut rows: Vec<(Cow<'_, str>, Option<key::Chain>, &[u8])> = Vec::new();
        let mut unique = KeySet::default();
        while let Some(span) = members.next_member()? {
            let physical = unescape(&line[span.key_range()])?;
            let value = &line[span.value_range()];
            let (name, mut chain) = self.split_key(physical, value)?;
            if is_marked {
                chain = json_lines::marked(value);
            }
            match unique.insert(&name) {
                Some(_) if self.rules() == FormatVersion::V1_1 => {
                    return Err(Error::corrupt("the name stands twice").in_field(&name));
                }
                Some(at) => rows[at] = (name, chain, value),
                None => rows.push((name, chain, value)),
            }
        }
        for (name, chain, value) in rows {
            if wanted(&name) {
                sink.key(&name)?;
                let node = self.tree().member(&name);
                self.emit_value(chain, value, node, 1, sink).map_err(|error| error.in_field(&name))?;
            }
        }
        Ok(())
    }

    /// Name and chain of a dict member's physical key.
    ///
    /// # Errors
    /// As [`key::split`]; in 1.1 `Corrupt` for the wrapper of list elements, which no dict member has.
    pub fn split_key<'k>(
        &self,
        physical: Cow<'k, str>,
        value: &[u8],
    ) -> Result<(Cow<'k, str>, Option<key::Chain>)> {
        let (name, chain) = self.split_any(physical.clone(), value)?;
        if name.is_empty() && self.rules() == FormatVersion::V1_1 && is_wrapper(physical.as_bytes()) {
            return Err(Error::corrupt("a wrapped value outside a list"));
        }
        Ok((name, chain))
    }

    /// Whether a key may be more than a name; no means no.
    fn may_carry(&self, physical: &str) -> bool {
        let footer = self.footer();
        let first = footer.sep.as_bytes().first();
        footer.mixed_sep || first.is_none_or(|byte| memchr::memchr(*byte, physical.as_bytes()).is_some())
    }

    fn split_any<'k>(
        &self,
        physical: Cow<'k, str>,
        value: &[u8],
    ) -> Result<(Cow<'k, str>, Option<key::Chain>)> {
        if !self.may_carry(&physical) {
            return Ok((physical, None));
        }
        let mut form = Form::of(value.first().copied().unwrap_or_default());
        if self.rules() == FormatVersion::V1_0 && !fits_old(&physical, form, value) {
            // No chain fits a list.
            form = Form::List;
        }
        match physical {
            Cow::Borrowed(text) => {
                self.split_text(text, form).map(|(name, chain)| (Cow::Borrowed(name), chain))
            }
            Cow::Owned(text) => {
                self.split_text(&text, form).map(|(name, chain)| (Cow::Owned(name.to_owned()), chain))
            }
        }
    }

    fn split_text<'k>(&self, text: &'k str, form: Form) -> Result<(&'k str, Option<key::Chain>)> {
        let sep = &self.footer().sep;
        if self.footer().mixed_sep {
            return key::split_mixed(text, form, sep);
        }
        key::split(text, form, self.rules(), sep)
    }

    /// Chain and value of a list element that is wrapped to carry a chain (1.1), `None` for any other.
    ///
    /// # Errors
    /// `Corrupt` for a wrapper without a chain, or with further members.
    pub fn unwrap_element<'t>(&self, text: &'t [u8]) -> Result<Option<(key::Chain, &'t [u8])>> {
        if self.rules() != FormatVersion::V1_1 || !text.starts_with(b"{") {
            return Ok(None);
        }
        let mut members = Members::new(text);
        let Some(span) = members.next_member()? else { return Ok(None) };
        if !is_wrapper(&text[span.key_range()]) {
            return Ok(None);
        }
        let value = &text[span.value_range()];
        match self.split_any(unescape(&text[span.key_range()])?, value)? {
            (name, Some(chain)) if name.is_empty() && members.next_member()?.is_none() => {
                Ok(Some((chain, value)))
            }
            (name, _) if name.is_empty() => {
                Err(Error::corrupt("a list element that is wrapped without need"))
            }
            _ => Ok(None),
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
            if chain.kind == Kind::Marked {
                return markers::emit_inner(text, depth, sink);
            }
            return self.emit_stored(&EncodedValue::parse(chain, text)?, node, sink);
        }
        let plain = match self.rules() {
            FormatVersion::V1_1 if node.is_none() => return emit_plain(text, depth, sink),
            FormatVersion::V1_1 => false,
            FormatVersion::Plain => true,
            FormatVersion::V1_0 => {
                !self.footer().mixed_sep && memchr::memmem::find(text, self.footer().sep.as_bytes()).is_none()
            }
        };
        if plain && !json::has_twins(text, depth)? {
            return json::emit(text, depth, sink);
        }
        let mut walk = RowWalk { shard: self, jiter: Jiter::new(text), text, sink };
        let peek = walk.jiter.peek().map_err(json::bad)?;
        walk.value(peek, node, depth)?;
        walk.jiter.finish().map_err(json::bad)
    }

    /// Emits a value that has a chain: as it is stored where the sink takes it so.
    ///
    /// # Errors
    /// As [`Shard::load`].
    pub fn emit_stored(
        &self,
        stored: &EncodedValue<'_>,
        node: Option<&FieldNode>,
        sink: &mut impl Sink,
    ) -> Result<()> {
        if let Some(as_stored) = AsStored::of(self, stored, node)
            && sink.takes_stored(as_stored.is_str(), as_stored.codec, as_stored.decoded_bytes)
        {
            return as_stored.emit(sink);
        }
        match stored.chain.kind {
            Kind::Scalar(dtype) => self.emit_scalar(dtype, stored, sink),
            Kind::Blob(payload) => {
                let is_read = payload != Payload::Raw || sink.reads_bytes();
                let bytes = if is_read { self.load(stored)? } else { Vec::new() };
                npy::check_blob(payload, &bytes)?;
                let mut blob = Blob::shared(Bytes::from(bytes));
                let path = stored.path.as_deref();
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
            Kind::Marked => Err(Error::corrupt("a value with markers is not stored")),
        }
    }
}

/// Emits a value without chains, as its text where the sink takes it so.
fn emit_plain(text: &[u8], depth: usize, sink: &mut impl Sink) -> Result<()> {
    if matches!(text.first(), Some(b'{' | b'[')) && sink.takes_json() {
        json::check_unique(text, depth)?;
        return sink.json(text);
    }
    json::emit_unique(text, depth, sink)
}

/// Walks nested text in which keys may carry chains.
struct RowWalk<'s, 't, S> {
    shard: &'s Shard,
    jiter: Jiter<'t>,
    text: &'t [u8],
    sink: &'s mut S,
}

impl<S: Sink> RowWalk<'_, '_, S> {
    fn value(&mut self, peek: Peek, node: Option<&FieldNode>, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(Error::limit(format!("lists and dicts nested deeper than {MAX_DEPTH}")));
        }
        let is_old = self.shard.rules() != FormatVersion::V1_1;
        match peek {
            // In 1.1 nothing below a path without a node carries a chain.
            Peek::Object | Peek::Array if !is_old && node.is_none() => {
                let start = self.jiter.current_index();
                json::skip(&mut self.jiter, peek, depth)?;
                let end = self.jiter.current_index();
                emit_plain(&self.text[start..end], depth, self.sink)
            }
            Peek::Object if !is_old && node.is_some_and(|node| node.media) => self.media(depth),
            Peek::Object => self.dict(node, depth),
            Peek::Array => {
                let node = node.and_then(FieldNode::element);
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

    /// A list element, which in 1.1 may be wrapped to carry a chain.
    fn element(&mut self, peek: Peek, node: Option<&FieldNode>, depth: usize) -> Result<()> {
        if peek == Peek::Object
            && node.is_some()
            && self.text[self.jiter.current_index()..].starts_with(b"{\"..")
        {
            let start = self.jiter.current_index();
            json::skip(&mut self.jiter, peek, depth)?;
            let text = &self.text[start..self.jiter.current_index()];
            return match self.shard.unwrap_element(text)? {
                Some((chain, value)) => self.shard.emit_value(Some(chain), value, node, depth, self.sink),
                None => self.shard.emit_value(None, text, node, depth, self.sink),
            };
        }
        self.value(peek, node, depth)
    }

    fn dict(&mut self, node: Option<&FieldNode>, depth: usize) -> Result<()> {
        let is_old = self.shard.rules() != FormatVersion::V1_1;
        let start = self.jiter.current_index();
        json::skip(&mut self.jiter, Peek::Object, depth)?;
        let end = self.jiter.current_index();
        let text = &self.text[start..end];
        let mut members = Members::new(text);
        let mut found: Vec<(Cow<'_, str>, Option<key::Chain>, &[u8])> = Vec::new();
        let mut unique = KeySet::default();
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
            let node = node.and_then(|node| node.member(&name));
            self.shard
                .emit_value(chain, value, node, depth + 1, self.sink)
                .map_err(|error| error.in_field(&name))?;
        }
        self.sink.end_dict()
    }

    /// A media struct in the row: its bytes where there are any, else the struct.
    fn media(&mut self, depth: usize) -> Result<()> {
        let start = self.jiter.current_index();
        json::skip(&mut self.jiter, Peek::Object, depth)?;
        let text = &self.text[start..self.jiter.current_index()];
        let mut tree =
            if self.sink.reads_bytes() { TreeBuilder::default() } else { TreeBuilder::without_bytes() };
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
