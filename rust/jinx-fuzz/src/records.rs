//! Targets for a row's text, its keys, and the descriptors of values that are stored elsewhere.

use super::place::{Files, Place};
use super::whole_files::read_all;
use jinx_core::checked_math::to_u64;
use jinx_core::error::Cause;
use jinx_core::json;
use jinx_core::json::scan::{Elements, Members};
use jinx_core::json::text::unescape;
use jinx_core::value::{TreeBuilder, Value};
use jinx_format::key::{self, Chain, Form, FormatVersion};
use jinx_format::read::stored::EncodedValue;
use jiter::Jiter;
use serde_json::Value as Json;

/// Compares our parser with a second one: both must read the same values, or both must reject the text.
pub(super) fn record_keys(line: &[u8]) {
    let mut tree = TreeBuilder::default();
    let ours = json::emit(line, 0, &mut tree).and_then(|()| tree.take());
    let mut jiter = Jiter::new(line);
    let skipped = jiter.peek().ok().and_then(|peek| json::skip(&mut jiter, peek, 0).ok());
    match (&ours, serde_json::from_slice::<Json>(line)) {
        (Ok(ours), Ok(theirs)) => {
            assert!(skipped.is_some());
            assert!(has_duplicates(line) || same(ours, &theirs), "{ours:?} where {theirs:?} is written");
        }
        (Ok(_), Err(error)) => {
            let text = error.to_string();
            let known =
                ["recursion limit", "number out of range"].iter().any(|known| text.starts_with(known));
            assert!(known, "we read what is not JSON: {error}");
        }
        (Err(error), Ok(_)) => assert_eq!(error.cause(), Cause::Limit, "we refuse JSON: {error}"),
        (Err(_), Err(_)) => {}
    }
    let found = members(line);
    if let Ok(Value::Dict(expected)) = &ours {
        assert_eq!(found, Some(expected.len()), "the scan finds other members than the parser");
    }
    let mut elements = Elements::new(line);
    while let Ok(Some(range)) = elements.next_element() {
        assert!(range.end <= line.len());
    }
}

fn has_duplicates(line: &[u8]) -> bool {
    json::has_duplicates(line, 0).unwrap_or(true)
}

fn same(ours: &Value, theirs: &Json) -> bool {
    match (ours, theirs) {
        (Value::Null, Json::Null) => true,
        (Value::Bool(one), Json::Bool(other)) => one == other,
        (Value::Str(one), Json::String(other)) => one == other,
        (Value::Int(one), Json::Number(other)) => {
            other.as_i64() == Some(*one) || (*one == 0 && is_zero(other))
        }
        (Value::BigInt(_), Json::Number(other)) => other.as_i64().is_none(),
        // serde_json sometimes parses a float with an error in the last place.
        (Value::Float(one), Json::Number(other)) => other
            .as_f64()
            .is_some_and(|other| (one - other).abs() <= one.abs() * 1e-14 || (one - other).abs() < 1e-300),
        (Value::List(one), Json::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Dict(one), Json::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, one)| other.get(name).is_some_and(|other| same(one, other)))
        }
        _ => false,
    }
}

/// serde_json reads `-0` as a float.
fn is_zero(number: &serde_json::Number) -> bool {
    number.as_f64() == Some(0.0)
}

/// Splits every key of the row by the rules of every version; returns the number of members.
fn members(line: &[u8]) -> Option<usize> {
    let mut members = Members::new(line);
    let mut count = 0;
    loop {
        let span = match members.next_member() {
            Ok(Some(span)) => span,
            Ok(None) => return Some(count),
            Err(_) => return None,
        };
        count += 1;
        let value = &line[span.value_range()];
        let Ok(physical) = unescape(&line[span.key_range()]) else { continue };
        let form = Form::of(value.first().copied().unwrap_or_default());
        for (rules, sep) in [
            (FormatVersion::Plain, "."),
            (FormatVersion::V1_0, "."),
            (FormatVersion::V1_0, "~~"),
            (FormatVersion::V1_1, "."),
        ] {
            if let Ok((name, Some(chain))) = key::split(&physical, form, rules, sep) {
                check_chain(name, chain, value);
            }
        }
        let _ = key::split_mixed(&physical, form, "~");
        let mut written = Vec::new();
        key::push_key(&mut written, &physical, None);
        let again =
            std::str::from_utf8(&written).map(|text| key::split(text, form, FormatVersion::V1_1, "."));
        assert!(
            matches!(again, Ok(Ok((name, None))) if name == physical),
            "{physical:?} is not its own name"
        );
    }
}

/// Parses the value, then writes the chain and reads it again.
fn check_chain(name: &str, chain: Chain, value: &[u8]) {
    let _ = EncodedValue::parse(chain, value);
    let mut written = Vec::new();
    key::push_key(&mut written, name, Some(&chain));
    let text = std::str::from_utf8(&written).unwrap_or_default();
    let again = key::split(text, Form::of(b'{'), FormatVersion::V1_1, ".");
    assert!(matches!(again, Ok((found, Some(other))) if found == name && other == chain), "{text:?}");
}

/// `CHAIN \n JSON TEXT \n SIDECAR`: parses a value's descriptor. If it is valid, reads 1.0 pairs that contain it.
pub(super) fn descriptor_chain(data: &[u8]) {
    let mut parts = data.splitn(3, |byte| *byte == b'\n');
    let (chain, text) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let sidecar = parts.next().unwrap_or_default();
    let Ok(chain_text) = std::str::from_utf8(chain) else { return };
    let Ok(chain) = Chain::parse(chain_text, ".") else { return };
    check_chain("a", chain, text);
    if EncodedValue::parse(chain, text).is_err() {
        return;
    }
    let Some(place) = Place::new() else { return };
    let line = [b"{\"a.", chain_text.as_bytes(), b"\":", text, b"}\n"].concat();
    // The index follows the value's bytes in the sidecar, so the text encoding does not matter.
    let index = format!("\"index.npy.bin\":{{\"offset\":{},\"length\":16}}", sidecar.len());
    let sidecar = [sidecar, &[0; 8], &to_u64(line.len()).to_le_bytes()].concat();
    for encoding in ["a85", "b64", "hex"] {
        let rest = format!(",\"num_samples\":1,\"encoding\":\"{encoding}\"}}\n{}\n", line.len());
        let main = [&line, b"{".as_slice(), index.as_bytes(), rest.as_bytes()].concat();
        let files: Files = vec![("a.jinx".to_owned(), main), ("a.binx".to_owned(), sidecar.clone())];
        if place.put(&files).is_some() {
            read_all(&place.path("a.jinx"));
        }
    }
}
