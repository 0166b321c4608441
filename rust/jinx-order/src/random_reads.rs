//! Measures the cost of reading a file at random. That depends on the disk, and on how much of the file is in the
//! system's cache.

use crate::permutation::Permutation;
use jinx_core::checked_math::to_usize;
use jinx_core::cores::usable_cores;
use jinx_core::error::{Error, Result};
use jinx_core::threads;
use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The number of pieces that are read at random in a round, and then in order.
const PIECES: u64 = 32;
const ROUNDS: u64 = 3;
/// The file must have this many times as many pieces, so that few of the pieces read are adjacent.
const TIMES: u64 = 4;
/// The limit of the ratio: two passes read and write everything twice, and encode it twice. One pass takes less time
/// even if its reads take about this many times as long. On a disk that must move its head, they take longer.
const MOST_TIMES: u32 = 5;

/// Whether reading pieces of `piece` bytes at random takes hardly longer than reading them in order. False for a small
/// file and for one that cannot be read.
pub fn are_cheap(path: &Path, piece: u64) -> bool {
    measured(path, piece).ok().flatten().is_some_and(|(random, in_order)| random <= MOST_TIMES * in_order)
}

/// How long random and sequential reading took; `None` for a small file.
fn measured(path: &Path, piece: u64) -> Result<Option<(Duration, Duration)>> {
    let failed = |error: std::io::Error| Error::io(path, &error);
    let file = File::open(path).map_err(failed)?;
    let places = file.metadata().map_err(failed)?.len() / piece.max(1);
    if places < TIMES * ROUNDS * PIECES {
        return Ok(None);
    }
    let read = |place: u64, bytes: &mut [u8]| file.read_exact_at(bytes, place * piece).map_err(failed);
    let size = to_usize(piece, "the size of a value")?;
    // Use other places in each call, because places from an earlier call are cached.
    let at_random = Permutation::new(places, RandomState::new().hash_one(places));
    let threads = usable_cores();
    let (mut random, mut in_order) = (Duration::ZERO, Duration::ZERO);
    for first in (0..ROUNDS).map(|round| round * (PIECES + 1)) {
        random += timed(threads, size, &|piece, bytes| read(at_random.at(first + piece), bytes))?;
        let start = at_random.at(first + PIECES).min(places - PIECES);
        in_order += timed(1, size, &|piece, bytes| read(start + piece, bytes))?;
    }
    Ok(Some((random, in_order)))
}

/// How long `read` takes for all the pieces of a round.
fn timed(
    threads: usize,
    size: usize,
    read: &(dyn Fn(u64, &mut [u8]) -> Result<()> + Sync),
) -> Result<Duration> {
    let next = AtomicU64::new(0);
    let work = |_, _| {
        let mut bytes = vec![0; size];
        let taken = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
        taken.take_while(|piece| *piece < PIECES).try_for_each(|piece| read(piece, &mut bytes))
    };
    let started = Instant::now();
    threads::map(threads, 0..threads, "a reading thread", work).into_iter().collect::<Result<()>>()?;
    Ok(started.elapsed())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn files_with_enough_pieces_are_measured() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("values");
        std::fs::write(&path, vec![1; 4096 * 384]).unwrap();
        let (random, in_order) = measured(&path, 4096).unwrap().unwrap();
        assert!(random > Duration::ZERO && in_order > Duration::ZERO);
        assert_eq!(measured(&path, 4097).unwrap(), None);
        assert!(!are_cheap(&path, 4097));
        assert!(!are_cheap(&folder.path().join("none"), 4096));
    }
}
