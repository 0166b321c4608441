//! Markers: one-member objects for values that JSON cannot represent, in rows that declare them (`spec/exports.md`).
//!
//! ```text
//! {"$jinx":1,"image":{"$bytes":"<base64>"},"score":{"$float":"nan"}}
//! ```
//! Everything in a row without `"$jinx":1` at its beginning is data.

use crate::codec::TextEncoding;
use crate::codec::is_strict_base64;
use crate::error::{Cause, Error, Result};
use crate::json::emit_below;
use crate::key_set::KeySet;
use crate::limits::{MAX_DEPTH, MAX_VALUE_BYTES};
use crate::npy::check_import;
use crate::row_events::{Blob, Payload, Sink};
use crate::value::{TreeBuilder, Value};
use bytes::Bytes;

/// The first member of a row with markers; its value is [`VERSION`].
pub const HEADER: &str = "$jinx";
pub const VERSION: i64 = 1;
pub const BYTES: &str = "$bytes";
pub const FLOAT: &str = "$float";
/// Wraps a dict whose first name would turn it into a marker.
pub const DICT: &str = "$dict";
/// In a tar: names a file with the content, instead of base64.
pub const FILE: &str = "$file";
const PAYLOADS: [(&str, Payload); 4] =
    [(BYTES, Payload::Raw), ("$npy", Payload::Npy), ("$pt", Payload::Pt), ("$np", Payload::Np)];
/// The maximum depth: each level of a row may be escaped, and its innermost value may be a marker with a file.
const MAX_TEXT_DEPTH: usize = 2 * MAX_DEPTH + 2;

pub fn tag_of(payload: Payload) -> &'static str {
    PAYLOADS.iter().find(|(_, other)| *other == payload).map_or(BYTES, |(tag, _)| tag)
}

/// Whether a dict that begins with this name is a marker.
pub fn is_reserved(name: &str) -> bool {
    name == FLOAT || name == DICT || PAYLOADS.iter().any(|(tag, _)| *tag == name)
}

/// Whether a row declares that it contains markers.
pub fn is_marked(row: &[u8]) -> bool {
    header_end(row).is_some()
}

/// The position where the row continues after the member that declares markers: at a comma or at the end.
pub fn header_end(row: &[u8]) -> Option<usize> {
    let mut rest = row.trim_ascii_start();
    for token in [b"{".as_slice(), b"\"$jinx\"", b":", b"1"] {
        rest = rest.strip_prefix(token)?.trim_ascii_start();
    }
    matches!(rest.first(), Some(b',' | b'}')).then(|| row.len() - rest.len())
}

/// Whether the text of a value in a marked row may contain markers.
pub fn may_hold(text: &[u8]) -> bool {
    memchr::memmem::find(text, b"\"$").is_some() || memchr::memmem::find(text, b"\"\\u0024").is_some()
}

/// The files of a sample, by suffix.
pub type PayloadFiles<'f> = &'f dyn Fn(&str) -> Option<Bytes>;

/// How markers are read.
#[derive(Clone, Copy, Default)]
pub struct Markers<'f> {
    /// Whether every row contains markers, as in old exports whose rows do not declare them.
    pub always: bool,
    /// The files to which markers may refer.
    pub files: Option<PayloadFiles<'f>>,
}

/// Emits one line of a JSON Lines file. If a name appears twice, the last value counts.
///
/// # Errors
/// `Corrupt` when the line is not a JSON object, or a marker is invalid.
pub fn emit_line(line: &[u8], markers: Markers<'_>, sink: &mut impl Sink) -> Result<()> {
    match line.trim_ascii_start().first() {
        Some(b'{') => {}
        Some(b'[') => {
            return Err(Error::corrupt(
                "a JSON array instead of an object; turn an array into lines with: jq -c '.[]'",
            ));
        }
        _ => return Err(Error::corrupt("a line that is not a JSON object")),
    }
    emit_value(line, 0, markers, sink).map_err(|error| advised(error, line))
}

/// Emits any JSON value, with markers if it is an object that declares them. `depth` counts the containers around it.
///
/// # Errors
/// The errors of [`emit_line`].
pub fn emit_value(text: &[u8], depth: usize, markers: Markers<'_>, sink: &mut impl Sink) -> Result<()> {
    let is_marked = markers.always || is_marked(text);
    let max_depth = if is_marked { MAX_TEXT_DEPTH } else { MAX_DEPTH };
    let mut tree = TreeBuilder::default();
    emit_below(text, depth, max_depth, &mut tree)?;
    let value = tree.take()?;
    let walk = Walk { is_marked, files: markers.files };
    match &value {
        Value::Dict(members) if is_marked => walk.row(members, depth, sink),
        other => walk.value(other, depth, sink),
    }
}

/// Emits the text of a row as plain JSON, in which markers are dicts like any other.
///
/// # Errors
/// `Corrupt` when it is not JSON.
pub fn emit_plain(text: &[u8], sink: &mut impl Sink) -> Result<()> {
    emit_below(text, 0, MAX_TEXT_DEPTH, sink)
}

/// Emits a value from inside a marked row.
///
/// # Errors
/// The errors of [`emit_line`].
pub fn emit_inner(text: &[u8], depth: usize, sink: &mut impl Sink) -> Result<()> {
    let mut tree = TreeBuilder::default();
    emit_below(text, depth, MAX_TEXT_DEPTH, &mut tree)?;
    Walk { is_marked: true, files: None }.value(&tree.take()?, depth, sink)
}

/// Adds advice about the two most common mistakes.
fn advised(error: Error, line: &[u8]) -> Error {
    let not_json = error.cause() == Cause::Corrupt && error.what().starts_with("not valid JSON");
    let advice = if !not_json {
        return error;
    } else if line.trim_ascii_end().last() != Some(&b'}') {
        "each line must hold one whole object"
    } else if memchr::memmem::find(line, b"NaN").or(memchr::memmem::find(line, b"Infinity")).is_some() {
        r#"JSON has no NaN and no Infinity: write null, or {"$float":"nan"} in a row that begins with "$jinx":1"#
    } else {
        return error;
    };
    Error::corrupt(format!("{}; {advice}", error.what()))
}

struct Walk<'f> {
    is_marked: bool,
    files: Option<PayloadFiles<'f>>,
}

impl Walk<'_> {
    /// Emits a marked row; if the row itself is escaped, the escape follows the header.
    fn row(&self, members: &[(String, Value)], depth: usize, sink: &mut impl Sink) -> Result<()> {
        let members = match members {
            [(name, Value::Int(VERSION)), rest @ ..] if name == HEADER => rest,
            all => all,
        };
        match members {
            [(name, Value::Dict(inner))] if name == DICT => self.dict(inner, depth, sink),
            members => self.dict(members, depth, sink),
        }
    }

    fn value(&self, value: &Value, depth: usize, sink: &mut impl Sink) -> Result<()> {
        match value {
            Value::List(items) => {
                crate::json::check_depth(depth)?;
                sink.begin_list(items.len())?;
                for item in items {
                    self.value(item, depth + 1, sink)?;
                }
                sink.end_list()
            }
            Value::Dict(members) => match members.first() {
                Some((name, _)) if self.is_marked && is_reserved(name) => {
                    self.marker(name, members, depth, sink)
                }
                _ => self.dict(members, depth, sink),
            },
            other => other.emit(sink),
        }
    }

    fn dict(&self, members: &[(String, Value)], depth: usize, sink: &mut impl Sink) -> Result<()> {
        crate::json::check_depth(depth)?;
        let mut unique = KeySet::default();
        let mut kept: Vec<&(String, Value)> = Vec::with_capacity(members.len());
        for member in members {
            match unique.insert(&member.0) {
                Some(at) => kept[at] = member,
                None => kept.push(member),
            }
        }
        sink.begin_dict(kept.len())?;
        for (name, value) in kept {
            sink.key(name)?;
            self.value(value, depth + 1, sink)?;
        }
        sink.end_dict()
    }

    fn marker(
        &self,
        tag: &str,
        members: &[(String, Value)],
        depth: usize,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let content = match members {
            [(_, content)] => content,
            // The file name of a media value, for which only columns of Hugging Face have a place.
            [(_, content), (name, Value::Str(_) | Value::Null)] if tag == BYTES && name == "path" => content,
            _ => return Err(misfit(tag)),
        };
        match (tag, content) {
            (DICT, Value::Dict(inner)) => self.dict(inner, depth, sink),
            (FLOAT, Value::Str(text)) => sink.float(match text.as_str() {
                "nan" => f64::NAN,
                "inf" => f64::INFINITY,
                "-inf" => f64::NEG_INFINITY,
                _ => return Err(misfit(tag)),
            }),
            (tag, content) => {
                let payload = PAYLOADS.iter().find(|(other, _)| *other == tag).ok_or_else(|| misfit(tag))?.1;
                let data = self.data(tag, content)?;
                check_import(payload, &data)?;
                sink.blob(payload, Blob::shared(data))
            }
        }
    }

    fn data(&self, tag: &str, content: &Value) -> Result<Bytes> {
        match content {
            Value::Str(text) if is_strict_base64(text.as_bytes()) => {
                TextEncoding::Base64.decode(text.as_bytes(), MAX_VALUE_BYTES).map(Bytes::from)
            }
            Value::Dict(members) => match members.as_slice() {
                [(name, Value::Str(file))] if name == FILE => {
                    self.files.and_then(|files| files(file)).ok_or_else(|| {
                        Error::corrupt(format!("the marker {tag} names a file .{file} that does not exist"))
                    })
                }
                _ => Err(misfit(tag)),
            },
            _ => Err(misfit(tag)),
        }
    }
}

fn misfit(tag: &str) -> Error {
    Error::corrupt(format!("a row that declares markers has an invalid {tag}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "tagged_tests.rs"]
mod tests;
