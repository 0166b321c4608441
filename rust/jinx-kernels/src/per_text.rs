//! Computes a row of results for each text, in blocks on several threads.

use jinx_core::cores::usable_cores;
use jinx_core::error::{Error, Result};
use jinx_core::interrupt;
use jinx_core::threads;

/// The number of texts that a thread takes at a time.
const BLOCK: usize = 64;
/// Starting a thread takes as long as processing about this many bytes in a kernel.
const BYTES_PER_THREAD: usize = 64 << 10;

/// Fills `width` elements per text by calling `one(state, text, row)`. `state` makes one state per thread.
///
/// If `threads` is 0, it starts one thread per core. It starts fewer threads for little text.
///
/// # Errors
/// `Interrupted`; `Internal` if a thread panics; `Limit` if the result does not fit into memory.
pub fn fill<T: Clone + Send, S>(
    texts: &[&str],
    width: usize,
    empty: T,
    threads: usize,
    state: impl Fn() -> S + Sync,
    one: impl Fn(&mut S, &str, &mut [T]) + Sync,
) -> Result<Vec<T>> {
    let size = texts
        .len()
        .checked_mul(width)
        .ok_or_else(|| Error::limit(format!("{} rows of {width} values do not fit memory", texts.len())))?;
    let mut out = vec![empty; size];
    if out.is_empty() {
        return Ok(out);
    }
    let blocks = texts.chunks(BLOCK).zip(out.chunks_mut(width * BLOCK));
    let count = thread_count(texts, threads);
    threads::map_with(count, blocks, "a thread of a kernel", state, |state, (texts, rows), is_caller| {
        for (text, row) in texts.iter().zip(rows.chunks_mut(width)) {
            one(state, text, row);
        }
        if is_caller { interrupt::check() } else { Ok(()) }
    })?;
    Ok(out)
}

/// Computes one result for each text; see `fill`.
///
/// # Errors
/// The errors of `fill`.
pub fn map<T: Clone + Send, S>(
    texts: &[&str],
    empty: T,
    threads: usize,
    state: impl Fn() -> S + Sync,
    one: impl Fn(&mut S, &str) -> T + Sync,
) -> Result<Vec<T>> {
    fill(texts, 1, empty, threads, state, |state, text, row| {
        if let [place] = row {
            *place = one(state, text);
        }
    })
}

fn thread_count(texts: &[&str], threads: usize) -> usize {
    let limit = if threads == 0 { usable_cores() } else { threads };
    let bytes: usize = texts.iter().map(|text| text.len()).sum();
    limit.min(bytes / BYTES_PER_THREAD).min(texts.len().div_ceil(BLOCK)).max(1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation)]
mod tests {
    use super::*;
    use jinx_core::error::Cause;

    #[test]
    fn rows_are_in_order_for_any_number_of_threads() {
        let owned: Vec<String> = (0..3000).map(|i| format!("{i} ").repeat(200)).collect();
        let texts: Vec<&str> = owned.iter().map(String::as_str).collect();
        let one = |(): &mut (), text: &str, row: &mut [usize]| {
            row[0] = text.len();
            row[1] = usize::from(text.as_bytes()[0]);
        };
        let alone = fill(&texts, 2, 0, 1, || (), one).unwrap();
        assert_eq!(alone.len(), 6000);
        assert_eq!(alone[2 * 2999], texts[2999].len());
        assert_eq!(fill(&texts, 2, 0, 7, || (), one).unwrap(), alone);
    }

    #[test]
    fn a_panic_is_an_error() {
        let owned = vec!["x".repeat(100_000); 300];
        let texts: Vec<&str> = owned.iter().map(String::as_str).collect();
        let failed = map(&texts, 0, 4, || (), |(), _| panic!("no")).unwrap_err();
        assert_eq!(failed.cause(), Cause::Internal);
    }
}
