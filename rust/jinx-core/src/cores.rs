//! The number of threads that share the work of one call.

use std::env;
use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::thread;

/// The variable with which users limit the threads of Rust libraries, for example if a machine runs many processes.
const MOST_THREADS: &str = "RAYON_NUM_THREADS";

/// The number of cores that this process may use, limited by the variable `RAYON_NUM_THREADS`.
///
/// It is found once, because asking the system takes as long as reading ten images.
pub fn usable_cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let limit = env::var(MOST_THREADS).ok().and_then(|text| text.parse::<NonZeroUsize>().ok());
        limit.map_or(cores, |limit| cores.min(limit.get()))
    })
}
