//! Leaves out the rows that an expression does not select, for any input format.

use crate::RowChunk;
use crate::suggest::no_such_column;
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use jinx_core::npy;
use jinx_core::row_events::{Blob, Dtype, Number, Payload, Sink};
use jinx_format::expression::numpy_scalar;
use jinx_format::expression::tree::Cell;
use jinx_format::expression::{Expression, PathText, Sample, characters};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

/// The maximum number of names that are kept for the error about a path that does not occur.
const MAX_NAMES: usize = 1000;

/// The condition that selects rows. Shared by all threads.
#[derive(Debug)]
pub(crate) struct Condition {
    expression: Expression,
    /// For each path, whether any row had it.
    found: Vec<AtomicBool>,
    /// Other names in rows, for messages.
    others: RwLock<BTreeSet<String>>,
    has_looked: AtomicBool,
}

impl Condition {
    /// # Errors
    /// The errors of [`Expression::parse`].
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let expression = Expression::parse(text)?;
        let found = expression.paths().iter().map(|_| AtomicBool::new(false)).collect();
        Ok(Self { expression, found, others: RwLock::default(), has_looked: AtomicBool::new(false) })
    }

    /// The columns that the condition may read.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &str> {
        self.expression.paths().iter().flat_map(|path| [first_name(path), path.text.as_str()])
    }

    /// Whether row `i` is selected.
    ///
    /// # Errors
    /// What is wrong with the row; `Invalid` for values that cannot be compared.
    pub(crate) fn selects(&self, chunk: &dyn RowChunk, i: usize) -> Result<bool> {
        self.has_looked.store(true, Ordering::Relaxed);
        let mut picked = Picked::new(self);
        chunk.emit(i, &mut picked)?;
        self.expression.selects(&picked)
    }

    /// Fails for a path that rows with these columns cannot have.
    ///
    /// # Errors
    /// `Invalid`, with similar names.
    pub(crate) fn check_names(&self, columns: &[String]) -> Result<()> {
        let is_known = |name: &str| columns.iter().any(|other| other == name);
        let paths = self.expression.paths();
        match paths.iter().find(|path| !is_known(first_name(path)) && !is_known(&path.text)) {
            Some(path) => Err(unknown(path, columns.iter().map(String::as_str))),
            None => Ok(()),
        }
    }

    /// Fails for a path that no row had. If there were no rows, it accepts all paths.
    ///
    /// # Errors
    /// `Invalid`, with similar names.
    pub(crate) fn check(&self) -> Result<()> {
        let missing = |(_, found): &(_, &AtomicBool)| !found.load(Ordering::Relaxed);
        let path = self.expression.paths().iter().zip(&self.found).find(missing);
        match path.filter(|_| self.has_looked.load(Ordering::Relaxed)) {
            Some((path, _)) => {
                let others = self.others.read().unwrap_or_else(PoisonError::into_inner);
                Err(unknown(path, others.iter().map(String::as_str)))
            }
            None => Ok(()),
        }
    }

    fn note(&self, path: usize) {
        if let Some(is_found) = self.found.get(path)
            && !is_found.load(Ordering::Relaxed)
        {
            is_found.store(true, Ordering::Relaxed);
        }
    }

    /// Records a name in a dict, for the error about a path that is never found.
    fn note_other(&self, above: &[&str], name: &str) {
        if self.found.iter().all(|found| found.load(Ordering::Relaxed)) {
            return;
        }
        let text = above.iter().chain([&name]).copied().collect::<Vec<_>>().join(".");
        let others = self.others.read().unwrap_or_else(PoisonError::into_inner);
        let is_new = others.len() < MAX_NAMES && !others.contains(&text);
        drop(others);
        if is_new {
            self.others.write().unwrap_or_else(PoisonError::into_inner).insert(text);
        }
    }
}

fn first_name(path: &PathText) -> &str {
    path.names.first().map_or("", String::as_str)
}

fn unknown<'a>(path: &PathText, columns: impl Iterator<Item = &'a str> + Clone) -> Error {
    let what = no_such_column(&path.text, columns);
    let text = path.text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    Error::invalid(text.map_or(what.clone(), |text| format!("{what}; a string is written '{text}'")))
}

/// The values of one row at the paths of an expression.
struct Picked<'c> {
    condition: &'c Condition,
    slots: Vec<Option<Slot>>,
    /// The open containers around the current value: dicts on the way to paths, and last perhaps a list or dict that is
    /// itself the value of a path.
    open: Vec<OpenContainer>,
    /// The number of open containers inside those in `open`; no path leads into them.
    ignored: usize,
    /// The paths that continue inside the current value, and those that end at it.
    through: Vec<usize>,
    ends: Vec<End>,
}

struct Slot {
    value: Cell<'static>,
    /// The error says why the value has no length.
    length: Result<u64>,
    is_exact: bool,
}

#[derive(Clone, Copy)]
struct End {
    path: usize,
    /// A top-level name that equals the text of the path; it takes precedence over the path.
    is_exact: bool,
}

#[derive(Default)]
struct OpenContainer {
    /// The paths that continue inside it; their names show the depth.
    through: Vec<usize>,
    ends: Vec<End>,
    /// Whether it is a list, which has no names.
    is_list: bool,
    members: u64,
}

impl<'c> Picked<'c> {
    fn new(condition: &'c Condition) -> Self {
        let paths = condition.expression.paths().len();
        Self {
            condition,
            slots: (0..paths).map(|_| None).collect(),
            open: Vec::new(),
            ignored: 0,
            through: (0..paths).collect(),
            ends: Vec::new(),
        }
    }

    /// Begins any value; returns whether a path ends at it.
    fn begin(&mut self) -> bool {
        if self.ignored > 0 {
            return false;
        }
        if let Some(list) = self.open.last_mut().filter(|open| open.is_list) {
            list.members += 1;
            return false;
        }
        !self.ends.is_empty()
    }

    fn scalar(&mut self, value: Cell<'static>, length: impl FnOnce() -> Result<u64>) -> Result<()> {
        if self.begin() {
            let ends = std::mem::take(&mut self.ends);
            self.put(&ends, value, length());
        }
        Ok(())
    }

    fn number(&mut self, value: Cell<'static>) -> Result<()> {
        self.scalar(value, || Err(Error::mismatch("numbers, bools and null have no length")))
    }

    fn put(&mut self, ends: &[End], value: Cell<'static>, length: Result<u64>) {
        for end in ends {
            self.condition.note(end.path);
            let Some(slot) = self.slots.get_mut(end.path) else { continue };
            if end.is_exact || !slot.as_ref().is_some_and(|slot| slot.is_exact) {
                *slot = Some(Slot { value: value.clone(), length: length.clone(), is_exact: end.is_exact });
            }
        }
    }

    fn begin_container(&mut self, is_list: bool) {
        let is_asked = self.begin();
        let is_inside_list = self.open.last().is_some_and(|open| open.is_list);
        let leads_on = !is_list && !self.through.is_empty() && !is_inside_list;
        if self.ignored > 0 || !(is_asked || leads_on) {
            self.ignored += 1;
            return;
        }
        let through = if leads_on { std::mem::take(&mut self.through) } else { Vec::new() };
        let ends = std::mem::take(&mut self.ends);
        self.open.push(OpenContainer { through, ends, is_list, members: 0 });
    }

    fn end_container(&mut self, what: &'static str) {
        if self.ignored > 0 {
            self.ignored -= 1;
        } else if let Some(open) = self.open.pop() {
            self.put(&open.ends, Cell::Other(what), Ok(open.members));
        }
        self.through.clear();
        self.ends.clear();
    }
}

impl Sink for Picked<'_> {
    fn null(&mut self) -> Result<()> {
        self.number(Cell::Missing)
    }

    fn bool(&mut self, value: bool) -> Result<()> {
        self.number(Cell::Bool(value))
    }

    fn int(&mut self, value: i64) -> Result<()> {
        self.number(Cell::Int(i128::from(value)))
    }

    fn big_int(&mut self, digits: &str) -> Result<()> {
        self.number(Cell::of_digits(digits.to_owned()))
    }

    fn float(&mut self, value: f64) -> Result<()> {
        self.number(Cell::Float(value))
    }

    fn str(&mut self, value: &str) -> Result<()> {
        if self.ends.is_empty() {
            self.begin();
            return Ok(());
        }
        self.scalar(Cell::Text(Cow::Owned(value.to_owned())), || Ok(characters(value)))
    }

    fn blob(&mut self, payload: Payload, blob: Blob<'_>) -> Result<()> {
        let value = match payload {
            Payload::Np => numpy_scalar::cell_of(blob.as_slice()),
            _ => Cell::Other("a binary value"),
        };
        self.scalar(value, || match payload {
            Payload::Raw => Ok(to_u64(blob.as_slice().len())),
            Payload::Npy => {
                let header = npy::parse_header(blob.as_slice())?;
                let first = header.shape.first().copied();
                first.ok_or_else(|| Error::mismatch("an array without dimensions has no length"))
            }
            Payload::Np => Err(Error::mismatch("a number has no length")),
            Payload::Pt => Err(Error::unsupported("the length of a tensor")),
        })
    }

    fn reads_bytes(&self) -> bool {
        self.condition.expression.asks_lengths()
    }

    fn scalar(&mut self, _dtype: Dtype, value: Number) -> Result<()> {
        self.number(match value {
            Number::Int(value) => Cell::Int(i128::from(value)),
            Number::Uint(value) => Cell::Int(i128::from(value)),
            Number::Float(value) => Cell::Float(value),
        })
    }

    fn begin_list(&mut self, _len: usize) -> Result<()> {
        self.begin_container(true);
        Ok(())
    }

    fn end_list(&mut self) -> Result<()> {
        self.end_container("a list");
        Ok(())
    }

    fn begin_dict(&mut self, _len: usize) -> Result<()> {
        self.begin_container(false);
        Ok(())
    }

    fn key(&mut self, name: &str) -> Result<()> {
        if self.ignored > 0 {
            return Ok(());
        }
        let depth = self.open.len();
        let Some(open) = self.open.last_mut() else { return Ok(()) };
        open.members += 1;
        self.through.clear();
        self.ends.clear();
        let paths = self.condition.expression.paths();
        for &path in &open.through {
            let PathText { text, names } = &paths[path];
            let is_next = names.get(depth - 1).is_some_and(|next| next == name);
            if is_next && names.len() == depth {
                self.ends.push(End { path, is_exact: false });
            } else if is_next {
                self.through.push(path);
            }
            if depth == 1 && names.len() > 1 && text == name {
                self.ends.push(End { path, is_exact: true });
            }
        }
        if let Some(first) = open.through.first() {
            let above: Vec<&str> = paths[*first].names.iter().take(depth - 1).map(String::as_str).collect();
            self.condition.note_other(&above, name);
        }
        Ok(())
    }

    fn end_dict(&mut self) -> Result<()> {
        self.end_container("a dict");
        Ok(())
    }
}

impl Sample for Picked<'_> {
    fn value(&self, path: usize) -> Result<Cell<'_>> {
        let slot = self.slots.get(path).and_then(Option::as_ref);
        Ok(slot.map_or(Cell::Missing, |slot| slot.value.borrowed()))
    }

    fn length(&self, path: usize) -> Result<Option<u64>> {
        match self.slots.get(path).and_then(Option::as_ref) {
            Some(slot) if slot.value != Cell::Missing => slot.length.clone().map(Some),
            _ => Ok(None),
        }
    }
}
