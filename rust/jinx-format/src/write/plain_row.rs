//! Writes the text of a plain JSON row without changes. Only the facts for the footer are computed.

use crate::fields::{Fact, Measure};
use crate::write::encode::RowEncoder;
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use jinx_core::json::scan::Span;
use jinx_core::json::{self, check_unique};
use jinx_core::limits::MAX_INT_DIGITS;
use jiter::{Jiter, Peek};

impl RowEncoder {
    /// Whether every row with this many bytes keeps its form when this encoder writes it.
    pub(super) fn keeps_row(&self, bytes: usize) -> bool {
        let is_short = !self.options.sidecar || to_u64(bytes) <= self.options.string_threshold;
        is_short && self.options.columns.is_empty() && self.frames.is_empty()
    }

    pub(super) fn put_row(&mut self, text: Vec<u8>, members: &[Span], hash: Option<u64>) -> Result<()> {
        self.row.facts.reserve_exact(members.len());
        for span in members {
            let bad_name = |_| Error::corrupt("a name that is not valid text");
            let name = std::str::from_utf8(&text[span.key_range()]).map_err(bad_name)?;
            let (kind, measure) = look(&text[span.value_range()]).map_err(|error| error.in_column(name))?;
            let path = self.paths.get(std::iter::once(Some(name)));
            self.row.facts.push(Fact { path, kind, coded: None, quoted: false, mime: None, measure });
        }
        self.row.text = text;
        self.row.hash = hash;
        Ok(())
    }
}

/// The kind of a value, and what its column stores of it.
fn look(text: &[u8]) -> Result<(&'static str, Measure)> {
    let mut jiter = Jiter::new(text);
    let found = match jiter.peek().map_err(json::bad)? {
        Peek::Array => return Ok(("list", Measure::Length(check_unique(text, 1)?))),
        Peek::Object => {
            check_unique(text, 1)?;
            return Ok(("dict", Measure::None));
        }
        Peek::String => {
            let text = jiter.known_str().map_err(json::bad)?;
            ("str", Measure::Length(to_u64(text.chars().count())))
        }
        Peek::Null => {
            jiter.known_null().map_err(json::bad)?;
            ("null", Measure::None)
        }
        peek @ (Peek::True | Peek::False) => {
            ("bool", Measure::Bool(jiter.known_bool(peek).map_err(json::bad)?))
        }
        peek => number(jiter.known_number_bytes(peek).map_err(json::bad)?)?,
    };
    jiter.finish().map_err(json::bad)?;
    Ok(found)
}

fn number(text: &[u8]) -> Result<(&'static str, Measure)> {
    let bad = || Error::corrupt("an invalid number");
    let text = std::str::from_utf8(text).map_err(|_| bad())?;
    if text.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
        let value = text.parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(bad)?;
        return Ok(("float", Measure::Float(value)));
    }
    if text.trim_start_matches('-').len() > MAX_INT_DIGITS {
        return Err(Error::limit(format!("an integer of more than {MAX_INT_DIGITS} digits")));
    }
    Ok(("int", text.parse().map_or_else(|_| Measure::of_digits(text), Measure::Int)))
}
