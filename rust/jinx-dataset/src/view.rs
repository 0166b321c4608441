//! Views: samples of a base, plus columns of the view's own.

use crate::column_data::{ColumnData, ColumnPart};
use crate::dataset::Dataset;
use crate::files::Files;
use crate::filter::sample_by_sample;
use crate::gather::gathered;
use crate::located::Located;
use crate::projection::Projection;
use crate::rows::{ArrowTypes, Roots, Rows};
use crate::shards::ShardRows;
use arrow_schema::{DataType, Field, Schema};
use jinx_convert::arrow::{InferOptions, SchemaInference, schema_text};
use jinx_core::checked_math::to_u64;
use jinx_core::io::Density;
use jinx_core::row_events::Sink;
use jinx_core::value::TreeBuilder;
use jinx_core::{Error, Result};
use jinx_format::expression::filter_shard::RowFilter;
use jinx_format::fields::{FieldInfo, Measure};
use jinx_format::meta::Meta;
use jinx_format::read::columns::ColumnKind;
use jinx_format::read::shard::OpenOptions;
use jinx_format::write::inherit::Inherited;
use std::any::Any;
use std::sync::Arc;

/// Which samples of the base a view shows.
#[derive(Clone)]
pub enum Positions {
    /// All samples in the same order.
    Same,
    Memory(Arc<Vec<u64>>),
    /// Stored in the file of a saved view.
    Saved(Arc<ShardRows>),
}

impl Positions {
    /// Returns the position in the base of sample `i` of the view.
    ///
    /// # Errors
    /// `Invalid` past the end. For a saved view also read errors, and `Corrupt` for a position without a sample.
    fn get(&self, i: u64) -> Result<u64> {
        match self {
            Self::Same => Ok(i),
            Self::Memory(positions) => usize::try_from(i)
                .ok()
                .and_then(|at| positions.get(at).copied())
                .ok_or_else(|| Error::invalid(format!("sample {i} of {}", positions.len()))),
            Self::Saved(file) => file.shards.get()?.shard(0)?.view_position(i),
        }
    }

    fn all(&self, samples: u64) -> Result<Vec<u64>> {
        (0..samples).map(|i| self.get(i)).collect()
    }
}

/// A view: the columns of a base, followed by columns of its own, which hide columns with the same name.
pub struct ViewRows {
    pub files: Arc<Files>,
    /// The base without the hidden columns.
    base: Arc<dyn Rows>,
    /// Columns that were already selected in the base.
    base_columns: Option<Vec<String>>,
    /// Columns that were already hidden in the base.
    base_hidden: Vec<String>,
    positions: Positions,
    /// One row for each sample, in the order of the view.
    own: Option<Arc<dyn Rows>>,
    own_names: Arc<Vec<String>>,
    /// Columns of the base that the view hides.
    hidden: Arc<Vec<String>>,
    projection: Projection,
}

impl ViewRows {
    /// `dropped` are columns of the base that are hidden without a replacement.
    ///
    /// # Errors
    /// Errors from reading the names.
    pub fn new(
        files: Files,
        base: Arc<dyn Rows>,
        positions: Positions,
        own: Option<Arc<dyn Rows>>,
        dropped: Vec<String>,
    ) -> Result<Self> {
        let own_names = own.as_ref().map_or_else(|| Ok(Vec::new()), |own| own.column_names())?;
        let mut hidden = dropped;
        hidden.extend(own_names.iter().cloned());
        let view = Self {
            files: Arc::new(files),
            base_columns: base.projection().columns.clone(),
            base_hidden: base.projection().hidden.clone(),
            base,
            positions,
            own,
            own_names: Arc::new(own_names),
            hidden: Arc::new(hidden),
            projection: Projection::default(),
        };
        Ok(view.projected(Projection::default()))
    }

    fn projected(&self, projection: Projection) -> Self {
        let mut hidden = self.base_hidden.clone();
        for name in projection.hidden.iter().chain(&*self.hidden) {
            if !hidden.contains(name) {
                hidden.push(name.clone());
            }
        }
        let columns = match (&self.base_columns, &projection.columns) {
            (Some(before), Some(chosen)) => {
                Some(chosen.iter().filter(|name| before.contains(name)).cloned().collect())
            }
            (before, chosen) => chosen.clone().or_else(|| before.clone()),
        };
        let (pixels, touched) = (projection.pixels.clone(), projection.touched.clone());
        let base = self.base.with_projection(Projection { columns, hidden, pixels, touched });
        let own_projection = || Projection {
            columns: projection.columns.clone(),
            hidden: projection.hidden.clone(),
            ..Projection::default()
        };
        let own = self.own.as_ref().map(|own| own.with_projection(own_projection()));
        Self {
            files: Arc::clone(&self.files),
            base,
            base_columns: self.base_columns.clone(),
            base_hidden: self.base_hidden.clone(),
            positions: self.positions.clone(),
            own,
            own_names: Arc::clone(&self.own_names),
            hidden: Arc::clone(&self.hidden),
            projection,
        }
    }

    /// Whether the view shows this column of the base.
    fn shows(&self, name: &str) -> bool {
        let is_in = |names: &[String]| names.iter().any(|known| known == name);
        !is_in(&self.hidden)
            && !is_in(&self.base_hidden)
            && self.base_columns.as_ref().is_none_or(|columns| is_in(columns))
    }

    fn is_own(&self, name: &str) -> bool {
        self.own_names.iter().any(|own| own == name)
    }

    fn emit_own_members(
        &self,
        position: u64,
        wanted: &dyn Fn(&str) -> bool,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let Some(own) = &self.own else { return Ok(()) };
        own.emit_members(position, &|name| self.is_own(name) && wanted(name), sink)
    }

    /// [`Rows::filtered`] for a filter that uses only columns of the base.
    fn filtered_by_base(
        &self,
        filter: &RowFilter<'_>,
        positions: Option<&[u64]>,
        limit: Option<u64>,
    ) -> Result<Vec<u64>> {
        if matches!(self.positions, Positions::Same) {
            return self.base.filtered(filter, positions, limit);
        }
        let of_base = match positions {
            None => self.positions.all(self.files.samples)?,
            Some(positions) => positions.iter().map(|i| self.positions.get(*i)).collect::<Result<_>>()?,
        };
        let chosen = self.base.filtered(filter, Some(&of_base), limit)?;
        // `chosen` is in the order of `of_base`. If a sample of the base is chosen, it is chosen wherever it occurs, so
        // the next equal position is the right one.
        let mut left = chosen.iter().peekable();
        let is_chosen = |i: &usize| left.next_if_eq(&&of_base[*i]).is_some();
        let places = (0..of_base.len()).filter(is_chosen);
        Ok(places.map(|i| positions.map_or_else(|| to_u64(i), |positions| positions[i])).collect())
    }

    /// The view's own rows, if they contain the column.
    fn holder(&self, name: &str) -> Option<&Arc<dyn Rows>> {
        self.own.as_ref().filter(|_| self.is_own(name))
    }

    /// The rows whose column parts are also parts of the view's column, because they have the same order.
    fn holder_of_parts(&self, path: &[Option<String>]) -> Option<&Arc<dyn Rows>> {
        let own = path.first().and_then(Option::as_deref).and_then(|name| self.holder(name));
        own.or_else(|| matches!(self.positions, Positions::Same).then_some(&self.base))
    }
}

impl Rows for ViewRows {
    fn files(&self) -> &Files {
        &self.files
    }

    fn projection(&self) -> &Projection {
        &self.projection
    }

    fn with_projection(&self, projection: Projection) -> Arc<dyn Rows> {
        Arc::new(self.projected(projection))
    }

    fn reopened(&self, options: &OpenOptions) -> Result<Arc<dyn Rows>> {
        let positions = match &self.positions {
            Positions::Saved(file) => Positions::Saved(Arc::new(file.opened_again(options)?)),
            same_or_memory => same_or_memory.clone(),
        };
        let view = Self {
            files: Arc::clone(&self.files),
            base: self.base.reopened(options)?,
            base_columns: self.base_columns.clone(),
            base_hidden: self.base_hidden.clone(),
            positions,
            own: self.own.as_ref().map(|own| own.reopened(options)).transpose()?,
            own_names: Arc::clone(&self.own_names),
            hidden: Arc::clone(&self.hidden),
            projection: self.projection.clone(),
        };
        Ok(Arc::new(view))
    }

    fn close(&self) {
        self.base.close();
        if let Some(own) = &self.own {
            own.close();
        }
        if let Positions::Saved(file) = &self.positions {
            file.close();
        }
    }

    fn check_open(&self) -> Result<()> {
        self.base.check_open()
    }

    fn locate(self: Arc<Self>, position: u64) -> Result<Located> {
        let base = Arc::clone(&self.base).locate(self.positions.get(position)?)?;
        let Some(own) = &self.own else { return Ok(base) };
        let own = Box::new(Arc::clone(own).locate(position)?);
        Ok(Located::View { base: Box::new(base), own, own_names: Arc::clone(&self.own_names) })
    }

    fn emit_members(&self, position: u64, wanted: &dyn Fn(&str) -> bool, sink: &mut dyn Sink) -> Result<()> {
        self.base.emit_members(self.positions.get(position)?, wanted, sink)?;
        self.emit_own_members(position, wanted, sink)
    }

    fn measure(
        &self,
        positions: &mut dyn Iterator<Item = u64>,
        path: &[&str],
        kind: ColumnKind,
    ) -> Result<Vec<Option<Measure>>> {
        if let Some(own) = path.first().and_then(|name| self.holder(name)) {
            return own.measure(positions, path, kind);
        }
        let base: Vec<u64> = positions.map(|i| self.positions.get(i)).collect::<Result<_>>()?;
        self.base.measure(&mut base.into_iter(), path, kind)
    }

    fn column(&self, path: &[Option<String>], kind: ColumnKind) -> Result<Option<ColumnData>> {
        let name = path.first().and_then(Option::as_deref);
        if let Some(own) = name.and_then(|name| self.holder(name)) {
            return own.column(path, kind);
        }
        let Some(column) = self.base.column(path, kind)? else { return Ok(None) };
        match &self.positions {
            Positions::Same => Ok(Some(column)),
            Positions::Memory(positions) => gathered(&column, positions).map(Some),
            saved @ Positions::Saved(_) => gathered(&column, &saved.all(self.files.samples)?).map(Some),
        }
    }

    fn column_parts(&self, path: &[Option<String>], kind: ColumnKind) -> Result<Option<Vec<ColumnPart>>> {
        match self.holder_of_parts(path) {
            Some(rows) => rows.column_parts(path, kind),
            None => Ok(None),
        }
    }

    fn column_part(&self, part: usize, path: &[Option<String>], kind: ColumnKind) -> Result<ColumnData> {
        let rows = self.holder_of_parts(path);
        rows.ok_or_else(|| Error::invalid("the column is known only as a whole"))?
            .column_part(part, path, kind)
    }

    fn filtered(
        &self,
        filter: &RowFilter<'_>,
        positions: Option<&[u64]>,
        limit: Option<u64>,
    ) -> Result<Vec<u64>> {
        let is_own = |path: &Vec<String>| path.first().is_some_and(|name| self.is_own(name));
        let own = filter.paths().iter().filter(|path| is_own(path)).count();
        let is_shown = |path: &Vec<String>| path.first().is_some_and(|name| self.shows(name));
        let are_shown = filter.paths().iter().all(is_shown);
        match &self.own {
            // These rows are numbered like the view.
            Some(rows) if own > 0 && own == filter.paths().len() => rows.filtered(filter, positions, limit),
            _ if are_shown => self.filtered_by_base(filter, positions, limit),
            _ => sample_by_sample(self, filter, positions, limit),
        }
    }

    fn column_names(&self) -> Result<Vec<String>> {
        let mut names = self.base.column_names()?;
        names.retain(|name| self.shows(name));
        names.extend(self.own_names.iter().cloned());
        Ok(names)
    }

    fn hides(&self, name: &str) -> bool {
        let is_of_base = self.shows(name) && !self.base.hides(name);
        !self.projection.has(name) || !(is_of_base || self.is_own(name))
    }

    fn own_names(&self) -> Vec<String> {
        let mut names = self.base.own_names();
        names.retain(|name| self.shows(name));
        names.extend(self.own_names.iter().cloned());
        names
    }

    fn statistics(&self) -> Result<Vec<FieldInfo>> {
        let mut fields = self.base.statistics()?;
        fields.retain(|field| {
            let name = field.path.first().and_then(Option::as_ref);
            name.is_none_or(|name| self.shows(name))
        });
        if let Some(own) = &self.own {
            fields.extend(own.statistics()?);
        }
        Ok(fields)
    }

    fn identities(&self) -> Result<Vec<(u64, String)>> {
        let mut identities = self.base.identities()?;
        if let Positions::Saved(file) = &self.positions {
            identities.extend(file.identities()?);
        }
        Ok(identities)
    }

    fn footer(&self, file: usize) -> Result<String> {
        self.base.footer(file)
    }

    fn arrow_types(&self) -> Result<ArrowTypes> {
        let mut types = self.base.arrow_types()?;
        let is_base = |name: &str| self.shows(name);
        types.media.retain(|(path, _)| path.first().and_then(Option::as_deref).is_none_or(is_base));
        types.typed.retain(|field| is_base(field.name()));
        let own = match &self.own {
            None => None,
            Some(own) => {
                let own_types = own.arrow_types()?;
                types.media.extend(own_types.media.clone());
                types.typed.extend(own_types.typed.clone());
                Some((own, own_types))
            }
        };
        let schema = match types.schema.take() {
            Some(schema) => schema,
            None if self.files.samples > 0 => return Ok(types),
            // Types are inferred from samples. There are none here, but the base may have some. Show all columns of the
            // base, because it may lack columns that this view selects.
            None => {
                let rows = self.base.with_projection(Projection::default());
                Dataset::of(rows).select(&[])?.schema_text()?
            }
        };
        let more = match own {
            None => Vec::new(),
            Some((own, known)) => own_fields(&**own, known, self.files.samples)?,
        };
        types.schema = Some(schema_text(&schema, &is_base, &more)?);
        Ok(types)
    }

    fn inherited(&self, wanted: &dyn Fn(&str) -> bool) -> Result<Inherited> {
        let base = |name: &str| wanted(name) && self.shows(name);
        let mut inherited = self.base.inherited(&base)?;
        if let Some(own) = &self.own {
            let more = own.inherited(wanted)?;
            inherited.media.extend(more.media);
        }
        inherited.meta = self.meta()?;
        inherited.arrow_schema = self.arrow_types()?.schema;
        Ok(inherited)
    }

    fn meta(&self) -> Result<Meta> {
        let mut meta = self.base.meta()?;
        if let Some(own) = &self.own {
            // The file of an empty view names all columns as its own.
            if self.files.samples > 0 {
                meta.replace_columns(&self.own_names);
            }
            meta.add(&own.meta()?);
        }
        Ok(meta)
    }

    fn taken_together(&self, positions: &[u64]) -> usize {
        let base: Result<Vec<u64>> = positions.iter().map(|i| self.positions.get(*i)).collect();
        base.map_or(positions.len(), |base| self.base.taken_together(&base))
    }

    fn will_need(&self, positions: &[u64], wanted: &dyn Fn(&str) -> bool, density: Density) {
        let base: Result<Vec<u64>> = positions.iter().map(|i| self.positions.get(*i)).collect();
        if let Ok(base) = base {
            self.base.will_need(&base, &|name| wanted(name) && self.shows(name), density);
        }
    }

    fn emit_own(&self, position: u64, wanted: &dyn Fn(&str) -> bool, sink: &mut dyn Sink) -> Result<()> {
        if !self.base.own_names().is_empty() {
            let is_base = |name: &str| wanted(name) && self.shows(name);
            self.base.emit_own(self.positions.get(position)?, &is_base, sink)?;
        }
        self.emit_own_members(position, wanted, sink)
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn roots(self: Arc<Self>, positions: Option<Vec<u64>>) -> Result<Roots> {
        let positions = match (positions, &self.positions) {
            (positions, Positions::Same) => positions,
            (None, own) => Some(own.all(self.files.samples)?),
            (Some(positions), own) => Some(positions.into_iter().map(|i| own.get(i)).collect::<Result<_>>()?),
        };
        Arc::clone(&self.base).roots(positions)
    }
}

/// Returns the Arrow fields of the view's own columns: the original ones if known, otherwise inferred from the values.
fn own_fields(own: &dyn Rows, known: ArrowTypes, samples: u64) -> Result<Vec<Field>> {
    let schema = match known.schema {
        Some(text) => jinx_convert::arrow::decode_schema(&text)?,
        None => {
            let options = InferOptions { media: known.media, ..InferOptions::default() };
            let mut inference = SchemaInference::new(options);
            let is_open = |name: &str| known.typed.iter().all(|field| field.name() != name);
            let has_open = own.column_names()?.iter().any(|name| is_open(name));
            for i in (0..samples).filter(|_| has_open) {
                let mut tree = TreeBuilder::without_bytes();
                tree.begin_dict(0)?;
                own.emit_members(i, &is_open, &mut tree)?;
                tree.end_dict()?;
                inference.observe(&tree.take()?).map_err(|error| error.in_sample(i))?;
            }
            let inferred = inference.finish()?;
            let mut fields: Vec<_> = inferred.fields().iter().map(|field| Field::clone(field)).collect();
            fields.extend(known.typed);
            Schema::new(fields)
        }
    };
    let mut fields: Vec<_> = schema.fields().iter().map(|field| Field::clone(field)).collect();
    for name in own.column_names()?.into_iter().filter(|_| samples == 0) {
        if schema.column_with_name(&name).is_none() {
            let column = own.column(&[Some(name.clone())], ColumnKind::Value)?;
            let is_float = column.as_ref().is_some_and(|column| column.dtype.starts_with('f'));
            let is_bool = column.as_ref().is_some_and(|column| column.dtype == "bool");
            let data_type = match column {
                Some(_) if is_float => DataType::Float64,
                Some(_) if is_bool => DataType::Boolean,
                Some(_) => DataType::Int64,
                None => DataType::Null,
            };
            fields.push(Field::new(name, data_type, true));
        }
    }
    Ok(fields)
}
