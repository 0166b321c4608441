//! Evaluates an expression on one sample.

use crate::expression::Expression;
use crate::expression::failure::shortened;
use crate::expression::numbers::{compute, negated, order};
use crate::expression::tree::{Cell, Comparison, Condition, Operand, Test, TestKind};
use crate::expression::truth::Truth;
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Cause, Error, Result};
use std::borrow::Cow;

/// The values of a sample that an expression needs. A path is an index into [`Expression::paths`].
pub trait Sample {
    /// The value at a path.
    ///
    /// # Errors
    /// Errors of reading the stored value.
    fn value(&self, path: usize) -> Result<Cell<'_>>;

    /// The length of the value at a path; `None` if there is no value.
    ///
    /// # Errors
    /// The errors of [`Self::value`]; `Mismatch` for a value without a length.
    fn length(&self, path: usize) -> Result<Option<u64>>;

    /// Whether the value at a path is missing or null.
    ///
    /// # Errors
    /// The errors of [`Self::value`].
    fn is_none(&self, path: usize) -> Result<bool> {
        self.value(path).map(|value| value == Cell::Missing)
    }
}

impl Expression {
    /// Whether the sample is selected.
    ///
    /// # Errors
    /// The error of the first value that cannot be read or compared, if the answer depends on it.
    pub fn selects(&self, sample: &impl Sample) -> Result<bool> {
        let mut failure = None;
        let truth = self.answer(&self.condition, sample, &mut failure);
        truth.decided().ok_or_else(|| failure.unwrap_or_else(|| Error::invalid("no value was read")))
    }

    fn answer(&self, condition: &Condition, sample: &impl Sample, failure: &mut Option<Error>) -> Truth {
        match condition {
            Condition::Constant(value) => Truth::of(*value),
            Condition::Not(inner) => !self.answer(inner, sample, failure),
            Condition::All(parts) => {
                let mut all = Truth::TRUE;
                for part in parts {
                    all = all & self.answer(part, sample, failure);
                    if all == Truth::FALSE {
                        break;
                    }
                }
                all
            }
            Condition::Any(parts) => {
                let mut any = Truth::FALSE;
                for part in parts {
                    any = any | self.answer(part, sample, failure);
                    if any == Truth::TRUE {
                        break;
                    }
                }
                any
            }
            Condition::Test(test) => self.test(test, sample).unwrap_or_else(|error| {
                failure.get_or_insert(error);
                Truth::OPEN
            }),
        }
    }

    /// The answer to one test.
    ///
    /// # Errors
    /// The errors of [`Self::selects`]. The error names the path and shows the test.
    pub(crate) fn test(&self, test: &Test, sample: &impl Sample) -> Result<Truth> {
        let answer = match &test.kind {
            TestKind::IsNone(path) => sample.is_none(*path).map(Truth::of),
            TestKind::IsTrue(path) => sample.value(*path).and_then(|value| is_true(&value)),
            TestKind::Compare(left, comparison, right) => {
                self.value_of(left, sample).and_then(|left_value| {
                    let right_value = self.value_of(right, sample)?;
                    match (left, right) {
                        (Operand::Literal(_), _) => {
                            compare(&left_value.seen_by(&right_value), *comparison, &right_value)
                        }
                        (_, Operand::Literal(_)) => {
                            let right_value = right_value.seen_by(&left_value);
                            compare(&left_value, *comparison, &right_value)
                        }
                        _ => compare(&left_value, *comparison, &right_value),
                    }
                })
            }
            TestKind::In(value, items) => self.value_of(value, sample).and_then(|value| {
                let mut any = Truth::FALSE;
                for item in items {
                    any = any | compare(&value, Comparison::Equal, &item.cell().seen_by(&value))?;
                    if any == Truth::TRUE {
                        break;
                    }
                }
                // For a missing value, the result is unknown, even if the list is empty.
                Ok(if value == Cell::Missing { Truth::UNKNOWN } else { any })
            }),
            TestKind::Search(search, text, part) => self.text_of(text, sample).and_then(|text| {
                let part = self.text_of(part, sample)?;
                Ok(match (text, part) {
                    (Some(text), Some(part)) => Truth::of(search.finds(&text, &part)),
                    _ => Truth::UNKNOWN,
                })
            }),
        };
        answer.map_err(|error| self.in_test(error, test))
    }

    /// Adds the test in which the error occurred, and the path of the test, to the error.
    pub(crate) fn in_test(&self, error: Error, test: &Test) -> Error {
        if error.cause() == Cause::Interrupted {
            // Keep the original error: it may come from the caller's function, and a new error would lose this.
            return error;
        }
        let text = shortened(self.text.get(test.span.clone()).unwrap_or_default());
        let shown = Error::new(error.cause(), format!("{}, in: {text}", error.what()));
        let shown = error.path().map_or(shown.clone(), |path| shown.in_file(path));
        if let Some(column) = error.column() {
            return shown.in_column(column);
        }
        let mut paths = Vec::new();
        test.kind.add_paths(&mut paths);
        self.naming(shown, &paths)
    }

    /// The error, with the first of these paths added.
    fn naming(&self, error: Error, paths: &[usize]) -> Error {
        match paths.first().and_then(|path| self.paths.get(*path)) {
            Some(path) => error.in_column(&path.text),
            None => error,
        }
    }

    fn text_of<'s>(&'s self, operand: &'s Operand, sample: &'s impl Sample) -> Result<Option<Cow<'s, str>>> {
        self.value_of(operand, sample)?.text()
    }

    fn value_of<'s>(&'s self, operand: &'s Operand, sample: &'s impl Sample) -> Result<Cell<'s>> {
        match operand {
            Operand::Literal(literal) => Ok(literal.cell()),
            Operand::Path(path) => sample.value(*path),
            Operand::Length(path) => {
                Ok(sample.length(*path)?.map_or(Cell::Missing, |length| Cell::Int(i128::from(length))))
            }
            Operand::Lower(inner) => {
                let text = self.text_of(inner, sample)?;
                Ok(text.map_or(Cell::Missing, |text| Cell::Text(Cow::Owned(text.to_lowercase()))))
            }
            Operand::Negated(inner) => match self.value_of(inner, sample)? {
                Cell::Missing => Ok(Cell::Missing),
                value => negated(&value),
            },
            Operand::Arithmetic(left, operator, right) => {
                let (left_value, right_value) = (self.value_of(left, sample)?, self.value_of(right, sample)?);
                compute(&left_value, *operator, &right_value).map_err(|error| {
                    let mut paths = Vec::new();
                    for operand in
                        if is_at_fault(&right_value, &left_value) { [right, left] } else { [left, right] }
                    {
                        operand.add_paths(&mut paths);
                    }
                    self.naming(error, &paths)
                })
            }
        }
    }
}

fn compare(left: &Cell<'_>, comparison: Comparison, right: &Cell<'_>) -> Result<Truth> {
    let order = match (left, right) {
        (Cell::Missing, _) | (_, Cell::Missing) => return Ok(Truth::UNKNOWN),
        (Cell::Text(left), Cell::Text(right)) => Some(left.as_ref().cmp(right.as_ref())),
        (Cell::Text(_) | Cell::Other(_), _) | (_, Cell::Text(_) | Cell::Other(_)) => {
            let what = format!("{} cannot be compared with {}", left.what(), right.what());
            return Err(Error::invalid(what));
        }
        _ => order(left, right)?,
    };
    Ok(Truth::of(comparison.holds(order)))
}

/// Whether a computation fails because of this value, and not the other one.
fn is_at_fault(value: &Cell<'_>, other: &Cell<'_>) -> bool {
    let size = |cell: &Cell<'_>| match cell {
        Cell::Text(_) | Cell::Other(_) => (3, 0),
        Cell::Huge(_) => (2, 0),
        Cell::Int(value) => (1, value.unsigned_abs()),
        Cell::Missing | Cell::Bool(_) | Cell::Float(_) | Cell::Narrow(..) => (0, 0),
    };
    size(value) > size(other)
}

fn is_true(value: &Cell<'_>) -> Result<Truth> {
    match value {
        Cell::Bool(value) => Ok(Truth::of(*value)),
        Cell::Missing => Ok(Truth::UNKNOWN),
        other => Err(Error::invalid(format!("{} is not a condition; compare it", other.what()))),
    }
}

/// The number of Unicode characters in a string, as Python counts them.
pub fn characters(text: &str) -> u64 {
    to_u64(text.chars().count())
}
