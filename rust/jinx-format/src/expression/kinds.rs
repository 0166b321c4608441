//! Finds tests that fail on every sample, before any sample is read.

use crate::expression::Expression;
use crate::expression::tree::{Condition, Literal, Operand, Test, TestKind};
use jinx_core::error::{Error, Result};

/// The kind of all values at a path, if the files show it without reading samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    Bool,
    Number,
    Text,
    /// A list, dict, array or bytes.
    Container,
}

impl ValueKind {
    /// The kind that these kinds from a footer's `fields` have in common; `None` if they differ or are not specific
    /// enough.
    pub fn common<'k>(names: impl IntoIterator<Item = &'k str>) -> Option<Self> {
        let mut common = None;
        for name in names.into_iter().filter(|name| *name != "null") {
            let kind = Self::of_name(name)?;
            match common {
                None => common = Some(kind),
                Some(other) if other == kind => {}
                Some(Self::Bool | Self::Number) if matches!(kind, Self::Bool | Self::Number) => {
                    common = Some(Self::Number);
                }
                Some(_) => return None,
            }
        }
        common
    }

    fn of_name(name: &str) -> Option<Self> {
        match name {
            "bool" => Some(Self::Bool),
            "int" | "float" | "int8" | "int16" | "int32" | "int64" | "uint8" | "uint16" | "uint32"
            | "uint64" | "float16" | "float32" | "float64" => Some(Self::Number),
            "str" => Some(Self::Text),
            "list" | "dict" | "bytes" | "ndarray" | "tensor" | "image" => Some(Self::Container),
            _ => None,
        }
    }

    fn what(self) -> &'static str {
        match self {
            Self::Bool => "a bool",
            Self::Number => "a number",
            Self::Text => "a string",
            Self::Container => "a list, dict or binary value",
        }
    }
}

impl Expression {
    /// Checks that every comparison is possible for the known kinds of values at each path.
    ///
    /// # Errors
    /// `Invalid` with the wrong test.
    pub fn check_kinds(&self, kinds: &[Option<ValueKind>]) -> Result<()> {
        self.check_condition(&self.condition, kinds)
    }

    fn check_condition(&self, condition: &Condition, kinds: &[Option<ValueKind>]) -> Result<()> {
        match condition {
            Condition::All(parts) | Condition::Any(parts) => {
                parts.iter().try_for_each(|part| self.check_condition(part, kinds))
            }
            Condition::Not(inner) => self.check_condition(inner, kinds),
            Condition::Constant(_) => Ok(()),
            Condition::Test(test) => check(&test.kind, kinds).map_err(|error| self.in_test(error, test)),
        }
    }

    /// All tests, in order.
    pub(crate) fn tests(&self) -> Vec<&Test> {
        fn add<'c>(condition: &'c Condition, tests: &mut Vec<&'c Test>) {
            match condition {
                Condition::All(parts) | Condition::Any(parts) => {
                    parts.iter().for_each(|part| add(part, tests))
                }
                Condition::Not(inner) => add(inner, tests),
                Condition::Constant(_) => {}
                Condition::Test(test) => tests.push(test),
            }
        }
        let mut tests = Vec::new();
        add(&self.condition, &mut tests);
        tests
    }
}

type Known<'k> = &'k [Option<ValueKind>];

fn check(test: &TestKind, kinds: Known<'_>) -> Result<()> {
    use ValueKind::{Bool, Container, Number, Text};
    match test {
        TestKind::IsNone(_) => Ok(()),
        TestKind::IsTrue(path) => match kinds.get(*path).copied().flatten() {
            None | Some(Bool) => Ok(()),
            Some(Number) => {
                Err(Error::invalid("a number is not a condition; compare it, for instance with > 0"))
            }
            Some(right_kind) => {
                Err(Error::invalid(format!("{} is not a condition; compare it", right_kind.what())))
            }
        },
        TestKind::Compare(left, _, right) => {
            let (left_kind, right_kind) = (kind_of(left, kinds)?, kind_of(right, kinds)?);
            let is_computed =
                |operand: &Operand| matches!(operand, Operand::Arithmetic(..) | Operand::Negated(_));
            match (left_kind, right_kind) {
                (_, Some(Text)) if is_computed(left) => Err(computed_text()),
                (Some(Text), _) if is_computed(right) => Err(computed_text()),
                _ => comparable(left_kind, right_kind),
            }
        }
        TestKind::In(value, items) => {
            let value = kind_of(value, kinds)?;
            items.iter().try_for_each(|item| comparable(value, Some(literal(item))))
        }
        TestKind::Search(_, text, part) => {
            for operand in [text, part] {
                match kind_of(operand, kinds)? {
                    None | Some(Text) => {}
                    Some(kind @ (Bool | Number | Container)) => return Err(needed("a string", kind)),
                }
            }
            Ok(())
        }
    }
}

fn comparable(left: Option<ValueKind>, right: Option<ValueKind>) -> Result<()> {
    let (left, right) = match (left, right) {
        (Some(left @ ValueKind::Container), right) => (left, right.unwrap_or(ValueKind::Container)),
        (left, Some(right @ ValueKind::Container)) => (left.unwrap_or(ValueKind::Container), right),
        (Some(left), Some(right)) if (left == ValueKind::Text) != (right == ValueKind::Text) => (left, right),
        _ => return Ok(()),
    };
    Err(Error::invalid(format!("{} cannot be compared with {}", left.what(), right.what())))
}

fn computed_text() -> Error {
    Error::invalid("+, -, *, /, // and % are for numbers, and their result cannot be compared with a string")
}

fn needed(what: &str, kind: ValueKind) -> Error {
    Error::invalid(format!("{} where {what} is needed", kind.what()))
}

fn literal(literal: &Literal) -> ValueKind {
    match literal {
        Literal::Bool(_) => ValueKind::Bool,
        Literal::Int(_) | Literal::Huge(_) | Literal::Float(_) => ValueKind::Number,
        Literal::Text(_) => ValueKind::Text,
    }
}

fn kind_of(operand: &Operand, kinds: Known<'_>) -> Result<Option<ValueKind>> {
    let of_path = |path: &usize| kinds.get(*path).copied().flatten();
    match operand {
        Operand::Literal(value) => Ok(Some(literal(value))),
        Operand::Path(path) => Ok(of_path(path)),
        Operand::Length(path) => match of_path(path) {
            Some(kind @ (ValueKind::Bool | ValueKind::Number)) => {
                Err(Error::invalid(format!("{} has no length", kind.what())))
            }
            _ => Ok(Some(ValueKind::Number)),
        },
        Operand::Lower(inner) => match kind_of(inner, kinds)? {
            None | Some(ValueKind::Text) => Ok(Some(ValueKind::Text)),
            Some(kind) => Err(needed("a string", kind)),
        },
        Operand::Negated(inner) => number(kind_of(inner, kinds)?),
        Operand::Arithmetic(left, _, right) => {
            number(kind_of(left, kinds)?)?;
            number(kind_of(right, kinds)?)
        }
    }
}

fn number(kind: Option<ValueKind>) -> Result<Option<ValueKind>> {
    match kind {
        Some(kind @ (ValueKind::Text | ValueKind::Container)) => Err(needed("a number", kind)),
        _ => Ok(Some(ValueKind::Number)),
    }
}

impl TestKind {
    /// Adds the numbers of the test's paths, in order.
    pub(crate) fn add_paths(&self, paths: &mut Vec<usize>) {
        match self {
            Self::IsNone(path) | Self::IsTrue(path) => paths.push(*path),
            Self::Compare(left, _, right) | Self::Search(_, left, right) => {
                left.add_paths(paths);
                right.add_paths(paths);
            }
            Self::In(value, _) => value.add_paths(paths),
        }
    }
}

impl Operand {
    pub(crate) fn add_paths(&self, paths: &mut Vec<usize>) {
        match self {
            Self::Literal(_) => {}
            Self::Path(path) | Self::Length(path) => paths.push(*path),
            Self::Lower(inner) | Self::Negated(inner) => inner.add_paths(paths),
            Self::Arithmetic(left, _, right) => {
                left.add_paths(paths);
                right.add_paths(paths);
            }
        }
    }
}
