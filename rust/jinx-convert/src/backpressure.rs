//! Limits the data in flight: chunks and bytes between source and target, and the parts of large chunks.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The maximum number of parts of the current chunk that may wait to be written.
const PARTS_AHEAD: usize = 2;

pub(crate) struct Backpressure {
    state: Mutex<InFlight>,
    changed: Condvar,
    max_chunks: usize,
    max_bytes: u64,
}

#[derive(Default)]
struct InFlight {
    chunks: usize,
    bytes: u64,
    /// The chunk that is being written.
    turn: u64,
    /// For each chunk, the parts that were sent and are not written yet.
    parts: HashMap<u64, usize>,
    stopped: bool,
}

impl Backpressure {
    pub(crate) fn new(max_chunks: usize, max_bytes: u64) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), max_chunks, max_bytes }
    }

    fn lock(&self) -> MutexGuard<'_, InFlight> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while(&self, mut waits: impl FnMut(&InFlight) -> bool) -> MutexGuard<'_, InFlight> {
        let guard = self.lock();
        self.changed
            .wait_while(guard, |state| !state.stopped && waits(state))
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is room for one more chunk; returns false if everything must stop.
    pub(crate) fn enter(&self) -> bool {
        let mut state = self.wait_while(|state| {
            state.chunks > 0 && (state.chunks >= self.max_chunks || state.bytes >= self.max_bytes)
        });
        state.chunks += 1;
        !state.stopped
    }

    /// Sets the size of the chunk that entered last.
    pub(crate) fn set_size(&self, bytes: u64) {
        let mut state = self.lock();
        state.bytes = state.bytes.saturating_add(bytes);
    }

    /// Counts a part of an unfinished chunk, and waits until the chunk may continue: it is its turn, and its parts are
    /// being written. False when everything must stop.
    pub(crate) fn part_sent(&self, chunk: u64) -> bool {
        *self.lock().parts.entry(chunk).or_default() += 1;
        let waits = |state: &InFlight| {
            state.turn != chunk || state.parts.get(&chunk).is_some_and(|&parts| parts > PARTS_AHEAD)
        };
        !self.wait_while(waits).stopped
    }

    pub(crate) fn part_written(&self, chunk: u64) {
        if let Some(parts) = self.lock().parts.get_mut(&chunk) {
            *parts = parts.saturating_sub(1);
        }
        self.changed.notify_all();
    }

    /// The current chunk has been written; `bytes` is its size.
    pub(crate) fn leave(&self, bytes: u64) {
        let mut state = self.lock();
        let turn = state.turn;
        state.parts.remove(&turn);
        state.chunks = state.chunks.saturating_sub(1);
        state.bytes = state.bytes.saturating_sub(bytes);
        state.turn += 1;
        drop(state);
        self.changed.notify_all();
    }

    pub(crate) fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.lock().stopped
    }
}
