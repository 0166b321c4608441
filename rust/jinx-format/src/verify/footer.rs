//! Compares the footer's `fields` and `columns` with the rows.

use crate::fields::{FieldInfo, Measure, Path};
use crate::read::column_view::CellNumber;
use crate::read::columns::{ColumnKind, ColumnType, IndexedColumn};
use crate::read::shard::Shard;
use crate::verify::row::Fact;
use jinx_core::checked_math::u64_at;
use jinx_core::error::{Error, Result};
use serde_json::Value as Json;
use std::collections::{BTreeMap, HashMap};

/// The maximum number of paths that are counted.
const MAX_PATHS: usize = 1 << 16;

/// The values of the rows at one path.
#[derive(Debug, Default)]
struct SeenColumn {
    first: u64,
    kinds: BTreeMap<&'static str, u64>,
    coded: u64,
    quoted: u64,
    bytes: u64,
    decoded: u64,
    /// Whether there are numbers, which have no lengths to compare.
    numbers: bool,
}

/// The values of the rows at all paths that the footer must list.
#[derive(Debug, Default)]
pub struct FieldTally(HashMap<Path, SeenColumn>);

impl FieldTally {
    pub fn add(&mut self, sample: u64, fact: Fact) {
        if self.0.len() >= MAX_PATHS && !self.0.contains_key(&fact.path) {
            return;
        }
        let seen =
            self.0.entry(fact.path).or_insert_with(|| SeenColumn { first: sample, ..SeenColumn::default() });
        *seen.kinds.entry(fact.kind).or_default() += 1;
        seen.quoted += u64::from(fact.quoted);
        if let Some((stored, decoded)) = fact.coded {
            seen.coded += 1;
            seen.bytes += stored;
            seen.decoded += decoded;
            seen.numbers |= decoded == 0;
        }
    }

    /// Compares the values with the footer's list.
    pub fn compare(&self, fields: &[FieldInfo]) -> Vec<Error> {
        let listed: HashMap<&[Option<String>], &FieldInfo> =
            fields.iter().map(|field| (field.path.as_slice(), field)).collect();
        let open = |path: &[Option<String>]| {
            (0..=path.len()).any(|end| listed.get(&path[..end]).is_some_and(|field| field.open))
        };
        let mut problems = Vec::new();
        if listed.len() != fields.len() {
            problems.push(Error::corrupt("'fields' lists a path twice"));
        }
        let mut paths: Vec<_> = self.0.iter().collect();
        paths.sort_by(|a, b| (a.1.first, a.0).cmp(&(b.1.first, b.0)));
        for (path, seen) in paths {
            let is_open = open(path);
            let what = match listed.get(path.as_slice()) {
                Some(_) if is_open => continue,
                Some(field) => difference(field, seen),
                None if is_open => continue,
                None if seen.coded == 0 && seen.quoted == 0 => {
                    Some("the footer's 'fields' lacks the name".to_owned())
                }
                None => Some(
                    "the footer's 'fields' lacks the path, which carries chains or quoted names".to_owned(),
                ),
            };
            if let Some(what) = what {
                problems.push(at_path(Error::corrupt(what).in_sample(seen.first), path));
            }
        }
        let is_complete = self.0.len() < MAX_PATHS;
        for field in fields {
            if is_complete
                && !self.0.contains_key(&field.path)
                && (field.coded > 0 || field.quoted > 0)
                && !open(&field.path)
            {
                let what = format!("the footer counts {} values with chains, there are none", field.coded);
                problems.push(at_path(Error::corrupt(what), &field.path));
            }
        }
        problems
    }
}

fn difference(field: &FieldInfo, seen: &SeenColumn) -> Option<String> {
    let lengths = !seen.numbers && seen.coded > 0;
    for (what, listed, found) in [
        ("values with chains", field.coded, seen.coded),
        ("quoted names", field.quoted, seen.quoted),
        ("stored bytes", if lengths { field.bytes } else { 0 }, if lengths { seen.bytes } else { 0 }),
        ("decoded bytes", if lengths { field.decoded } else { 0 }, if lengths { seen.decoded } else { 0 }),
    ] {
        if listed != found {
            return Some(format!("the footer counts {listed} {what}, there are {found}"));
        }
    }
    if field.path.len() > 1 {
        return None;
    }
    let kinds: BTreeMap<&str, u64> =
        field.kinds.iter().map(|(kind, count)| (kind.as_str(), count.as_u64().unwrap_or_default())).collect();
    let same = kinds.len() == seen.kinds.len()
        && kinds.iter().all(|(kind, count)| seen.kinds.get(kind) == Some(count));
    (!same).then(|| {
        format!(
            "the footer counts {}, there are {}",
            Json::Object(field.kinds.clone()),
            serde_json::json!(seen.kinds)
        )
    })
}

/// Adds a path to an error.
pub fn at_path(error: Error, path: &[Option<String>]) -> Error {
    path.iter().rev().fold(error, |error, part| error.in_column(part.as_deref().unwrap_or("[]")))
}

/// One column, with the path along which it is compared.
pub struct OpenColumn {
    path: Path,
    kind: ColumnKind,
    column: IndexedColumn,
}

impl OpenColumn {
    /// Opens all columns; those that cannot be read are reported as problems.
    pub fn open_all(shard: &Shard) -> (Vec<Self>, Vec<Error>) {
        let (mut columns, mut problems) = (Vec::new(), Vec::new());
        for info in &shard.footer().columns {
            let kind = match info.kind.as_str() {
                "value" => Some(ColumnKind::Value),
                "length" => Some(ColumnKind::Length),
                _ => None,
            };
            let opened = kind
                .ok_or_else(|| Error::corrupt(format!("a column of the kind '{}'", info.kind)))
                .and_then(|kind| Ok((kind, shard.read_column(info)?)));
            match opened {
                Ok((kind, column)) => columns.push(Self { path: info.path.clone(), kind, column }),
                Err(error) => {
                    let what = format!("the column: {}", error.what());
                    problems.push(at_path(Error::new(error.cause(), what), &info.path));
                }
            }
        }
        (columns, problems)
    }

    /// Compares cell `i` with the row.
    ///
    /// # Errors
    /// `Corrupt` when they differ.
    pub fn check(&self, shard: &Shard, i: u64, line: &[u8]) -> Result<()> {
        let path: Option<Vec<&str>> = self.path.iter().map(Option::as_deref).collect();
        let path = path.ok_or_else(|| Error::corrupt("a column along a list's elements"))?;
        let measure =
            shard.measure_line(line, &path, self.kind).map(|measure| measure.unwrap_or(Measure::None));
        let measure = measure.map_err(|error| at_path(error, &self.path))?;
        if self.fits(i, &measure) {
            return Ok(());
        }
        let what = format!("the column's {} differs from the row's", self.kind.name());
        Err(at_path(Error::corrupt(what), &self.path))
    }

    fn fits(&self, i: u64, measure: &Measure) -> bool {
        let cell = self.column.cell(i);
        if *measure == Measure::None {
            return !self.column.is_valid(i) && cell.iter().all(|byte| *byte == 0);
        }
        if !self.column.is_valid(i) {
            return false;
        }
        let dtype = self.column.dtype;
        match measure {
            Measure::Bool(value) => dtype == ColumnType::Bool && cell == [u8::from(*value)],
            Measure::Int(value) => int_fits(dtype, cell, i128::from(*value)),
            Measure::Uint(value) | Measure::Length(value) => int_fits(dtype, cell, i128::from(*value)),
            Measure::Float(value) => {
                let stored = f64::from_bits(u64_at(cell, 0).unwrap_or_default());
                let same = stored.to_bits() == value.to_bits() || (stored.is_nan() && value.is_nan());
                dtype == ColumnType::Float64 && same
            }
            Measure::Text(value) => dtype == ColumnType::Utf8 && cell == value.as_bytes(),
            Measure::None | Measure::Huge(_) => false,
        }
    }
}

fn int_fits(dtype: ColumnType, cell: &[u8], value: i128) -> bool {
    match dtype.number(cell) {
        None | Some(CellNumber::Bool(_)) => false,
        Some(CellNumber::Int(stored)) => i128::from(stored) == value,
        Some(CellNumber::Uint(stored)) => i128::from(stored) == value,
        Some(CellNumber::Float(stored)) => {
            // A column of floats can contain only integers below 2^53, which are exact.
            #[allow(clippy::cast_precision_loss)]
            let exact = value as f64;
            value.unsigned_abs() <= 1 << 53 && stored.to_bits() == exact.to_bits()
        }
    }
}
