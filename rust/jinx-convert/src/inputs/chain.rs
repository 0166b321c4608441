//! Several sources as one; each is opened when its turn comes.

use crate::{RowChunk, RowSource, Selection};
use jinx_core::error::Result;
use std::collections::VecDeque;
use std::sync::Arc;

/// Opens a source.
pub type Opener = Box<dyn FnOnce() -> Result<Box<dyn RowSource>> + Send>;

/// Sources one after the other.
pub struct Chain {
    left: VecDeque<Opener>,
    current: Option<Box<dyn RowSource>>,
    selection: Option<Arc<Selection>>,
    /// The number of bytes in the sources that were completely read.
    finished: u64,
    total: Option<u64>,
}

impl Chain {
    /// `total` is the size of all inputs in bytes, if known.
    pub fn new(sources: Vec<Opener>, total: Option<u64>) -> Self {
        Self { left: sources.into(), current: None, selection: None, finished: 0, total }
    }
}

impl RowSource for Chain {
    fn next_chunk(&mut self) -> Result<Option<Box<dyn RowChunk>>> {
        loop {
            if let Some(current) = &mut self.current {
                if let Some(chunk) = current.next_chunk()? {
                    return Ok(Some(chunk));
                }
                self.finished += current.bytes_read();
                self.current = None;
            }
            let Some(open) = self.left.pop_front() else {
                return Ok(None);
            };
            let mut source = open()?;
            if let Some(selection) = &self.selection {
                source.select(selection);
            }
            self.current = Some(source);
        }
    }

    fn bytes_read(&self) -> u64 {
        self.finished + self.current.as_ref().map_or(0, |current| current.bytes_read())
    }

    fn total_bytes(&self) -> Option<u64> {
        self.total
    }

    fn select(&mut self, selection: &Arc<Selection>) {
        if let Some(current) = &mut self.current {
            current.select(selection);
        }
        self.selection = Some(Arc::clone(selection));
    }
}
