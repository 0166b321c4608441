//! JSON Lines rows: plain JSON, with one-member objects for what JSON cannot say.
//!
//! `{"$bytes": "<base64>"}`, `{"$npy": ..}`, `{"$pt": ..}`, `{"$np": ..}`, `{"$float": "nan"}`; a dict whose
//! first name is one of these is written as `{"$dict": {..}}`.

use crate::codec::TextEncoding;
use crate::error::{Cause, Error, Result};
use crate::jinx::unique::Unique;
use crate::limits::MAX_VALUE_BYTES;
use crate::sink::{Blob, Payload, Sink};
use crate::value::{TreeBuilder, Value};

pub const BYTES: &str = "$bytes";
pub const FLOAT: &str = "$float";
pub const DICT: &str = "$dict";
const PAYLOADS: [(&str, Payload); 4] =
    [(BYTES, Payload::Raw), ("$npy", Payload::Npy), ("$pt", Payload::Pt), ("$np", Payload::Np)];

pub fn tag_of(payload: Payload) -> &'static str {
    PAYLOADS.iter().find(|(_, other)| *other == payload).map_or(BYTES, |(tag, _)| tag)
}

pub fn is_reserved(name: &str) -> bool {
    name == FLOAT || name == DICT || PAYLOADS.iter().any(|(tag, _)| *tag == name)
}

/// Emits one line of a JSON Lines file. Of a name that stands twice the last one holds.
///
/// # Errors
/// `Corrupt` when the line is not a JSON object.
pub fn emit_line(line: &[u8], sink: &mut impl Sink) -> Result<()> {
    match line.trim_ascii_start().first() {
        Some(b'{') => {}
        Some(b'[') => {
            return Err(Error::corrupt(
                "a JSON array in place of an object; an array becomes lines with: jq -c '.[]'",
            ));
        }
        _ => return Err(Error::corrupt("a line that is not a JSON object")),
    }
    let mut tree = TreeBuilder::default();
    super::emit(line, 0, &mut tree).map_err(|error| advised(error, line))?;
    emit_tree(&tree.take()?, sink)
}

/// Emits any JSON value that stands alone. Of a name that stands twice the last one holds.
///
/// # Errors
/// `Corrupt` when the text is not JSON.
pub fn emit_value(text: &[u8], sink: &mut impl Sink) -> Result<()> {
    let mut tree = TreeBuilder::default();
    super::emit(text, 1, &mut tree)?;
    emit_tree(&tree.take()?, sink)
}

/// Adds what to do about the two mistakes that are made most.
fn advised(error: Error, line: &[u8]) -> Error {
    let not_json = error.cause() == Cause::Corrupt && error.what().starts_with("not valid JSON");
    let advice = if !not_json {
        return error;
    } else if line.trim_ascii_end().last() != Some(&b'}') {
        "each line must hold one whole object"
    } else if memchr::memmem::find(line, b"NaN").or(memchr::memmem::find(line, b"Infinity")).is_some() {
        r#"JSON has no NaN and no Infinity: write null, or {"$float":"nan"}, {"$float":"inf"}"#
    } else {
        return error;
    };
    Error::corrupt(format!("{}; {advice}", error.what()))
}

fn emit_tree(value: &Value, sink: &mut impl Sink) -> Result<()> {
    match value {
        Value::List(items) => {
            sink.begin_list(items.len())?;
            for item in items {
                emit_tree(item, sink)?;
            }
            sink.end_list()
        }
        Value::Dict(members) => {
            if let [(name, inner)] = members.as_slice()
                && is_reserved(name)
                && let Some(result) = emit_special(name, inner, sink)
            {
                return result;
            }
            emit_members(members, sink)
        }
        other => other.emit(sink),
    }
}

fn emit_members(members: &[(String, Value)], sink: &mut impl Sink) -> Result<()> {
    let mut unique = Unique::default();
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
        emit_tree(value, sink)?;
    }
    sink.end_dict()
}

/// Emits what a reserved name stands for; `None` when the value does not fit, so it is just a dict.
fn emit_special(name: &str, inner: &Value, sink: &mut impl Sink) -> Option<Result<()>> {
    match (name, inner) {
        (DICT, Value::Dict(members)) => Some(emit_members(members, sink)),
        (FLOAT, Value::Str(text)) => match text.as_str() {
            "nan" => Some(sink.float(f64::NAN)),
            "inf" => Some(sink.float(f64::INFINITY)),
            "-inf" => Some(sink.float(f64::NEG_INFINITY)),
            _ => None,
        },
        (_, Value::Str(text)) => {
            let payload = PAYLOADS.iter().find(|(tag, _)| *tag == name)?.1;
            let data = TextEncoding::Base64.decode(text.as_bytes(), MAX_VALUE_BYTES).ok()?;
            Some(sink.blob(payload, Blob::borrowed(&data)))
        }
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::write::{Binary, JsonText};
    use super::*;
    use bytes::Bytes;

    fn round_trip(value: &Value) -> Value {
        let mut text = JsonText::new(Binary::Tagged);
        value.emit(&mut text).unwrap();
        let mut tree = TreeBuilder::default();
        emit_line(&text.out, &mut tree).unwrap();
        tree.take().unwrap()
    }

    #[test]
    fn what_json_cannot_say_comes_back() {
        let blob = |payload| Value::Blob {
            payload,
            data: Bytes::from_static(b"\x00\xff"),
            media: false,
            path: None,
        };
        let row = Value::Dict(vec![
            ("b".into(), blob(Payload::Raw)),
            ("n".into(), Value::List(vec![blob(Payload::Npy), Value::Float(f64::INFINITY)])),
            ("d".into(), Value::Dict(vec![("$bytes".into(), Value::Str("AA==".into()))])),
            ("e".into(), Value::Dict(vec![("$dict".into(), Value::Dict(vec![]))])),
        ]);
        assert_eq!(round_trip(&row), row);
    }

    #[test]
    fn the_last_of_two_equal_names_holds() {
        let mut tree = TreeBuilder::default();
        emit_line(br#"{"a":1,"b":2,"a":3}"#, &mut tree).unwrap();
        let expected = vec![("a".to_owned(), Value::Int(3)), ("b".to_owned(), Value::Int(2))];
        assert_eq!(tree.take().unwrap(), Value::Dict(expected));
    }
}
