//! Rows of MessagePack files: split on the reading thread, decoded on the workers.

use crate::inputs::Input;
use crate::msgpack::{self, Block, Rows};
use crate::{RowChunk, RowSource};
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use jinx_core::limits::MAX_ROW_BYTES;
use jinx_core::row_events::Sink;
use std::path::Path;
use std::sync::Arc;

const CHUNK_BYTES: usize = 1 << 20;

/// Maps, one after another.
pub struct MessagePack {
    rows: Rows<Input>,
    name: Arc<Path>,
    markers: bool,
}

impl MessagePack {
    pub fn new(input: Input) -> Self {
        let name = Arc::from(input.name());
        Self { rows: Rows::new(input, MAX_ROW_BYTES), name, markers: false }
    }

    /// Whether every row holds markers, even if it does not declare them.
    #[must_use]
    pub fn markers(self, markers: bool) -> Self {
        Self { markers, ..self }
    }

    /// # Errors
    /// The errors of [`Input::open`].
    pub fn open(path: &Path) -> Result<Self> {
        Input::open(path).map(Self::new)
    }
}

impl RowSource for MessagePack {
    fn next_chunk(&mut self) -> Result<Option<Box<dyn RowChunk>>> {
        let block = self.rows.next_block(CHUNK_BYTES).map_err(|error| error.in_file(&self.name))?;
        let Some(block) = block else { return Ok(None) };
        Ok(Some(Box::new(MessagePackChunk { block, name: Arc::clone(&self.name), markers: self.markers })))
    }

    fn bytes_read(&self) -> u64 {
        self.rows.source().bytes_read()
    }

    fn total_bytes(&self) -> Option<u64> {
        self.rows.source().total_bytes()
    }
}

struct MessagePackChunk {
    block: Block,
    name: Arc<Path>,
    markers: bool,
}

impl RowChunk for MessagePackChunk {
    fn len(&self) -> usize {
        self.block.rows.len()
    }

    fn bytes(&self) -> u64 {
        to_u64(self.block.bytes.len())
    }

    fn emit(&self, i: usize, mut sink: &mut dyn Sink) -> Result<()> {
        let range = self.block.rows.get(i).ok_or_else(|| Error::invalid("no such row"))?;
        let row = self.block.bytes.slice(range.clone());
        msgpack::emit(&row, self.markers, &mut sink).map_err(|error| self.locate(i, error))
    }

    fn locate(&self, i: usize, error: Error) -> Error {
        error.in_sample(self.block.first + to_u64(i)).in_file(&self.name)
    }
}
