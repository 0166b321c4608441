//! JINX shards, or files of JSON lines, as the rows of a dataset.

use crate::column_data::{ColumnData, ColumnPart};
use crate::files::{Closable, Files};
use crate::located::Located;
use crate::projection::Projection;
use crate::rows::{ArrowTypes, Roots, Rows};
use crate::shards::facts::{Facts, telling};
use crate::shards::shard_list::Shards;
use crate::shards::{columns, fetch, filter, footer};
use jinx_convert::arrow::{MediaPath, common_schema, media_of};
use jinx_core::Result;
use jinx_core::io::{Density, Source, base_of};
use jinx_core::row_events::Sink;
use jinx_format::expression::ValueKind;
use jinx_format::expression::filter_shard::RowFilter;
use jinx_format::fields::{FieldInfo, Measure};
use jinx_format::key::FormatVersion;
use jinx_format::meta::Meta;
use jinx_format::read::columns::ColumnKind;
use jinx_format::read::open::ShardRef;
use jinx_format::read::shard::OpenOptions;
use jinx_format::view_footer::ViewInfo;
use jinx_format::write::inherit::Inherited;
use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;

/// Open or closed shards, with the columns that a view selects.
pub struct ShardRows {
    pub files: Arc<Files>,
    pub shards: Closable<Shards>,
    pub(crate) facts: Arc<Facts>,
    pub projection: Projection,
    /// Whether the files are plain JSON lines.
    pub plain: bool,
}

impl ShardRows {
    /// Opens shards like [`Shards::open`]. Relative paths start at the current working directory.
    ///
    /// # Errors
    /// Errors from opening the shards.
    pub fn open(
        shards: Vec<ShardRef>,
        expected: Option<Vec<(u64, String)>>,
        split: Option<&str>,
        options: OpenOptions,
        plain: bool,
    ) -> Result<Self> {
        let paths: Vec<PathBuf> = shards.iter().map(|shard| shard.path.clone()).collect();
        let base = base_of(&paths);
        // A shard that a manifest lists is a view only if the manifest says so.
        let views = options.views || (paths.len() == 1 && expected.is_none());
        let options = OpenOptions { base: base.clone(), views, ..options };
        let shards = Shards::open(shards, expected, split, options, plain)?;
        let files = Arc::new(Files { paths, base, samples: shards.len() });
        let (shards, facts) = (Closable::new(shards), Arc::default());
        Ok(Self { files, shards, facts, projection: Projection::default(), plain })
    }

    /// The rows of several lists of shards as one, sharing the open files. All must be JSON lines, or none.
    ///
    /// # Errors
    /// `Invalid` if the files of one are closed.
    pub fn joined(parts: &[Arc<Self>]) -> Result<Self> {
        let shards = parts.iter().map(|part| part.shards.get()).collect::<Result<Vec<_>>>()?;
        let shards = Shards::joined(&shards)?;
        let paths = parts.iter().flat_map(|part| part.files.places());
        let files = Files { paths: paths.collect(), base: PathBuf::new(), samples: shards.len() };
        let plain = parts.iter().any(|part| part.plain);
        let (files, shards, facts) = (Arc::new(files), Closable::new(shards), Arc::default());
        Ok(Self { files, shards, facts, projection: Projection::default(), plain })
    }

    /// Each shard separately.
    ///
    /// # Errors
    /// `Invalid` if the files are closed; errors from opening the shards.
    pub fn one_by_one(&self) -> Result<Vec<Self>> {
        let shards = self.shards.get()?.one_by_one()?;
        let alone = |(shard, path): (Shards, &PathBuf)| {
            let files =
                Files { paths: vec![path.clone()], base: self.files.base.clone(), samples: shard.len() };
            let projection = self.projection.clone();
            let (files, shards, facts) = (Arc::new(files), Closable::new(shard), Arc::default());
            Self { files, shards, facts, projection, plain: self.plain }
        };
        Ok(shards.into_iter().zip(&self.files.paths).map(alone).collect())
    }

    /// The same shards, opened again; see [`Rows::reopened`].
    ///
    /// # Errors
    /// `Invalid` if the files are closed; read errors.
    pub fn opened_again(&self, options: &OpenOptions) -> Result<Self> {
        let shards = Closable::new(self.shards.get()?.reopened(options)?);
        let (files, facts, projection) =
            (Arc::clone(&self.files), Arc::clone(&self.facts), self.projection.clone());
        Ok(Self { files, shards, facts, projection, plain: self.plain })
    }

    /// The same shards with other columns.
    pub fn with_projection(&self, projection: Projection) -> Self {
        let (files, facts) = (Arc::clone(&self.files), Arc::clone(&self.facts));
        Self { files, shards: self.shards.clone(), facts, projection, plain: self.plain }
    }

    /// The view information in the footer, if there is only one file and it is a view.
    pub fn view_info(&self) -> Result<Option<ViewInfo>> {
        let shards = self.shards.get()?;
        if shards.count() != 1 {
            return Ok(None);
        }
        Ok(shards.shard(0)?.footer().view.clone())
    }

    /// Whether this is the file of a view, or a directory of such files, opened without its bases.
    pub fn is_view(&self) -> bool {
        let is_directory = self.shards.get().is_ok_and(|shards| shards.are_views());
        is_directory || self.view_info().is_ok_and(|info| info.is_some())
    }

    pub fn view_samples(&self) -> Result<u64> {
        Ok(self.shards.get()?.shard(0)?.footer().num_samples)
    }
}

impl Rows for ShardRows {
    fn files(&self) -> &Files {
        &self.files
    }

    fn projection(&self) -> &Projection {
        &self.projection
    }

    fn with_projection(&self, projection: Projection) -> Arc<dyn Rows> {
        Arc::new(self.with_projection(projection))
    }

    fn reopened(&self, options: &OpenOptions) -> Result<Arc<dyn Rows>> {
        Ok(Arc::new(self.opened_again(options)?))
    }

    fn close(&self) {
        self.shards.close();
    }

    fn check_open(&self) -> Result<()> {
        self.shards.check()
    }

    fn locate(self: Arc<Self>, position: u64) -> Result<Located> {
        Ok(Located::Shards(self, position))
    }

    fn emit(&self, position: u64, mut sink: &mut dyn Sink) -> Result<()> {
        if !self.projection.is_whole() {
            sink.begin_dict(0)?;
            self.emit_members(position, &|_| true, sink)?;
            return sink.end_dict();
        }
        let shards = self.shards.get()?;
        let (shard, i) = shards.locate(position)?;
        shard.emit_row(i, &mut sink)
    }

    fn emit_members(
        &self,
        position: u64,
        wanted: &dyn Fn(&str) -> bool,
        mut sink: &mut dyn Sink,
    ) -> Result<()> {
        let shards = self.shards.get()?;
        let (shard, i) = shards.locate(position)?;
        let line = shard.line(i)?;
        let wanted = |name: &str| self.projection.has(name) && wanted(name);
        shard.emit_members(&line, &wanted, &mut sink).map_err(|error| shard.here(error, i))
    }

    fn measure(
        &self,
        positions: &mut dyn Iterator<Item = u64>,
        path: &[&str],
        kind: ColumnKind,
    ) -> Result<Vec<Option<Measure>>> {
        let shards = self.shards.get()?;
        let measure = |position| {
            let (shard, i) = shards.locate(position)?;
            shard.measure(i, path, kind)
        };
        positions.map(measure).collect()
    }

    fn will_need(&self, positions: &[u64], wanted: &dyn Fn(&str) -> bool, density: Density) {
        if let Ok(shards) = self.shards.get() {
            fetch::expect(&shards, positions, &|name| self.projection.has(name) && wanted(name), density);
        }
    }

    fn fetch_all(&self) -> Result<u64> {
        fetch::fetch_all(&*self.shards.get()?)
    }

    fn column(&self, path: &[Option<String>], kind: ColumnKind) -> Result<Option<ColumnData>> {
        let shards = self.shards.get()?;
        if self.facts.lacks_indexed(path, kind) {
            return Ok(None);
        }
        columns::stored(&shards, path, kind)
    }

    fn column_parts(&self, path: &[Option<String>], kind: ColumnKind) -> Result<Option<Vec<ColumnPart>>> {
        if self.facts.lacks_indexed(path, kind) {
            return Ok(None);
        }
        columns::parts(&*self.shards.get()?, path, kind)
    }

    fn column_part(&self, part: usize, path: &[Option<String>], kind: ColumnKind) -> Result<ColumnData> {
        columns::part(&*self.shards.get()?, part, path, kind)
    }

    fn column_names(&self) -> Result<Vec<String>> {
        Ok(self.facts.columns(&*self.shards.get()?)?.to_vec())
    }

    fn indexed_kind(&self, path: &[String]) -> Result<Option<ValueKind>> {
        filter::indexed_kind(&*self.shards.get()?, path)
    }

    fn filtered(
        &self,
        filter: &RowFilter<'_>,
        positions: Option<&[u64]>,
        limit: Option<u64>,
    ) -> Result<Vec<u64>> {
        filter::filtered(&*self.shards.get()?, filter, positions, limit)
    }

    fn kind(&self) -> &'static str {
        if self.plain { "jsonl" } else { "jinx" }
    }

    fn line_offsets(&self, file: usize) -> Result<Vec<u8>> {
        self.shards.get()?.shard(file)?.line_offsets()
    }

    fn lists_columns(&self) -> Result<bool> {
        let shards = self.shards.get()?;
        for i in 0..shards.count() {
            if shards.shard(i)?.rules() != FormatVersion::V1_1 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_view_file(&self) -> bool {
        self.is_view()
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn roots(self: Arc<Self>, positions: Option<Vec<u64>>) -> Result<Roots> {
        Ok(Roots { rows: vec![self], positions })
    }

    fn statistics(&self) -> Result<Vec<FieldInfo>> {
        Ok(self.facts.statistics(&*self.shards.get()?)?.to_vec())
    }

    fn identities(&self) -> Result<Vec<(u64, String)>> {
        let shards = self.shards.get()?;
        (0..shards.count()).map(|i| shards.identity(i)).collect()
    }

    fn base_ids(&self) -> Result<Vec<(u64, String)>> {
        let shards = self.shards.get()?;
        (0..shards.count()).map(|i| shards.base_id(i)).collect()
    }

    fn content_hash(&self, file: usize) -> Result<String> {
        self.shards.get()?.shard(file)?.content_hash()
    }

    fn sidecar(&self, file: usize) -> Result<Arc<Source>> {
        self.shards.get()?.shard(file)?.side().map(Arc::clone)
    }

    fn footer(&self, file: usize) -> Result<String> {
        footer::footer(&*self.shards.get()?, file)
    }

    fn inherited(&self, wanted: &dyn Fn(&str) -> bool) -> Result<Inherited> {
        Ok(self.facts.inherited(&*self.shards.get()?)?.of_columns(wanted))
    }

    fn meta(&self) -> Result<Meta> {
        Ok(self.facts.inherited(&*self.shards.get()?)?.meta.clone())
    }

    fn facts(&self) -> Result<Option<String>> {
        self.facts.tell(&*self.shards.get()?).map(Some)
    }

    fn assume(&self, facts: &str) -> Result<()> {
        self.facts.assume(facts)
    }

    fn arrow_types(&self) -> Result<ArrowTypes> {
        let shards = self.shards.get()?;
        let mut all: Option<ArrowTypes> = None;
        for i in telling(&shards) {
            let footer = shards.next_shard(i)?.footer();
            let (schema, media) = (footer.arrow_schema.clone(), media_of(&footer.fields));
            all = Some(match all {
                None => ArrowTypes { schema, media, typed: Vec::new() },
                Some(mut all) => {
                    all.schema = match (all.schema, schema) {
                        // Without samples, no value can contradict the only schema.
                        (one, other) if shards.samples(i) == 0 && (one.is_none() || other.is_none()) => {
                            one.or(other)
                        }
                        (one, other) => common_schema(one, other)?,
                    };
                    let is_new = |new: &MediaPath| all.media.iter().all(|(path, _)| *path != new.0);
                    let new: Vec<MediaPath> = media.into_iter().filter(is_new).collect();
                    all.media.extend(new);
                    all
                }
            });
        }
        Ok(all.unwrap_or_default())
    }
}
