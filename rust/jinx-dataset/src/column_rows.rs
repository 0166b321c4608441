//! Columns that a saved view adds, stored in its file as typed arrays.

use crate::column_data::{ArrowForm, ColumnData, ColumnPart, arrow_field, cell_value};
use crate::files::Files;
use crate::filter::sample_by_sample;
use crate::located::Located;
use crate::projection::Projection;
use crate::rows::{ArrowTypes, Roots, Rows};
use crate::shards::ShardRows;
use jinx_core::checked_math::to_u64;
use jinx_core::row_events::Sink;
use jinx_core::value::Value;
use jinx_core::{Error, Result};
use jinx_format::expression::ValueKind;
use jinx_format::expression::blocks::Block;
use jinx_format::expression::filter_shard::RowFilter;
use jinx_format::expression::parallel::in_blocks;
use jinx_format::fields::{FieldInfo, Measure};
use jinx_format::footer::ColumnInfo;
use jinx_format::meta::Meta;
use jinx_format::own_columns::{field_of, kind_of, name_of};
use jinx_format::read::columns::{ColumnKind, ColumnType};
use jinx_format::read::shard::{OpenOptions, Shard};
use std::any::Any;
use std::sync::Arc;

/// The typed columns of one saved view. Arrays are mapped, and compared with their checksums where they are read.
pub struct ColumnRows {
    /// The file of the view.
    file: Arc<ShardRows>,
    files: Files,
    projection: Projection,
}

impl ColumnRows {
    /// `None` for a view without such columns.
    ///
    /// # Errors
    /// `Invalid` if the file is closed.
    pub fn of(file: &Arc<ShardRows>) -> Result<Option<Self>> {
        let shards = file.shards.get()?;
        if shards.shard(0)?.own_columns().is_empty() {
            return Ok(None);
        }
        let files = Files {
            paths: file.files.paths.clone(),
            base: file.files.base.clone(),
            samples: file.view_samples()?,
        };
        Ok(Some(Self { file: Arc::clone(file), files, projection: Projection::default() }))
    }

    /// Calls `read` with the shard and its visible columns.
    fn with_shard<T>(&self, read: impl FnOnce(&Shard, &[&ColumnInfo]) -> Result<T>) -> Result<T> {
        let shards = self.file.shards.get()?;
        let shard = shards.shard(0)?;
        let shown: Vec<_> =
            shard.own_columns().iter().filter(|info| self.projection.has(name_of(info))).collect();
        read(shard, &shown)
    }

    /// Whether values are in memory, so that reading one waits for no disk and no store.
    pub fn is_mapped(&self) -> bool {
        self.with_shard(|shard, _| Ok(shard.main().is_mapped())).unwrap_or(false)
    }

    /// The value of a column in a sample; `None` for a column that it does not have.
    ///
    /// # Errors
    /// Read errors; `Invalid` past the end.
    pub fn value(&self, name: &str, i: u64) -> Result<Option<Value>> {
        self.with_shard(|shard, shown| {
            let info = shown.iter().find(|info| name_of(info) == name);
            info.map(|info| value_at(shard, info, i)).transpose()
        })
    }
}

fn value_at(shard: &Shard, info: &ColumnInfo, i: u64) -> Result<Value> {
    let column = shard.chunked_column(&info.path, ColumnKind::Value)?;
    let column = column.ok_or_else(|| Error::invalid("a column that the view does not have"))?;
    if i >= column.rows {
        return Err(shard.here(Error::invalid(format!("sample {i} of {}", column.rows)), i));
    }
    column.require(i..i + 1).map_err(|error| error.in_sample(i))?;
    Ok(match column.is_valid(i) {
        true => cell_value(column.dtype, column.width, info.zone.as_deref(), column.cell(i)),
        false => Value::Null,
    })
}

fn measure_of(value: &Value, kind: ColumnKind) -> Result<Measure> {
    match (value, kind) {
        (Value::Null, _) => Ok(Measure::None),
        (Value::Str(text), ColumnKind::Length) => Ok(Measure::Length(to_u64(text.chars().count()))),
        (_, ColumnKind::Length) => Err(Error::mismatch("numbers, bools and null have no length")),
        (Value::Bool(value), _) => Ok(Measure::Bool(*value)),
        (Value::Int(value), _) => Ok(Measure::Int(*value)),
        (Value::BigInt(digits), _) => Ok(Measure::of_digits(digits)),
        (Value::Float(value), _) => Ok(Measure::Float(*value)),
        (Value::Str(text), _) => Ok(Measure::Text(text.clone())),
        _ => Err(Error::mismatch("this is not a single value")),
    }
}

impl Rows for ColumnRows {
    fn files(&self) -> &Files {
        &self.files
    }

    fn projection(&self) -> &Projection {
        &self.projection
    }

    fn with_projection(&self, projection: Projection) -> Arc<dyn Rows> {
        let files = Files {
            paths: self.files.paths.clone(),
            base: self.files.base.clone(),
            samples: self.files.samples,
        };
        Arc::new(Self { file: Arc::clone(&self.file), files, projection })
    }

    fn reopened(&self, options: &OpenOptions) -> Result<Arc<dyn Rows>> {
        let file = Arc::new(self.file.opened_again(options)?);
        let rows = Self::of(&file)?.ok_or_else(|| Error::mismatch("the view has no typed columns now"))?;
        Ok(rows.with_projection(self.projection.clone()))
    }

    fn close(&self) {
        self.file.close();
    }

    fn check_open(&self) -> Result<()> {
        self.file.check_open()
    }

    fn locate(self: Arc<Self>, position: u64) -> Result<Located> {
        Ok(Located::Columns(self, position))
    }

    fn emit_members(
        &self,
        position: u64,
        wanted: &dyn Fn(&str) -> bool,
        mut sink: &mut dyn Sink,
    ) -> Result<()> {
        self.with_shard(|shard, shown| {
            for info in shown.iter().filter(|info| wanted(name_of(info))) {
                let value = value_at(shard, info, position)?;
                sink.key(name_of(info))?;
                value.emit(&mut sink).map_err(|error| error.in_column(name_of(info)))?;
            }
            Ok(())
        })
    }

    fn measure(
        &self,
        positions: &mut dyn Iterator<Item = u64>,
        path: &[&str],
        kind: ColumnKind,
    ) -> Result<Vec<Option<Measure>>> {
        let [name] = path else { return Ok(positions.map(|_| None).collect()) };
        let measure = |i| match self.value(name, i)? {
            None => Ok(None),
            Some(value) => measure_of(&value, kind).map(Some),
        };
        positions.map(measure).collect()
    }

    fn column(&self, path: &[Option<String>], kind: ColumnKind) -> Result<Option<ColumnData>> {
        self.with_shard(|shard, shown| {
            if kind != ColumnKind::Value || !shown.iter().any(|info| info.path == path) {
                return Ok(None);
            }
            let Some(column) = shard.chunked_column(path, kind)? else { return Ok(None) };
            column.require(0..column.rows)?;
            Ok(Some(ColumnData {
                dtype: column.dtype.name(),
                width: column.width,
                zone: shown
                    .iter()
                    .find(|info| info.path == path)
                    .and_then(|info| info.zone.as_deref())
                    .map(Arc::from),
                is_typed: true,
                data: column.data.clone(),
                validity: column.validity.clone(),
                offsets: column.offsets.clone(),
                codes: column.codes.clone(),
            }))
        })
    }

    fn column_parts(&self, path: &[Option<String>], kind: ColumnKind) -> Result<Option<Vec<ColumnPart>>> {
        self.with_shard(|_, shown| {
            let info = shown.iter().find(|info| kind == ColumnKind::Value && info.path == path);
            let dtype =
                |info: &ColumnInfo| ColumnType::from_name(&info.dtype).filter(|_| info.width.is_none());
            Ok(info.map(|info| vec![ColumnPart { start: 0, dtype: dtype(info) }]))
        })
    }

    fn column_part(&self, part: usize, path: &[Option<String>], kind: ColumnKind) -> Result<ColumnData> {
        let column = if part == 0 { self.column(path, kind)? } else { None };
        column.ok_or_else(|| Error::invalid(format!("the column has no part {part}")))
    }

    fn filtered(
        &self,
        filter: &RowFilter<'_>,
        positions: Option<&[u64]>,
        limit: Option<u64>,
    ) -> Result<Vec<u64>> {
        let is_whole = self.with_shard(|shard, _| {
            let columns = filter.columns(shard)?;
            Ok((0..filter.paths().len()).all(|path| columns.has(path)))
        })?;
        if !is_whole {
            return sample_by_sample(self, filter, positions, limit);
        }
        let shards = self.file.shards.get()?;
        let shard = shards.shard(0)?;
        let columns = filter.columns(shard)?;
        let count = positions.map_or(self.files.samples, |positions| to_u64(positions.len()));
        in_blocks(count, limit, |block| {
            let rows = match positions {
                None => Block::Range { start: to_u64(block.start), len: block.len() },
                Some(positions) => Block::List(&positions[block.clone()]),
            };
            let selected = filter.select(shard, &columns, rows)?;
            let selected = block.zip(selected).filter(|(_, is_selected)| *is_selected);
            Ok(selected.map(|(i, _)| positions.map_or_else(|| to_u64(i), |positions| positions[i])).collect())
        })
    }

    fn column_names(&self) -> Result<Vec<String>> {
        self.with_shard(|_, shown| Ok(shown.iter().map(|info| name_of(info).to_owned()).collect()))
    }

    fn statistics(&self) -> Result<Vec<FieldInfo>> {
        self.with_shard(|_, shown| Ok(shown.iter().map(|info| field_of(info)).collect()))
    }

    fn indexed_kind(&self, path: &[String]) -> Result<Option<ValueKind>> {
        self.with_shard(|_, shown| {
            let info = shown.iter().find(|info| matches!(path, [name] if name_of(info) == name));
            Ok(info.and_then(|info| ValueKind::common([kind_of(info)])))
        })
    }

    fn identities(&self) -> Result<Vec<(u64, String)>> {
        self.file.identities()
    }

    fn footer(&self, file: usize) -> Result<String> {
        self.file.footer(file)
    }

    fn meta(&self) -> Result<Meta> {
        self.file.meta()
    }

    fn arrow_types(&self) -> Result<ArrowTypes> {
        self.with_shard(|_, shown| {
            let field = |info: &&ColumnInfo| {
                let (dtype, zone) = (ColumnType::from_name(&info.dtype)?, info.zone.as_deref());
                let form = ArrowForm { dtype, width: info.width, zone, entries: info.entries };
                arrow_field(name_of(info), form)
            };
            let typed = shown.iter().filter_map(field).collect();
            Ok(ArrowTypes { typed, ..ArrowTypes::default() })
        })
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn roots(self: Arc<Self>, positions: Option<Vec<u64>>) -> Result<Roots> {
        Ok(Roots { rows: vec![self], positions })
    }
}
