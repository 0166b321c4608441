//! Tells the system what will be read and written.

use std::fs::File;
use std::ops::Range;

/// These bytes of a file will be read soon: the system may begin to read them. It need not.
#[cfg(target_os = "linux")]
pub fn expect_reads(file: &File, range: Range<u64>) {
    let length = std::num::NonZeroU64::new(range.end.saturating_sub(range.start));
    // Without the advice, reading takes longer, and does the same.
    let _ = rustix::fs::fadvise(file, range.start, length, rustix::fs::Advice::WillNeed);
}

/// These bytes of a file will be read soon. Does nothing: this system takes no such advice.
#[cfg(not(target_os = "linux"))]
pub fn expect_reads(_: &File, _: Range<u64>) {}

/// The first `length` bytes of a file will be written, in any order: the system may reserve room for them in one stretch.
#[cfg(target_os = "linux")]
pub fn expect_writes(file: &File, length: u64) {
    // Without it, the file is scattered over the disk, and holds the same.
    let _ = rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, 0, length);
}

/// The first `length` bytes of a file will be written. Does nothing: this system takes no such advice.
#[cfg(not(target_os = "linux"))]
pub fn expect_writes(_: &File, _: u64) {}
