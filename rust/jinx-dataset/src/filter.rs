//! Selects samples of a dataset by an expression.

use crate::column_data::ColumnData;
use crate::dataset::Dataset;
use crate::rows::Rows;
use jinx_core::Result;
use jinx_core::checked_math::to_u64;
use jinx_core::value::{TreeBuilder, Value};
use jinx_format::expression::filter_shard::RowFilter;
use jinx_format::expression::float_types::FloatTypes;
use jinx_format::expression::parallel::in_blocks;
use jinx_format::expression::tree::Cell;
use jinx_format::expression::{Expression, Sample, ValueKind};
use jinx_format::fields::Measure;
use jinx_format::read::columns::{ColumnKind, ColumnType};
use std::cell::OnceCell;

/// The result of a filter.
pub struct Chosen {
    pub positions: Vec<u64>,
    /// For each path, whether it was looked up and found in no sample.
    pub not_found: Vec<bool>,
}

/// Returns the positions of the first `limit` samples that an expression selects. `paths` are the paths of
/// the expression as lists of names, and `kinds` the known kinds of values at each path.
///
/// # Errors
/// `Invalid` for an expression that does not parse or compares values of different kinds; read errors.
pub fn filter(
    dataset: &Dataset,
    text: &str,
    paths: Vec<Vec<String>>,
    kinds: &[Vec<String>],
    limit: Option<u64>,
) -> Result<Chosen> {
    let expression = Expression::parse(text)?;
    let value_kinds = paths.iter().zip(kinds).map(|(path, kinds)| {
        let by_name = ValueKind::common(kinds.iter().map(String::as_str));
        by_name.map_or_else(|| dataset.rows.indexed_kind(path), |kind| Ok(Some(kind)))
    });
    expression.check_kinds(&value_kinds.collect::<Result<Vec<_>>>()?)?;
    let filter = RowFilter::new(&expression, paths);
    let shown = dataset.positions.as_ref().map(|positions| &***positions);
    let positions = dataset.rows.filtered(&filter, shown, limit)?;
    Ok(Chosen { positions, not_found: filter.not_found() })
}

/// [`Rows::filtered`] for any kind of rows. Uses columns that are known without reading samples; for other paths, reads
/// sample by sample.
///
/// # Errors
/// Read errors, and errors of the expression for a sample.
pub fn sample_by_sample<R: Rows + ?Sized>(
    rows: &R,
    filter: &RowFilter<'_>,
    positions: Option<&[u64]>,
    limit: Option<u64>,
) -> Result<Vec<u64>> {
    let column = |path: &Vec<String>| {
        let path: Vec<Option<String>> = path.iter().cloned().map(Some).collect();
        Ok(rows
            .column(&path, ColumnKind::Value)?
            .filter(|column| (column.offsets.is_none() || column.is_typed) && column.width.is_none()))
    };
    let mut columns = filter.paths().iter().map(column).collect::<Result<Vec<_>>>()?;
    without_narrow_floats(rows, filter.paths(), &mut columns)?;
    let count = positions.map_or_else(|| rows.files().samples, |positions| to_u64(positions.len()));
    in_blocks(count, limit, |block| {
        let mut chosen = Vec::new();
        for i in block {
            let position = positions.map_or_else(|| to_u64(i), |positions| positions[i]);
            let values = filter.paths().iter().map(|_| OnceCell::new()).collect();
            let sample = OneSample { rows, filter, columns: &columns, position, values };
            if filter.expression().selects(&sample).map_err(|error| error.in_sample(position))? {
                chosen.push(position);
            }
        }
        Ok(chosen)
    })
}

/// Leaves out indexed columns of float64 whose rows contain float32, because samples have that type.
fn without_narrow_floats<R: Rows + ?Sized>(
    rows: &R,
    paths: &[Vec<String>],
    columns: &mut [Option<ColumnData>],
) -> Result<()> {
    let may_be_narrow = |column: &Option<ColumnData>| {
        column.as_ref().is_some_and(|column| !column.is_typed && column.dtype == ColumnType::Float64.name())
    };
    if !columns.iter().any(may_be_narrow) {
        return Ok(());
    }
    let fields = rows.statistics()?;
    for (path, column) in paths.iter().zip(columns) {
        if may_be_narrow(column) && FloatTypes::at(&fields, path) != FloatTypes::Wide {
            *column = None;
        }
    }
    Ok(())
}

/// A sample that reads only the columns it needs.
struct OneSample<'m, R: ?Sized> {
    rows: &'m R,
    filter: &'m RowFilter<'m>,
    columns: &'m [Option<ColumnData>],
    position: u64,
    values: Vec<OnceCell<Value>>,
}

impl<R: Rows + ?Sized> OneSample<'_, R> {
    fn read(&self, path: usize) -> Result<Value> {
        if let Some(column) = &self.columns[path] {
            self.filter.note(path, true);
            return column.value(self.position);
        }
        let names = &self.filter.paths()[path];
        let Some(first) = names.first() else { return Ok(Value::Null) };
        let mut tree = TreeBuilder::without_bytes();
        jinx_core::row_events::Sink::begin_dict(&mut tree, 1)?;
        self.rows.emit_members(self.position, &|name| name == first, &mut tree)?;
        jinx_core::row_events::Sink::end_dict(&mut tree)?;
        let mut value = tree.take()?;
        for name in names {
            let Value::Dict(members) = value else { return Ok(Value::Null) };
            let Some((_, inner)) = members.into_iter().find(|(key, _)| key == name) else {
                return Ok(Value::Null);
            };
            value = inner;
        }
        self.filter.note(path, true);
        Ok(value)
    }
}

impl<R: Rows + ?Sized> Sample for OneSample<'_, R> {
    fn value(&self, path: usize) -> Result<Cell<'_>> {
        let value = match self.values[path].get() {
            Some(value) => value,
            None => {
                self.filter.note(path, false);
                let value = self.read(path)?;
                self.values[path].get_or_init(|| value)
            }
        };
        let narrow = self.columns[path].as_ref().and_then(|column| column.column_type().ok()?.narrow_float());
        Ok(match (Cell::of_value(value), narrow) {
            (Cell::Float(value), Some(kind)) => Cell::Narrow(value, kind),
            (cell, _) => cell,
        })
    }

    fn length(&self, path: usize) -> Result<Option<u64>> {
        let names: Vec<&str> = self.filter.paths()[path].iter().map(String::as_str).collect();
        let measure = self.rows.measure(&mut std::iter::once(self.position), &names, ColumnKind::Length)?;
        let measure = measure.into_iter().next().flatten();
        self.filter.note(path, measure.is_some());
        Ok(match measure {
            Some(Measure::Length(length)) => Some(length),
            _ => None,
        })
    }
}
