//! The order of the output: which sample comes at each place.

use crate::permutation::Permutation;
use crate::position_list::PositionList;
use jinx_core::error::{Error, Result};
use std::ops::Range;

/// The numbers of a view's samples, in a new order.
#[derive(Debug)]
pub enum Order {
    /// The order of the view, with this many samples.
    Unchanged(u64),
    Shuffled(Permutation),
    Listed(PositionList),
}

impl Order {
    pub fn len(&self) -> u64 {
        match self {
            Self::Unchanged(samples) => *samples,
            Self::Shuffled(permutation) => permutation.count(),
            Self::Listed(list) => list.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Replaces the contents of `out` with the samples at the places `range` of the output.
    ///
    /// # Errors
    /// `Invalid` past the end; `Io` if the file with a long order cannot be read.
    pub fn read(&self, range: Range<u64>, out: &mut Vec<u64>) -> Result<()> {
        if range.start > range.end || range.end > self.len() {
            let what = format!("places {} to {} of {}", range.start, range.end, self.len());
            return Err(Error::invalid(what));
        }
        out.clear();
        match self {
            Self::Unchanged(_) => out.extend(range),
            Self::Shuffled(permutation) => permutation.extend(range, out),
            Self::Listed(list) => list.read(range, out)?,
        }
        Ok(())
    }
}
