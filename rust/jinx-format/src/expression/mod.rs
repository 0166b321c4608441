//! Filter expressions: conditions on samples, written as text.
//!
//! ```text
//! score > 0.5 and len(messages) > 2 and source in ('a', 'b')
//! ```
//! The grammar is a subset of Python's; `docs/how-to/filter.md` describes it. Comparing a missing value gives unknown.
//! A sample is not selected if its answer is unknown. Values that cannot be compared are an error if the answer depends
//! on them.

pub mod blocks;
mod evaluate;
mod failure;
pub mod filter_shard;
pub mod float_types;
mod kinds;
mod numbers;
pub mod numpy_scalar;
pub mod parallel;
mod parse;
mod token;
pub mod tree;
mod truth;

#[cfg(test)]
mod tests;

pub use evaluate::{Sample, characters};
pub use kinds::ValueKind;
pub use parse::PathText;

use jinx_core::error::Result;
use tree::Condition;

/// A parsed condition.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    text: String,
    condition: Condition,
    paths: Vec<PathText>,
}

impl Expression {
    /// Parses a condition.
    ///
    /// # Errors
    /// `Invalid` with the place of the mistake; `Limit` if it is too long or nested too deeply.
    pub fn parse(text: &str) -> Result<Self> {
        let (condition, paths) = parse::parse(text)?;
        let expression = Self { text: text.to_owned(), condition, paths };
        expression.check_kinds(&[])?;
        Ok(expression)
    }

    /// The paths in the condition, each once.
    pub fn paths(&self) -> &[PathText] {
        &self.paths
    }
}
