//! Limits the number of simultaneous requests to what the store accepts. A store that says "slow down" gets half as
//! many, and then one more for each round of answers without complaint.

use crate::process::locked;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The maximum number of simultaneous requests.
const MOST: usize = 64;
const FEWEST: usize = 4;
/// All complaints within this time refer to the same requests.
const SAME_COMPLAINT: Duration = Duration::from_secs(1);

/// The requests of this process that are being sent.
#[derive(Debug)]
pub(crate) struct Turns {
    semaphore: Arc<Semaphore>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    limit: usize,
    /// The number of permits to withdraw when they are given back.
    surplus: usize,
    /// The number of answers since the last change.
    answers: usize,
    complaint: Option<Instant>,
}

/// Permission to send one or more requests. It ends when this is dropped.
pub(crate) struct Turn<'t> {
    turns: &'t Turns,
    permit: Option<OwnedSemaphorePermit>,
}

impl Default for Turns {
    fn default() -> Self {
        let state = State { limit: MOST, surplus: 0, answers: 0, complaint: None };
        Self { semaphore: Arc::new(Semaphore::new(MOST)), state: Mutex::new(state) }
    }
}

impl Turns {
    /// Waits until `count` more requests may be sent, or fewer if `count` is more than the limit.
    pub(crate) async fn next(&self, count: usize) -> Turn<'_> {
        let count = u32::try_from(count.min(FEWEST)).unwrap_or(1);
        let permit = Arc::clone(&self.semaphore).acquire_many_owned(count).await.ok();
        Turn { turns: self, permit }
    }

    /// Records that the store has reported too many requests.
    pub(crate) fn complain(&self) {
        let mut state = locked(&self.state);
        if state.complaint.is_some_and(|time| time.elapsed() < SAME_COMPLAINT) {
            return;
        }
        let fewer = (state.limit / 2).max(FEWEST);
        let taken = state.limit - fewer;
        state.surplus += taken - self.semaphore.forget_permits(taken);
        (state.limit, state.answers, state.complaint) = (fewer, 0, Some(Instant::now()));
    }

    /// Records that the store has answered normally.
    pub(crate) fn praise(&self) {
        let mut state = locked(&self.state);
        state.answers += 1;
        if state.limit == MOST || state.answers < state.limit {
            return;
        }
        state.answers = 0;
        state.limit += 1;
        match state.surplus.checked_sub(1) {
            Some(rest) => state.surplus = rest,
            None => self.semaphore.add_permits(1),
        }
    }

    #[cfg(test)]
    fn limit(&self) -> usize {
        locked(&self.state).limit
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let Some(mut permit) = self.permit.take() else { return };
        let mut state = locked(&self.turns.state);
        let taken = state.surplus.min(permit.num_permits());
        if let Some(taken) = permit.split(taken) {
            state.surplus -= taken.num_permits();
            taken.forget();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
    }

    #[test]
    fn a_complaint_halves_the_requests_and_answers_bring_them_back() {
        run(async {
            let turns = Turns::default();
            let mut held = Vec::new();
            for _ in 0..MOST {
                held.push(turns.next(1).await);
            }
            turns.complain();
            turns.complain();
            assert_eq!(turns.limit(), MOST / 2);
            // All requests are in progress; those that end first are not replaced.
            held.truncate(MOST / 2 + 1);
            assert_eq!(turns.semaphore.available_permits(), 0);
            held.truncate(MOST / 2);
            assert_eq!((turns.semaphore.available_permits(), locked(&turns.state).surplus), (0, 0));
            held.clear();
            assert_eq!(turns.semaphore.available_permits(), MOST / 2);
            for _ in 0..MOST / 2 {
                turns.praise();
            }
            assert_eq!((turns.limit(), turns.semaphore.available_permits()), (MOST / 2 + 1, MOST / 2 + 1));
            for _ in 0..MOST * MOST {
                turns.praise();
            }
            assert_eq!((turns.limit(), turns.semaphore.available_permits()), (MOST, MOST));
        });
    }

    #[test]
    fn some_requests_always_go_through() {
        run(async {
            let turns = Turns::default();
            for _ in 0..10 {
                turns.complain();
                locked(&turns.state).complaint = None;
            }
            assert_eq!(turns.limit(), FEWEST);
            drop(turns.next(1000).await);
            assert_eq!(turns.semaphore.available_permits(), FEWEST);
        });
    }
}
