//! Media values that are read before their sample asks for them, and the threads that read.

use crate::dataset::state::DatasetState;
use crate::ffi::uninit_bytes::{Progress, UninitBytes};
use crate::objects::image::{self, Pixels};
use crate::objects::values::{container_of, plausible_len};
use crate::sample::row::{Found, Row};
use crossbeam_channel::{Receiver, Sender, unbounded};
use jinx_core::Result;
use jinx_core::sink::Payload;
use jinx_format::key::{Chain, Kind};
use jinx_format::read::shard::Shard;
use jinx_format::read::stored::{EncodedValue, Location, Pointer};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::Duration;

/// Threads that read beside the caller's; a trainer's own workers want cores too.
const MAX_THREADS: usize = 3;
/// Between two looks at a value that another thread is still writing.
const WAIT: Duration = Duration::from_micros(50);

/// Threads that may read beside this one. Asking the system takes as long as reading ten images.
pub fn helpers() -> usize {
    static HELPERS: OnceLock<usize> = OnceLock::new();
    *HELPERS
        .get_or_init(|| thread::available_parallelism().map_or(0, |cores| (cores.get() - 1).min(MAX_THREADS)))
}

/// A value that any thread may read into its final object.
#[derive(Debug)]
pub struct Pending {
    shard: Arc<Shard>,
    chain: Chain,
    pointer: Pointer,
    payload: Payload,
    /// Where the value's text begins in its line, which tells the fields of a row apart.
    start: u32,
    object: UninitBytes,
    /// Of an image that is wanted as an array, once the object is filled.
    pixels: Option<Mutex<Option<Pixels>>>,
    /// The process whose threads read it.
    process: u32,
    /// What the threads it was sent to have still to read.
    queue: OnceLock<Weak<Queue>>,
}

/// A value for which no object is made yet.
#[derive(Debug)]
struct Planned {
    shard: Arc<Shard>,
    chain: Chain,
    pointer: Pointer,
    payload: Payload,
    start: u32,
    /// Bytes of its object.
    length: usize,
    gives_pixels: bool,
}

/// What is sent to threads; a value whose sample is gone is not read any more.
type Queue = Receiver<Weak<Pending>>;

impl Pending {
    fn new(py: Python<'_>, planned: Planned) -> PyResult<Self> {
        let Planned { shard, chain, pointer, payload, start, length, gives_pixels } = planned;
        Ok(Self {
            shard,
            chain,
            pointer,
            payload,
            start,
            object: UninitBytes::new(py, container_of(payload), length)?,
            pixels: gives_pixels.then(Mutex::default),
            process: std::process::id(),
            queue: OnceLock::new(),
        })
    }

    pub fn is_of(&self, found: &Found<'_>) -> bool {
        self.start == found.start
    }

    pub fn bytes(&self) -> usize {
        self.object.len()
    }

    /// Reads the value, unless another thread does.
    pub fn read(&self) {
        let stored = EncodedValue { chain: self.chain, place: Location::Sidecar(self.pointer), path: None };
        // A value that fails is read again, and reported, by its look-up.
        let _ = self.object.fill(|out| {
            let bytes = self.shard.load_into(&stored, out)?;
            if let Some(pixels) = &self.pixels {
                *lock(pixels) = image::decode(bytes, self.shard.limits().max_value_bytes);
            }
            Ok(bytes)
        });
    }

    /// The value; `None` when it could not be read, which its ordinary look-up explains.
    pub fn value<'py>(&self, py: Python<'py>) -> Option<(Payload, Bound<'py, PyAny>)> {
        if matches!(self.object.progress(), Progress::Empty | Progress::Busy) {
            py.detach(|| self.finish());
        }
        self.object.object(py).map(|object| (self.payload, object))
    }

    /// The pixels of a value that was filled, once; `None` where they are not to be had here.
    pub fn take_pixels(&self) -> Option<Pixels> {
        lock(self.pixels.as_ref()?).take()
    }

    fn finish(&self) {
        self.read();
        // The threads of another process are not here to finish what they began before the fork.
        if self.process != std::process::id() {
            return;
        }
        let mut turn = 0_u32;
        while self.object.progress() == Progress::Busy {
            // Who waits reads what will be asked for next.
            match self.next() {
                Some(next) => read_wanted(&next),
                None if turn < 64 => std::hint::spin_loop(),
                None if turn < 128 => thread::yield_now(),
                None => thread::sleep(WAIT),
            }
            turn = turn.saturating_add(1);
        }
    }

    fn next(&self) -> Option<Weak<Self>> {
        self.queue.get()?.upgrade()?.try_recv().ok()
    }
}

/// Reads a value for whoever still holds it.
fn read_wanted(pending: &Weak<Pending>) {
    let Some(pending) = pending.upgrade() else { return };
    pending.read();
    // Whoever drops a Python object last must hold the GIL: PyO3 keeps what is dropped without it behind a lock, and a
    // process that is forked while another thread has that lock waits for it forever.
    if let Some(last) = Arc::into_inner(pending) {
        let _ = Python::try_attach(|_| drop(last));
    }
}

fn lock(pixels: &Mutex<Option<Pixels>>) -> MutexGuard<'_, Option<Pixels>> {
    pixels.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A sample's row, and those of its media that are on their way.
#[derive(Debug, Default)]
pub struct Prepared {
    pub row: OnceLock<Row>,
    pub pending: Vec<Arc<Pending>>,
    planned: Vec<Planned>,
}

impl Prepared {
    /// Reads a row, and what must be known of the media that `wanted` names before their objects can be made; needs no
    /// GIL. A row that fails is read again, and reported, when it is touched.
    pub fn read(dataset: &DatasetState, position: u64, wanted: impl Fn(&str) -> bool) -> Self {
        let read = || -> Result<Self> {
            let (shard, i) = dataset.shards.locate(position)?;
            let row = Row::new(shard.line(i)?);
            let planned = plan(dataset, shard, &row, wanted)?;
            Ok(Self { row: OnceLock::from(row), pending: Vec::new(), planned })
        };
        read().unwrap_or_default()
    }

    /// Makes the objects of its media.
    ///
    /// # Errors
    /// `MemoryError`.
    pub fn expect(&mut self, py: Python<'_>) -> PyResult<()> {
        self.pending.reserve_exact(self.planned.len());
        for planned in self.planned.drain(..) {
            self.pending.push(Arc::new(Pending::new(py, planned)?));
        }
        Ok(())
    }
}

fn plan(
    dataset: &DatasetState,
    shard: &Arc<Shard>,
    row: &Row,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Planned>> {
    let mut all = Vec::new();
    for field in row.fields(shard)? {
        let Some(chain) = field.chain.filter(|chain| chain.bin) else { continue };
        let Kind::Blob(payload @ (Payload::Raw | Payload::Npy)) = chain.kind else { continue };
        let name = row.name(field);
        if !dataset.is_projected(name) || !wanted(name) {
            continue;
        }
        let found = row.found(field);
        let Ok(stored) = EncodedValue::parse(chain, found.text) else { continue };
        let (Location::Sidecar(pointer), Some(length)) = (&stored.place, plausible_len(shard, &stored))
        else {
            continue;
        };
        let (shard, pointer, gives_pixels) = (Arc::clone(shard), *pointer, dataset.gives_pixels(name));
        all.push(Planned { shard, chain, pointer, payload, start: found.start, length, gives_pixels });
    }
    Ok(all)
}

/// Threads that read what they are sent; they end with the last of its copies.
#[derive(Debug, Clone)]
pub struct Threads {
    sender: Sender<Weak<Pending>>,
    queue: Arc<Queue>,
    process: u32,
}

impl Threads {
    /// Starts `count` threads, or as many as can be had.
    fn start(name: &str, count: usize) -> Self {
        let (sender, queue) = unbounded::<Weak<Pending>>();
        for _ in 0..count {
            let queue = queue.clone();
            let _ = thread::Builder::new().name(name.into()).spawn(move || {
                for pending in queue {
                    read_wanted(&pending);
                }
            });
        }
        Self { sender, queue: Arc::new(queue), process: std::process::id() }
    }

    /// What no thread takes is read by whoever asks for it.
    pub fn send(&self, pending: &Arc<Pending>) {
        let _ = pending.queue.set(Arc::downgrade(&self.queue));
        let _ = self.sender.send(Arc::downgrade(pending));
    }

    /// Threads that serve the whole process and do not end, for what is over before others would have started.
    pub fn shared() -> Self {
        static SHARED: Mutex<Option<Threads>> = Mutex::new(None);
        const NAME: &str = "jinx-shared";
        // Locked while it is copied, or, in a process that was forked at that very moment, for ever.
        match SHARED.try_lock() {
            Ok(mut slot) => Self::named(&mut slot, NAME, helpers()).clone(),
            Err(_) => Self::start(NAME, helpers()),
        }
    }

    /// The threads in `slot`, started if there are none in this process.
    pub fn here(slot: &mut Option<Self>, count: usize) -> &Self {
        Self::named(slot, "jinx-read", count)
    }

    fn named<'s>(slot: &'s mut Option<Self>, name: &str, count: usize) -> &'s Self {
        if slot.as_ref().is_some_and(|threads| threads.process != std::process::id()) {
            // Left behind in the parent process, where a lock of theirs may have been held when it was forked.
            std::mem::forget(slot.take());
        }
        slot.get_or_insert_with(|| Self::start(name, count))
    }
}
