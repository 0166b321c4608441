//! MDS directories as the rows of a dataset.

use crate::dataset::files::Files;
use crate::dataset::projection::Projection;
use crate::dataset::rows::{ColumnData, Roots, Rows, Walk};
use crate::mds::column;
use crate::mds::dataset::MdsDataset;
use crate::mds::sample::MdsSample;
use crate::mds::sequential_read::MdsWalk;
use crate::sample::stored::StoredSample;
use jinx_core::events::Sink;
use jinx_core::{Error, Result};
use jinx_format::fields::{FieldInfo, Measure};
use jinx_format::read::columns::ColumnKind;
use jinx_mds::index_json::INDEX_NAME;
use jinx_mds::read::directory::Directory;
use std::any::Any;
use std::sync::Arc;

/// Take samples together up to this many decompressed bytes, but always at least one sample.
const TOGETHER_BYTES: u64 = 16 << 20;

impl Rows for MdsDataset {
    fn files(&self) -> &Files {
        &self.files
    }

    fn projection(&self) -> &Projection {
        &self.projection
    }

    fn with_projection(&self, projection: Projection) -> Arc<dyn Rows> {
        Arc::new(self.with_projection(projection))
    }

    fn close(&self) {
        self.directory.close();
        self.walks.end();
    }

    fn check_open(&self) -> Result<()> {
        self.directory.check()
    }

    fn sample(self: Arc<Self>, position: u64) -> Result<StoredSample> {
        check_columns(&*self.directory.get()?, position)?;
        Ok(StoredSample::of(MdsSample::new(self, position)))
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

    /// Samples that are compressed as one piece stay in memory until their values are decoded.
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

/// Checks a shard that has no columns: no access to a column can report what is wrong with it.
fn check_columns(directory: &Directory, position: u64) -> Result<()> {
    let (shard, _) = directory.place(position);
    let Some(info) = directory.info(shard).filter(|info| info.columns.all.is_empty()) else { return Ok(()) };
    info.check().map_err(|error| {
        let index = directory.directory_of(shard).join(INDEX_NAME);
        Error::new(error.cause(), format!("shard {shard}: {}", error.what())).in_file(index)
    })
}
