//! Samples in the order of a view.

use crate::dataset::rows::Rows;
use jinx_core::checked_math::to_u64;
use std::sync::Arc;

#[derive(Clone)]
pub struct View {
    pub rows: Arc<dyn Rows>,
    /// Positions in the order of the view; `None` for all samples in file order.
    pub positions: Option<Arc<Vec<u64>>>,
}

impl View {
    pub fn count(&self) -> usize {
        match &self.positions {
            Some(positions) => positions.len(),
            None => usize::try_from(self.rows.files().samples).unwrap_or(usize::MAX),
        }
    }

    /// The position of the view's sample `i`.
    pub fn position(&self, i: usize) -> u64 {
        self.positions.as_ref().map_or_else(|| to_u64(i), |positions| positions[i])
    }
}
