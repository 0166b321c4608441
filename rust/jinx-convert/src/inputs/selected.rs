//! A source with only some columns, for callers that take rows without a target.

use crate::{RowChunk, RowSource, Select, Selection};
use jinx_core::error::{Error, Result};
use jinx_core::row_events::Sink;
use std::sync::{Arc, Mutex, PoisonError};

/// Leaves out columns of the rows of another source.
pub struct Selected {
    source: Box<dyn RowSource>,
    selection: Arc<Selection>,
    rows: u64,
}

impl Selected {
    /// The source itself when no columns are given. The source reads `also_read`, too; they are left out. At the end, a
    /// column that no row had is an error.
    ///
    /// # Errors
    /// None so far.
    pub fn around<'a>(
        mut source: Box<dyn RowSource>,
        columns: Option<&[String]>,
        also_read: impl IntoIterator<Item = &'a str>,
    ) -> Result<Box<dyn RowSource>> {
        let Some(selection) = Selection::new(columns, &[])? else {
            return Ok(source);
        };
        let selection = Arc::new(selection.also_reading(also_read));
        source.select(&selection);
        Ok(Box::new(Self { source, selection, rows: 0 }))
    }
}

impl RowSource for Selected {
    fn next_chunk(&mut self) -> Result<Option<Box<dyn RowChunk>>> {
        let Some(chunk) = self.source.next_chunk()? else {
            self.selection.check(self.rows)?;
            return Ok(None);
        };
        self.rows += jinx_core::checked_math::to_u64(chunk.len());
        let select = Mutex::new(Select::new(Arc::clone(&self.selection)));
        Ok(Some(Box::new(SelectedChunk { chunk, select })))
    }

    fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }

    fn total_bytes(&self) -> Option<u64> {
        self.source.total_bytes()
    }
}

struct SelectedChunk {
    chunk: Box<dyn RowChunk>,
    select: Mutex<Select>,
}

impl RowChunk for SelectedChunk {
    fn len(&self) -> usize {
        self.chunk.len()
    }

    fn bytes(&self) -> u64 {
        self.chunk.bytes()
    }

    fn emit(&self, i: usize, sink: &mut dyn Sink) -> Result<()> {
        let mut select = self.select.lock().unwrap_or_else(PoisonError::into_inner);
        self.chunk.emit(i, &mut select.around(sink))
    }

    fn locate(&self, i: usize, error: Error) -> Error {
        self.chunk.locate(i, error)
    }
}
