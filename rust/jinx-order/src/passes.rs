//! Chooses how to move the samples to their new places: in one pass, or in two.

use crate::random_reads::are_cheap;
use jinx_core::io::process_limits::max_open_files;
use std::path::Path;

/// If samples have at least this mean size, random reads are hardly slower than sequential ones.
const CHEAP_RANDOM_READ: u64 = 256 << 10;
/// If samples have at least this mean size in sidecars, random reads may be hardly slower, depending on the disk.
const FAIR_RANDOM_READ: u64 = 32 << 10;
/// The approximate number of bytes of lines and values that a run buffers while it is written.
const RUN_BUFFER: u64 = 8 << 20;
/// The number of open files of a run: lines, values and two spools.
const RUN_FILES: u64 = 4;
/// The number of files that the process may need for other purposes.
const OTHER_FILES: u64 = 100;
const MIN_RUNS: u64 = 2;
/// The number of bytes per sample in the list of a run's samples.
pub(crate) const LISTED_BYTES: u64 = 16;

/// How [`crate::rewrite`] works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passes {
    /// Reads the samples in the order of the output.
    One,
    /// Reads the input in its own order, and writes each sample to one of `runs` runs. Each run becomes one contiguous
    /// part of the output. Then write the samples of each run in their new order.
    Two { runs: u64 },
}

/// The part of the samples that lies in sidecars.
#[derive(Debug, Clone, Copy)]
pub struct SidecarValues<'p> {
    /// The mean size of a sample in bytes.
    pub mean: u64,
    /// The path of the largest sidecar.
    pub largest: &'p Path,
}

impl Passes {
    /// Chooses the passes for `samples` samples with `bytes` bytes in total, using up to `memory` bytes. `values` is `None`
    /// for samples in other formats. For values of medium size, this measures how fast the disk reads them at random.
    pub fn choose(samples: u64, bytes: u64, memory: u64, values: Option<SidecarValues<'_>>) -> Self {
        let mean = bytes / samples.max(1);
        if bytes <= memory || mean >= CHEAP_RANDOM_READ || samples <= 1 {
            return Self::One;
        }
        if values.is_some_and(|values| {
            values.mean >= FAIR_RANDOM_READ && are_cheap(values.largest, values.mean.min(CHEAP_RANDOM_READ))
        }) {
            return Self::One;
        }
        // Half of the memory is for the run being read, and half for output buffers.
        let wanted = bytes.div_ceil((memory / 2).max(1));
        let by_memory = memory / RUN_BUFFER;
        let by_files =
            max_open_files().map_or(u64::MAX, |files| files.saturating_sub(OTHER_FILES) / RUN_FILES);
        let most = by_memory.min(by_files).max(MIN_RUNS);
        Self::Two { runs: wanted.clamp(MIN_RUNS, most).min(samples) }
    }

    /// The size of the temporary files, in bytes.
    pub fn temporary_bytes(self, samples: u64, bytes: u64) -> u64 {
        match self {
            Self::One => 0,
            Self::Two { .. } => bytes.saturating_add(samples.saturating_mul(LISTED_BYTES)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    #[test]
    fn data_that_fit_and_large_samples_take_one_pass() {
        assert_eq!(Passes::choose(1000, 64 * MB, 64 * MB, None), Passes::One);
        assert_eq!(Passes::choose(1000, 1000 * MB, 64 * MB, None), Passes::One);
        assert_eq!(Passes::choose(0, 0, 0, None), Passes::One);
        assert_eq!(Passes::choose(1, 100, 1, None), Passes::One);
        assert_eq!(Passes::One.temporary_bytes(10, 1000), 0);
    }

    #[test]
    fn runs_fit_into_half_of_the_memory_as_far_as_their_number_allows() {
        assert_eq!(Passes::choose(1_000_000, 256 * MB, 64 * MB, None), Passes::Two { runs: 8 });
        assert_eq!(Passes::choose(1_000_000, 2560 * MB, 64 * MB, None), Passes::Two { runs: 8 });
        assert_eq!(Passes::choose(1_000_000, 100 * MB, MB, None), Passes::Two { runs: 2 });
        let Passes::Two { runs } = Passes::choose(u64::MAX, u64::MAX, 1 << 40, None) else { return };
        assert!(runs <= max_open_files().unwrap_or(u64::MAX));
        assert_eq!(Passes::Two { runs: 2 }.temporary_bytes(10, 1000), 1160);
    }
}
