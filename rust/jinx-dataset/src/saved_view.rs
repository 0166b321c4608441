//! A saved view over its bases.

use crate::files::Files;
use crate::rows::Rows;
use crate::shards::ShardRows;
use crate::view::{Positions, ViewRows};
use jinx_core::{Error, Result};
use std::sync::Arc;

/// The samples of a saved view. `file` is the view's own file, and `base` all its bases as one sequence.
///
/// # Errors
/// `Invalid` for the file of another dataset; `Mismatch` if the bases have another number of samples.
pub fn over_bases(file: Arc<ShardRows>, base: Arc<dyn Rows>) -> Result<ViewRows> {
    let info = file.view_info()?.ok_or_else(|| Error::invalid("this is not a saved view"))?;
    let (samples, expected) = (base.files().samples, info.base_samples);
    if samples != expected {
        let what = format!("the bases have {samples} samples, the view was saved over {expected}");
        return Err(Error::mismatch(what));
    }
    let files = Files {
        paths: file.files.paths.clone(),
        base: file.files.base.clone(),
        samples: file.view_samples()?,
    };
    let positions = match info.positions {
        None => Positions::Same,
        Some(_) => Positions::Saved(Arc::clone(&file)),
    };
    // Without samples, the file may still have the types of the columns.
    let has_types = files.samples == 0 && file.shards.get()?.shard(0)?.footer().arrow_schema.is_some();
    let own: Option<Arc<dyn Rows>> = if info.rows > 0 || has_types { Some(file) } else { None };
    ViewRows::new(files, base, positions, own, info.drop)
}
