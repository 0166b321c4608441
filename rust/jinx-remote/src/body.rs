//! Where the bytes go that a store sends: into memory, or into the file of a chunk.

use crate::chunk_file::NewChunk;
use bytes::Bytes;
use jinx_core::{Error, Result};
use std::future::Future;
use std::io;
use std::mem::take;
use tokio::task::{JoinHandle, spawn_blocking};

/// The number of bytes that are written at once: so few that they are still in the processor's cache, and their memory
/// takes the next bytes from the network.
const BATCH_BYTES: usize = 1 << 20;

/// Takes the bytes of an answer, part by part.
pub(crate) trait Body: Send {
    fn push(&mut self, part: Bytes) -> impl Future<Output = Result<()>> + Send;
}

/// A body in memory.
#[derive(Debug)]
pub(crate) struct InMemory {
    length: usize,
    /// Short bodies are one part, which is not copied.
    first: Bytes,
    all: Vec<u8>,
}

impl InMemory {
    /// A body of at most `length` bytes.
    pub(crate) fn new(length: usize) -> Self {
        Self { length, first: Bytes::new(), all: Vec::new() }
    }

    pub(crate) fn bytes(self) -> Bytes {
        if self.all.is_empty() { self.first } else { self.all.into() }
    }
}

impl Body for InMemory {
    async fn push(&mut self, part: Bytes) -> Result<()> {
        if self.first.is_empty() {
            self.first = part;
            return Ok(());
        }
        if self.all.is_empty() {
            let length = self.length;
            let no_memory = |_| Error::limit(format!("no memory for {length} bytes"));
            self.all.try_reserve_exact(length).map_err(no_memory)?;
            self.all.extend_from_slice(&self.first);
        }
        self.all.extend_from_slice(&part);
        Ok(())
    }
}

/// A body that is written into the cache as it arrives, on other threads than that of the network.
pub(crate) struct InCache {
    /// Nothing while it is being written, and after a failure.
    chunk: Option<NewChunk>,
    written: Option<JoinHandle<io::Result<NewChunk>>>,
    batch: Vec<Bytes>,
    batch_bytes: usize,
    has_failed: bool,
}

impl InCache {
    pub(crate) fn new(chunk: NewChunk) -> Self {
        Self { chunk: Some(chunk), written: None, batch: Vec::new(), batch_bytes: 0, has_failed: false }
    }

    /// Whether the disk, and not the store, was the cause of an error.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Waits until all bytes are in the cache, and returns them.
    pub(crate) async fn publish(&mut self) -> Result<Bytes> {
        let mut chunk = self.idle_chunk().await?;
        let batch = take(&mut self.batch);
        let published = spawn_blocking(move || {
            chunk.write(&batch)?;
            chunk.publish()
        });
        let published = published.await.map_err(io::Error::from).and_then(|bytes| bytes);
        published.map_err(|error| self.failed(error))
    }

    /// The chunk, after the previous batch was written.
    async fn idle_chunk(&mut self) -> Result<NewChunk> {
        if let Some(written) = self.written.take() {
            let chunk = written.await.map_err(io::Error::from).and_then(|chunk| chunk);
            return chunk.map_err(|error| self.failed(error));
        }
        self.chunk.take().ok_or_else(|| Error::from(io::Error::other("a chunk that was given up")))
    }

    fn failed(&mut self, error: io::Error) -> Error {
        self.has_failed = true;
        Error::from(error)
    }
}

impl Body for InCache {
    async fn push(&mut self, part: Bytes) -> Result<()> {
        self.batch_bytes += part.len();
        self.batch.push(part);
        if self.batch_bytes < BATCH_BYTES {
            return Ok(());
        }
        let mut chunk = self.idle_chunk().await?;
        let batch = take(&mut self.batch);
        self.batch_bytes = 0;
        self.written = Some(spawn_blocking(move || {
            chunk.write(&batch)?;
            Ok(chunk)
        }));
        Ok(())
    }
}
