//! Counts the columns that are used in the samples of an iterator.

use std::sync::{Mutex, PoisonError};

/// How often each media column was used, in the samples of one iterator.
#[derive(Debug, Default)]
pub struct Touched(Mutex<Vec<(String, usize)>>);

impl Touched {
    pub fn note(&self, name: &str) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match counts.iter_mut().find(|(known, _)| known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name.to_owned(), 1)),
        }
    }

    /// Returns the columns that were used in at least half of the last `samples` samples, and resets the counts.
    pub fn take_frequent(&self, samples: usize) -> Vec<String> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let frequent = |(name, count): (String, usize)| (count * 2 >= samples).then_some(name);
        counts.drain(..).filter_map(frequent).collect()
    }
}
