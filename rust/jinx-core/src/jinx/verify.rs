//! Checks everything in a dataset, goes on after a problem, and says where each one lies.

mod compare;
mod layout;
mod pair;
mod walk;

use super::folder::{ShardRef, entries};
use crate::error::{Cause, Error, Result};
use crate::limits::Limits;
use std::fmt;
use std::path::{Path, PathBuf};

pub(super) use walk::check_row;

/// More problems than this are not listed one by one.
const MAX_PROBLEMS: usize = 10_000;

/// One thing that is wrong with a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub file: PathBuf,
    /// Number of the sample in its file.
    pub sample: Option<u64>,
    pub field: Option<String>,
    /// Byte in the file.
    pub byte: Option<u64>,
    pub cause: Cause,
    pub what: String,
}

impl Problem {
    /// What an error says, in `file` unless it names another.
    pub fn of(error: &Error, file: &Path) -> Self {
        Self {
            file: error.path().unwrap_or(file).to_owned(),
            sample: error.sample(),
            field: error.field().map(str::to_owned),
            byte: error.byte(),
            cause: error.cause(),
            what: error.what().to_owned(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut error = Error::new(self.cause, &self.what).in_file(&self.file);
        if let Some(sample) = self.sample {
            error = error.in_sample(sample);
        }
        if let Some(field) = &self.field {
            error = error.in_field(field);
        }
        if let Some(byte) = self.byte {
            error = error.at_byte(byte);
        }
        error.fmt(f)
    }
}

/// The problems of a dataset, as they are found.
struct Problems {
    found: Vec<Problem>,
    file: PathBuf,
    more: u64,
}

impl Problems {
    fn push(&mut self, error: &Error) {
        if self.found.len() < MAX_PROBLEMS {
            self.found.push(Problem::of(error, &self.file));
        } else {
            self.more += 1;
        }
    }

    fn count(&self) -> u64 {
        crate::num::to_u64(self.found.len()) + self.more
    }

    fn finish(mut self) -> Vec<Problem> {
        if self.more > 0 {
            let error = Error::corrupt(format!("and {} more problems", self.more));
            self.found.push(Problem::of(&error, &self.file));
        }
        self.found
    }
}

/// Reports bytes of rows checked, and all there are; an error stops the pass.
pub type Progress<'p> = dyn FnMut(u64, u64) -> Result<()> + 'p;

/// Checks the pair, the folder or the JSON Lines file at `path`; an empty list says that every byte is right.
///
/// Files of 1.1 are checked to the last bit. Older files have no checksums: their structure, text and values are
/// checked, as far as those say that something is wrong.
///
/// # Errors
/// Only what stops the pass: files that cannot be read at all, and what `progress` reports.
pub fn verify(path: &Path, progress: &mut Progress<'_>) -> Result<Vec<Problem>> {
    verify_within(path, Limits::default(), progress)
}

/// As [`verify`], with limits of the caller's own.
///
/// # Errors
/// As [`verify`].
pub fn verify_within(path: &Path, limits: Limits, progress: &mut Progress<'_>) -> Result<Vec<Problem>> {
    let mut problems = Problems { found: Vec::new(), file: path.to_owned(), more: 0 };
    let shards = match entries(path) {
        Ok(shards) => shards,
        Err(error) if is_damage(&error) => {
            problems.push(&error);
            return Ok(problems.finish());
        }
        Err(error) => return Err(error),
    };
    let known: Vec<&ShardRef> = shards.iter().filter_map(|shard| shard.as_ref().ok()).collect();
    let size = |shard: &&ShardRef| std::fs::metadata(&shard.path).map_or(0, |metadata| metadata.len());
    let sizes: Vec<u64> = known.iter().map(size).collect();
    let total = sizes.iter().sum();
    for error in shards.iter().filter_map(|shard| shard.as_ref().err()) {
        problems.push(error);
    }
    let mut before = 0;
    for (shard, size) in known.into_iter().zip(sizes) {
        problems.file.clone_from(&shard.path);
        pair::check(shard, limits, &mut problems, &mut |done| progress(before + done.min(size), total))?;
        before += size;
        progress(before, total)?;
    }
    Ok(problems.finish())
}

/// Whether an error says something about the data, and not about the machine or the caller.
fn is_damage(error: &Error) -> bool {
    matches!(
        error.cause(),
        Cause::Corrupt | Cause::Truncated | Cause::Limit | Cause::Unsupported | Cause::Mismatch
    )
}
