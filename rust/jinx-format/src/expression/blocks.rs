//! Evaluates an expression on indexed columns, for many rows at once.

use crate::expression::Expression;
use crate::expression::evaluate::{Sample, characters};
use crate::expression::float_types::{FloatTypes, has_integers};
use crate::expression::tree::{Cell, Comparison, Condition, Literal, NarrowFloat, Operand, Test, TestKind};
use crate::expression::truth::Truth;
use crate::read::chunked::ChunkedColumn;
use crate::read::column_view::CellNumber;
use crate::read::columns::{ColumnKind, ColumnType, IndexedColumn};
use crate::read::shard::Shard;
use half::f16;
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use std::borrow::Cow;

/// Rows of one shard: consecutive rows, or a list of any rows.
#[derive(Debug, Clone, Copy)]
pub enum Block<'r> {
    Range { start: u64, len: usize },
    List(&'r [u64]),
}

impl Block<'_> {
    pub fn len(&self) -> usize {
        match self {
            Self::Range { len, .. } => *len,
            Self::List(rows) => rows.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The row at position `i` of the block.
    pub fn row(&self, i: usize) -> u64 {
        match self {
            Self::Range { start, .. } => start + to_u64(i),
            Self::List(rows) => rows.get(i).copied().unwrap_or(u64::MAX),
        }
    }
}

/// What an expression needs to know about a path: its value, its length, or whether it has no value.
#[derive(Debug, Clone, Copy, Default)]
struct Asked {
    value: bool,
    length: bool,
    none: bool,
    /// The value is computed with, so that it must be known whether a number is an integer or a float.
    computed: bool,
}

/// The indexed columns of one shard for the paths of an expression.
#[derive(Debug)]
pub struct ShardColumns<'s> {
    paths: Vec<PathColumns<'s>>,
}

#[derive(Debug, Default)]
struct PathColumns<'s> {
    asked: Asked,
    values: Option<ChunkedColumn<'s>>,
    lengths: Option<ChunkedColumn<'s>>,
    /// The type of the values in the rows, if narrower than that of the column.
    narrow: Option<NarrowFloat>,
}

impl<'s> PathColumns<'s> {
    fn texts(&self) -> Option<&ChunkedColumn<'s>> {
        self.values.as_ref().filter(|column| column.dtype == ColumnType::Utf8)
    }

    fn has_lengths(&self) -> bool {
        self.lengths.is_some() || self.texts().is_some()
    }

    fn any(&self) -> Option<&ChunkedColumn<'s>> {
        self.values.as_ref().or(self.lengths.as_ref())
    }
}

impl<'s> ShardColumns<'s> {
    /// Opens the columns that the expression needs.
    ///
    /// # Errors
    /// The errors of [`Shard::column`].
    pub(crate) fn open(expression: &Expression, paths: &[Vec<String>], shard: &'s Shard) -> Result<Self> {
        let mut all = Vec::with_capacity(paths.len());
        for (names, asked) in paths.iter().zip(expression.asked()) {
            let path: Vec<Option<String>> = names.iter().cloned().map(Some).collect();
            let float_types = FloatTypes::at(&shard.footer().fields, names);
            // The index holds integers between floats as floats, which are added in another way.
            let is_uncertain = asked.computed && has_integers(&shard.footer().fields, names);
            let column = |kind, is_asked: bool| -> Result<_> {
                let column = if is_asked { shard.chunked_column(&path, kind)? } else { None };
                // An expression cannot compare a vector, and compares a time as its text.
                Ok(column.filter(|column| {
                    let is_mixed = float_types == FloatTypes::Mixed || is_uncertain;
                    column.is_scalar() && !(column.dtype == ColumnType::Float64 && is_mixed)
                }))
            };
            let values = column(ColumnKind::Value, asked.value)?;
            let narrow = match (&values, float_types) {
                (Some(values), FloatTypes::Narrow(kind)) if values.dtype == ColumnType::Float64 => Some(kind),
                _ => None,
            };
            let mut columns_of_path =
                PathColumns { asked, values, narrow, lengths: column(ColumnKind::Length, asked.length)? };
            // Either kind of column shows whether there is a value. Prefer lengths, which are smaller.
            if asked.none && columns_of_path.any().is_none() {
                columns_of_path.lengths = column(ColumnKind::Length, true)?;
                if columns_of_path.lengths.is_none() {
                    columns_of_path.values = column(ColumnKind::Value, true)?;
                }
            }
            if asked.length && columns_of_path.lengths.is_none() && columns_of_path.values.is_none() {
                columns_of_path.values = column(ColumnKind::Value, true)?;
            }
            all.push(columns_of_path);
        }
        Ok(Self { paths: all })
    }

    /// Checks the cells of the rows; this must be done before they are read.
    ///
    /// # Errors
    /// The errors of [`ChunkedColumn::require`].
    pub(crate) fn require(&self, rows: Block<'_>) -> Result<()> {
        for column in self.paths.iter().flat_map(|columns| columns.values.iter().chain(&columns.lengths)) {
            match rows {
                Block::Range { start, len } => column.require(start..start.saturating_add(to_u64(len)))?,
                Block::List(rows) => {
                    rows.iter().try_for_each(|row| column.require(*row..row.saturating_add(1)))?
                }
            }
        }
        Ok(())
    }

    /// Whether the columns have everything that the expression needs to know about a path.
    pub fn has(&self, path: usize) -> bool {
        self.paths.get(path).is_some_and(|columns| {
            (!columns.asked.value || columns.values.is_some())
                && (!columns.asked.length || columns.has_lengths())
                && (!columns.asked.none || columns.any().is_some())
        })
    }

    /// The value at a path, if a column has it.
    pub(crate) fn value(&self, path: usize, row: u64) -> Option<Cell<'_>> {
        let columns = self.paths.get(path)?;
        let value = columns.values.as_ref().map(|column| cell(column, row))?;
        Some(match (value, columns.narrow) {
            (Cell::Float(value), Some(kind)) => Cell::Narrow(value, kind),
            (value, _) => value,
        })
    }

    /// The length at a path, if a column has it.
    pub(crate) fn length(&self, path: usize, row: u64) -> Option<Option<u64>> {
        let columns = self.paths.get(path)?;
        if let Some(column) = &columns.lengths {
            return Some(match cell(column, row) {
                Cell::Int(length) => u64::try_from(length).ok(),
                _ => None,
            });
        }
        columns.texts().map(|column| match cell(column, row) {
            Cell::Text(text) => Some(characters(&text)),
            _ => None,
        })
    }

    /// Whether there is no value at a path, if a column can tell.
    pub(crate) fn is_none(&self, path: usize, row: u64) -> Option<bool> {
        self.paths.get(path)?.any().map(|column| !column.is_valid(row))
    }

    /// The answers for the rows, as far as the columns determine them; `None` if they determine none.
    pub(crate) fn answers(&self, expression: &Expression, rows: Block<'_>) -> Option<Vec<Truth>> {
        self.condition(expression, &expression.condition, rows)
    }

    fn condition(
        &self,
        expression: &Expression,
        condition: &Condition,
        rows: Block<'_>,
    ) -> Option<Vec<Truth>> {
        match condition {
            Condition::Constant(value) => Some(vec![Truth::of(*value); rows.len()]),
            Condition::Not(inner) => {
                let mut answers = self.condition(expression, inner, rows)?;
                answers.iter_mut().for_each(|answer| *answer = !*answer);
                Some(answers)
            }
            Condition::All(parts) => self.joined(expression, parts, rows, |left, right| left & right),
            Condition::Any(parts) => self.joined(expression, parts, rows, |left, right| left | right),
            Condition::Test(test) => self.test(expression, test, rows),
        }
    }

    fn joined(
        &self,
        expression: &Expression,
        parts: &[Condition],
        rows: Block<'_>,
        join: impl Fn(Truth, Truth) -> Truth,
    ) -> Option<Vec<Truth>> {
        let mut joined: Option<Vec<Truth>> = None;
        let mut is_open = false;
        for part in parts {
            match (self.condition(expression, part, rows), &mut joined) {
                (None, _) => is_open = true,
                (Some(answers), None) => joined = Some(answers),
                (Some(answers), Some(joined)) => {
                    joined.iter_mut().zip(answers).for_each(|(one, other)| *one = join(*one, other));
                }
            }
        }
        if is_open {
            joined.iter_mut().flatten().for_each(|answer| *answer = join(*answer, Truth::OPEN));
        }
        joined
    }

    fn test(&self, expression: &Expression, test: &Test, rows: Block<'_>) -> Option<Vec<Truth>> {
        if !self.can_tell(&test.kind) {
            return None;
        }
        if let Some(answers) = self.compared(&test.kind, rows) {
            return Some(answers);
        }
        let answer = |i: usize| {
            let sample = IndexedSample { columns: self, row: rows.row(i) };
            // If a value cannot be compared, the answer is open; if that matters, reading the row reports the error.
            expression.test(test, &sample).unwrap_or(Truth::OPEN)
        };
        Some((0..rows.len()).map(answer).collect())
    }

    fn can_tell(&self, test: &TestKind) -> bool {
        match test {
            TestKind::IsNone(path) => self.paths.get(*path).is_some_and(|columns| columns.any().is_some()),
            TestKind::IsTrue(path) => self.can_give(&Operand::Path(*path)),
            TestKind::Compare(left, _, right) | TestKind::Search(_, left, right) => {
                self.can_give(left) && self.can_give(right)
            }
            TestKind::In(value, _) => self.can_give(value),
        }
    }

    fn can_give(&self, operand: &Operand) -> bool {
        match operand {
            Operand::Literal(_) => true,
            Operand::Path(path) => self.paths.get(*path).is_some_and(|columns| columns.values.is_some()),
            Operand::Length(path) => self.paths.get(*path).is_some_and(PathColumns::has_lengths),
            Operand::Lower(inner) | Operand::Negated(inner) => self.can_give(inner),
            Operand::Arithmetic(left, _, right) => self.can_give(left) && self.can_give(right),
        }
    }

    /// Compares numbers with a literal, if the column's type represents it exactly. Takes one instruction per row.
    fn compared(&self, test: &TestKind, rows: Block<'_>) -> Option<Vec<Truth>> {
        let TestKind::Compare(left, comparison, right) = test else { return None };
        let (operand, comparison, literal) = match (left, right) {
            (operand, Operand::Literal(literal)) => (operand, *comparison, literal),
            (Operand::Literal(literal), operand) => (operand, comparison.mirrored(), literal),
            _ => return None,
        };
        let (column, narrow) = match operand {
            Operand::Path(path) => {
                let columns = self.paths.get(*path)?;
                let column = columns.values.as_ref()?;
                (column, columns.narrow.or(column.dtype.narrow_float()))
            }
            Operand::Length(path) => (self.paths.get(*path)?.lengths.as_ref()?, None),
            _ => return None,
        };
        let mut answers = compared(column, narrow, comparison, literal, rows)?;
        if column.validity.is_some() {
            for (i, answer) in answers.iter_mut().enumerate() {
                if !column.is_valid(rows.row(i)) {
                    *answer = Truth::UNKNOWN;
                }
            }
        }
        Some(answers)
    }
}

/// A cell with its type.
fn cell<'c>(column: &'c IndexedColumn, row: u64) -> Cell<'c> {
    if !column.is_valid(row) {
        return Cell::Missing;
    }
    let bytes = column.cell(row);
    match column.dtype.number(bytes) {
        Some(CellNumber::Bool(value)) => Cell::Bool(value),
        Some(CellNumber::Int(value)) => Cell::Int(value.into()),
        Some(CellNumber::Uint(value)) => Cell::Int(value.into()),
        Some(CellNumber::Float(value)) => {
            column.dtype.narrow_float().map_or(Cell::Float(value), |kind| Cell::Narrow(value, kind))
        }
        // Reading the column has already checked the UTF-8.
        None if column.dtype == ColumnType::Utf8 => {
            Cell::Text(Cow::Borrowed(std::str::from_utf8(bytes).unwrap_or_default()))
        }
        // Not reached: `ShardColumns::open` leaves out columns of times.
        None => Cell::Other("a time"),
    }
}

/// The answers, ignoring missing values; `None` for a literal that the type cannot represent. A literal is first rounded
/// to the type `narrow`.
fn compared(
    column: &IndexedColumn,
    narrow: Option<NarrowFloat>,
    comparison: Comparison,
    literal: &Literal,
    rows: Block<'_>,
) -> Option<Vec<Truth>> {
    macro_rules! integers {
        ($($dtype:ident => $number:ty),*) => {
            match (column.dtype, literal) {
                $((ColumnType::$dtype, Literal::Int(value)) => {
                    each(&column.data, comparison, <$number>::try_from(*value).ok()?, rows, <$number>::from_le_bytes)
                })*
                (dtype, literal) if dtype.is_float() => {
                    let value = match literal {
                        Literal::Float(value) => *value,
                        // A float represents every 32-bit integer exactly.
                        Literal::Int(value) => f64::from(i32::try_from(*value).ok()?),
                        _ => return None,
                    };
                    let value = narrow.map_or(value, |kind| kind.nearest(value));
                    match dtype {
                        ColumnType::Float64 => each(&column.data, comparison, value, rows, f64::from_le_bytes),
                        ColumnType::Float32 => {
                            each(&column.data, comparison, value, rows, |cell| f64::from(f32::from_le_bytes(cell)))
                        }
                        _ => each(&column.data, comparison, value, rows, |cell| f64::from(f16::from_le_bytes(cell))),
                    }
                }
                _ => None,
            }
        };
    }
    integers!(Int8 => i8, Int16 => i16, Int32 => i32, Int64 => i64, Uint8 => u8, Uint16 => u16, Uint32 => u32, Uint64 => u64)
}

fn each<const WIDTH: usize, N: PartialOrd + Copy>(
    data: &[u8],
    comparison: Comparison,
    value: N,
    rows: Block<'_>,
    read: impl Fn([u8; WIDTH]) -> N + Copy,
) -> Option<Vec<Truth>> {
    let (cells, _) = data.as_chunks::<WIDTH>();
    match comparison {
        Comparison::Equal => answers(cells, rows, |cell| read(cell) == value),
        Comparison::NotEqual => answers(cells, rows, |cell| read(cell) != value),
        Comparison::Less => answers(cells, rows, |cell| read(cell) < value),
        Comparison::LessOrEqual => answers(cells, rows, |cell| read(cell) <= value),
        Comparison::Greater => answers(cells, rows, |cell| read(cell) > value),
        Comparison::GreaterOrEqual => answers(cells, rows, |cell| read(cell) >= value),
    }
}

/// The answers; `None` if one of the rows does not exist.
fn answers<const WIDTH: usize>(
    cells: &[[u8; WIDTH]],
    rows: Block<'_>,
    holds: impl Fn([u8; WIDTH]) -> bool,
) -> Option<Vec<Truth>> {
    match rows {
        Block::Range { start, len } => {
            let start = usize::try_from(start).ok()?;
            let cells = cells.get(start..start.checked_add(len)?)?;
            Some(cells.iter().map(|cell| Truth::of(holds(*cell))).collect())
        }
        Block::List(rows) => {
            rows.iter().map(|row| Some(Truth::of(holds(*cells.get(usize::try_from(*row).ok()?)?)))).collect()
        }
    }
}

/// A row as a sample whose values come only from indexed columns.
struct IndexedSample<'c> {
    columns: &'c ShardColumns<'c>,
    row: u64,
}

impl Sample for IndexedSample<'_> {
    fn value(&self, path: usize) -> Result<Cell<'_>> {
        self.columns.value(path, self.row).ok_or_else(not_indexed)
    }

    fn length(&self, path: usize) -> Result<Option<u64>> {
        self.columns.length(path, self.row).ok_or_else(not_indexed)
    }

    fn is_none(&self, path: usize) -> Result<bool> {
        self.columns.is_none(path, self.row).ok_or_else(not_indexed)
    }
}

fn not_indexed() -> Error {
    Error::invalid("a path without an indexed column")
}

impl Expression {
    /// Whether the expression needs the length of any value.
    pub fn asks_lengths(&self) -> bool {
        self.asked().iter().any(|asked| asked.length)
    }

    /// What the expression needs to know about each path.
    fn asked(&self) -> Vec<Asked> {
        let mut asked = vec![Asked::default(); self.paths.len()];
        for test in self.tests() {
            match &test.kind {
                TestKind::IsNone(path) => asked[*path].none = true,
                TestKind::IsTrue(path) => asked[*path].value = true,
                TestKind::Compare(left, _, right) | TestKind::Search(_, left, right) => {
                    left.ask(&mut asked, false);
                    right.ask(&mut asked, false);
                }
                TestKind::In(value, _) => value.ask(&mut asked, false),
            }
        }
        asked
    }
}

impl Operand {
    fn ask(&self, asked: &mut [Asked], is_computed: bool) {
        match self {
            Self::Literal(_) => {}
            Self::Path(path) => {
                asked[*path].value = true;
                asked[*path].computed |= is_computed;
            }
            Self::Length(path) => asked[*path].length = true,
            Self::Lower(inner) | Self::Negated(inner) => inner.ask(asked, is_computed),
            Self::Arithmetic(left, _, right) => {
                left.ask(asked, true);
                right.ask(asked, true);
            }
        }
    }
}
