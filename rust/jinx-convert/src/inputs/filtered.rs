//! A source that returns only the rows that a condition selects.

use crate::filters::condition::Condition;
use crate::{RowChunk, RowSource, Selection};
use jinx_core::error::{Error, Result};
use jinx_core::interrupt;
use jinx_core::row_events::Sink;
use std::sync::Arc;

/// Leaves out the rows of another source that are not selected.
pub(crate) struct Filtered {
    source: Box<dyn RowSource>,
    condition: Arc<Condition>,
}

impl Filtered {
    pub(crate) fn around(source: Box<dyn RowSource>, condition: Arc<Condition>) -> Box<dyn RowSource> {
        Box::new(Self { source, condition })
    }
}

impl RowSource for Filtered {
    fn next_chunk(&mut self) -> Result<Option<Box<dyn RowChunk>>> {
        // Check here, because many consecutive chunks may have no selected row.
        interrupt::check()?;
        let Some(chunk) = self.source.next_chunk()? else {
            self.condition.check()?;
            return Ok(None);
        };
        let rows = (0..chunk.len()).filter_map(|i| match self.condition.selects(&*chunk, i) {
            Ok(true) => Some((i, None)),
            Ok(false) => None,
            // The error is returned when the caller asks for the row.
            Err(error) => Some((i, Some(error))),
        });
        let rows = rows.collect();
        Ok(Some(Box::new(FilteredChunk { chunk, rows })))
    }

    fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }

    fn total_bytes(&self) -> Option<u64> {
        self.source.total_bytes()
    }

    fn select(&mut self, selection: &Arc<Selection>) {
        self.source.select(selection);
    }
}

struct FilteredChunk {
    chunk: Box<dyn RowChunk>,
    /// The numbers of the selected rows in the chunk, and the errors of rows for which the condition failed.
    rows: Vec<(usize, Option<Error>)>,
}

impl RowChunk for FilteredChunk {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn bytes(&self) -> u64 {
        self.chunk.bytes()
    }

    fn emit(&self, i: usize, sink: &mut dyn Sink) -> Result<()> {
        match &self.rows[i] {
            (row, None) => self.chunk.emit(*row, sink),
            (_, Some(error)) => Err(error.clone()),
        }
    }

    fn locate(&self, i: usize, error: Error) -> Error {
        self.chunk.locate(self.rows[i].0, error)
    }
}
