//! Reads one number from a row's text without building objects: a value or its length.
//!
//! An indexed column gives the same; this serves 1.0 files, plain JSON Lines and paths without an indexed column.

use crate::expression::numpy_scalar;
use crate::expression::tree::Cell;
use crate::fields::{FieldNode, Measure};
use crate::key::{Chain, Form, FormatVersion, Kind};
use crate::read::columns::ColumnKind;
use crate::read::find_paths::{FoundValue, PathTree};
use crate::read::shard::{Shard, Verify};
use crate::read::stored::{EncodedValue, Location, Pointer};
use jinx_core::checked_math::{range_within, to_u64};
use jinx_core::codec::{self, TextEncoding, base64_len};
use jinx_core::error::{Error, Result};
use jinx_core::json::scan::count_elements;
use jinx_core::json::text::unescape;
use jinx_core::json::{count_names, markers};
use jinx_core::npy;
use jinx_core::row_events::{Dtype, Number, Payload};
use jinx_core::value::{TreeBuilder, Value};
use std::io::{Cursor, Read};

impl Shard {
    /// The value or the length at `path` in sample `i`; `None` if there is no value, `Measure::None` for
    /// null.
    ///
    /// # Errors
    /// `Mismatch` for a value that is neither number, bool nor string, or has no length; errors of the row.
    pub fn measure(&self, i: u64, path: &[&str], kind: ColumnKind) -> Result<Option<Measure>> {
        let line = self.line(i)?;
        let measured = self.measure_line(&line, path, kind);
        measured.map_err(|error| self.here(error.in_column(&path.join(".")), i))
    }

    /// Like [`Shard::measure`], for a line that was read already.
    ///
    /// # Errors
    /// The errors of [`Shard::measure`].
    pub fn measure_line(&self, line: &[u8], path: &[&str], kind: ColumnKind) -> Result<Option<Measure>> {
        let values = self.find_paths(line, &PathTree::new([(0, path)]))?;
        let Some(values) = values.into_iter().next().flatten() else { return Ok(None) };
        let measured = match kind {
            ColumnKind::Value => self.value_of(&values),
            ColumnKind::Length if values.chain.is_none() && Form::of(first(values.text)) == Form::Null => {
                Ok(Measure::None)
            }
            ColumnKind::Length => {
                value_length(self, values.chain, values.text, values.node).map(Measure::Length)
            }
        };
        measured.map(Some)
    }

    fn value_of(&self, found: &FoundValue<'_>) -> Result<Measure> {
        let kind = match found.chain {
            Some(chain) => chain.kind,
            None if matches!(Form::of(first(found.text)), Form::List | Form::Dict) => {
                return Err(Error::mismatch("a list or dict is not a single value"));
            }
            None => Kind::Str,
        };
        if matches!(kind, Kind::Blob(payload) if payload != Payload::Np) {
            return Err(Error::mismatch("a binary value is not a number or string"));
        }
        let mut tree = TreeBuilder::default();
        self.emit_value(found.chain, found.text, found.node, 1, &mut tree)?;
        Ok(match tree.take()? {
            Value::Null => Measure::None,
            Value::Bool(value) => Measure::Bool(value),
            Value::Int(value) | Value::Scalar(_, Number::Int(value)) => Measure::Int(value),
            Value::Scalar(_, Number::Uint(value)) => Measure::Uint(value),
            Value::BigInt(digits) => Measure::of_digits(&digits),
            Value::Float(value) | Value::Scalar(Dtype::Float32 | Dtype::Float64, Number::Float(value)) => {
                Measure::Float(value)
            }
            Value::Str(value) => Measure::Text(value),
            Value::Blob { payload: Payload::Np, data, .. } => match numpy_scalar::cell_of(&data) {
                Cell::Bool(value) => Measure::Bool(value),
                Cell::Int(value) => {
                    i64::try_from(value).map_or_else(|_| Measure::of_digits(&value.to_string()), Measure::Int)
                }
                Cell::Float(value) | Cell::Narrow(value, _) => Measure::Float(value),
                _ => return Err(Error::mismatch("a numpy scalar that is not a number")),
            },
            _ => return Err(Error::mismatch("this is not a single value")),
        })
    }
}

fn first(text: &[u8]) -> u8 {
    text.iter().copied().find(|byte| !byte.is_ascii_whitespace()).unwrap_or_default()
}

/// The length of a stored value as given by Python's `len` after decoding: elements of a list, members of a dict,
/// Unicode characters of a string, bytes, or the first dimension of an array. Decodes only where nothing else states
/// it.
///
/// # Errors
/// `Mismatch` for a value without a length, `Corrupt` for damage that is found.
pub fn value_length(
    shard: &Shard,
    chain: Option<Chain>,
    text: &[u8],
    node: Option<&FieldNode>,
) -> Result<u64> {
    let Some(chain) = chain else {
        return match Form::of(first(text)) {
            Form::Dict if node.is_some_and(|node| node.media) => media_length(shard, text, node),
            Form::List => count_elements(text.trim_ascii()),
            Form::Dict => count_names(text.trim_ascii()),
            Form::Str => count_characters(text.trim_ascii()),
            _ => Err(Error::mismatch("numbers, bools and null have no length")),
        };
    };
    if chain.kind == Kind::Marked {
        return marked_length(text);
    }
    let stored = EncodedValue::parse(chain, text)?;
    match chain.kind {
        Kind::Scalar(_) | Kind::Blob(Payload::Np) => Err(Error::mismatch("a number has no length")),
        Kind::Blob(Payload::Pt) => {
            Err(Error::unsupported("the length of a tensor; load it and ask for its shape"))
        }
        Kind::Blob(Payload::Npy) => array_length(shard, &stored),
        Kind::Blob(Payload::Raw) => byte_length(shard, &stored),
        Kind::Str => {
            let bytes = shard.load(&stored)?;
            let text =
                std::str::from_utf8(&bytes).map_err(|_| Error::corrupt("a string that is not UTF-8"))?;
            Ok(to_u64(text.chars().count()))
        }
        Kind::Json | Kind::Marked => value_length(shard, None, &shard.load(&stored)?, None),
    }
}

/// The length of a value in a row with markers.
fn marked_length(text: &[u8]) -> Result<u64> {
    let mut tree = TreeBuilder::default();
    markers::emit_inner(text, 1, &mut tree)?;
    Ok(to_u64(match tree.take()? {
        Value::List(items) => items.len(),
        Value::Dict(members) => members.len(),
        Value::Str(text) => text.chars().count(),
        Value::Blob { payload: Payload::Raw, data, .. } => data.len(),
        Value::Blob { payload: Payload::Npy | Payload::Pt, .. } => {
            return Err(Error::unsupported(
                "the length of an array in JSON lines; load it and ask for its shape",
            ));
        }
        _ => return Err(Error::mismatch("numbers, bools and null have no length")),
    }))
}

/// The length of a media struct in the row, which is that of its bytes.
fn media_length(shard: &Shard, text: &[u8], node: Option<&FieldNode>) -> Result<u64> {
    let values = shard.find_paths(text, &PathTree::new([(0, &["bytes"][..])]))?;
    match values.first().copied().flatten() {
        Some(FoundValue { chain: Some(chain), text, .. }) => value_length(shard, Some(chain), text, node),
        _ => count_names(text.trim_ascii()),
    }
}

fn byte_length(shard: &Shard, stored: &EncodedValue<'_>) -> Result<u64> {
    match &stored.place {
        Location::Sidecar(pointer) if stored.chain.codecs().next().is_some() => check_whole(shard, pointer)?,
        Location::Sidecar(pointer) => check_place(shard, pointer)?,
        _ => {}
    }
    if let Some(length) = stored.announced_len(shard) {
        return Ok(length);
    }
    if let Location::Inline(text) = &stored.place
        && stored.chain.codecs().next().is_none()
        && shard.encoding() == TextEncoding::Base64
        && shard.rules() == FormatVersion::V1_1
    {
        // This library wrote it, so it consists only of the alphabet and padding.
        let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
        let length = (text.len() / 4 * 3).saturating_sub(padding);
        if padding <= 2 && base64_len(length) == text.len() {
            return Ok(to_u64(length));
        }
    }
    shard.load(stored).map(|bytes| to_u64(bytes.len()))
}

fn check_place(shard: &Shard, pointer: &Pointer) -> Result<()> {
    let total = shard.sidecar().map_or(0, jinx_core::io::Source::len);
    range_within(pointer.offset, pointer.length, total, "a value in the sidecar").map(drop)
}

/// Compares a value whose first bytes state its length with its checksum, if values are checked.
fn check_whole(shard: &Shard, pointer: &Pointer) -> Result<()> {
    match shard.verify_level() {
        Verify::None | Verify::Rows => check_place(shard, pointer),
        Verify::Full | Verify::Whole => shard.fetch_shared(pointer).map(drop),
    }
}

fn array_length(shard: &Shard, stored: &EncodedValue<'_>) -> Result<u64> {
    let header = npy::parse_header(&array_head(shard, stored)?)?;
    header.shape.first().copied().ok_or_else(|| Error::mismatch("an array without dimensions has no length"))
}

/// Enough bytes at the start of an array's payload to contain its header.
fn array_head(shard: &Shard, stored: &EncodedValue<'_>) -> Result<Vec<u8>> {
    let mut codecs = stored.chain.codecs();
    match (&stored.place, codecs.next(), codecs.next()) {
        (Location::Sidecar(pointer), None, _) => {
            check_whole(shard, pointer)?;
            let read =
                |length: usize| shard.sidecar_bytes(pointer.offset, pointer.length.min(to_u64(length)));
            let length = npy::header_end(&read(npy::PREFIX_BYTES)?)?;
            Ok(read(length)?.into())
        }
        (Location::Sidecar(pointer), Some(codec), None) => {
            let mut reader = codec::reader(codec, Cursor::new(shard.fetch(pointer)?))?;
            let mut head = Vec::new();
            reader.by_ref().take(to_u64(npy::PREFIX_BYTES)).read_to_end(&mut head)?;
            let left = npy::header_end(&head)?.saturating_sub(head.len());
            reader.take(to_u64(left)).read_to_end(&mut head)?;
            Ok(head)
        }
        _ => shard.load(stored),
    }
}

/// The number of characters of a JSON string, including quotes in `text`; a pair of escaped surrogates counts as one.
fn count_characters(text: &[u8]) -> Result<u64> {
    let bad = || Error::corrupt("a string that is not valid JSON");
    let inner = text.len().checked_sub(1).and_then(|end| text.get(1..end)).ok_or_else(bad)?;
    if memchr::memchr(b'\\', inner).is_none() {
        let text = std::str::from_utf8(inner).map_err(|_| bad())?;
        return Ok(to_u64(text.chars().count()));
    }
    unescape(inner).map(|text| to_u64(text.chars().count()))
}
