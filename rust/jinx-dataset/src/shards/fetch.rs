//! Fetches what samples on other machines need, with few requests.

use crate::shards::shard_list::Shards;
use jinx_core::Result;
use jinx_core::io::{Density, Source};
use jinx_format::read::range_plan::RangePlan;
use std::collections::BTreeMap;

/// Announces that the columns that `wanted` selects of the samples at `positions` will be read soon.
pub(crate) fn expect(shards: &Shards, positions: &[u64], wanted: &dyn Fn(&str) -> bool, density: Density) {
    if !shards.has_far() {
        return;
    }
    let mut rows: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    for position in positions {
        let at = shards.place(*position);
        if shards.is_far(at) {
            rows.entry(at).or_default().push(position - shards.range(at).start);
        }
    }
    shards.expect_open(rows.keys().copied());
    let far = rows.iter().filter_map(|(at, rows)| shards.shard(*at).ok().map(|shard| shard.plan(rows)));
    let plans: Vec<RangePlan<'_>> = far.collect();
    // Send the requests of all shards before reading the answer to any.
    plans.iter().for_each(|plan| plan.expect_lines(density));
    plans.iter().for_each(|plan| plan.expect_values(wanted, density));
}

/// The number of bytes that are read at once.
const CHUNK_BYTES: u64 = 8 << 20;

/// Reads all files on other machines once, and returns the number of bytes.
pub(crate) fn fetch_all(shards: &Shards) -> Result<u64> {
    let mut bytes = 0;
    for i in (0..shards.count()).filter(|i| shards.is_far(*i)) {
        let shard = shards.shard(i)?;
        for file in [Some(shard.main()), shard.sidecar()].into_iter().flatten() {
            read_all(file)?;
            bytes += file.len();
        }
    }
    Ok(bytes)
}

fn read_all(file: &Source) -> Result<()> {
    let mut start = 0;
    while start < file.len() {
        let length = CHUNK_BYTES.min(file.len() - start);
        file.read(start, length)?;
        start += length;
    }
    Ok(())
}
