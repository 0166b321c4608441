//! Finds the bytes that rows need, to fetch them together instead of one after another.
//!
//! There are two rounds, because the lines say where the values are. A plan never fails: what cannot be planned is an
//! error when it is read.

use crate::read::shard::Shard;
use crate::read::stored::{EncodedValue, Location};
use jinx_core::error::Result;
use jinx_core::io::Density;
use jinx_core::json::text::unescape;
use std::ops::Range;

/// The ranges that some rows need.
pub struct RangePlan<'s> {
    shard: &'s Shard,
    /// The rows, in ascending order; each of them is in the shard.
    rows: Vec<u64>,
}

impl Shard {
    /// A plan for reading `rows`.
    pub fn plan(&self, rows: &[u64]) -> RangePlan<'_> {
        let mut rows: Vec<u64> = rows.iter().copied().filter(|row| *row < self.len()).collect();
        rows.sort_unstable();
        rows.dedup();
        RangePlan { shard: self, rows }
    }
}

impl RangePlan<'_> {
    /// First round: the entries of the index and the checksums of the lines, in the sidecar. Those that are in memory are
    /// left out.
    pub fn arrays(&self) -> Vec<Range<u64>> {
        let index = self.rows.iter().filter_map(|row| self.shard.index.place(*row, 2));
        let hashes = self.shard.line_hash().into_iter();
        let hashes = hashes.flat_map(|hashes| self.rows.iter().filter_map(|row| hashes.place(*row, 1)));
        index.chain(hashes).collect()
    }

    /// First round, once the index is there, from which this reads: the lines in the main file.
    pub fn lines(&self) -> Vec<Range<u64>> {
        let bounds = self.shard.index.many(&self.rows, self.shard.sidecar()).unwrap_or_default();
        let checked =
            self.rows.iter().zip(bounds).map(|(row, bounds)| self.shard.checked_bounds(*row, bounds));
        checked.filter_map(Result::ok).map(|(start, end)| start..end).collect()
    }

    /// Second round, once the lines are there, from which this reads: the values in the sidecar, for the columns that
    /// `wanted` accepts. Values inside lists and dicts are left out.
    pub fn values(&self, wanted: &dyn Fn(&str) -> bool) -> Vec<Range<u64>> {
        let mut values = Vec::new();
        let mut see = |_: usize, line: &[u8]| {
            let (mut members, _) = self.shard.members(line)?;
            while let Some(span) = members.next_member()? {
                let text = &line[span.value_range()];
                let (name, chain) =
                    self.shard.footer().split_key(unescape(&line[span.key_range()])?, text)?;
                if let Some(chain) = chain.filter(|chain| chain.bin && wanted(&name))
                    && let Location::Sidecar(pointer) = EncodedValue::parse(chain, text)?.place
                {
                    values.push(pointer.range());
                }
            }
            Ok(())
        };
        let _ = self.shard.each_line(&self.rows, &mut see);
        values
    }

    /// Starts fetching what the first round needs, without waiting for the lines.
    pub fn expect_lines(&self, density: Density) {
        if let Some(sidecar) = self.shard.sidecar() {
            sidecar.will_need(&self.arrays(), density);
        }
        self.shard.main().will_need(&self.lines(), density);
    }

    /// Starts fetching what the second round needs, once the lines are there.
    pub fn expect_values(&self, wanted: &dyn Fn(&str) -> bool, density: Density) {
        if let Some(sidecar) = self.shard.sidecar() {
            sidecar.will_need(&self.values(wanted), density);
        }
    }

    /// Whether the lines are in memory, or are so likely to be that planning them is not worthwhile.
    pub fn has_lines(&self) -> bool {
        self.lines().iter().all(|line| self.shard.main().is_cached(line.start))
    }
}
