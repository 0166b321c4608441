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

    /// Removes what was written, after the last write has ended, and on another thread than that of the network.
    pub(crate) async fn give_up(mut self) {
        if let Ok(chunk) = self.idle_chunk().await {
            let _ = spawn_blocking(move || drop(chunk)).await;
        }
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

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::cache::{Cache, Claimed};
    use rustix::fs::{FlockOperation, flock};
    use std::fs::File;
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;
    use tokio::runtime::{Builder, Runtime};

    fn parts() -> Vec<Bytes> {
        (0..30_u8).map(|i| Bytes::from(vec![i; 100_000])).collect()
    }

    fn cache(directory: &Path) -> Arc<Cache> {
        let cache = Cache::open(directory, Some(100 << 20)).unwrap();
        cache.keep(1).unwrap();
        Arc::new(cache)
    }

    fn runtime() -> Runtime {
        Builder::new_current_thread().build().unwrap()
    }

    fn new_chunk(cache: &Arc<Cache>) -> NewChunk {
        let Claimed::Ours(claim) = cache.claim(1, 0) else { panic!("nobody else claims it") };
        cache.reserve(claim, 3_000_000).unwrap()
    }

    fn received(runtime: &Runtime, body: &mut impl Body) -> Result<()> {
        runtime.block_on(async {
            for part in parts() {
                body.push(part).await?;
            }
            Ok(())
        })
    }

    #[test]
    fn a_body_in_memory_copies_only_what_has_several_parts() {
        let mut one = InMemory::new(100_000);
        let part = parts().remove(7);
        runtime().block_on(one.push(part.clone())).unwrap();
        assert_eq!(one.bytes().as_ptr(), part.as_ptr());
        let mut all = InMemory::new(3_000_000);
        received(&runtime(), &mut all).unwrap();
        assert_eq!(all.bytes(), parts().concat());
    }

    #[test]
    fn a_body_in_the_cache_is_a_chunk_once_it_is_whole() {
        let directory = tempfile::tempdir().unwrap();
        let cache = cache(directory.path());
        let mut body = InCache::new(new_chunk(&cache));
        let runtime = runtime();
        received(&runtime, &mut body).unwrap();
        assert!(cache.find(1, 0, 3_000_000, false).is_none());
        let bytes = runtime.block_on(body.publish()).unwrap();
        assert_eq!(bytes, parts().concat());
        assert_eq!(cache.find(1, 0, 3_000_000, false).unwrap(), bytes);
        assert!(!body.has_failed());
    }

    #[test]
    fn a_disk_that_refuses_bytes_is_known_and_keeps_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let cache = cache(directory.path());
        let mut chunk = new_chunk(&cache);
        // A handle that cannot be written.
        chunk.claim.file = File::open(&chunk.claim.temporary).unwrap();
        let mut body = InCache::new(chunk);
        assert!(received(&runtime(), &mut body).is_err() && body.has_failed());
        runtime().block_on(body.give_up());
        assert_eq!((cache.contents().unwrap().chunks, cache.counted()), (0, 0));
        assert!(matches!(cache.claim(1, 0), Claimed::Ours(_)));
    }

    #[test]
    fn giving_up_does_not_block_the_network() {
        let directory = tempfile::tempdir().unwrap();
        let cache = cache(directory.path());
        let mut body = InCache::new(new_chunk(&cache));
        let runtime = runtime();
        received(&runtime, &mut body).unwrap();
        let size = File::open(directory.path().join("v1/size")).unwrap();
        flock(&size, FlockOperation::LockExclusive).unwrap();
        let (unlock, asked) = std::sync::mpsc::channel();
        let other = std::thread::spawn(move || {
            let was_asked = asked.recv_timeout(Duration::from_secs(30)).is_ok();
            drop(size);
            was_asked
        });
        runtime.block_on(async {
            let given_up = tokio::spawn(body.give_up());
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            assert!(!given_up.is_finished());
            unlock.send(()).unwrap();
            given_up.await.unwrap();
        });
        assert!(other.join().unwrap(), "something else had its turn on the thread");
        assert_eq!((cache.contents().unwrap().chunks, cache.counted()), (0, 0));
    }
}
