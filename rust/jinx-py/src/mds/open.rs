//! Opens MDS directories with options from Python.

use crate::errors::{IntoPy, to_py};
use crate::sample::decoders::members;
use jinx_core::Error;
use jinx_dataset::mds::{DecodeOptions, MdsRows, Pickles};
use jinx_format::read::shard::OpenOptions;
use jinx_mds::read::directory::{Directory, Hashes, Unpack};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// Opens directories. `options` has any of `unpack` ("private", "memory" or a directory), `hashes` (check those of all
/// shards; `verify` checks only those of compressed shards), `image_bytes` and `allow_unsafe_types` (a bool or names of
/// columns).
pub fn open(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    open: &OpenOptions,
    options: &Bound<'_, PyDict>,
) -> PyResult<MdsRows> {
    let mut opened = jinx_dataset::mds::options(open);
    let mut decode = DecodeOptions::default();
    for (name, value) in members(options) {
        match name.extract::<String>()?.as_str() {
            "unpack" => opened.unpack = unpack(&value)?,
            "hashes" => {
                if value.extract()? {
                    opened.hashes = Hashes::All;
                }
            }
            "image_bytes" => decode.image_bytes = value.extract()?,
            "allow_unsafe_types" => decode.pickles = pickles(&value)?,
            other => return Err(to_py(&Error::invalid(format!("MDS has no option '{other}'")))),
        }
    }
    let directory = py.detach(|| Directory::open(paths, opened)).into_py_result()?;
    Ok(MdsRows::new(directory, decode))
}

fn unpack(value: &Bound<'_, PyAny>) -> PyResult<Unpack> {
    if value.is_none() {
        return Ok(Unpack::Private);
    }
    let path: PathBuf = value.extract()?;
    Ok(match path.to_str() {
        Some("private") => Unpack::Private,
        Some("memory") => Unpack::Memory,
        _ => Unpack::Cache(path),
    })
}

pub fn pickles(value: &Bound<'_, PyAny>) -> PyResult<Pickles> {
    if let Ok(all) = value.extract::<bool>() {
        return Ok(if all { Pickles::All } else { Pickles::Refused });
    }
    Ok(Pickles::In(value.extract()?))
}
