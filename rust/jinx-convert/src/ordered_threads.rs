//! Runs work on many threads, and returns results in the order of the input.

use crate::backpressure::Backpressure;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use jinx_core::error::{Error, Result};
use jinx_core::interrupt;
use jinx_core::panics::caught;
use jinx_core::threads;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// The maximum number of input bytes between source and target.
const BYTES_IN_FLIGHT: u64 = 32 << 20;
/// How often the caller is asked whether to stop.
const TICK: Duration = Duration::from_millis(50);

/// How long to wait for a source that does not return although everything must stop.
const PATIENCE: Duration = Duration::from_secs(1);

/// The part of the work that the calling thread does.
pub trait Commit<E> {
    /// Takes the next result in the order of the input.
    ///
    /// # Errors
    /// Any error stops everything.
    fn commit(&mut self, result: E) -> Result<()>;

    /// Called after each result, and every 50 ms while there is none.
    ///
    /// # Errors
    /// Any error stops everything.
    fn tick(&mut self) -> Result<()>;
}

struct Job<C> {
    number: u64,
    bytes: u64,
    input: Result<C>,
}

enum Message<E> {
    /// A part of an unfinished result.
    Part(E),
    /// A result or its last part, and the number of bytes of its input.
    End(E, u64),
    Failed(Error),
}

/// Runs `produce` and each of `workers` on separate threads, and `commit` on this one.
///
/// `produce` returns a piece of input with its size in bytes. A worker returns the result, or the last part of it after
/// passing the others to the function that it is given, which may block until it is the turn of the input. The first
/// error in the order of the input wins; a panic is an error. The work in flight is bounded.
///
/// A `produce` that does not return, such as a read from a terminal, is abandoned one second after everything stops.
///
/// # Errors
/// The errors above; `Io` when no thread can be started.
pub fn ordered<C, E, P, W>(produce: P, workers: Vec<W>, commit: &mut impl Commit<E>) -> Result<()>
where
    C: Send + 'static,
    E: Send,
    P: FnMut() -> Result<Option<(C, u64)>> + Send + 'static,
    W: FnMut(C, &mut dyn FnMut(E) -> Result<()>) -> Result<E> + Send,
{
    let backpressure = Arc::new(Backpressure::new(workers.len() * 2 + 2, BYTES_IN_FLIGHT));
    let (job_sender, jobs) = unbounded::<Job<C>>();
    let (sender, receiver) = unbounded();
    let feeder = {
        let backpressure = Arc::clone(&backpressure);
        threads::background("jinx-reader", move || feed(produce, &job_sender, &backpressure))
            .map_err(|error| threads::refused(&error))?
    };
    let done = threads::scope(|scope| {
        let started = workers.into_iter().enumerate().try_for_each(|(number, worker)| {
            let (jobs, results, backpressure) = (jobs.clone(), sender.clone(), Arc::clone(&backpressure));
            let work = move || {
                let asked = Arc::clone(&backpressure);
                interrupt::also_ask(move || asked.is_stopped());
                work(worker, &jobs, &results, &backpressure);
            };
            let started = scope.start(work);
            // If the system refuses more threads, the first ones do all the work.
            if number > 0 { Ok(()) } else { started }
        });
        drop(sender);
        let started = started.map_err(|error| threads::refused(&error));
        let done = started.and_then(|()| collect(&receiver, &backpressure, commit));
        backpressure.stop();
        done
    });
    let patience = Instant::now() + PATIENCE;
    while !feeder.is_finished() && Instant::now() < patience {
        thread::sleep(PATIENCE / 500);
    }
    done
}

fn feed<C>(
    mut produce: impl FnMut() -> Result<Option<(C, u64)>>,
    jobs: &Sender<Job<C>>,
    backpressure: &Backpressure,
) {
    let mut number = 0;
    while backpressure.enter() {
        let (input, bytes) = match caught(&mut produce, "the reading thread") {
            Ok(Some((input, bytes))) => (Ok(input), bytes),
            Ok(None) => return,
            Err(error) => (Err(error), 0),
        };
        let failed = input.is_err();
        backpressure.set_size(bytes);
        // Sending fails only if everything is being stopped.
        if jobs.send(Job { number, bytes, input }).is_err() || failed {
            return;
        }
        number += 1;
    }
}

fn work<C, E, W>(
    mut worker: W,
    jobs: &Receiver<Job<C>>,
    results: &Sender<(u64, Message<E>)>,
    backpressure: &Backpressure,
) where
    W: FnMut(C, &mut dyn FnMut(E) -> Result<()>) -> Result<E>,
{
    loop {
        let Job { number, bytes, input } = match jobs.recv_timeout(TICK) {
            Ok(job) if !backpressure.is_stopped() => job,
            Err(RecvTimeoutError::Timeout) if !backpressure.is_stopped() => continue,
            _ => return,
        };
        let mut hand_over = |part| {
            let sent = results.send((number, Message::Part(part))).is_ok();
            if sent && backpressure.part_sent(number) { Ok(()) } else { Err(Error::interrupted()) }
        };
        let work = || input.and_then(|input| worker(input, &mut hand_over));
        let message = match caught(work, "a worker thread") {
            Ok(result) => Message::End(result, bytes),
            Err(error) => Message::Failed(error),
        };
        let failed = matches!(message, Message::Failed(_));
        if results.send((number, message)).is_err() || failed {
            return;
        }
    }
}

fn collect<E>(
    results: &Receiver<(u64, Message<E>)>,
    backpressure: &Backpressure,
    commit: &mut impl Commit<E>,
) -> Result<()> {
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
                    backpressure.part_written(turn);
                }
                Message::End(result, bytes) => {
                    commit.commit(result)?;
                    early.remove(&turn);
                    backpressure.leave(bytes);
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
