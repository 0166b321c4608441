//! The samples of a shard that an expression selects: by indexed columns where they tell, else by reading rows.

use crate::expression::Expression;
use crate::expression::blocks::{Block, ShardColumns};
use crate::expression::evaluate::Sample;
use crate::expression::tree::Cell;
use crate::expression::truth::Truth;
use crate::key::{Form, Kind};
use crate::read::find_paths::{FoundValue, PathTree};
use crate::read::measure::value_length;
use crate::read::shard::Shard;
use jinx_core::error::Result;
use jinx_core::json;
use jinx_core::sink::Payload;
use jinx_core::value::TreeBuilder;
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a path was looked for, and whether anybody had it.
#[derive(Debug, Default)]
struct Seen {
    looked: AtomicBool,
    found: AtomicBool,
}

/// An expression over shards, with the paths resolved.
#[derive(Debug)]
pub struct RowFilter<'e> {
    expression: &'e Expression,
    paths: Vec<Vec<String>>,
    seen: Vec<Seen>,
}

impl<'e> RowFilter<'e> {
    /// `paths` are those of the expression as names, in its order.
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

    /// Notes that a path was looked for in a sample, and whether something was there.
    pub fn note(&self, path: usize, is_there: bool) {
        let Some(seen) = self.seen.get(path) else { return };
        let flag = if is_there { &seen.found } else { &seen.looked };
        // Written once: all threads come by for every sample.
        if !flag.load(Ordering::Relaxed) {
            flag.store(true, Ordering::Relaxed);
        }
    }

    /// Of each path, whether it was looked for and no sample had it.
    pub fn in_vain(&self) -> Vec<bool> {
        let in_vain =
            |seen: &Seen| seen.looked.load(Ordering::Relaxed) && !seen.found.load(Ordering::Relaxed);
        self.seen.iter().map(in_vain).collect()
    }

    /// The indexed columns of a shard that the expression can use.
    ///
    /// # Errors
    /// As [`Shard::column`].
    pub fn columns<'s>(&self, shard: &'s Shard) -> Result<ShardColumns<'s>> {
        let columns = ShardColumns::open(self.expression, &self.paths, shard)?;
        // A column is there for all rows, whatever the other shards have.
        (0..self.paths.len()).filter(|path| columns.has(*path)).for_each(|path| self.note(path, true));
        Ok(columns)
    }

    /// Whether each of some rows of a shard is selected.
    ///
    /// # Errors
    /// Of a row that had to be read, with its place.
    pub fn select(&self, shard: &Shard, columns: &ShardColumns<'_>, rows: Block<'_>) -> Result<Vec<bool>> {
        let answers = columns.answers(self.expression, rows);
        let scanned = (0..self.paths.len()).filter(|path| !columns.has(*path));
        let tree = PathTree::new(scanned.map(|path| (path, &self.paths[path][..])));
        let answers = answers.unwrap_or_else(|| vec![Truth::OPEN; rows.len()]);
        // Without a branch for each, of which none could be foreseen.
        let mut selected: Vec<bool> = answers.iter().map(|answer| answer.is_true()).collect();
        let mut line = Vec::new();
        for (i, _) in answers.iter().enumerate().filter(|(_, answer)| answer.is_open()) {
            selected[i] = self.selects_row(shard, columns, &tree, rows.row(i), &mut line)?;
        }
        Ok(selected)
    }

    fn selects_row(
        &self,
        shard: &Shard,
        columns: &ShardColumns<'_>,
        tree: &PathTree<'_>,
        row: u64,
        line: &mut Vec<u8>,
    ) -> Result<bool> {
        let mut select = || {
            if tree.is_empty() {
                return self.expression.selects(&RowSample { shard, columns, row, found: &[] });
            }
            shard.read_line(row, line)?;
            let found = shard.find_paths(line, tree)?;
            found.iter().enumerate().for_each(|(path, value)| self.note(path, value.is_some()));
            self.expression.selects(&RowSample { shard, columns, row, found: &found })
        };
        select().map_err(|error| shard.here(error, row))
    }
}

/// One row, of which the values at some paths are in columns.
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

fn is_null(found: &FoundValue<'_>) -> bool {
    found.chain.is_none() && Form::of(found.text.first().copied().unwrap_or_default()) == Form::Null
}

/// What an expression sees of a stored value.
fn cell_of<'l>(shard: &'l Shard, found: &FoundValue<'l>) -> Result<Cell<'l>> {
    let form = Form::of(found.text.first().copied().unwrap_or_default());
    match found.chain.map(|chain| chain.kind) {
        None => match form {
            Form::List => return Ok(Cell::Other("a list")),
            Form::Dict => return Ok(Cell::Other("a dict")),
            Form::Str => {
                if let Some(text) = plain_string(found.text) {
                    return Ok(Cell::Text(Cow::Borrowed(text)));
                }
            }
            _ => {}
        },
        Some(Kind::Blob(payload)) if payload != Payload::Np => return Ok(Cell::Other("a binary value")),
        Some(_) => {}
    }
    let mut tree = TreeBuilder::default();
    match (found.chain, form) {
        (None, Form::Number | Form::Bool | Form::Null) => json::emit(found.text, 1, &mut tree)?,
        _ => shard.emit_value(found.chain, found.text, found.node, 1, &mut tree)?,
    }
    Ok(Cell::of_value(&tree.take()?).into_owned())
}

/// A JSON string without escapes.
fn plain_string(text: &[u8]) -> Option<&str> {
    let inner = text.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let is_plain = inner.iter().all(|byte| *byte >= b' ' && *byte != b'\\');
    std::str::from_utf8(inner).ok().filter(|_| is_plain)
}
