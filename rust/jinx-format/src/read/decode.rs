//! Emits the events of a stored row, or of one value in it.

use crate::fields::FieldNode;
use crate::key::{Chain, FormatVersion, Kind};
use crate::read::as_stored::AsStored;
use crate::read::marked_rows::marked;
use crate::read::plain_row::plain_members;
use crate::read::shard::Shard;
use crate::read::stored::{EncodedValue, Location};
use bytes::Bytes;
use jinx_core::error::{Error, Result};
use jinx_core::json::scan::Members;
use jinx_core::json::text::unescape;
use jinx_core::json::{self, markers};
use jinx_core::key_set::KeySet;
use jinx_core::limits::MAX_DEPTH;
use jinx_core::npy;
use jinx_core::row_events::{Blob, Payload, Sink};
use jinx_core::value::{TreeBuilder, Value};
use jiter::{Jiter, Peek};
use std::borrow::Cow;

impl Shard {
    /// Emits row `i`.
    ///
    /// # Errors
    /// Names sample and column.
    pub fn emit_row(&self, i: u64, sink: &mut impl Sink) -> Result<()> {
        let line = self.line(i)?;
        self.emit_whole(i, line, sink).map_err(|error| self.here(error, i))
    }

    /// Emits row `i` from its line; as text, if the sink accepts this.
    fn emit_whole(&self, i: u64, line: Vec<u8>, sink: &mut impl Sink) -> Result<()> {
        if self.is_plain_json()
            && sink.takes_row(line.len())
            && let Some(members) = plain_members(&line)?
        {
            return sink.row(line, &members, self.compared_line_hash(i));
        }
        self.emit_line(&line, &|_| true, sink)
    }

    /// The members of a line; the header of a plain row with markers is skipped, and the bool is then true.
    ///
    /// # Errors
    /// The errors of [`Members::next_member`].
    pub fn members<'l>(&self, line: &'l [u8]) -> Result<(Members<'l>, bool)> {
        let mut members = Members::new(line);
        let is_marked = self.rules() == FormatVersion::Plain && markers::is_marked(line);
        if is_marked {
            members.next_member()?;
        }
        Ok((members, is_marked))
    }

    /// Emits the columns of a line that `wanted` accepts.
    ///
    /// # Errors
    /// `Corrupt` for damaged text and, in 1.1, for duplicate names. In older files the last one counts.
    pub fn emit_line(&self, line: &[u8], wanted: &dyn Fn(&str) -> bool, sink: &mut impl Sink) -> Result<()> {
        sink.begin_dict(0)?;
        self.emit_members(line, wanted, sink)?;
        sink.end_dict()
    }

    /// Like [`Shard::emit_line`], without the dict around the columns, so that others can be added.
    ///
    /// # Errors
    /// The errors of [`Shard::emit_line`].
    pub fn emit_members(
        &self,
        line: &[u8],
        wanted: &dyn Fn(&str) -> bool,
        sink: &mut impl Sink,
    ) -> Result<()> {
        if self.rules() == FormatVersion::V1_1 {
            return self.emit_unique_members(line, wanted, sink);
        }
        let (mut members, is_marked) = self.members(line)?;
        let mut rows: Vec<(Cow<'_, str>, Option<Chain>, &[u8])> = Vec::new();
        let mut unique = KeySet::default();
        while let Some(span) = members.next_member()? {
            let physical = unescape(&line[span.key_range()])?;
            let value = &line[span.value_range()];
            let (name, mut chain) = self.footer().split_key(physical, value)?;
            if is_marked {
                chain = marked(value);
            }
            match unique.insert(&name) {
                Some(at) => rows[at] = (name, chain, value),
                None => rows.push((name, chain, value)),
            }
        }
        for (name, chain, value) in rows {
            if wanted(&name) {
                sink.key(&name)?;
                let node = self.tree().member(&name);
                self.emit_value(chain, value, node, 1, sink).map_err(|error| error.in_column(&name))?;
            }
        }
        Ok(())
    }

    /// The members of a line in which each name appears once.
    fn emit_unique_members(
        &self,
        line: &[u8],
        wanted: &dyn Fn(&str) -> bool,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let mut members = Members::uncounted(line);
        let mut unique = KeySet::default();
        while let Some(span) = members.next_member()? {
            let value = &line[span.value_range()];
            let (name, chain) = self.footer().split_key(unescape(&line[span.key_range()])?, value)?;
            if unique.insert(&name).is_some() {
                return Err(Error::corrupt("the name appears twice").in_column(&name));
            }
            if wanted(&name) {
                sink.key(&name)?;
                let node = self.tree().member(&name);
                self.emit_value(chain, value, node, 1, sink).map_err(|error| error.in_column(&name))?;
            }
        }
        Ok(())
    }

    /// Emits one value from its text. `depth` counts the containers around it.
    ///
    /// # Errors
    /// The errors of [`Shard::emit_row`].
    pub fn emit_value(
        &self,
        chain: Option<Chain>,
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
        if plain && !json::has_duplicates(text, depth)? {
            return json::emit(text, depth, sink);
        }
        let mut walk = RowWalk { shard: self, jiter: Jiter::new(text), text, sink };
        let peek = walk.jiter.peek().map_err(json::bad)?;
        walk.value(peek, node, depth)?;
        walk.jiter.finish().map_err(json::bad)
    }

    /// Emits a value that has a chain; in stored form, if the sink accepts this.
    ///
    /// # Errors
    /// The errors of [`Shard::load`].
    pub fn emit_stored(
        &self,
        stored: &EncodedValue<'_>,
        node: Option<&FieldNode>,
        sink: &mut impl Sink,
    ) -> Result<()> {
        if let Some(as_stored) = AsStored::of(self, stored, node) {
            if sink.unread(as_stored.unread())? {
                return Ok(());
            }
            if sink.takes_stored(as_stored.is_str(), as_stored.codec, as_stored.decoded_bytes) {
                return as_stored.emit(sink);
            }
        }
        match stored.chain.kind {
            Kind::Scalar(dtype) => self.emit_scalar(dtype, stored, sink),
            Kind::Blob(payload) => {
                let is_read = payload != Payload::Raw || sink.reads_bytes();
                let bytes = if is_read { self.load(stored)? } else { Vec::new() };
                npy::check_blob(payload, &bytes)?;
                let mut blob = Blob::shared(Bytes::from(bytes));
                let path = stored.path.as_deref();
                // Return the value as it was written, without the dict that represents a media value in the row.
                let is_bare = matches!(stored.place, Location::Inline(_)) && sink.takes_bare_media();
                if path.is_some() || (!is_bare && node.is_some_and(|node| node.media)) {
                    blob = blob.with_path(path);
                }
                sink.blob(payload, blob)
            }
            Kind::Str => {
                let bytes = self.load(stored)?;
                sink.str(
                    std::str::from_utf8(&bytes).map_err(|_| Error::corrupt("a string that is not UTF-8"))?,
                )
            }
            Kind::Json => json::emit(&self.load(stored)?, 0, sink),
            Kind::Marked => Err(Error::corrupt("a value with markers is not stored")),
        }
    }
}

/// Emits a value without chains; as text, if the sink accepts this.
fn emit_plain(text: &[u8], depth: usize, sink: &mut impl Sink) -> Result<()> {
    if matches!(text.first(), Some(b'{' | b'[')) && sink.takes_json() {
        let elements = json::check_unique(text, depth)?;
        return sink.json(text, elements);
    }
    json::emit_unique(text, depth, sink)
}

/// Walks nested text in which keys may have chains.
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
            // In 1.1, keys below a path without a node have no chains.
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
                    self.element(peek, node, depth + 1)
                        .map_err(|error| error.in_column(&format!("[{i}]")))?;
                    next = self.jiter.array_step().map_err(json::bad)?;
                    i += 1;
                }
                self.sink.end_list()
            }
            peek => json::emit_scalar(&mut self.jiter, peek, self.sink),
        }
    }

    /// Emits a list element, which in 1.1 may be wrapped so that it can have a chain.
    fn element(&mut self, peek: Peek, node: Option<&FieldNode>, depth: usize) -> Result<()> {
        if peek == Peek::Object
            && node.is_some()
            && self.text[self.jiter.current_index()..].starts_with(b"{\"..")
        {
            let start = self.jiter.current_index();
            json::skip(&mut self.jiter, peek, depth)?;
            let text = &self.text[start..self.jiter.current_index()];
            return match self.shard.footer().unwrap_element(text)? {
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
        let mut found: Vec<(Cow<'_, str>, Option<Chain>, &[u8])> = Vec::new();
        let mut unique = KeySet::default();
        while let Some(span) = members.next_member()? {
            let value = &text[span.value_range()];
            let (name, chain) = self.shard.footer().split_key(unescape(&text[span.key_range()])?, value)?;
            match unique.insert(&name) {
                Some(_) if !is_old => return Err(Error::corrupt("the name appears twice").in_column(&name)),
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
                .map_err(|error| error.in_column(&name))?;
        }
        self.sink.end_dict()
    }

    /// Emits a media struct in the row: its bytes if there are any, otherwise the struct.
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
