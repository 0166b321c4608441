//! Columns of a JINX row in the `repr` of a sample. Values that are not decoded are shown as type and size.

use crate::jinx_shards::row::Found;
use crate::objects::build::plain_json;
use crate::objects::short_text::{blob, short};
use jinx_core::checked_math::to_u64;
use jinx_core::codec::TextEncoding;
use jinx_core::row_events::Payload;
use jinx_format::key::{Chain, Kind};
use jinx_format::read::measure::value_length;
use jinx_format::read::shard::Shard;
use jinx_format::read::stored::{EncodedValue, Location};
use pyo3::prelude::*;

/// Summarizes a column without decoding it; reads only its text in the row. Strings and numbers look as in Python.
pub fn of_column(py: Python<'_>, shard: &Shard, name: &str, value: Found<'_>) -> String {
    if let Some(chain) = value.chain {
        return of_chain(shard, chain, value.text);
    }
    let node = shard.tree().member(name);
    let count = || value_length(shard, None, value.text, node).unwrap_or_default();
    match value.text.first() {
        Some(b'[') => format!("<list of {}>", count()),
        Some(b'{') if node.is_some_and(|node| node.media) => "<media>".to_owned(),
        Some(b'{') => format!("<dict of {}>", count()),
        _ => scalar(py, value.text).unwrap_or_else(|_| "<damaged>".to_owned()),
    }
}

fn scalar(py: Python<'_>, text: &[u8]) -> PyResult<String> {
    Ok(short(&plain_json(py, text, false)?.repr()?.to_string()))
}

/// The number of bytes that a base64 or hex text encodes.
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
