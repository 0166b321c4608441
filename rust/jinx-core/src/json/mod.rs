//! JSON text as events.

use crate::error::{Error, Result};
use crate::limits::{MAX_DEPTH, MAX_INT_DIGITS};
use crate::row_events::Sink;
use jiter::{Jiter, JiterError, JiterErrorType, JsonErrorType, Peek};

pub mod blocks;
mod duplicate_keys;
pub mod markers;
pub mod scan;
pub mod swar;
pub mod text;
pub mod write;

pub use duplicate_keys::{check_unique, count_names, emit_unique, has_duplicates};

/// Emits the value in `text`; `depth` counts the containers around it.
///
/// # Errors
/// `Corrupt` for text that is not JSON, `Limit` for nesting and integers beyond the caps.
pub fn emit(text: &[u8], depth: usize, sink: &mut impl Sink) -> Result<()> {
    emit_below(text, depth, MAX_DEPTH, sink)
}

/// Like [`emit`], with a different limit on nesting.
fn emit_below(text: &[u8], depth: usize, max_depth: usize, sink: &mut impl Sink) -> Result<()> {
    let mut jiter = Jiter::new(text);
    let peek = jiter.peek().map_err(bad)?;
    emit_value(&mut jiter, peek, depth, max_depth, sink)?;
    jiter.finish().map_err(bad)
}

/// Like [`emit`], for text written by Python's `json.dumps`, in which NaN and the infinities are words.
///
/// # Errors
/// The errors of [`emit`].
pub fn emit_python(text: &[u8], depth: usize, sink: &mut impl Sink) -> Result<()> {
    let mut jiter = Jiter::new(text).with_allow_inf_nan();
    let peek = jiter.peek().map_err(bad)?;
    emit_value(&mut jiter, peek, depth, MAX_DEPTH, sink)?;
    jiter.finish().map_err(bad)
}

fn emit_value(
    jiter: &mut Jiter<'_>,
    peek: Peek,
    depth: usize,
    max_depth: usize,
    sink: &mut impl Sink,
) -> Result<()> {
    match peek {
        Peek::Array => {
            check_depth_below(depth, max_depth)?;
            sink.begin_list(0)?;
            let mut next = jiter.known_array().map_err(bad)?;
            while let Some(peek) = next {
                emit_value(jiter, peek, depth + 1, max_depth, sink)?;
                next = jiter.array_step().map_err(bad)?;
            }
            sink.end_list()
        }
        Peek::Object => {
            check_depth_below(depth, max_depth)?;
            sink.begin_dict(0)?;
            let mut has_more = match jiter.known_object().map_err(bad)? {
                Some(name) => {
                    sink.key(name)?;
                    true
                }
                None => false,
            };
            while has_more {
                let peek = jiter.peek().map_err(bad)?;
                emit_value(jiter, peek, depth + 1, max_depth, sink)?;
                has_more = match jiter.next_key().map_err(bad)? {
                    Some(name) => {
                        sink.key(name)?;
                        true
                    }
                    None => false,
                };
            }
            sink.end_dict()
        }
        peek => emit_scalar(jiter, peek, sink),
    }
}

fn check_depth(depth: usize) -> Result<()> {
    check_depth_below(depth, MAX_DEPTH)
}

fn check_depth_below(depth: usize, max_depth: usize) -> Result<()> {
    if depth < max_depth {
        Ok(())
    } else {
        Err(Error::limit(format!("lists and dicts nested deeper than {MAX_DEPTH}")))
    }
}

/// Emits a value that is neither a list nor a dict.
///
/// # Errors
/// The errors of [`emit`].
pub fn emit_scalar(jiter: &mut Jiter<'_>, peek: Peek, sink: &mut impl Sink) -> Result<()> {
    match peek {
        Peek::Null => {
            jiter.known_null().map_err(bad)?;
            sink.null()
        }
        Peek::True | Peek::False => sink.bool(jiter.known_bool(peek).map_err(bad)?),
        Peek::String => sink.str(jiter.known_str().map_err(bad)?),
        peek => {
            let bytes = jiter.known_number_bytes(peek).map_err(bad)?;
            let text = std::str::from_utf8(bytes).map_err(|_| Error::corrupt("an invalid number"))?;
            number(text, sink)
        }
    }
}

fn number(text: &str, sink: &mut impl Sink) -> Result<()> {
    match text {
        "NaN" => return sink.float(f64::NAN),
        "Infinity" => return sink.float(f64::INFINITY),
        "-Infinity" => return sink.float(f64::NEG_INFINITY),
        _ => {}
    }
    if text.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
        return match text.parse() {
            Ok(value) if f64::is_finite(value) => sink.float(value),
            Ok(_) => Err(Error::corrupt(format!(
                "the number {} is too large for a float",
                text.get(..40).unwrap_or(text)
            ))),
            Err(_) => Err(Error::corrupt("an invalid number")),
        };
    }
    match text.parse::<i64>() {
        Ok(value) => sink.int(value),
        Err(_) if text.trim_start_matches('-').len() > MAX_INT_DIGITS => {
            Err(Error::limit(format!("an integer of more than {MAX_INT_DIGITS} digits")))
        }
        Err(_) => sink.big_int(text),
    }
}

/// Skips a value; checks its syntax and its depth.
///
/// # Errors
/// The errors of [`emit`].
pub fn skip(jiter: &mut Jiter<'_>, peek: Peek, depth: usize) -> Result<()> {
    match peek {
        Peek::Array => {
            check_depth(depth)?;
            let mut next = jiter.known_array().map_err(bad)?;
            while let Some(peek) = next {
                skip(jiter, peek, depth + 1)?;
                next = jiter.array_step().map_err(bad)?;
            }
            Ok(())
        }
        Peek::Object => {
            check_depth(depth)?;
            let mut has_more = jiter.known_object().map_err(bad)?.is_some();
            while has_more {
                let peek = jiter.peek().map_err(bad)?;
                skip(jiter, peek, depth + 1)?;
                has_more = jiter.next_key().map_err(bad)?.is_some();
            }
            Ok(())
        }
        peek => jiter.known_skip(peek).map_err(bad),
    }
}

/// Converts a parser's error.
pub fn bad(error: JiterError) -> Error {
    if error.error_type == JiterErrorType::JsonError(JsonErrorType::NumberOutOfRange) {
        return Error::limit(format!("an integer of more than {MAX_INT_DIGITS} digits"));
    }
    Error::corrupt(format!("not valid JSON: {} at column {}", error.error_type, error.index))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::value::{TreeBuilder, Value};

    fn parse(text: &str) -> Result<Value> {
        let mut tree = TreeBuilder::default();
        emit(text.as_bytes(), 0, &mut tree)?;
        tree.take()
    }

    #[test]
    fn numbers_keep_their_kind_and_their_digits() {
        assert_eq!(parse("1").unwrap(), Value::Int(1));
        assert_eq!(parse("1.0").unwrap(), Value::Float(1.0));
        assert_eq!(parse("1e2").unwrap(), Value::Float(100.0));
        assert_eq!(parse("18446744073709551616").unwrap(), Value::BigInt("18446744073709551616".into()));
        assert!(parse(&"9".repeat(4300)).is_ok());
        assert_eq!(parse(&"9".repeat(4301)).unwrap_err().cause(), crate::Cause::Limit);
        for wrong in ["01", "1.", "-", "+1", ".5", "1e", "nan", "NaN", "Infinity", "--1", "0x1"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn depth_is_capped_not_the_stack() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(parse(&nested(256)).is_ok());
        assert_eq!(parse(&nested(257)).unwrap_err().cause(), crate::Cause::Limit);
        assert!(parse(&"[".repeat(1_000_000)).is_err());
    }
}
