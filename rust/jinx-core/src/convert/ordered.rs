//! Work on many threads whose results arrive in the order of the input.

use super::gate::Gate;
use crate::error::{Error, Result};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;

/// Input bytes between source and target.
const BYTES_IN_FLIGHT: u64 = 32 << 20;
/// How often the caller gets to say that it wants to stop.
const TICK: Duration = Duration::from_millis(50);

/// The calling thread's half.
pub trait Commit<E> {
    /// Takes the next result in the order of the input.
    ///
    /// # Errors
    /// Any error stops all.
    fn commit(&mut self, result: E) -> Result<()>;

    /// Called after each result, and every 50 ms while there is none.
    ///
    /// # Errors
    /// Any error stops all.
    fn tick(&mut self) -> Result<()>;
}

struct Job<C> {
    number: u64,
    bytes: u64,
    input: C,
}

enum Message<E> {
    /// A part of a result that goes on.
    Part(E),
    /// A result or its last part, and the bytes of the input.
    End(E, u64),
    Failed(Error),
}

/// Runs `produce` on a thread of its own, each of `workers` on one, and `commit` on this one.
///
/// `produce` gives a piece of input with its size in bytes. A worker returns the result, or the last part of it after
/// handing over others by the function it is given; that may block until it is the input's turn. The first error in the order of the input wins; a panic is an
/// error. How much is in flight is bounded.
///
/// # Errors
/// As said; and `Io` when the system gives no threads.
pub fn ordered<C, E, P, W>(produce: P, workers: Vec<W>, commit: &mut impl Commit<E>) -> Result<()>
where
    C: Send,
    E: Send,
    P: FnMut() -> Result<Option<(C, u64)>> + Send,
    W: FnMut(C, &mut dyn FnMut(E) -> Result<()>) -> Result<E> + Send,
{
    let gate = Gate::new(workers.len() * 2 + 2, BYTES_IN_FLIGHT);
    let (job_sender, job_receiver) = unbounded::<Job<C>>();
    let (sender, receiver) = unbounded();
    thread::scope(|scope| {
        let start = || -> Result<()> {
            for worker in workers {
                let (jobs, results, gate) = (job_receiver.clone(), sender.clone(), &gate);
                thread::Builder::new().spawn_scoped(scope, move || work(worker, &jobs, &results, gate))?;
            }
            let (results, gate) = (sender.clone(), &gate);
            thread::Builder::new().spawn_scoped(scope, move || feed(produce, &job_sender, &results, gate))?;
            Ok(())
        };
        let started = start();
        drop((sender, job_receiver));
        let done = started.and_then(|()| collect(&receiver, &gate, commit));
        gate.stop();
        done
    })
}

fn feed<C, E>(
    mut produce: impl FnMut() -> Result<Option<(C, u64)>>,
    jobs: &Sender<Job<C>>,
    results: &Sender<(u64, Message<E>)>,
    gate: &Gate,
) {
    let mut number = 0;
    // A send fails only when all is being stopped.
    while gate.enter() {
        match caught(&mut produce, "reading the input") {
            Ok(Some((input, bytes))) => {
                gate.weigh(bytes);
                if jobs.send(Job { number, bytes, input }).is_err() {
                    return;
                }
                number += 1;
            }
            Ok(None) => return,
            Err(error) => {
                let _ = results.send((number, Message::Failed(error)));
                return;
            }
        }
    }
}

fn work<C, E, W>(mut worker: W, jobs: &Receiver<Job<C>>, results: &Sender<(u64, Message<E>)>, gate: &Gate)
where
    W: FnMut(C, &mut dyn FnMut(E) -> Result<()>) -> Result<E>,
{
    for Job { number, bytes, input } in jobs {
        if gate.is_stopped() {
            return;
        }
        let mut hand_over = |part| {
            let sent = results.send((number, Message::Part(part))).is_ok();
            if sent && gate.part_sent(number) {
                Ok(())
            } else {
                Err(Error::interrupted())
            }
        };
        let message = match caught(|| worker(input, &mut hand_over), "a worker thread") {
            Ok(result) => Message::End(result, bytes),
            Err(error) => Message::Failed(error),
        };
        let failed = matches!(message, Message::Failed(_));
        if results.send((number, message)).is_err() || failed {
            return;
        }
    }
}

fn collect<E>(results: &Receiver<(u64, Message<E>)>, gate: &Gate, commit: &mut impl Commit<E>) -> Result<()> {
    let mut turn = 0;
    let mut early: BTreeMap<u64, VecDeque<Message<E>>> = BTreeMap::new();
    loop {
        match results.recv_timeout(TICK) {
            Ok((number, message)) => early.entry(number).or_default().push_back(message),
            Err(RecvTimeoutError::Timeout) => {
                commit.tick()?;
                continue;
            }
            Err(RecvTimeoutError::Disconnected) if early.is_empty() => return Ok(()),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::invalid("a worker thread ended without a result"));
            }
        }
        while let Some(message) = early.get_mut(&turn).and_then(VecDeque::pop_front) {
            match message {
                Message::Part(part) => {
                    commit.commit(part)?;
                    gate.part_written(turn);
                }
                Message::End(result, bytes) => {
                    commit.commit(result)?;
                    early.remove(&turn);
                    gate.leave(bytes);
                    turn += 1;
                }
                Message::Failed(error) => return Err(error),
            }
            commit.tick()?;
        }
        if early.get(&turn).is_some_and(VecDeque::is_empty) {
            early.remove(&turn);
        }
    }
}

/// Runs `work`; a panic becomes an error.
fn caught<T>(work: impl FnOnce() -> Result<T>, what: &str) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let message = message_of(&*panic);
        Err(Error::invalid(format!(
            "{what} failed unexpectedly: {message}; please report this"
        )))
    })
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no details")
}
