//! The place of a sample: its rows and files.

use crate::column_rows::ColumnRows;
use crate::mds::MdsRows;
use crate::rows::Rows;
use crate::shards::ShardRows;
use jinx_core::Result;
use jinx_mds::read::shard::Row;
use std::sync::Arc;

/// Where the columns of a sample are. Bindings make their own objects of it; [`Rows::emit`] needs none.
pub enum Located {
    /// A row of JINX shards or JSON lines.
    Shards(Arc<ShardRows>, u64),
    /// A sample of MDS directories.
    Mds {
        rows: Arc<MdsRows>,
        position: u64,
        /// Set if the columns are located already.
        row: Option<Row>,
    },
    /// A sample of a view: a sample of its base, and a row of the view's own columns, which the base does not show.
    View { base: Box<Self>, own: Box<Self>, own_names: Arc<Vec<String>> },
    /// Typed columns of a saved view.
    Columns(Arc<ColumnRows>, u64),
    /// A sample of rows from another crate.
    Other(Arc<dyn Rows>, u64),
}

/// Reads samples from first to last.
pub trait Walk: Send {
    /// Returns where the sample at a position is. Call this with increasing positions.
    ///
    /// # Errors
    /// The same as [`Rows::locate`].
    fn locate(&mut self, position: u64) -> Result<Located>;
}
