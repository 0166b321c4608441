//! The order of the output: which sample comes at each place.

use crate::permutation::Permutation;
use crate::position_list::PositionList;
use jinx_core::error::{Error, Result};
use std::ops::Range;

/// The numbers of a view's samples, in a new order.
#[derive(Debug)]
pub enum Order {
    Shuffled(Permutation),
    Listed(PositionList),
}

impl Order {
    pub fn len(&self) -> u64 {
        match self {
            Self::Shuffled(permutation) => permutation.count(),
            Self::Listed(list) => list.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Replaces the contents of `found` with the samples at the places `range` of the output.
    ///
    /// # Errors
    /// `Invalid` past the end; `Io` if the file with a long order cannot be read.
    pub fn read(&self, range: Range<u64>, out: &mut Vec<u64>) -> Result<()> {
        match self {
            Self::Listed(list) => list.read(range, out),
            Self::Shuffled(permutation) => {
                if range.start > range.end || range.end > permutation.count() {
                    return Err(Error::invalid(format!(
                        "places {} to {} of {}",
                        range.start,
                        range.end,
                        permutation.count()
                    )));
                }
                out.clear();
                permutation.extend(range, out);
                Ok(())
            }
        }
    }
}
