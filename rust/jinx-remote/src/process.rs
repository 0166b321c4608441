//! State shared within this process: the network thread, its connections, and the bytes in memory.
//!
//! After a fork, the child has neither the thread nor its connections, and locks may be held by threads that do not exist
//! there. So every process makes its own, and leaves those of its parent alone.

use crate::chunk::ChunksSeen;
use crate::failure::no_thread;
use crate::spans::Spans;
use crate::turns::Turns;
use jinx_core::{Result, threads};
use object_store::ObjectStore;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

pub(crate) struct Process {
    id: u32,
    pub(crate) runtime: Handle,
    /// Clients by a hash of everything that they depend on.
    pub(crate) clients: Mutex<HashMap<u128, Arc<dyn ObjectStore>>>,
    pub(crate) spans: Spans,
    pub(crate) turns: Turns,
    pub(crate) chunks: Mutex<ChunksSeen>,
    /// State of a process that was forked from this one.
    child: OnceLock<Box<Self>>,
    _alive: oneshot::Sender<()>,
}

impl Process {
    /// Returns the state of the current process.
    ///
    /// # Errors
    /// `Io` if the system refuses a thread.
    pub(crate) fn here() -> Result<&'static Self> {
        static FIRST: OnceLock<Box<Process>> = OnceLock::new();
        let id = std::process::id();
        let mut slot = &FIRST;
        loop {
            match slot.get() {
                Some(process) if process.id == id => return Ok(process),
                Some(parent) => slot = &parent.child,
                // Another thread may have been faster: then use its process state, and end ours.
                None => drop(slot.set(Box::new(Self::start(id)?))),
            }
        }
    }

    fn start(id: u32) -> Result<Self> {
        let runtime =
            Builder::new_current_thread().enable_all().build().map_err(|error| no_thread(&error))?;
        let handle = runtime.handle().clone();
        let (alive, ended) = oneshot::channel::<()>();
        // The thread serves requests until the process ends, or the other end of the channel is dropped.
        let serve = move || drop(runtime.block_on(ended));
        threads::background("jinx-remote", serve).map_err(|error| no_thread(&error))?;
        Ok(Self {
            id,
            runtime: handle,
            clients: Mutex::default(),
            spans: Spans::default(),
            turns: Turns::default(),
            chunks: Mutex::default(),
            child: OnceLock::new(),
            _alive: alive,
        })
    }
}

/// The content of a mutex, even after a panic: a panic leaves nothing half changed in the mutexes of this crate.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
