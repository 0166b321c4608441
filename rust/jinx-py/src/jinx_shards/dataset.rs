//! Open or closed JINX shards, with the columns that a view selects.

use crate::dataset::files::{Closable, Files};
use crate::dataset::projection::Projection;
use crate::jinx_shards::footer_facts::Facts;
use crate::jinx_shards::shards::Shards;
use jinx_core::Result;
use jinx_core::io::base_of;
use jinx_format::read::shard::OpenOptions;
use jinx_format::view::ViewInfo;
use std::path::PathBuf;
use std::sync::Arc;

pub struct JinxDataset {
    pub files: Arc<Files>,
    pub shards: Closable<Shards>,
    pub facts: Arc<Facts>,
    pub projection: Projection,
    /// Whether the files are plain JSON lines.
    pub plain: bool,
}

impl JinxDataset {
    /// Opens shards like [`Shards::open`]. Relative paths start at the current working directory.
    ///
    /// # Errors
    /// Errors from opening the shards.
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
        let (shards, facts) = (Closable::new(shards), Arc::default());
        Ok(Self { files, shards, facts, projection: Projection::default(), plain })
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

    /// Whether this is the file of a view, opened without its bases.
    pub fn is_view(&self) -> bool {
        self.view_info().is_ok_and(|info| info.is_some())
    }

    pub fn view_samples(&self) -> Result<u64> {
        Ok(self.shards.get()?.shard(0)?.footer().num_samples)
    }
}
