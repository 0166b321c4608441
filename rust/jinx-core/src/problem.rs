//! The problems that a check of a whole dataset finds, and their places.

use crate::checked_math::to_u64;
use crate::error::{Cause, Error};
use std::fmt;
use std::path::{Path, PathBuf};

/// The maximum number of problems that are listed one by one.
const MAX_PROBLEMS: usize = 10_000;

/// One thing that is wrong with a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub file: PathBuf,
    /// The number of the sample in its file.
    pub sample: Option<u64>,
    pub column: Option<String>,
    /// The byte position in the file.
    pub byte: Option<u64>,
    pub cause: Cause,
    pub what: String,
}

impl Problem {
    /// An error as a problem, in `file` unless the error names another one.
    pub fn of(error: &Error, file: &Path) -> Self {
        Self {
            file: error.path().unwrap_or(file).to_owned(),
            sample: error.sample(),
            column: error.column().map(str::to_owned),
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
        if let Some(column) = &self.column {
            error = error.in_column(column);
        }
        if let Some(byte) = self.byte {
            error = error.at_byte(byte);
        }
        error.fmt(f)
    }
}

/// The problems of a dataset, collected as they are found.
pub struct Problems {
    found: Vec<Problem>,
    file: PathBuf,
    more: u64,
}

impl Problems {
    pub fn new(file: &Path) -> Self {
        Self { found: Vec::new(), file: file.to_owned(), more: 0 }
    }

    /// The file of the next problems, unless they name another file.
    pub fn set_file(&mut self, file: &Path) {
        file.clone_into(&mut self.file);
    }

    pub fn push(&mut self, error: &Error) {
        if self.found.len() < MAX_PROBLEMS {
            self.found.push(Problem::of(error, &self.file));
        } else {
            self.more += 1;
        }
    }

    pub fn count(&self) -> u64 {
        to_u64(self.found.len()) + self.more
    }

    pub fn finish(mut self) -> Vec<Problem> {
        if self.more > 0 {
            let error = Error::corrupt(format!("and {} more problems", self.more));
            self.found.push(Problem::of(&error, &self.file));
        }
        self.found
    }
}
