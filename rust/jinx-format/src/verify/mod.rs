//! Checks a whole dataset, continuing after problems, and reports where each one is.

mod footer;
mod layout;
mod pair;
mod row;
mod view;

use crate::read::open::{ShardRef, entries};
use crate::read::shard::OpenOptions;
use jinx_core::error::Result;
use jinx_core::io::url_of;
use jinx_core::limits::Limits;
use jinx_core::problem::{Problem, Problems};
use std::path::Path;

pub(super) use layout::arrays;
pub(super) use row::check_row;

/// Receives the bytes of rows checked so far and the total; an error stops the check.
pub type OnProgress<'p> = dyn FnMut(u64, u64) -> Result<()> + 'p;

/// Checks the pair, the directory or the JSON Lines file at `path`; an empty list means that every byte is correct.
///
/// Files of 1.1 are checked to the last bit. Older files have no checksums: only their structure, text and values are
/// checked.
///
/// # Errors
/// Only what stops the check: files that cannot be read at all, and errors of `progress`.
pub fn verify(path: &Path, progress: &mut OnProgress<'_>) -> Result<Vec<Problem>> {
    verify_within(path, Limits::default(), progress)
}

/// Like [`verify`], with the caller's limits.
///
/// # Errors
/// The errors of [`verify`].
pub fn verify_within(path: &Path, limits: Limits, progress: &mut OnProgress<'_>) -> Result<Vec<Problem>> {
    let mut problems = Problems::new(path);
    let options = OpenOptions { limits, ..OpenOptions::default() };
    match entries(path) {
        Ok(shards) => check_all(&shards, &options, problems, progress),
        Err(error) if error.cause().is_about_data() => {
            problems.push(&error);
            Ok(problems.finish())
        }
        Err(error) => Err(error),
    }
}

/// Like [`verify`], for the shards of a dataset anywhere, such as at a URL.
///
/// # Errors
/// The errors of [`verify`]; errors of the store.
pub fn verify_shards(
    place: &Path,
    shards: Vec<ShardRef>,
    options: &OpenOptions,
    progress: &mut OnProgress<'_>,
) -> Result<Vec<Problem>> {
    let shards: Vec<_> = shards.into_iter().map(Ok).collect();
    check_all(&shards, options, Problems::new(place), progress)
}

fn check_all(
    shards: &[Result<ShardRef>],
    options: &OpenOptions,
    mut problems: Problems,
    progress: &mut OnProgress<'_>,
) -> Result<Vec<Problem>> {
    let readable: Vec<&ShardRef> = shards.iter().filter_map(|shard| shard.as_ref().ok()).collect();
    let size = |shard: &&ShardRef| match url_of(&shard.path) {
        // Opening the file reports the error.
        Some(_) => options.source(&shard.path).map_or(0, |main| main.len()),
        None => std::fs::metadata(&shard.path).map_or(0, |metadata| metadata.len()),
    };
    let sizes: Vec<u64> = readable.iter().map(size).collect();
    let total = sizes.iter().sum();
    for error in shards.iter().filter_map(|shard| shard.as_ref().err()) {
        problems.push(error);
    }
    let mut before = 0;
    for (shard, size) in readable.into_iter().zip(sizes) {
        problems.set_file(&shard.path);
        pair::check(shard, options, &mut problems, &mut |done| progress(before + done.min(size), total))?;
        before += size;
        progress(before, total)?;
    }
    Ok(problems.finish())
}
