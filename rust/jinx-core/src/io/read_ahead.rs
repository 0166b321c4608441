//! Tells the system what will be read.

use std::fs::File;

/// The first `length` bytes of a file will be read soon: the system may begin to read them. It need not.
#[cfg(target_os = "linux")]
pub fn expect_reads(file: &File, length: u64) {
    // Without the advice, reading takes longer, and does the same.
    let _ = rustix::fs::fadvise(file, 0, std::num::NonZeroU64::new(length), rustix::fs::Advice::WillNeed);
}

/// The first `length` bytes of a file will be read soon. Here the system takes no such advice.
#[cfg(not(target_os = "linux"))]
pub fn expect_reads(_: &File, _: u64) {}
