//! Tasks that any thread may run before their results are needed, and the threads that run them.

use crossbeam_channel::{Receiver, Sender, unbounded};
use jinx_core::cores::usable_cores;
use jinx_core::threads;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Start at most this many threads: the workers of a trainer need cores too.
const MAX_THREADS: usize = 3;
/// The number of threads of a process that run tasks or are about to end.
const MAX_STARTED: usize = 256;
/// Pause between two checks of a task that another thread is running.
const WAIT: Duration = Duration::from_micros(50);

/// The number of threads to start.
pub fn helpers() -> usize {
    (usable_cores() - 1).min(MAX_THREADS)
}

/// A task. The thread that needs the result runs the task, waits for it, or finds it done.
pub trait Work: Send + Sync {
    /// Runs the task unless another thread has started it; needs no GIL. If it fails, the caller that needs the result
    /// tries again and reports the error.
    fn run(&self);

    /// Size of the result in bytes.
    fn bytes(&self) -> usize;

    /// Whether the result is a finished object. Other results are only needed until their sample is built.
    fn is_final(&self) -> bool;

    fn turn(&self) -> &Turn;

    /// Drops the work on a thread that may not hold the GIL.
    fn let_go(self: Arc<Self>);
}

/// Tasks for the threads. A task is skipped once its sample is dropped.
type Queue = Receiver<Weak<dyn Work>>;

/// The queue that a task was sent to, for threads that wait for that task.
#[derive(Debug)]
pub struct Turn {
    /// The process whose threads run the task.
    process: u32,
    /// The remaining tasks of those threads.
    queue: OnceLock<Weak<Queue>>,
}

impl Default for Turn {
    fn default() -> Self {
        Self { process: std::process::id(), queue: OnceLock::new() }
    }
}

impl Turn {
    /// Waits while another thread runs the task.
    pub fn wait(&self, is_busy: impl Fn() -> bool) {
        // After a fork, the threads of the parent process do not finish their tasks in this process.
        if self.process != std::process::id() {
            return;
        }
        let mut turn = 0_u32;
        while is_busy() {
            // While waiting, run the tasks that will be needed next.
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

/// Runs a task if its result is still needed.
fn do_wanted(work: &Weak<dyn Work>) {
    if let Some(work) = work.upgrade() {
        work.run();
        work.let_go();
    }
}

/// The threads of this process that run tasks.
///
/// They end some time after their handle. On a busy machine, a process that iterates in a loop would start them faster
/// than the system ends them: it had 20,000. So new threads wait for the end of those that are done, and beyond
/// [`MAX_STARTED`], none are started.
struct Started {
    process: u32,
    threads: Vec<JoinHandle<()>>,
}

static STARTED: Mutex<Started> = Mutex::new(Started { process: 0, threads: Vec::new() });

impl Started {
    /// Without the list while another thread uses it, or did when this process was forked.
    fn here() -> StartedHere {
        let mut slot = STARTED.try_lock().ok();
        if let Some(started) = slot.as_deref_mut() {
            if started.process != std::process::id() {
                // These threads exist only in the parent process: nothing can be waited for.
                std::mem::forget(std::mem::take(&mut started.threads));
                started.process = std::process::id();
            }
            let (done, others): (Vec<_>, Vec<_>) =
                started.threads.drain(..).partition(JoinHandle::is_finished);
            started.threads = others;
            for thread in done {
                let _ = thread.join();
            }
        }
        StartedHere(slot)
    }
}

struct StartedHere(Option<MutexGuard<'static, Started>>);

impl StartedHere {
    /// Starts a thread unless there are too many; returns whether it did.
    fn add(&mut self, start: impl FnOnce() -> io::Result<JoinHandle<()>>) -> bool {
        let Some(started) = &mut self.0 else { return start().is_ok() };
        if started.threads.len() >= MAX_STARTED {
            return false;
        }
        start().map(|thread| started.threads.push(thread)).is_ok()
    }
}

/// Threads that run the tasks sent to them. They end when the last copy of this handle is dropped.
#[derive(Debug, Clone)]
pub struct Threads {
    sender: Sender<Weak<dyn Work>>,
    queue: Arc<Queue>,
    process: u32,
}

impl Threads {
    /// Starts `count` threads, or as many as the system allows.
    fn start(name: &str, count: usize) -> Self {
        let (sender, queue) = unbounded::<Weak<dyn Work>>();
        let mut started = Started::here();
        for _ in 0..count {
            let queue = queue.clone();
            let run = move || {
                for work in queue {
                    do_wanted(&work);
                }
            };
            if !started.add(|| threads::background(name, run)) {
                break;
            }
        }
        Self { sender, queue: Arc::new(queue), process: std::process::id() }
    }

    /// Queues a task. If no thread takes it, the caller that needs the result runs it.
    pub fn send(&self, work: &Arc<dyn Work>) {
        let _ = work.turn().queue.set(Arc::downgrade(&self.queue));
        let _ = self.sender.send(Arc::downgrade(work));
    }

    /// Threads that serve the whole process and never end, for work that takes less time than starting a thread.
    pub fn shared() -> Self {
        static SHARED: Mutex<Option<Threads>> = Mutex::new(None);
        const NAME: &str = "jinx-shared";
        // Hold the lock only while copying the handle. If the process is forked meanwhile, the child never gets it.
        match SHARED.try_lock() {
            Ok(mut slot) => Self::named(&mut slot, NAME, helpers()).clone(),
            Err(_) => Self::start(NAME, helpers()),
        }
    }

    /// The threads in `slot`; starts them if this process has none.
    pub fn here(slot: &mut Option<Self>, count: usize) -> &Self {
        Self::named(slot, "jinx-read", count)
    }

    fn named<'s>(slot: &'s mut Option<Self>, name: &str, count: usize) -> &'s Self {
        if slot.as_ref().is_some_and(|threads| threads.process != std::process::id()) {
            // These threads exist only in the parent process, and one of their locks may have been held during the
            // fork.
            std::mem::forget(slot.take());
        }
        slot.get_or_insert_with(|| Self::start(name, count))
    }
}
