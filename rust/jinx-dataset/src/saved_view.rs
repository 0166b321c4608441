//! A saved view over its bases.

use crate::column_rows::ColumnRows;
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
    // Even without samples, the file may have the types of the columns.
    let has_types = files.samples == 0 && file.shards.get()?.shard(0)?.footer().arrow_schema.is_some();
    let columns = ColumnRows::of(&file)?.map(Arc::new);
    let members = (info.rows > 0 || has_types).then_some(file);
    let own: Option<Arc<dyn Rows>> = match (members, columns) {
        (Some(members), None) => Some(members),
        (None, Some(columns)) => Some(columns),
        (None, None) => None,
        // Typed columns come after the columns in the rows.
        (Some(members), Some(columns)) => {
            let paths = (files.paths.clone(), files.base.clone());
            let files = Files { paths: paths.0, base: paths.1, samples: files.samples };
            Some(Arc::new(ViewRows::new(files, members, Positions::Same, Some(columns), Vec::new())?))
        }
    };
    ViewRows::new(files, base, positions, own, info.drop)
}
