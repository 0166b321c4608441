//! How the samples get from their old places to their new ones.

use jinx_core::io::process_limits::max_open_files;

/// From this mean size on, reading samples one by one costs little more than reading them in order.
const CHEAP_RANDOM_READ: u64 = 256 << 10;
/// A run that is being written holds its lines and values up to about this size.
const RUN_BUFFER: u64 = 8 << 20;
/// Files that a run has open: lines, values and two spools.
const RUN_FILES: u64 = 4;
/// Files that the process needs for other things.
const OTHER_FILES: u64 = 100;
const MIN_RUNS: u64 = 2;
/// Bytes that the list of a run's samples takes for each.
pub(crate) const LISTED_BYTES: u64 = 16;

/// What [`crate::rewrite`] does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// Take the samples in the order of the output.
    OnePass,
    /// Read the input in its order and write each sample to one of these many runs, each of which is a stretch of the
    /// output; then put the samples of each run into their order.
    TwoPasses { runs: u64 },
}

impl Plan {
    /// The plan for `samples` of together `bytes` that are to be kept within `memory`.
    pub fn choose(samples: u64, bytes: u64, memory: u64) -> Self {
        let mean = bytes / samples.max(1);
        if bytes <= memory || mean >= CHEAP_RANDOM_READ || samples <= 1 {
            return Self::OnePass;
        }
        // Half for the run that is gathered, the other half for what is being written.
        let wanted = bytes.div_ceil((memory / 2).max(1));
        let by_memory = memory / RUN_BUFFER;
        let by_files =
            max_open_files().map_or(u64::MAX, |files| files.saturating_sub(OTHER_FILES) / RUN_FILES);
        let most = by_memory.min(by_files).max(MIN_RUNS);
        Self::TwoPasses { runs: wanted.clamp(MIN_RUNS, most).min(samples) }
    }

    /// Bytes of the files that exist until the output is written.
    pub fn temporary_bytes(self, samples: u64, bytes: u64) -> u64 {
        match self {
            Self::OnePass => 0,
            Self::TwoPasses { .. } => bytes.saturating_add(samples.saturating_mul(LISTED_BYTES)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    #[test]
    fn data_that_fit_and_large_samples_take_one_pass() {
        assert_eq!(Plan::choose(1000, 64 * MB, 64 * MB), Plan::OnePass);
        assert_eq!(Plan::choose(1000, 1000 * MB, 64 * MB), Plan::OnePass);
        assert_eq!(Plan::choose(0, 0, 0), Plan::OnePass);
        assert_eq!(Plan::choose(1, 100, 1), Plan::OnePass);
        assert_eq!(Plan::OnePass.temporary_bytes(10, 1000), 0);
    }

    #[test]
    fn runs_fit_into_half_of_the_memory_as_far_as_their_number_allows() {
        assert_eq!(Plan::choose(1_000_000, 256 * MB, 64 * MB), Plan::TwoPasses { runs: 8 });
        assert_eq!(Plan::choose(1_000_000, 2560 * MB, 64 * MB), Plan::TwoPasses { runs: 8 });
        assert_eq!(Plan::choose(1_000_000, 100 * MB, MB), Plan::TwoPasses { runs: 2 });
        let Plan::TwoPasses { runs } = Plan::choose(u64::MAX, u64::MAX, 1 << 40) else { return };
        assert!(runs <= max_open_files().unwrap_or(u64::MAX));
        assert_eq!(Plan::TwoPasses { runs: 2 }.temporary_bytes(10, 1000), 1160);
    }
}
