//! JSON text exactly as Python's `json.dumps` writes it: blanks after commas and colons, ASCII only, floats as in
//! `repr`, NaN and the infinities as words.

use jinx_core::error::{Error, Result};
use jinx_core::json::text::push_json_float;
use jinx_core::row_events::Number;
use jinx_core::value::Value;
use serde::Serialize;
use serde_json::ser::{CharEscape, Formatter, Serializer};
use std::io::{self, Write};

struct Python;

impl Formatter for Python {
    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        for c in fragment.chars() {
            if matches!(c, ' '..='~') {
                writer.write_all(c.encode_utf8(&mut [0; 4]).as_bytes())?;
                continue;
            }
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
        }
        Ok(())
    }

    fn write_char_escape<W: ?Sized + Write>(&mut self, writer: &mut W, escape: CharEscape) -> io::Result<()> {
        match escape {
            CharEscape::Quote => writer.write_all(b"\\\""),
            CharEscape::ReverseSolidus => writer.write_all(b"\\\\"),
            CharEscape::Solidus => writer.write_all(b"/"),
            CharEscape::Backspace => writer.write_all(b"\\b"),
            CharEscape::FormFeed => writer.write_all(b"\\f"),
            CharEscape::LineFeed => writer.write_all(b"\\n"),
            CharEscape::CarriageReturn => writer.write_all(b"\\r"),
            CharEscape::Tab => writer.write_all(b"\\t"),
            CharEscape::AsciiControl(byte) => write!(writer, "\\u{byte:04x}"),
        }
    }
}

/// The text of an index, whose objects keep their order. It holds no floats.
pub(crate) fn dumps(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut out = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut out, Python))?;
    Ok(out)
}

/// Appends the text of a sample's value.
///
/// # Errors
/// `Mismatch` for bytes and arrays.
pub(crate) fn push_value(out: &mut Vec<u8>, value: &Value) -> Result<()> {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
        Value::Int(value) | Value::Scalar(_, Number::Int(value)) => {
            out.extend_from_slice(itoa::Buffer::new().format(*value).as_bytes());
        }
        Value::Scalar(_, Number::Uint(value)) => {
            out.extend_from_slice(itoa::Buffer::new().format(*value).as_bytes());
        }
        Value::BigInt(digits) => out.extend_from_slice(digits.as_bytes()),
        Value::Float(value) | Value::Scalar(_, Number::Float(value)) => push_float(out, *value),
        Value::Str(text) => push_text(out, text)?,
        Value::List(items) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                separate(out, i);
                push_value(out, item)?;
            }
            out.push(b']');
        }
        Value::Dict(members) => {
            out.push(b'{');
            for (i, (name, value)) in members.iter().enumerate() {
                separate(out, i);
                push_text(out, name)?;
                out.extend_from_slice(b": ");
                push_value(out, value)?;
            }
            out.push(b'}');
        }
        Value::Blob { .. } | Value::Range(_) => {
            return Err(Error::mismatch("bytes or an array in a JSON column"));
        }
    }
    Ok(())
}

fn separate(out: &mut Vec<u8>, i: usize) {
    if i > 0 {
        out.extend_from_slice(b", ");
    }
}

fn push_text(out: &mut Vec<u8>, text: &str) -> Result<()> {
    let written = text.serialize(&mut Serializer::with_formatter(out, Python));
    written.map_err(|error| Error::invalid(error.to_string()))
}

/// Appends the shortest digits that read back as the same float, with an exponent below 0.0001 and from 1e16 on.
fn push_float(out: &mut Vec<u8>, value: f64) {
    let size = value.abs();
    if value.is_nan() {
        out.extend_from_slice(b"NaN");
    } else if size.is_infinite() {
        out.extend_from_slice(if value > 0.0 { b"Infinity" } else { b"-Infinity" });
    } else if size == 0.0 || (1e-4..1e16).contains(&size) {
        push_json_float(out, value);
    } else {
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
        out.extend_from_slice(format!("{digits}e{sign}{exponent:0>2}").as_bytes());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_is_pythons() {
        let value = json!({"a": [1, null, "é\u{7f}\u{1F600}\n\u{1}/"], "b": {}});
        let text = String::from_utf8(dumps(&value).unwrap()).unwrap();
        assert_eq!(text, r#"{"a": [1, null, "\u00e9\u007f\ud83d\ude00\n\u0001/"], "b": {}}"#);
    }

    #[test]
    fn floats_are_pythons() {
        let floats = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1, "0.1"),
            (0.0001, "0.0001"),
            (0.000_099_999_999_999_999_99, "9.999999999999999e-05"),
            (0.00001, "1e-05"),
            (-1.5e-7, "-1.5e-07"),
            (5e-324, "5e-324"),
            (123_456_789.0, "123456789.0"),
            (9_999_999_999_999_998.0, "9999999999999998.0"),
            (1e16, "1e+16"),
            (-1.234_567_890_123_456_7e16, "-1.2345678901234568e+16"),
            (1e22, "1e+22"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
        ];
        for (value, wanted) in floats {
            let mut out = Vec::new();
            push_value(&mut out, &Value::List(vec![Value::Float(value), Value::Null])).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), format!("[{wanted}, null]"));
        }
    }
}
