//! Short texts for values in a sample's `repr`: what is not decoded is shown by type and size.

use crate::sample::lazy_dict::LazyDict;
use crate::sample::row::Found;
use jinx_core::codec::TextEncoding;
use jinx_core::sink::Payload;
use jinx_format::key::{Chain, Kind};
use jinx_format::read::measure::field_length;
use jinx_format::read::shard::Shard;
use jinx_format::read::stored::{EncodedValue, Location};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyList, PyString};

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
    if let Ok(dict) = value.cast_exact::<PyDict>() {
        return Ok(format!("<dict of {}>", dict.len()));
    }
    if let Ok(sample) = value.cast::<LazyDict>() {
        return Ok(format!("<LazyDict of {}>", sample.get().names(value.py())?.len()));
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
    Ok(short(&crate::objects::build::plain_json(py, text, false)?.repr()?.to_string()))
}

/// Bytes that a base64 or hex text stands for.
fn encoded_len(shard: &Shard, text: &str) -> Option<u64> {
    let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
    let length = match shard.encoding() {
        TextEncoding::Base64 => (text.len() / 4 * 3).checked_sub(padding)?,
        TextEncoding::Hex => text.len() / 2,
        TextEncoding::Ascii85 => return None,
    };
    Some(to_u64(length))
}

fn of_chain(shard: &Shard, chain: Chain, text: &[u8]) -> String {
    if chain.kind == Kind::Marked {
        return format!("<JSON with markers, {} bytes>", text.len());
    }
    let Ok(stored) = EncodedValue::parse(chain, text) else { return "<damaged>".to_owned() };
    let (size, kept) = match (stored.announced_len(shard), &stored.place) {
        (Some(size), Location::Sidecar(_)) => (Some(size), Some(Shard::stored_len(&stored))),
        (None, Location::Inline(text)) if chain.codecs().next().is_none() => (encoded_len(shard, text), None),
        (size, _) => (size, None),
    };
    let blob = |what: &str| match size {
        Some(size) => blob(what, size, kept),
        None => format!("<{what}, {} bytes stored>", Shard::stored_len(&stored)),
    };
    match chain.kind {
        Kind::Blob(Payload::Raw) => blob("bytes"),
        Kind::Blob(Payload::Npy) => blob("ndarray"),
        Kind::Blob(Payload::Pt) => blob("tensor"),
        Kind::Blob(Payload::Np) => "<numpy scalar>".to_owned(),
        Kind::Str => blob("str"),
        Kind::Scalar(dtype) => match &stored.place {
            Location::Number(number) => format!("{}({number})", dtype.name()),
            Location::Inline(text) => format!("{}({text})", dtype.name()),
            _ => format!("{}(nan)", dtype.name()),
        },
        Kind::Json | Kind::Marked => blob("json"),
    }
}
