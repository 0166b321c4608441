//! Ranges that one call reads.

use std::ops::Range;

/// Neighbouring ranges, and the range that covers them all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub range: Range<u64>,
    /// Indices into the list of ranges, in the order of the ranges' starts.
    pub members: Vec<usize>,
}

/// Groups ranges with gaps of at most `gap` bytes into runs of at most `limit` bytes, in ascending order. A range that is
/// longer is a run of its own.
pub fn runs(ranges: &[Range<u64>], gap: u64, limit: u64) -> Vec<Run> {
    let mut order: Vec<usize> = (0..ranges.len()).collect();
    order.sort_by_key(|i| ranges[*i].start);
    let mut runs: Vec<Run> = Vec::new();
    for i in order {
        let Range { start, end } = ranges[i];
        match runs.last_mut() {
            Some(Run { range, members })
                if start <= range.end.saturating_add(gap)
                    && end.max(range.end).saturating_sub(range.start) <= limit =>
            {
                range.end = range.end.max(end);
                members.push(i);
            }
            _ => runs.push(Run { range: start..end, members: vec![i] }),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_run_up_to_the_limit() {
        let found = runs(&[30..40, 0..10, 12..20, 200..300, 41..45, 5..8], 2, 30);
        let found: Vec<_> = found.into_iter().map(|run| (run.range, run.members)).collect();
        assert_eq!(found, [(0..20, vec![1, 5, 2]), (30..45, vec![0, 4]), (200..300, vec![3])]);
    }

    #[test]
    fn ranges_at_the_end_of_the_numbers_do_not_overflow() {
        let found = runs(&[u64::MAX - 1..u64::MAX, 0..u64::MAX], u64::MAX, 10);
        assert_eq!(found.len(), 2);
        assert!(runs(&[], 0, 0).is_empty());
    }
}
