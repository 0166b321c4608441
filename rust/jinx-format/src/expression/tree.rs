//! The tree of a parsed expression.

use crate::expression::numpy_scalar;
use half::f16;
use jinx_core::error::{Error, Result};
use jinx_core::row_events::{Dtype, Number, Payload};
use jinx_core::value::Value;
use std::borrow::Cow;
use std::ops::Range;

/// A condition, which is true, false or unknown for a sample.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
    Constant(bool),
    Test(Test),
}

/// A condition that contains no other condition.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    pub kind: TestKind,
    /// The position in the expression, in bytes.
    pub span: Range<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TestKind {
    Compare(Operand, Comparison, Operand),
    In(Operand, Vec<Literal>),
    /// The number of a path.
    IsNone(usize),
    /// A path without a comparison, which must be true. Its value must be a bool.
    IsTrue(usize),
    Search(Search, Operand, Operand),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// The comparison with its sides exchanged.
    pub fn mirrored(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            same => same,
        }
    }
}

/// A search in a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    Contains,
    StartsWith,
    EndsWith,
}

impl Search {
    pub fn finds(self, text: &str, part: &str) -> bool {
        match self {
            Self::Contains => memchr::memmem::find(text.as_bytes(), part.as_bytes()).is_some(),
            Self::StartsWith => text.starts_with(part),
            Self::EndsWith => text.ends_with(part),
        }
    }
}

/// A part of an expression that yields a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    Literal(Literal),
    /// The number of a path.
    Path(usize),
    /// The length of the value at a path.
    Length(usize),
    Lower(Box<Self>),
    Negated(Box<Self>),
    Arithmetic(Box<Self>, Operator, Box<Self>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    Bool(bool),
    Int(i128),
    /// An integer that does not fit into `Int`, as digits with an optional minus.
    Huge(String),
    Float(f64),
    Text(String),
}

/// A value of one sample, with the kinds of values that expressions distinguish.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell<'a> {
    /// No value, or null.
    Missing,
    Bool(bool),
    Int(i128),
    /// An integer that does not fit into `Int`, as digits with an optional minus.
    Huge(Cow<'a, str>),
    Float(f64),
    /// A float with fewer than 64 bits. NumPy converts a number to this type before it compares them.
    Narrow(f64, NarrowFloat),
    Text(Cow<'a, str>),
    /// A value that is neither a number nor a string; described in words.
    Other(&'static str),
}

/// The float types that cannot represent every float of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NarrowFloat {
    Float16,
    Float32,
}

impl NarrowFloat {
    /// The number of this type that is nearest to `value`.
    #[allow(clippy::cast_possible_truncation)] // rounding is intended
    pub fn nearest(self, value: f64) -> f64 {
        match self {
            Self::Float16 => f16::from_f64(value).to_f64(),
            Self::Float32 => f64::from(value as f32),
        }
    }
}

impl<'a> Cell<'a> {
    /// The cell; if it is a literal, as the other one sees it: NumPy rounds a number to the type of an array's floats.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // the float is rounded further
    pub fn seen_by(self, other: &Cell<'_>) -> Self {
        match (&self, other) {
            (Self::Float(value), Cell::Narrow(_, kind)) => Self::Float(kind.nearest(*value)),
            (Self::Int(value), Cell::Narrow(_, kind)) => Self::Float(kind.nearest(*value as f64)),
            _ => self,
        }
    }

    /// An integer of any size from its digits. A JSON parser must have checked that they are digits.
    pub fn of_digits(digits: impl Into<Cow<'a, str>>) -> Self {
        let digits = digits.into();
        match digits.parse() {
            Ok(value) => Self::Int(value),
            Err(_) => Self::Huge(digits),
        }
    }

    /// Converts a value to a cell.
    pub fn of_value(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Missing,
            Value::Bool(value) => Self::Bool(*value),
            Value::Int(value) | Value::Scalar(_, Number::Int(value)) => Self::Int(i128::from(*value)),
            Value::Scalar(_, Number::Uint(value)) => Self::Int(i128::from(*value)),
            Value::BigInt(digits) => Self::of_digits(digits.as_str()),
            Value::Scalar(Dtype::Float32, Number::Float(value)) => Self::Narrow(*value, NarrowFloat::Float32),
            Value::Float(value) | Value::Scalar(_, Number::Float(value)) => Self::Float(*value),
            Value::Str(text) => Self::Text(Cow::Borrowed(text)),
            Value::Blob { payload: Payload::Np, data, .. } => numpy_scalar::cell_of(data),
            Value::Blob { .. } | Value::Range(_) => Self::Other("a binary value"),
            Value::List(_) => Self::Other("a list"),
            Value::Dict(_) => Self::Other("a dict"),
        }
    }

    /// The same cell; its text is borrowed from this one.
    pub fn borrowed(&self) -> Cell<'_> {
        match self {
            Self::Huge(digits) => Cell::Huge(Cow::Borrowed(digits)),
            Self::Text(text) => Cell::Text(Cow::Borrowed(text)),
            Self::Missing => Cell::Missing,
            Self::Bool(value) => Cell::Bool(*value),
            Self::Int(value) => Cell::Int(*value),
            Self::Float(value) => Cell::Float(*value),
            Self::Narrow(value, kind) => Cell::Narrow(*value, *kind),
            Self::Other(what) => Cell::Other(what),
        }
    }

    /// The same cell; it owns its text.
    pub fn into_owned(self) -> Cell<'static> {
        match self {
            Self::Missing => Cell::Missing,
            Self::Bool(value) => Cell::Bool(value),
            Self::Int(value) => Cell::Int(value),
            Self::Huge(digits) => Cell::Huge(Cow::Owned(digits.into_owned())),
            Self::Float(value) => Cell::Float(value),
            Self::Narrow(value, kind) => Cell::Narrow(value, kind),
            Self::Text(text) => Cell::Text(Cow::Owned(text.into_owned())),
            Self::Other(what) => Cell::Other(what),
        }
    }

    /// The string; `None` for a missing value.
    ///
    /// # Errors
    /// `Invalid` for anything else.
    pub fn text(self) -> Result<Option<Cow<'a, str>>> {
        match self {
            Self::Text(text) => Ok(Some(text)),
            Self::Missing => Ok(None),
            other => Err(Error::invalid(format!("{} where a string is needed", other.what()))),
        }
    }

    /// A description of its kind, for messages.
    pub fn what(&self) -> &'static str {
        match self {
            Self::Missing => "nothing",
            Self::Bool(_) => "a bool",
            Self::Int(_) | Self::Huge(_) | Self::Float(_) | Self::Narrow(..) => "a number",
            Self::Text(_) => "a string",
            Self::Other(what) => what,
        }
    }
}

impl Literal {
    pub fn cell(&self) -> Cell<'_> {
        match self {
            Self::Bool(value) => Cell::Bool(*value),
            Self::Int(value) => Cell::Int(*value),
            Self::Huge(digits) => Cell::Huge(Cow::Borrowed(digits)),
            Self::Float(value) => Cell::Float(*value),
            Self::Text(text) => Cell::Text(Cow::Borrowed(text)),
        }
    }
}
