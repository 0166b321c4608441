//! Conditions on samples as text, for filters.
//!
//! ```text
//! score > 0.5 and len(messages) > 2 and source in ('a', 'b')
//! ```
//! The grammar is a part of Python's; `docs/how-to/filter.md` describes it. A missing value makes a comparison unknown,
//! and unknown samples are not selected. What cannot be compared is an error where the answer depends on it.

pub mod blocks;
mod evaluate;
mod failure;
mod kinds;
mod numbers;
pub mod numpy_scalar;
pub mod parallel;
mod parse;
pub mod rows;
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
    /// `Invalid` with the place of what is wrong, `Limit` for one that is too long or too deep.
    pub fn parse(text: &str) -> Result<Self> {
        let (condition, paths) = parse::parse(text)?;
        let expression = Self { text: text.to_owned(), condition, paths };
        expression.check_kinds(&[])?;
        Ok(expression)
    }

    /// The paths that it asks about, each once.
    pub fn paths(&self) -> &[PathText] {
        &self.paths
    }
}
