//! Selects from a range of numbers, on all cores.

use crate::ordered_blocks::in_order;
use jinx_core::checked_math::to_usize;
use jinx_core::error::Result;
use std::ops::Range;

/// The number of numbers in a block. A dataset of thousands of samples still gives work to all cores, and the overhead
/// per block is small.
const BLOCK: usize = 8192;

/// Passes the numbers below `count` to `choose` in blocks, on all cores. Joins the results in order. Stops when `limit`
/// numbers are selected.
///
/// # Errors
/// The first error of `choose`, in the order of the blocks; `Interrupted`.
pub fn in_blocks(
    count: u64,
    limit: Option<u64>,
    choose: impl Fn(Range<usize>) -> Result<Vec<u64>> + Sync,
) -> Result<Vec<u64>> {
    let count = to_usize(count, "the number of samples")?;
    let limit = limit.map_or(Ok(usize::MAX), |limit| to_usize(limit, "the limit"))?;
    let mut chosen = Vec::new();
    if limit == 0 {
        return Ok(chosen);
    }
    in_order(
        count.div_ceil(BLOCK),
        |block| choose(block * BLOCK..count.min((block + 1) * BLOCK)),
        |selected| {
            chosen.extend(selected);
            chosen.len() >= limit
        },
    )?;
    chosen.truncate(limit);
    Ok(chosen)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use jinx_core::{Cause, Error};

    fn even(range: Range<usize>) -> Result<Vec<u64>> {
        Ok(range.filter(|i| i % 2 == 0).map(|i| u64::try_from(i).unwrap()).collect())
    }

    #[test]
    fn results_come_in_order_and_stop_at_the_limit() {
        let all: Vec<u64> = (0..100_001).step_by(2).collect();
        assert_eq!(in_blocks(100_001, None, even).unwrap(), all);
        for limit in [0, 1, 4095, 4096, 4097, 50_001, 90_000] {
            let expected = &all[..all.len().min(usize::try_from(limit).unwrap())];
            assert_eq!(in_blocks(100_001, Some(limit), even).unwrap(), expected);
        }
        assert!(in_blocks(0, None, even).unwrap().is_empty());
    }

    #[test]
    fn the_first_error_in_order_is_told_and_a_panic_is_one() {
        for _ in 0..20 {
            let choose = |range: Range<usize>| match range.start / BLOCK {
                block @ (3 | 5 | 7) => Err(Error::corrupt(format!("block {block}"))),
                _ => even(range),
            };
            assert_eq!(in_blocks(100_000, None, choose).unwrap_err().what(), "block 3");
            // Numbers after the limit are not passed to `choose`.
            assert_eq!(in_blocks(100_000, Some(10), choose).unwrap().len(), 10);
        }
        let error = in_blocks(10, None, |_| panic!("oops")).unwrap_err();
        assert_eq!(error.cause(), Cause::Internal);
    }
}
