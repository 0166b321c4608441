//! Finds the values of a JINX row that can be prefetched, and the locations of their bytes.

use crate::ffi::uninit_bytes::Container;
use crate::jinx_shards::row::{Found, Row};
use crate::objects::values::{container_of, plausible_len};
use crate::prefetch::value::ValueSource;
use jinx_core::Result;
use jinx_core::io::UninitSlice;
use jinx_core::row_events::Payload;
use jinx_dataset::shards::ShardRows;
use jinx_format::key::{Chain, Kind};
use jinx_format::read::stored::{EncodedValue, Location, Pointer};
use std::sync::Arc;

/// A value in the sidecar that has not been read yet.
pub struct JinxValue {
    dataset: Arc<ShardRows>,
    position: u64,
    chain: Chain,
    pointer: Pointer,
    pub payload: Payload,
    /// The start of the value's text in its line. It identifies the column in the row.
    start: u32,
    /// Size of the object in bytes.
    length: usize,
    pixel_limit: Option<u64>,
}

impl JinxValue {
    pub fn is_of(&self, value: &Found<'_>) -> bool {
        self.start == value.start
    }
}

impl ValueSource for JinxValue {
    fn container(&self) -> Container {
        container_of(self.payload)
    }

    fn len(&self) -> usize {
        self.length
    }

    fn read_into<'o>(&self, out: UninitSlice<'o>) -> Result<&'o mut [u8]> {
        let shards = self.dataset.shards.get()?;
        let (shard, _) = shards.locate(self.position)?;
        let stored = EncodedValue { chain: self.chain, place: Location::Sidecar(self.pointer), path: None };
        shard.load_into(&stored, out)
    }

    fn pixel_limit(&self) -> Option<u64> {
        self.pixel_limit
    }
}

/// Reads a row, and the sizes and locations that are needed to create objects for the media that `wanted` selects.
///
/// # Errors
/// Read errors.
pub fn plan(
    dataset: &Arc<ShardRows>,
    position: u64,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<(Row, Vec<JinxValue>)> {
    let shards = dataset.shards.get()?;
    let (shard, i) = shards.locate(position)?;
    let row = Row::new(shard.line(i)?);
    let mut planned = Vec::new();
    for column in row.columns(shard)? {
        let Some(chain) = column.chain.filter(|chain| chain.bin) else { continue };
        let Kind::Blob(payload @ (Payload::Raw | Payload::Npy)) = chain.kind else { continue };
        let name = row.name(column);
        if !dataset.projection.has(name) || !wanted(name) {
            continue;
        }
        let value = row.found(column);
        let Ok(stored) = EncodedValue::parse(chain, value.text) else { continue };
        let (Location::Sidecar(pointer), Some(length)) = (&stored.place, plausible_len(shard, &stored))
        else {
            continue;
        };
        let gives_pixels = dataset.projection.gives_pixels(name);
        planned.push(JinxValue {
            dataset: Arc::clone(dataset),
            position,
            chain,
            pointer: *pointer,
            payload,
            start: value.start,
            length,
            pixel_limit: gives_pixels.then_some(shard.limits().max_value_bytes),
        });
    }
    Ok((row, planned))
}
