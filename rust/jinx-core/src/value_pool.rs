//! Memory for values that are copied from one file to another; it is reused once they are written.
//!
//! Fresh memory costs a page fault for each 4 kB: more than reading a value into it.

use bytes::Bytes;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Shorter and longer values get separate memory.
const MIN_POOLED_BYTES: usize = 8 << 10;
const MAX_POOLED_BYTES: usize = 1 << 20;
/// The maximum number of bytes that a pool keeps for later.
const MAX_KEPT_BYTES: usize = 4 << 20;
/// Values of about the same length can use the same memory.
const STEP_BYTES: usize = 16 << 10;

/// A pool that is shared by the threads that fill its memory and those that write it.
#[derive(Debug, Clone, Default)]
pub struct ValuePool(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    free: Vec<Vec<u8>>,
    bytes: usize,
}

impl ValuePool {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// At least `length` bytes with any content; `None` for a length that is not pooled.
    pub fn take(&self, length: usize) -> Option<Pooled> {
        if !(MIN_POOLED_BYTES..=MAX_POOLED_BYTES).contains(&length) {
            return None;
        }
        let mut kept = self.lock();
        // The last one is most likely to be in the processor's caches.
        let memory = match kept.free.iter().rposition(|memory| memory.len() >= length) {
            Some(at) => {
                let memory = kept.free.swap_remove(at);
                kept.bytes -= memory.len();
                memory
            }
            None => vec![0; length.next_multiple_of(STEP_BYTES)],
        };
        Some(Pooled { memory, pool: self.clone() })
    }
}

/// Memory from a pool, to which it returns when dropped.
#[derive(Debug)]
pub struct Pooled {
    memory: Vec<u8>,
    pool: ValuePool,
}

impl Pooled {
    /// The memory, to be filled.
    pub fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory
    }

    /// The first `length` bytes; the memory returns to the pool when the last copy of them is dropped.
    pub fn share(self, length: usize) -> Bytes {
        Bytes::from_owner(self).slice(..length)
    }
}

impl AsRef<[u8]> for Pooled {
    fn as_ref(&self) -> &[u8] {
        &self.memory
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        let memory = std::mem::take(&mut self.memory);
        let mut kept = self.pool.lock();
        if kept.bytes + memory.len() <= MAX_KEPT_BYTES {
            kept.bytes += memory.len();
            kept.free.push(memory);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_once_nobody_has_it() {
        let pool = ValuePool::default();
        let mut first = pool.take(10_000).unwrap();
        first.bytes()[..3].copy_from_slice(b"abc");
        let address = first.bytes().as_ptr();
        let shared = first.share(3);
        let copy = shared.clone();
        assert_ne!(pool.take(10_000).unwrap().bytes().as_ptr(), address);
        drop(shared);
        assert_eq!(&copy[..], b"abc");
        drop(copy);
        assert_eq!(pool.take(12_000).unwrap().bytes().as_ptr(), address);
    }

    #[test]
    fn a_pool_keeps_little() {
        let pool = ValuePool::default();
        assert!(pool.take(MAX_POOLED_BYTES + 1).is_none() && pool.take(100).is_none());
        let all: Vec<_> = (0..40).map(|_| pool.take(MAX_POOLED_BYTES).unwrap()).collect();
        drop(all);
        let kept = pool.lock();
        assert!(kept.bytes <= MAX_KEPT_BYTES);
        assert_eq!(kept.bytes, kept.free.iter().map(Vec::len).sum::<usize>());
    }
}
