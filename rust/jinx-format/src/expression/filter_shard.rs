//! Finds the samples of a shard that an expression selects. Uses indexed columns if they give the answer, and reads
//! rows otherwise.

use crate::expression::Expression;
use crate::expression::blocks::{Block, ShardColumns};
use crate::expression::evaluate::Sample;
use crate::expression::tree::Cell;
use crate::expression::truth::Truth;
use crate::key::{Form, Kind};
use crate::read::find_paths::{FoundValue, KnownMembers, PathTree};
use crate::read::measure::value_length;
use crate::read::shard::Shard;
use jinx_core::error::Result;
use jinx_core::json;
use jinx_core::row_events::Payload;
use jinx_core::value::TreeBuilder;
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a path was looked up, and whether any sample has it.
#[derive(Debug, Default)]
struct Seen {
    looked: AtomicBool,
    found: AtomicBool,
}

/// An expression with resolved paths, for filtering shards.
#[derive(Debug)]
pub struct RowFilter<'e> {
    expression: &'e Expression,
    paths: Vec<Vec<String>>,
    seen: Vec<Seen>,
}

impl<'e> RowFilter<'e> {
    /// `paths` contains the names in each path of the expression, in the order of [`Expression::paths`].
    pub fn new(expression: &'e Expression, paths: Vec<Vec<String>>) -> Self {
        let seen = paths.iter().map(|_| Seen::default()).collect();
        Self { expression, paths, seen }
    }

    pub fn expression(&self) -> &Expression {
        self.expression
    }

    pub fn paths(&self) -> &[Vec<String>] {
        &self.paths
    }

    /// Records that a path was looked up in a sample, and whether it was found.
    pub fn note(&self, path: usize, is_there: bool) {
        let Some(seen) = self.seen.get(path) else { return };
        let flag = if is_there { &seen.found } else { &seen.looked };
        // Write the flag only once, because all threads read it for every sample.
        if !flag.load(Ordering::Relaxed) {
            flag.store(true, Ordering::Relaxed);
        }
    }

    /// For each path, whether it was looked up and found in no sample.
    pub fn not_found(&self) -> Vec<bool> {
        let not_found =
            |seen: &Seen| seen.looked.load(Ordering::Relaxed) && !seen.found.load(Ordering::Relaxed);
        self.seen.iter().map(not_found).collect()
    }

    /// The indexed columns of a shard that the expression can use.
    ///
    /// # Errors
    /// The errors of [`Shard::column`].
    pub fn columns<'s>(&self, shard: &'s Shard) -> Result<ShardColumns<'s>> {
        let columns = ShardColumns::open(self.expression, &self.paths, shard)?;
        // A path with an indexed column counts as found, even if other shards do not have the path.
        (0..self.paths.len()).filter(|path| columns.has(*path)).for_each(|path| self.note(path, true));
        Ok(columns)
    }

    /// For each row, whether it is selected.
    ///
    /// # Errors
    /// The error of a row that must be read, with its place.
    pub fn select(&self, shard: &Shard, columns: &ShardColumns<'_>, rows: Block<'_>) -> Result<Vec<bool>> {
        columns.require(rows)?;
        let answers = columns.answers(self.expression, rows);
        let scanned = (0..self.paths.len()).filter(|path| !columns.has(*path));
        let tree = PathTree::new(scanned.map(|path| (path, &self.paths[path][..])));
        let answers = answers.unwrap_or_else(|| vec![Truth::OPEN; rows.len()]);
        // No branch per answer, because the processor could not predict it.
        let mut selected: Vec<bool> = answers.iter().map(|answer| answer.is_true()).collect();
        if !Truth::any_open(&answers) {
            return Ok(selected);
        }
        let open: Vec<usize> = (0..rows.len()).filter(|i| answers[*i].is_open()).collect();
        let numbers: Vec<u64> = open.iter().map(|i| rows.row(*i)).collect();
        let selects = |row: u64, values: &[Option<FoundValue<'_>>]| {
            let sample = RowSample { shard, columns, row, found: values };
            self.expression.selects(&sample).map_err(|error| shard.here(error, row))
        };
        if tree.is_empty() {
            for (i, row) in open.into_iter().zip(numbers) {
                selected[i] = selects(row, &[])?;
            }
            return Ok(selected);
        }
        let mut known = KnownMembers::default();
        shard.each_line(&numbers, &mut |at, line| {
            let row = numbers[at];
            let found = shard.find_paths_like(line, &tree, &mut known);
            let values = found.map_err(|error| shard.here(error, row))?;
            values.iter().enumerate().for_each(|(path, value)| self.note(path, value.is_some()));
            selected[open[at]] = selects(row, &values)?;
            Ok(())
        })?;
        Ok(selected)
    }
}

/// One row. The values at some of its paths come from indexed columns.
struct RowSample<'r> {
    shard: &'r Shard,
    columns: &'r ShardColumns<'r>,
    row: u64,
    found: &'r [Option<FoundValue<'r>>],
}

impl RowSample<'_> {
    fn found(&self, path: usize) -> Option<&FoundValue<'_>> {
        self.found.get(path)?.as_ref()
    }
}

impl Sample for RowSample<'_> {
    fn value(&self, path: usize) -> Result<Cell<'_>> {
        if let Some(cell) = self.columns.value(path, self.row) {
            return Ok(cell);
        }
        self.found(path).map_or(Ok(Cell::Missing), |found| cell_of(self.shard, found))
    }

    fn length(&self, path: usize) -> Result<Option<u64>> {
        if let Some(length) = self.columns.length(path, self.row) {
            return Ok(length);
        }
        match self.found(path) {
            None => Ok(None),
            Some(found) if is_null(found) => Ok(None),
            Some(found) => value_length(self.shard, found.chain, found.text, found.node).map(Some),
        }
    }

    fn is_none(&self, path: usize) -> Result<bool> {
        Ok(match self.columns.is_none(path, self.row) {
            Some(is_none) => is_none,
            None => self.found(path).is_none_or(is_null),
        })
    }
}

fn is_null(value: &FoundValue<'_>) -> bool {
    value.chain.is_none() && Form::of(value.text.first().copied().unwrap_or_default()) == Form::Null
}

/// A stored value, as a cell for expressions.
fn cell_of<'l>(shard: &'l Shard, value: &FoundValue<'l>) -> Result<Cell<'l>> {
    let form = Form::of(value.text.first().copied().unwrap_or_default());
    match value.chain.map(|chain| chain.kind) {
        None => match form {
            Form::List => return Ok(Cell::Other("a list")),
            Form::Dict => return Ok(Cell::Other("a dict")),
            Form::Str => {
                if let Some(text) = plain_string(value.text) {
                    return Ok(Cell::Text(Cow::Borrowed(text)));
                }
            }
            Form::Number => {
                if let Some(number) = plain_number(value.text) {
                    return Ok(number);
                }
            }
            _ => {}
        },
        Some(Kind::Blob(payload)) if payload != Payload::Np => return Ok(Cell::Other("a binary value")),
        Some(_) => {}
    }
    let mut tree = TreeBuilder::default();
    match (value.chain, form) {
        (None, Form::Number | Form::Bool | Form::Null) => json::emit(value.text, 1, &mut tree)?,
        _ => shard.emit_value(value.chain, value.text, value.node, 1, &mut tree)?,
    }
    Ok(Cell::of_value(&tree.take()?).into_owned())
}

/// A number without an exponent. `None` if the caller must use the full JSON parser.
fn plain_number(text: &[u8]) -> Option<Cell<'static>> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let end = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    let (whole, rest) = digits.split_at(end);
    if whole.is_empty() || (whole.len() > 1 && whole.starts_with(b"0")) {
        return None;
    }
    let text = std::str::from_utf8(text).ok()?;
    if rest.is_empty() {
        return text.parse::<i64>().ok().map(|value| Cell::Int(value.into()));
    }
    let fraction = rest.strip_prefix(b".").filter(|fraction| !fraction.is_empty())?;
    let is_plain = fraction.iter().all(u8::is_ascii_digit);
    text.parse().ok().filter(|_| is_plain).map(Cell::Float)
}

/// A JSON string without escapes.
fn plain_string(text: &[u8]) -> Option<&str> {
    let inner = text.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    // No branch per byte, so that many bytes are compared at once.
    let is_special = inner.iter().fold(false, |is, byte| is | (*byte < b' ') | (*byte == b'\\'));
    if is_special { None } else { std::str::from_utf8(inner).ok() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn plain_numbers_are_those_of_the_json_reader() {
        let texts = [
            "0",
            "-0",
            "7",
            "-12",
            "0.5",
            "-0.0",
            "1.10",
            "123456789012345678901234567890",
            "9223372036854775807",
            "-9223372036854775808",
            "9223372036854775808",
            "0.1000000000000000055511151231257827",
            "1e5",
            "1.5e-3",
            "2.2250738585072011",
            "179769313486231580793728971405301",
        ];
        for text in texts {
            let mut tree = TreeBuilder::default();
            json::emit(text.as_bytes(), 1, &mut tree).unwrap();
            let value = tree.take().unwrap();
            let expected = Cell::of_value(&value);
            if let Some(number) = plain_number(text.as_bytes()) {
                assert_eq!(format!("{number:?}"), format!("{expected:?}"), "{text}");
            } else {
                assert!(text.contains('e') || text.len() > 18, "{text}");
            }
        }
        for text in ["", "-", "01", "-01", "1.", ".5", "+1", "1.5.2", "1.a", "NaN", "0x1", "1_0", "1.-5"] {
            assert!(plain_number(text.as_bytes()).is_none(), "{text}");
        }
    }
}
