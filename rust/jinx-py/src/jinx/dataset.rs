//! JINX shards, open or closed, with the columns that a view has of them.

use crate::dataset::files::{Closable, Files};
use crate::dataset::projection::Projection;
use crate::jinx::shards::Shards;
use jinx_core::Result;
use jinx_core::io::base_of;
use jinx_format::read::shard::OpenOptions;
use jinx_format::view::ViewInfo;
use std::path::PathBuf;
use std::sync::Arc;

pub struct JinxDataset {
    pub files: Arc<Files>,
    pub shards: Closable<Shards>,
    pub projection: Projection,
    /// Plain JSON lines.
    pub plain: bool,
}

impl JinxDataset {
    /// As [`Shards::open`]; relative paths count from the working directory as it is now.
    ///
    /// # Errors
    /// What is wrong with the shards that are opened.
    pub fn open(
        paths: Vec<PathBuf>,
        expected: Option<Vec<(u64, String)>>,
        split: Option<&str>,
        options: OpenOptions,
        plain: bool,
    ) -> Result<Self> {
        let base = base_of(&paths);
        // A shard that a manifest lists is not a view.
        let views = paths.len() == 1 && expected.is_none();
        let options = OpenOptions { base: base.clone(), views, ..options };
        let shards = Shards::open(paths.clone(), expected, split, options, plain)?;
        let files = Arc::new(Files { paths, base, samples: shards.len() });
        Ok(Self { files, shards: Closable::new(shards), projection: Projection::default(), plain })
    }

    /// The same shards with other columns.
    pub fn with_projection(&self, projection: Projection) -> Self {
        Self { files: Arc::clone(&self.files), shards: self.shards.clone(), projection, plain: self.plain }
    }

    /// What the only file says of itself as a view.
    pub fn view_info(&self) -> Result<Option<ViewInfo>> {
        let shards = self.shards.get()?;
        if shards.count() != 1 {
            return Ok(None);
        }
        Ok(shards.shard(0)?.footer().view.clone())
    }

    /// Whether it is a view of which only the file is open.
    pub fn is_view(&self) -> bool {
        self.view_info().is_ok_and(|info| info.is_some())
    }

    pub fn view_samples(&self) -> Result<u64> {
        Ok(self.shards.get()?.shard(0)?.footer().num_samples)
    }
}
