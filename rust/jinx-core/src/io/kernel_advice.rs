//! Tells the system which bytes will be read and written, and asks which bytes are in memory.

use std::fs::File;
use std::ops::Range;

/// The longest range that Linux reads completely after one piece of advice: as long as the disk's read-ahead, which
/// usually has this value. Linux ignores the rest of a longer range.
#[cfg(target_os = "linux")]
const ADVICE_BYTES: u64 = 128 << 10;

/// Announces that these bytes of a file will be read soon, so that the system can begin to read them; it may ignore
/// this.
#[cfg(target_os = "linux")]
pub fn expect_reads(file: &File, range: Range<u64>) {
    let mut start = range.start;
    while start < range.end {
        let length = ADVICE_BYTES.min(range.end - start);
        // If the advice fails, reading takes longer but gives the same result.
        let _ =
            rustix::fs::fadvise(file, start, std::num::NonZeroU64::new(length), rustix::fs::Advice::WillNeed);
        start += length;
    }
}

/// Announces that these bytes of a file will be read soon. Does nothing: this system takes no such advice.
#[cfg(not(target_os = "linux"))]
pub fn expect_reads(_: &File, _: Range<u64>) {}

/// Whether the byte at `offset` is in the page cache; `false` if the system does not say.
#[cfg(target_os = "linux")]
pub(crate) fn is_cached(file: &File, offset: u64) -> bool {
    let mut byte = [0];
    let buffer = &mut [std::io::IoSliceMut::new(&mut byte)];
    rustix::io::preadv2(file, buffer, offset, rustix::io::ReadWriteFlags::NOWAIT).is_ok()
}

/// Whether the byte at `offset` is in the page cache: `true`, because [`expect_reads`] would do nothing here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_cached(_: &File, _: u64) -> bool {
    true
}

/// Announces that the first `length` bytes of a file will be written, in any order: the system may reserve contiguous
/// space.
#[cfg(target_os = "linux")]
pub fn expect_writes(file: &File, length: u64) {
    // A failure does no harm: the file may only be fragmented.
    let _ = rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, 0, length);
}

/// Announces that the first `length` bytes of a file will be written. Does nothing: this system takes no such advice.
#[cfg(not(target_os = "linux"))]
pub fn expect_writes(_: &File, _: u64) {}
