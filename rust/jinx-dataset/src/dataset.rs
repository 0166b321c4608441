//! Samples in some order.

use crate::concat::ConcatRows;
use crate::files::Files;
use crate::rows::Rows;
use crate::view::{Positions, ViewRows};
use jinx_core::checked_math::to_u64;
use jinx_core::row_events::Sink;
use jinx_core::{Error, Result};
use std::sync::Arc;

/// Samples in an order: all rows, or those at positions. Clones and selections share the open files.
#[derive(Clone)]
pub struct Dataset {
    pub rows: Arc<dyn Rows>,
    /// Positions in the rows, in the order of the dataset; `None` for all rows in order.
    pub positions: Option<Arc<Vec<u64>>>,
}

impl Dataset {
    /// All rows, in order.
    pub fn of(rows: Arc<dyn Rows>) -> Self {
        Self { rows, positions: None }
    }

    pub fn len(&self) -> usize {
        match &self.positions {
            Some(positions) => positions.len(),
            None => usize::try_from(self.rows.files().samples).unwrap_or(usize::MAX),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The position in the rows of sample `i`.
    pub fn position(&self, i: usize) -> u64 {
        self.positions.as_ref().map_or_else(|| to_u64(i), |positions| positions[i])
    }

    /// Emits sample `i`.
    ///
    /// # Errors
    /// `Invalid` past the end; the same as [`Rows::emit`].
    pub fn emit(&self, i: usize, sink: &mut dyn Sink) -> Result<()> {
        self.checked(i)?;
        self.rows.emit(self.position(i), sink)
    }

    /// The samples with these numbers, in this order.
    ///
    /// # Errors
    /// `Invalid` for a number past the end.
    pub fn select(&self, numbers: &[usize]) -> Result<Self> {
        let position = |i: &usize| self.checked(*i).map(|()| self.position(*i));
        let positions = numbers.iter().map(position).collect::<Result<_>>()?;
        Ok(Self { rows: Arc::clone(&self.rows), positions: Some(Arc::new(positions)) })
    }

    /// The samples of several datasets, as one sequence.
    ///
    /// # Errors
    /// `Invalid` if there is no dataset; read errors.
    pub fn concat(parts: &[Self]) -> Result<Arc<dyn Rows>> {
        let mut rows = parts.iter().map(Self::in_order).collect::<Result<Vec<_>>>()?;
        match (rows.pop(), rows.is_empty()) {
            (Some(only), true) => Ok(only),
            (Some(last), false) => {
                rows.push(last);
                Ok(Arc::new(ConcatRows::new(rows)?))
            }
            (None, _) => Err(Error::invalid("there is no dataset")),
        }
    }

    /// Rows that show exactly these samples in this order.
    ///
    /// # Errors
    /// Read errors.
    pub fn in_order(&self) -> Result<Arc<dyn Rows>> {
        let chosen = self.rows.projection();
        if self.positions.is_none() && chosen.columns.is_none() && chosen.hidden.is_empty() {
            return Ok(Arc::clone(&self.rows));
        }
        let files = self.rows.files();
        let (paths, base) = (files.paths.clone(), files.base.clone());
        let files = Files { paths, base, samples: to_u64(self.len()) };
        let positions =
            self.positions.as_ref().map_or(Positions::Same, |all| Positions::Memory(Arc::clone(all)));
        // Views of these rows can only have columns that are selected here.
        Ok(Arc::new(ViewRows::new(files, Arc::clone(&self.rows), positions, None, Vec::new())?))
    }

    fn checked(&self, i: usize) -> Result<()> {
        if i < self.len() { Ok(()) } else { Err(Error::invalid(format!("sample {i} of {}", self.len()))) }
    }
}
