//! Compares the lines of a damaged file with the checksums that its footer has.

use crate::footer::ArrayRef;
use crate::read::shard::Shard;
use jinx_core::checked_math::u64_at;
use jinx_core::error::{Error, Result};
use std::collections::HashSet;
use std::ops::Range;

/// The stored checksums of lines.
pub(super) struct LineHashes {
    known: HashSet<u64>,
    /// Lines whose checksums are in damaged chunks, in order.
    unknown: Vec<Range<u64>>,
    pub(super) problem: Option<Error>,
}

impl LineHashes {
    /// The line hashes in the intact chunks; `None` if the footer has none.
    ///
    /// # Errors
    /// `Corrupt` if no chunk is intact; errors of reading them.
    pub(super) fn of(shard: &Shard) -> Result<Option<Self>> {
        let Some(place) = &shard.footer().line_hash else { return Ok(None) };
        let (bytes, damaged, problem) = match shard.array_bytes(place, None, "line_hash") {
            Ok(bytes) => (bytes, Vec::new(), None),
            Err(error) => {
                let (ArrayRef::Sidecar { offset, length, .. }, Ok(damaged)) =
                    (place, shard.damaged_chunks(place))
                else {
                    return Err(error);
                };
                let is_all = damaged.len() == 1 && damaged[0] == (0..*length);
                if damaged.is_empty() || is_all {
                    return Err(error);
                }
                (shard.sidecar_bytes(*offset, *length)?, damaged, Some(error))
            }
        };
        let unknown: Vec<_> = damaged.iter().map(|range| range.start / 8..range.end.div_ceil(8)).collect();
        let all = bytes.chunks_exact(8).filter_map(|chunk| u64_at(chunk, 0));
        let is_known = |line: &u64| !has_line(&unknown, *line);
        let known = (0..).zip(all).filter(|(line, _)| is_known(line)).map(|(_, hash)| hash).collect();
        Ok(Some(Self { known, unknown, problem }))
    }

    /// Whether a line is one that was written; `None` if its checksum is damaged.
    pub(super) fn matches(&self, line: u64, hash: u64) -> Option<bool> {
        if self.known.contains(&hash) {
            return Some(true);
        }
        (!has_line(&self.unknown, line)).then_some(false)
    }
}

/// Whether a line is in one of the ranges, which are in order.
fn has_line(ranges: &[Range<u64>], line: u64) -> bool {
    let first = ranges.partition_point(|lines| lines.end <= line);
    ranges.get(first).is_some_and(|lines| lines.start <= line)
}
