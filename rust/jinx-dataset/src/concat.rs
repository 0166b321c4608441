//! Several datasets as one sequence of samples.

use crate::column_data::{ColumnData, ColumnPart};
use crate::dataset::Dataset;
use crate::files::Files;
use crate::located::Located;
use crate::projection::Projection;
use crate::rows::{ArrowTypes, Roots, Rows};
use jinx_convert::arrow::common_schema;
use jinx_core::io::Density;
use jinx_core::row_events::Sink;
use jinx_core::{Error, Result};
use jinx_format::fields::{FieldInfo, Measure, merge};
use jinx_format::meta::Meta;
use jinx_format::read::columns::{ColumnKind, ColumnType};
use jinx_format::read::shard::OpenOptions;
use jinx_format::write::inherit::Inherited;
use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

pub struct ConcatRows {
    files: Arc<Files>,
    parts: Vec<Arc<dyn Rows>>,
    /// The first sample of each part, followed by the total.
    starts: Vec<u64>,
    projection: Projection,
    own_names: Vec<String>,
    /// Whether some parts add or hide columns that other parts do not.
    parts_differ: bool,
}

impl ConcatRows {
    /// # Errors
    /// `Invalid` if the number of samples does not fit into 64 bits.
    pub fn new(parts: Vec<Arc<dyn Rows>>) -> Result<Self> {
        let mut starts = vec![0u64];
        let mut paths = Vec::new();
        for part in &parts {
            let files = part.files();
            let end = starts.last().copied().unwrap_or_default().checked_add(files.samples);
            starts.push(end.ok_or_else(|| Error::invalid("more samples than 64 bits count"))?);
            paths.extend(files.places());
        }
        let samples = starts.last().copied().unwrap_or_default();
        let files = Arc::new(Files { paths, base: std::path::PathBuf::new(), samples });
        let (own_names, parts_differ) = own_names(telling(&parts))?;
        Ok(Self { files, parts, starts, projection: Projection::default(), own_names, parts_differ })
    }

    pub fn parts(&self) -> &[Arc<dyn Rows>] {
        &self.parts
    }

    /// Returns the part that contains a sample, and the position of the sample in that part.
    fn part_of(&self, position: u64) -> Result<(&Arc<dyn Rows>, u64)> {
        let at = self.starts.partition_point(|start| *start <= position).saturating_sub(1);
        match self.parts.get(at) {
            Some(part) => Ok((part, position - self.starts[at])),
            None => Err(Error::invalid(format!("sample {position} of {}", self.files.samples))),
        }
    }

    fn telling(&self) -> impl Iterator<Item = &Arc<dyn Rows>> {
        telling(&self.parts)
    }

    fn unite<T>(&self, of: impl Fn(&dyn Rows) -> Result<T>, mut with: impl FnMut(&mut T, T)) -> Result<T>
    where
        T: Default,
    {
        let mut all: Option<T> = None;
        for part in &self.parts {
            let one = of(&**part)?;
            match &mut all {
                None => all = Some(one),
                Some(all) => with(all, one),
            }
        }
        Ok(all.unwrap_or_default())
    }
}

/// The parts that have samples, or all if none has.
fn telling(parts: &[Arc<dyn Rows>]) -> impl Iterator<Item = &Arc<dyn Rows>> + Clone {
    let is_empty = parts.iter().all(|part| part.files().samples == 0);
    parts.iter().filter(move |part| is_empty || part.files().samples > 0)
}

fn add_names(all: &mut Vec<String>, more: Vec<String>) {
    for name in more {
        if !all.contains(&name) {
            all.push(name);
        }
    }
}

impl Rows for ConcatRows {
    fn files(&self) -> &Files {
        &self.files
    }

    fn projection(&self) -> &Projection {
        &self.projection
    }

    fn with_projection(&self, projection: Projection) -> Arc<dyn Rows> {
        let part = |part: &Arc<dyn Rows>| {
            let mut hidden = part.projection().hidden.clone();
            add_names(&mut hidden, projection.hidden.clone());
            let (pixels, touched) = (projection.pixels.clone(), projection.touched.clone());
            part.with_projection(Projection { columns: projection.columns.clone(), hidden, pixels, touched })
        };
        let parts = self.parts.iter().map(part).collect();
        Arc::new(Self {
            files: Arc::clone(&self.files),
            parts,
            starts: self.starts.clone(),
            projection,
            own_names: self.own_names.clone(),
            parts_differ: self.parts_differ,
        })
    }

    fn reopened(&self, options: &OpenOptions) -> Result<Arc<dyn Rows>> {
        let parts = self.parts.iter().map(|part| part.reopened(options)).collect::<Result<_>>()?;
        Ok(Arc::new(Self {
            files: Arc::clone(&self.files),
            parts,
            starts: self.starts.clone(),
            projection: self.projection.clone(),
            own_names: self.own_names.clone(),
            parts_differ: self.parts_differ,
        }))
    }

    fn will_need(&self, positions: &[u64], wanted: &dyn Fn(&str) -> bool, density: Density) {
        for (i, part) in self.parts.iter().enumerate() {
            let (start, end) = (self.starts[i], self.starts[i + 1]);
            let own = positions.iter().filter(|position| (start..end).contains(position));
            let own: Vec<u64> = own.map(|position| position - start).collect();
            if !own.is_empty() {
                part.will_need(&own, wanted, density);
            }
        }
    }

    fn fetch_all(&self) -> Result<u64> {
        self.parts.iter().map(|part| part.fetch_all()).sum()
    }

    fn close(&self) {
        self.parts.iter().for_each(|part| part.close());
    }

    fn check_open(&self) -> Result<()> {
        self.parts.iter().try_for_each(|part| part.check_open())
    }

    fn locate(self: Arc<Self>, position: u64) -> Result<Located> {
        let (part, position) = self.part_of(position)?;
        Arc::clone(part).locate(position)
    }

    fn emit_members(&self, position: u64, wanted: &dyn Fn(&str) -> bool, sink: &mut dyn Sink) -> Result<()> {
        let (part, position) = self.part_of(position)?;
        part.emit_members(position, wanted, sink)
    }

    fn measure(
        &self,
        positions: &mut dyn Iterator<Item = u64>,
        path: &[&str],
        kind: ColumnKind,
    ) -> Result<Vec<Option<Measure>>> {
        let mut measured = Vec::new();
        for position in positions {
            let (part, position) = self.part_of(position)?;
            match path.first() {
                Some(name) if part.hides(name) => measured.push(None),
                _ => measured.extend(part.measure(&mut std::iter::once(position), path, kind)?),
            }
        }
        Ok(measured)
    }

    fn column(&self, path: &[Option<String>], kind: ColumnKind) -> Result<Option<ColumnData>> {
        let mut columns = Vec::with_capacity(self.parts.len());
        let name = path.first().and_then(Option::as_deref);
        for part in self.parts.iter().filter(|part| part.files().samples > 0) {
            // Its files have values that it does not show, so these must not be used.
            if name.is_some_and(|name| part.hides(name)) {
                return Ok(None);
            }
            let Some(column) = part.column(path, kind)? else { return Ok(None) };
            columns.push((column, part.files().samples));
        }
        Ok(joined(columns))
    }

    fn column_parts(&self, path: &[Option<String>], kind: ColumnKind) -> Result<Option<Vec<ColumnPart>>> {
        let mut all = Vec::new();
        let name = path.first().and_then(Option::as_deref);
        for (rows, start) in self.parts.iter().zip(&self.starts).filter(|(rows, _)| rows.files().samples > 0)
        {
            // Its files have values that it does not show, so these must not be used.
            if name.is_some_and(|name| rows.hides(name)) {
                return Ok(None);
            }
            let Some(parts) = rows.column_parts(path, kind)? else { return Ok(None) };
            all.extend(parts.into_iter().map(|part| ColumnPart { start: start + part.start, ..part }));
        }
        Ok(Some(all))
    }

    fn column_part(&self, part: usize, path: &[Option<String>], kind: ColumnKind) -> Result<ColumnData> {
        let mut before = 0;
        for rows in self.parts.iter().filter(|rows| rows.files().samples > 0) {
            let parts = rows.column_parts(path, kind)?.map_or(0, |parts| parts.len());
            if part < before + parts {
                return rows.column_part(part - before, path, kind);
            }
            before += parts;
        }
        Err(Error::invalid(format!("the column has no part {part}")))
    }

    fn column_names(&self) -> Result<Vec<String>> {
        let mut all = Vec::new();
        for part in self.telling() {
            add_names(&mut all, part.column_names()?);
        }
        Ok(all)
    }

    fn hides(&self, name: &str) -> bool {
        !self.projection.has(name) || self.parts.iter().all(|part| part.hides(name))
    }

    /// Includes columns that some parts hide and others show, because the view treats these as its own.
    fn own_names(&self) -> Vec<String> {
        self.own_names.clone()
    }

    fn statistics(&self) -> Result<Vec<FieldInfo>> {
        self.unite(|part| part.statistics(), merge)
    }

    fn identities(&self) -> Result<Vec<(u64, String)>> {
        self.unite(|part| part.identities(), |all, more| all.extend(more))
    }

    fn footer(&self, file: usize) -> Result<String> {
        let mut left = file;
        for part in &self.parts {
            let files = part.files().paths.len();
            if left < files {
                return part.footer(left);
            }
            left -= files;
        }
        Err(Error::invalid(format!("there is no file {file}")))
    }

    fn arrow_types(&self) -> Result<ArrowTypes> {
        let mut all: Option<ArrowTypes> = None;
        for part in self.telling() {
            let mut more = part.arrow_types()?;
            if self.files.samples == 0 && more.schema.is_none() {
                more.schema = Some(Dataset::of(Arc::clone(part)).schema_text()?);
            }
            all = Some(match all {
                None => more,
                Some(mut all) => {
                    all.schema = common_schema(all.schema, more.schema)?;
                    all.media.extend(more.media);
                    all.typed.retain(|field| more.typed.contains(field));
                    all
                }
            });
        }
        Ok(all.unwrap_or_default())
    }

    fn inherited(&self, wanted: &dyn Fn(&str) -> bool) -> Result<Inherited> {
        let mut inherited: Inherited =
            self.unite(|part| part.inherited(wanted), |all, more| all.unite(more))?;
        inherited.meta = self.meta()?;
        if inherited.arrow_schema.is_none() {
            inherited.arrow_schema = self.arrow_types()?.schema;
        }
        Ok(inherited)
    }

    fn meta(&self) -> Result<Meta> {
        let mut all: Option<Meta> = None;
        for part in self.telling() {
            let meta = part.meta()?;
            match &mut all {
                None => all = Some(meta),
                Some(all) if *all != meta => all.keep_common(&meta),
                Some(_) => {}
            }
        }
        Ok(all.unwrap_or_default())
    }

    fn emit_own(&self, position: u64, wanted: &dyn Fn(&str) -> bool, sink: &mut dyn Sink) -> Result<()> {
        let (part, position) = self.part_of(position)?;
        if self.parts_differ {
            let is_own = |name: &str| wanted(name) && self.own_names.iter().any(|own| own == name);
            return part.emit_members(position, &is_own, sink);
        }
        part.emit_own(position, wanted, sink)
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn roots(self: Arc<Self>, positions: Option<Vec<u64>>) -> Result<Roots> {
        let parts = self.parts.iter().map(|part| Arc::clone(part).roots(None)).collect::<Result<Vec<_>>>()?;
        let mut all = RootSequence::default();
        let places: Vec<Vec<Span>> = parts.iter().map(|part| all.places_of(&part.rows)).collect();
        if !all.has_repeats && parts.iter().all(|part| part.positions.is_none()) {
            return Ok(Roots { rows: all.rows, positions });
        }
        let mut over_roots = Vec::new();
        for ((part, places), shown) in parts.into_iter().zip(places).zip(&self.parts) {
            let own = part.positions.unwrap_or_else(|| (0..shown.files().samples).collect());
            over_roots.extend(own.into_iter().map(|position| in_sequence(&places, position)));
        }
        let at = |position: u64| {
            let found = usize::try_from(position).ok().and_then(|at| over_roots.get(at).copied());
            found.ok_or_else(|| Error::invalid(format!("sample {position} of {}", over_roots.len())))
        };
        let positions = match positions {
            None => over_roots,
            Some(positions) => positions.into_iter().map(at).collect::<Result<_>>()?,
        };
        Ok(Roots { rows: all.rows, positions: Some(positions) })
    }
}

/// The roots of several parts as one sequence. Files that several parts show occur once.
#[derive(Default)]
struct RootSequence {
    rows: Vec<Arc<dyn Rows>>,
    starts: Vec<u64>,
    samples: u64,
    has_repeats: bool,
    by_files: HashMap<*const Files, usize>,
}

/// The samples of a root: its first sample among the roots of its part, and among the roots of all parts.
struct Span {
    in_part: u64,
    in_all: u64,
}

impl RootSequence {
    fn places_of(&mut self, roots: &[Arc<dyn Rows>]) -> Vec<Span> {
        let mut in_part = 0;
        let place = |root: &Arc<dyn Rows>| {
            let span = Span { in_part, in_all: self.start_of(root) };
            in_part += root.files().samples;
            span
        };
        roots.iter().map(place).collect()
    }

    fn start_of(&mut self, root: &Arc<dyn Rows>) -> u64 {
        let files: *const Files = root.files();
        if let Some(known) = self.by_files.get(&files)
            && self.rows[*known].projection().has_columns_of(root.projection())
        {
            self.has_repeats = true;
            return self.starts[*known];
        }
        self.by_files.insert(files, self.rows.len());
        let start = self.samples;
        self.samples += root.files().samples;
        self.starts.push(start);
        self.rows.push(Arc::clone(root));
        start
    }
}

/// The position of a sample of one part among all roots. The spans of the part begin with sample 0.
fn in_sequence(spans: &[Span], position: u64) -> u64 {
    let after = spans.partition_point(|span| span.in_part <= position);
    let span = &spans[after - 1];
    span.in_all + (position - span.in_part)
}

/// Returns the columns that at least one part does not take from its files, and whether the parts differ in them.
///
/// Parts without samples do not count: the file of an empty view names all columns that it shows.
fn own_names<'a>(parts: impl Iterator<Item = &'a Arc<dyn Rows>> + Clone) -> Result<(Vec<String>, bool)> {
    let mut all = Vec::new();
    parts.clone().for_each(|part| add_names(&mut all, part.own_names()));
    let (mut hidden_by_some, mut shown_by_some, mut parts_differ) = (Vec::new(), Vec::new(), false);
    for part in parts {
        let (shown, own) = (part.column_names()?, part.own_names());
        let mut in_files = Vec::new();
        for root in Arc::clone(part).roots(None)?.rows {
            add_names(&mut in_files, root.column_names()?);
        }
        parts_differ |= all.iter().any(|name| !own.contains(name));
        let hidden = in_files.into_iter().filter(|name| !shown.contains(name) || own.contains(name));
        add_names(&mut hidden_by_some, hidden.collect());
        add_names(&mut shown_by_some, shown.into_iter().filter(|name| !own.contains(name)).collect());
    }
    let mixed: Vec<String> = hidden_by_some.into_iter().filter(|name| shown_by_some.contains(name)).collect();
    parts_differ |= !mixed.is_empty();
    add_names(&mut all, mixed);
    Ok((all, parts_differ))
}

/// Concatenates columns; integers of different types become 64-bit. `None` if their types differ otherwise.
fn joined(mut columns: Vec<(ColumnData, u64)>) -> Option<ColumnData> {
    let is_other = |(column, _): &(ColumnData, u64), first: &ColumnData| {
        (column.dtype, &column.zone) != (first.dtype, &first.zone)
    };
    for (column, _) in &mut columns {
        // Each part has its own numbering of strings.
        if column.codes.is_some() {
            *column = column.clone().with_plain_strings().ok()?;
        }
    }
    let (first, _) = columns.first()?;
    // Times of different kinds have no common type.
    if columns.iter().any(|(column, _)| column.dtype.starts_with("datetime"))
        && columns.iter().any(|part| is_other(part, first))
    {
        return None;
    }
    let (mut dtype, width, zone) = (first.dtype, first.width, first.zone.clone());
    let is_typed = columns.iter().all(|(column, _)| column.is_typed);
    if columns.iter().any(|(column, _)| (column.dtype, column.width) != (dtype, width)) {
        for (column, _) in &mut columns {
            *column = column.as_int64()?;
        }
        dtype = ColumnType::Int64.name();
    }
    let has_validity = columns.iter().any(|(column, _)| column.validity.is_some());
    let has_offsets = columns.iter().any(|(column, _)| column.offsets.is_some());
    let (mut data, mut valid, mut ends) = (Vec::new(), Vec::new(), 0u64.to_le_bytes().to_vec());
    let mut samples = 0u64;
    for (column, count) in columns {
        let before = jinx_core::checked_math::to_u64(data.len());
        data.extend_from_slice(&column.data);
        for offset in column.offsets.iter().flat_map(|offsets| offsets.chunks_exact(8).skip(1)) {
            let end = before + jinx_core::checked_math::u64_at(offset, 0)?;
            ends.extend_from_slice(&end.to_le_bytes());
        }
        for i in (0..count).filter(|_| has_validity) {
            if samples.is_multiple_of(8) {
                valid.push(0u8);
            }
            let bit = column.validity.as_ref().map_or(1, |bits| {
                usize::try_from(i / 8).ok().and_then(|at| bits.get(at)).map_or(0, |byte| byte >> (i % 8) & 1)
            });
            if let Some(last) = valid.last_mut() {
                *last |= bit << (samples % 8);
            }
            samples += 1;
        }
    }
    let (validity, offsets) = (has_validity.then_some(valid), has_offsets.then_some(ends));
    Some(ColumnData { width, zone, is_typed, ..ColumnData::indexed(dtype, data, validity, offsets) })
}
