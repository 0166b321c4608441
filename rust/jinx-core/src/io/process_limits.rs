//! How many files a process may open, and how many it may map.

use rustix::process::{Resource, getrlimit};
use std::fs;
use std::sync::OnceLock;

/// Linux's default limit.
const DEFAULT_MAPS: usize = 65_530;

/// The number of maps that a process may have.
pub fn max_maps() -> usize {
    static LIMIT: OnceLock<usize> = OnceLock::new();
    *LIMIT.get_or_init(|| {
        let text = fs::read_to_string("/proc/sys/vm/max_map_count").unwrap_or_default();
        text.trim().parse().unwrap_or(DEFAULT_MAPS)
    })
}

/// The number of files that this process may have open; `None` if there is no limit.
pub fn max_open_files() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}
