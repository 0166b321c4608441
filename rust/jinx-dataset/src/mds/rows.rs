//! MDS directories as the rows of a dataset.

use crate::column_data::ColumnData;
use crate::files::{Closable, Files};
use crate::located::{Located, Walk};
use crate::mds::column;
use crate::mds::decoding::Walks;
use crate::mds::sequential_read::MdsWalk;
use crate::projection::Projection;
use crate::rows::{Roots, Rows};
use jinx_core::row_events::Sink;
use jinx_core::{Error, Result};
use jinx_format::fields::{FieldInfo, Measure};
use jinx_format::read::columns::ColumnKind;
use jinx_format::read::shard::OpenOptions;
use jinx_mds::index_json::INDEX_NAME;
use jinx_mds::read::directory::{Directory, Hashes, Options};
use std::any::Any;
use std::sync::Arc;

pub struct MdsRows {
    pub files: Arc<Files>,
    pub directory: Closable<Directory>,
    pub decode_options: Arc<DecodeOptions>,
    /// Threads that decode compressed shards for iterators over all samples in order.
    pub walks: Arc<Walks>,
    pub projection: Projection,
}

/// How a binding converts values to objects.
#[derive(Debug, Clone, Default)]
pub struct DecodeOptions {
    pub pickles: Pickles,
    /// Return JPEG and PNG images as the bytes of their files.
    pub image_bytes: bool,
}

/// Columns whose pickles may be loaded. Loading a pickle may run any code.
#[derive(Debug, Clone, Default)]
pub enum Pickles {
    #[default]
    Refused,
    All,
    In(Vec<String>),
}

impl Pickles {
    pub fn allows(&self, column: &str) -> bool {
        match self {
            Self::Refused => false,
            Self::All => true,
            Self::In(names) => names.iter().any(|name| name == column),
        }
    }
}

impl MdsRows {
    pub fn new(directory: Directory, decode_options: DecodeOptions) -> Self {
        let (paths, base) = (directory.paths().to_vec(), directory.base().to_path_buf());
        let files = Files { paths, base, samples: directory.len() };
        Self {
            files: Arc::new(files),
            walks: Arc::new(Walks::new(directory.has_packed())),
            directory: Closable::new(directory),
            decode_options: Arc::new(decode_options),
            projection: Projection::default(),
        }
    }

    /// The same directories with other columns.
    pub fn with_projection(&self, projection: Projection) -> Self {
        Self {
            files: Arc::clone(&self.files),
            directory: self.directory.clone(),
            decode_options: Arc::clone(&self.decode_options),
            walks: Arc::clone(&self.walks),
            projection,
        }
    }
}

/// Take samples together up to this many decompressed bytes, but always at least one sample.
const TOGETHER_BYTES: u64 = 16 << 20;

impl Rows for MdsRows {
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
        let before = self.directory.get()?;
        let paths = self.files.places().collect();
        let hashes = match before.options.hashes {
            Hashes::All => Hashes::All,
            _ => super::options(options).hashes,
        };
        let options = Options {
            access: options.access,
            limits: options.limits,
            hashes,
            store: options.store.clone().or_else(|| before.options.store.clone()),
            ..before.options.clone()
        };
        let directory = Directory::open(paths, options)?;
        if directory.identities() != before.identities() {
            let changed = Error::mismatch("the files changed since they were first opened; open them again");
            return Err(self.files.paths.first().map_or(changed.clone(), |path| changed.in_file(path)));
        }
        let rows = Self::new(directory, (*self.decode_options).clone());
        Ok(Arc::new(rows.with_projection(self.projection.clone())))
    }

    fn close(&self) {
        self.directory.close();
        self.walks.end();
    }

    fn check_open(&self) -> Result<()> {
        self.directory.check()
    }

    fn locate(self: Arc<Self>, position: u64) -> Result<Located> {
        check_columns(&*self.directory.get()?, position)?;
        Ok(Located::Mds { rows: self, position, row: None })
    }

    fn emit_members(
        &self,
        position: u64,
        wanted: &dyn Fn(&str) -> bool,
        mut sink: &mut dyn Sink,
    ) -> Result<()> {
        let row = self.directory.get()?.row(position)?;
        row.emit_members(&|name| self.projection.has(name) && wanted(name), &mut sink)
    }

    fn measure(
        &self,
        positions: &mut dyn Iterator<Item = u64>,
        path: &[&str],
        kind: ColumnKind,
    ) -> Result<Vec<Option<Measure>>> {
        let directory = self.directory.get()?;
        positions.map(|position| column::measure(&directory, position, path, kind)).collect()
    }

    fn column(&self, path: &[Option<String>], kind: ColumnKind) -> Result<Option<ColumnData>> {
        let directory = self.directory.get()?;
        match (path, kind) {
            ([Some(name)], ColumnKind::Value) => column::numbers(&directory, name),
            _ => Ok(None),
        }
    }

    fn column_names(&self) -> Result<Vec<String>> {
        Ok(self.directory.get()?.columns().into_iter().map(|(name, _)| name).collect())
    }

    fn kind(&self) -> &'static str {
        "mds"
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn roots(self: Arc<Self>, positions: Option<Vec<u64>>) -> Result<Roots> {
        Ok(Roots { rows: vec![self], positions })
    }

    fn statistics(&self) -> Result<Vec<FieldInfo>> {
        Ok(column::statistics(&*self.directory.get()?))
    }

    fn identities(&self) -> Result<Vec<(u64, String)>> {
        Ok(self.directory.get()?.identities())
    }

    fn base_ids(&self) -> Result<Vec<(u64, String)>> {
        let directory = self.directory.get()?;
        directory.require_unchanged()?;
        Ok(directory.ids().to_vec())
    }

    fn footer(&self, _file: usize) -> Result<String> {
        Err(Error::invalid("MDS directories have no footer"))
    }

    /// Returns how many samples to take together: a sample that is compressed as one piece stays in memory until its
    /// values are decoded.
    fn taken_together(&self, positions: &[u64]) -> usize {
        let Ok(directory) = self.directory.get() else { return positions.len() };
        let mut bytes = 0u64;
        let mut fits = |(i, position): (usize, &u64)| {
            let (shard, row) = directory.place(*position);
            let shard = directory.shard(shard).ok().filter(|shard| shard.is_sample_compressed());
            let length = shard.and_then(|shard| shard.announced_len(row).ok().flatten());
            bytes = bytes.saturating_add(length.unwrap_or_default());
            i == 0 || bytes <= TOGETHER_BYTES
        };
        positions.iter().enumerate().position(|one| !fits(one)).unwrap_or(positions.len())
    }

    fn walk(self: Arc<Self>) -> Option<Box<dyn Walk>> {
        if self.walks.are_worth_it { Some(Box::new(MdsWalk::new(self))) } else { None }
    }
}

/// Checks a shard without columns: no access to a column could report what is wrong with it.
fn check_columns(directory: &Directory, position: u64) -> Result<()> {
    let (shard, _) = directory.place(position);
    let Some(info) = directory.info(shard).filter(|info| info.columns.all.is_empty()) else { return Ok(()) };
    info.check().map_err(|error| {
        let index = directory.directory_of(shard).join(INDEX_NAME);
        Error::new(error.cause(), format!("shard {shard}: {}", error.what())).in_file(index)
    })
}
