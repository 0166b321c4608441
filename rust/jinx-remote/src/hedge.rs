//! A second request for a short range whose answer takes much longer than usual: of a hundred answers of a store, one takes
//! ten times as long as the others, and the first answer counts.

use crate::process::locked;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

/// Answers that say what is usual.
const ANSWERS: usize = 128;
/// With fewer answers, nothing is known.
const FEW: usize = 16;
/// The part of the answers that comes within the usual time: 19 of 20.
const USUAL: (usize, usize) = (19, 20);
/// Of this many requests, at most one is sent twice.
const REQUESTS_FOR_ONE: u64 = 20;
/// An answer that comes sooner is not waited for any shorter.
const SHORTEST: Duration = Duration::from_millis(2);

/// The times of the last answers, and how many requests were sent twice.
#[derive(Debug, Default)]
pub(crate) struct Latency(Mutex<Times>);

#[derive(Debug, Default)]
struct Times {
    last: VecDeque<Duration>,
    requests: u64,
    hedges: u64,
}

impl Latency {
    /// Takes note of the time of an answer.
    pub(crate) fn see(&self, time: Duration) {
        let mut times = locked(&self.0);
        times.requests += 1;
        if times.last.len() == ANSWERS {
            times.last.pop_front();
        }
        times.last.push_back(time);
    }

    /// After how long a request is sent again; `None` while nothing is known.
    pub(crate) fn usual(&self) -> Option<Duration> {
        let times = locked(&self.0);
        if times.last.len() < FEW {
            return None;
        }
        let mut sorted: Vec<Duration> = times.last.iter().copied().collect();
        let at = (sorted.len() * USUAL.0 / USUAL.1).min(sorted.len() - 1);
        let (_, usual, _) = sorted.select_nth_unstable(at);
        Some((*usual).max(SHORTEST))
    }

    /// Whether one more request may be sent twice, which is then counted.
    pub(crate) fn may_hedge(&self) -> bool {
        let mut times = locked(&self.0);
        let may = (times.hedges + 1) * REQUESTS_FOR_ONE <= times.requests + 1;
        times.hedges += u64::from(may);
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_time_is_that_of_nineteen_in_twenty() {
        let latency = Latency::default();
        for i in 0..FEW {
            assert_eq!(latency.usual(), None, "{i}");
            latency.see(Duration::from_millis(20));
        }
        assert_eq!(latency.usual(), Some(Duration::from_millis(20)));
        for i in 0..ANSWERS as u64 {
            latency.see(Duration::from_millis(if i % 50 == 0 { 200 } else { 30 }));
        }
        assert_eq!(latency.usual(), Some(Duration::from_millis(30)));
    }

    #[test]
    fn one_request_in_twenty_is_sent_twice() {
        let latency = Latency::default();
        let mut hedges = 0;
        for _ in 0..1000 {
            latency.see(Duration::from_millis(1));
            hedges += u64::from(latency.may_hedge());
        }
        assert_eq!(hedges, 50);
        assert_eq!(latency.usual(), Some(SHORTEST));
    }
}
