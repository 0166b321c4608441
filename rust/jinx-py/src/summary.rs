//! Short texts for values in a sample's `repr`: what is not decoded is shown by type and size.

use crate::row::Found;
use jinx_core::jinx::key::{Chain, Kind};
use jinx_core::jinx::measure::field_length;
use jinx_core::jinx::shard::Shard;
use jinx_core::jinx::stored::{Place, Stored};
use jinx_core::sink::Payload;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyString};

/// Longest text shown for one value.
const MAX_CHARS: usize = 80;

fn short(text: &str) -> String {
    if text.chars().count() <= MAX_CHARS {
        return text.to_owned();
    }
    text.chars().take(MAX_CHARS - 3).chain("...".chars()).collect()
}

/// A value that is decoded already.
pub fn of_value(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(blob("bytes", to_u64(bytes.as_bytes().len()), None));
    }
    if let Ok(bytes) = value.cast::<PyByteArray>() {
        return Ok(blob("bytearray", to_u64(bytes.len()), None));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(short(&text.repr()?.to_string()));
    }
    if let Ok(list) = value.cast::<PyList>() {
        return Ok(format!("<list of {}>", list.len()));
    }
    if value.hasattr("shape")? && value.hasattr("dtype")? {
        let shape = value.getattr("shape")?.str()?;
        return Ok(format!("<{} {} {shape}>", value.get_type().name()?, value.getattr("dtype")?.str()?));
    }
    Ok(short(&value.repr()?.to_string()))
}

fn to_u64(length: usize) -> u64 {
    jinx_core::num::to_u64(length)
}

fn blob(what: &str, bytes: u64, stored: Option<u64>) -> String {
    match stored {
        Some(stored) if stored != bytes => format!("<{what}, {bytes} bytes, {stored} stored>"),
        _ => format!("<{what}, {bytes} bytes>"),
    }
}

/// A value that is not decoded; nothing is read but its description. Texts and numbers look as in Python.
pub fn of_stored(py: Python<'_>, shard: &Shard, name: &str, found: Found<'_>) -> String {
    if let Some(chain) = found.chain {
        return of_chain(shard, chain, found.text);
    }
    let node = shard.tree().member(name);
    let count = || field_length(shard, None, found.text, node).unwrap_or_default();
    match found.text.first() {
        Some(b'[') => format!("<list of {}>", count()),
        Some(b'{') if node.is_some_and(|node| node.media) => "<media>".to_owned(),
        Some(b'{') => format!("<dict of {}>", count()),
        _ => scalar(py, found.text).unwrap_or_else(|_| "<damaged>".to_owned()),
    }
}

fn scalar(py: Python<'_>, text: &[u8]) -> PyResult<String> {
    Ok(short(&crate::build::plain_json(py, text, false)?.repr()?.to_string()))
}

fn of_chain(shard: &Shard, chain: Chain, text: &[u8]) -> String {
    let Ok(stored) = Stored::parse(chain, text) else { return "<damaged>".to_owned() };
    let size = stored.announced_len(shard).unwrap_or_else(|| Shard::stored_len(&stored));
    let kept = match stored.place {
        Place::Sidecar(_) => Some(Shard::stored_len(&stored)),
        _ => None,
    };
    match chain.kind {
        Kind::Blob(Payload::Raw) => blob("bytes", size, kept),
        Kind::Blob(Payload::Npy) => blob("ndarray", size, kept),
        Kind::Blob(Payload::Pt) => blob("tensor", size, kept),
        Kind::Blob(Payload::Np) => "<numpy scalar>".to_owned(),
        Kind::Str => blob("str", size, kept),
        Kind::Scalar(dtype) => match &stored.place {
            Place::Number(number) => format!("{}({number})", dtype.name()),
            Place::Inline(text) => format!("{}({text})", dtype.name()),
            _ => format!("{}(nan)", dtype.name()),
        },
        Kind::Json => blob("json", size, kept),
    }
}
