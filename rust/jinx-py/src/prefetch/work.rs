//! Work that any thread may do before its result is asked for, and the threads that do it.

use crossbeam_channel::{Receiver, Sender, unbounded};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread;
use std::time::Duration;

/// Threads that work next to the caller's; a trainer's own workers want cores too.
const MAX_THREADS: usize = 3;
/// Between two looks at work that another thread has begun.
const WAIT: Duration = Duration::from_micros(50);

/// Threads that may work next to this one. Asking the system takes as long as reading ten images.
pub fn helpers() -> usize {
    static HELPERS: OnceLock<usize> = OnceLock::new();
    *HELPERS
        .get_or_init(|| thread::available_parallelism().map_or(0, |cores| (cores.get() - 1).min(MAX_THREADS)))
}

/// A piece of work. Who needs the result does it, waits for it, or finds it done.
pub trait Work: Send + Sync {
    /// Does the work, unless somebody has begun; needs no GIL. What fails is done again by who needs it, and reported.
    fn run(&self);

    /// Bytes of the result.
    fn bytes(&self) -> usize;

    /// Whether the result is a finished object, so that nobody gains from handing it out early.
    fn is_final(&self) -> bool;

    fn turn(&self) -> &Turn;

    /// Drops the work on a thread that may not have the GIL.
    fn let_go(self: Arc<Self>);
}

/// What is sent to threads; work whose sample is gone is not done any more.
type Queue = Receiver<Weak<dyn Work>>;

/// Where a piece of work was sent to, for who waits for it.
#[derive(Debug)]
pub struct Turn {
    /// The process whose threads do it.
    process: u32,
    /// What those threads have still to do.
    queue: OnceLock<Weak<Queue>>,
}

impl Default for Turn {
    fn default() -> Self {
        Self { process: std::process::id(), queue: OnceLock::new() }
    }
}

impl Turn {
    /// Waits while another thread is at work.
    pub fn wait(&self, is_busy: impl Fn() -> bool) {
        // The threads of another process are not here to finish what they began before the fork.
        if self.process != std::process::id() {
            return;
        }
        let mut turn = 0_u32;
        while is_busy() {
            // Who waits does what will be asked for next.
            match self.next() {
                Some(next) => do_wanted(&next),
                None if turn < 64 => std::hint::spin_loop(),
                None if turn < 128 => thread::yield_now(),
                None => thread::sleep(WAIT),
            }
            turn = turn.saturating_add(1);
        }
    }

    fn next(&self) -> Option<Weak<dyn Work>> {
        self.queue.get()?.upgrade()?.try_recv().ok()
    }
}

/// Does work for whoever still wants it.
fn do_wanted(work: &Weak<dyn Work>) {
    if let Some(work) = work.upgrade() {
        work.run();
        work.let_go();
    }
}

/// Threads that do what they are sent; they end with the last of its copies.
#[derive(Debug, Clone)]
pub struct Threads {
    sender: Sender<Weak<dyn Work>>,
    queue: Arc<Queue>,
    process: u32,
}

impl Threads {
    /// Starts `count` threads, or as many as can be had.
    fn start(name: &str, count: usize) -> Self {
        let (sender, queue) = unbounded::<Weak<dyn Work>>();
        for _ in 0..count {
            let queue = queue.clone();
            let _ = thread::Builder::new().name(name.into()).spawn(move || {
                for work in queue {
                    do_wanted(&work);
                }
            });
        }
        Self { sender, queue: Arc::new(queue), process: std::process::id() }
    }

    /// What no thread takes is done by whoever asks for it.
    pub fn send(&self, work: &Arc<dyn Work>) {
        let _ = work.turn().queue.set(Arc::downgrade(&self.queue));
        let _ = self.sender.send(Arc::downgrade(work));
    }

    /// Threads that serve the whole process and do not end, for what is over before others would have started.
    pub fn shared() -> Self {
        static SHARED: Mutex<Option<Threads>> = Mutex::new(None);
        const NAME: &str = "jinx-shared";
        // Locked while it is copied, or, in a process that was forked at that very moment, forever.
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
