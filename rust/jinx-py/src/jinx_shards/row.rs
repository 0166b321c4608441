//! The text of a row and the locations of its columns. It is read once, and scanned only as far as needed.

use jinx_core::json::scan::{Members, Span};
use jinx_core::json::text::unescape;
use jinx_core::key_set::KeySet;
use jinx_core::{Error, Result};
use jinx_format::key::{Chain, FormatVersion};
use jinx_format::read::marked_rows::marked;
use jinx_format::read::shard::Shard;
use std::borrow::Cow;
use std::mem;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Compare names one by one for up to this many columns; use hashes for more.
const FEW_COLUMNS: usize = 32;
/// Initial capacity, in columns.
const EXPECTED_COLUMNS: usize = 8;

/// One column: the locations of its name and its value in the line.
#[derive(Debug)]
pub struct RowColumn {
    name: Name,
    pub chain: Option<Chain>,
    value: (u32, u32),
    elements: u32,
}

#[derive(Debug)]
enum Name {
    /// The start and end of the name in the line.
    Plain(u32, u32),
    /// The name without escapes.
    Owned(Box<str>),
}

#[derive(Debug)]
pub struct Row {
    pub line: Vec<u8>,
    /// All columns, once the whole line is scanned.
    columns: OnceLock<Vec<RowColumn>>,
    /// The columns before the point where the last lookup stopped scanning.
    scanned: Mutex<Vec<RowColumn>>,
}

/// A column found in a row.
#[derive(Debug, Clone, Copy)]
pub struct Found<'r> {
    pub chain: Option<Chain>,
    pub text: &'r [u8],
    /// The start of the text in its line. It identifies the column in the row.
    pub start: u32,
    /// Number of elements of a list or members of a dict, counted during the scan.
    pub elements: u32,
}

impl Row {
    pub fn new(line: Vec<u8>) -> Self {
        Self { line, columns: OnceLock::new(), scanned: Mutex::default() }
    }

    /// Returns all columns in order. The first call scans the line.
    pub fn columns(&self, shard: &Shard) -> Result<&[RowColumn]> {
        if let Some(columns) = self.columns.get() {
            return Ok(columns);
        }
        let mut columns = mem::take(&mut *self.scanned());
        scan(shard, &self.line, &mut columns, None)?;
        Ok(self.columns.get_or_init(|| columns))
    }

    /// Looks up a column. Continues the scan where the last lookup stopped, and stops at the column.
    pub fn find(&self, shard: &Shard, name: &str) -> Result<Option<Found<'_>>> {
        let is_it = |column: &&RowColumn| column.raw_name(&self.line) == name.as_bytes();
        // In old files, the last of several equal names is valid, so the whole line must be scanned.
        let stops_early = shard.rules() == FormatVersion::V1_1;
        if self.columns.get().is_none() && stops_early {
            let mut scanned = self.scanned();
            if let Some(column) = scanned.iter().find(is_it) {
                return Ok(Some(self.found(column)));
            }
            if scanned.len() < FEW_COLUMNS && scan(shard, &self.line, &mut scanned, Some(name))? {
                return Ok(scanned.last().map(|column| self.found(column)));
            }
        }
        Ok(self.columns(shard)?.iter().find(is_it).map(|column| self.found(column)))
    }

    fn scanned(&self) -> MutexGuard<'_, Vec<RowColumn>> {
        self.scanned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn name<'r>(&'r self, column: &'r RowColumn) -> &'r str {
        // The scan has checked that the name is UTF-8.
        std::str::from_utf8(column.raw_name(&self.line)).unwrap_or_default()
    }

    pub fn found(&self, column: &RowColumn) -> Found<'_> {
        Found {
            chain: column.chain,
            text: self.text(column),
            start: column.value.0,
            elements: column.elements,
        }
    }

    fn text(&self, column: &RowColumn) -> &[u8] {
        &self.line[column.value.0 as usize..column.value.1 as usize]
    }
}

fn split<'r>(shard: &Shard, raw: &'r [u8], text: &[u8]) -> Result<(Cow<'r, str>, Option<Chain>)> {
    shard.footer().split_key(unescape(raw)?, text)
}

impl RowColumn {
    fn raw_name<'r>(&'r self, line: &'r [u8]) -> &'r [u8] {
        match &self.name {
            Name::Plain(start, end) => &line[*start as usize..*end as usize],
            Name::Owned(name) => name.as_bytes(),
        }
    }
}

/// Adds the columns after the last of `columns`, up to and including `stop`. Returns whether `stop` was found.
fn scan(shard: &Shard, line: &[u8], columns: &mut Vec<RowColumn>, stop: Option<&str>) -> Result<bool> {
    let (mut members, is_marked) = shard.members(line)?;
    if let Some(last) = columns.last() {
        members = Members::behind(line, last.value.1 as usize);
    }
    let keys = shard.known_keys(line);
    // Known names are unique, so check for duplicates only after the first unknown name.
    let mut all_known = columns.is_empty();
    let mut unique = KeySet::default();
    if columns.capacity() == 0 {
        columns.reserve(EXPECTED_COLUMNS);
    }
    while let Some(Span { key, value, elements }) = members.next_member()? {
        let raw = &line[key.0 as usize..key.1 as usize];
        let keys = keys.get(columns.len()).filter(|keys| *keys.raw == *raw);
        let (name, chain) = match keys {
            Some(keys) => (Cow::Borrowed(&*keys.name), keys.chain),
            None => split(shard, raw, &line[value.0 as usize..value.1 as usize])?,
        };
        let chain = if is_marked { marked(&line[value.0 as usize..value.1 as usize]) } else { chain };
        all_known &= keys.is_some();
        // A name without escapes is stored as it is at the start of its key.
        let place = match (&name, u32::try_from(name.len())) {
            (Cow::Borrowed(_), Ok(length)) => Name::Plain(key.0, key.0 + length),
            _ => Name::Owned(name.as_ref().into()),
        };
        let column = RowColumn { name: place, chain, value, elements };
        match if all_known { None } else { place_of(&name, line, columns, &mut unique) } {
            None => columns.push(column),
            Some(_) if shard.rules() == FormatVersion::V1_1 => {
                return Err(Error::corrupt("the name appears twice in one row").in_column(&name));
            }
            Some(at) => columns[at] = column,
        }
        if stop.is_some_and(|stop| stop == name) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the index of a name in the columns; `None` if the name is new.
fn place_of(name: &str, line: &[u8], columns: &[RowColumn], unique: &mut KeySet) -> Option<usize> {
    if columns.len() < FEW_COLUMNS {
        return columns.iter().position(|other| other.raw_name(line) == name.as_bytes());
    }
    if unique.is_empty() {
        for other in columns {
            unique.insert(std::str::from_utf8(other.raw_name(line)).unwrap_or_default());
        }
    }
    unique.insert(name)
}
