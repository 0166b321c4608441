//! Decodes one column of a stored row to a Python object.

use crate::errors::to_py;
use crate::jinx_shards::row::Found;
use crate::objects::build::{PyBuilder, plain_json};
use crate::objects::values;
use jinx_core::Error;
use jinx_format::key::{FormatVersion, Kind};
use jinx_format::read::shard::Shard;
use jinx_format::read::stored::EncodedValue;
use pyo3::prelude::*;

/// Adds the location to one of our errors that was raised while decoding.
pub fn locate_error(py: Python<'_>, error: PyErr, shard: &Shard, i: u64, name: &str) -> PyErr {
    let value = error.value(py);
    let ours = value.getattr("sample").is_ok_and(|sample| sample.is_none())
        && value.getattr("column").is_ok_and(|column| column.is_none());
    if !ours {
        return error;
    }
    let text = format!("{}: sample {i}, column '{name}': {value}", shard.path().display());
    let located = value.get_type().call1((text,));
    match located {
        Ok(located) => {
            let _ = located.setattr("path", shard.path().as_os_str());
            let _ = located.setattr("sample", i);
            let _ = located.setattr("column", name);
            PyErr::from_value(located)
        }
        Err(_) => error,
    }
}

/// Decodes the value of one column. With `unique`, a duplicate key in a nested dict is an error (1.1).
pub fn decode_value<'py>(
    py: Python<'py>,
    (shard, i): (&Shard, u64),
    name: &str,
    found: Found<'_>,
    unique: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let node = shard.tree().member(name);
    let place = |error: Error| to_py(&shard.here(error.in_column(name), i));
    if let Some(chain) = found.chain.filter(|chain| chain.kind != Kind::Marked) {
        let stored = EncodedValue::parse(chain, found.text).map_err(place)?;
        if let Kind::Blob(payload) = chain.kind {
            return values::stored_blob(py, shard, &stored, payload);
        }
        let mut builder = PyBuilder::new(py);
        shard.emit_stored(&stored, node, &mut builder).map_err(place)?;
        return builder.finish().map_err(place);
    }
    if found.chain.is_none() && is_plain(shard, name, found.text) {
        return plain_json(py, found.text, unique && shard.rules() == FormatVersion::V1_1);
    }
    let mut builder = PyBuilder::new(py);
    shard.emit_value(found.chain, found.text, node, 1, &mut builder).map_err(place)?;
    builder.finish().map_err(place)
}

/// Whether the JSON text of a column without a chain is its complete value, including all nested values.
pub fn is_plain(shard: &Shard, name: &str, text: &[u8]) -> bool {
    match shard.rules() {
        FormatVersion::Plain => true,
        FormatVersion::V1_1 => shard.tree().member(name).is_none(),
        FormatVersion::V1_0 => !text.contains(&b'.') && shard.footer().sep == ".",
    }
}
