//! The numbers of an indexed column, read part by part whenever they are needed, so that none of them stay in memory.

use crate::browse::sortable_cells::{Cells, KeyKind};
use crate::column_data::{ColumnData, ColumnPart};
use crate::dataset::Dataset;
use crate::shards::common_type;
use jinx_core::checked_math::to_usize;
use jinx_core::{Error, Result};
use jinx_format::read::columns::{ColumnKind, ColumnType};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of samples that a thread processes at a time.
const BLOCK: usize = 1 << 18;
/// The number of parts that stay in memory: each of a few cores has a thread that reads one.
const KEPT_PARTS: usize = 4;

/// An indexed column of a dataset whose samples are in the order of the column.
pub(super) struct Stored {
    dataset: Dataset,
    path: Vec<Option<String>>,
    kind: ColumnKind,
    pub(super) key_kind: KeyKind,
    /// The samples of each part in blocks, with the number of the part and its first position.
    blocks: Vec<Block>,
    kept: Mutex<Vec<(usize, Arc<ColumnData>)>>,
}

#[derive(Clone)]
struct Block {
    samples: Range<usize>,
    part: usize,
    first: u64,
}

impl Stored {
    /// `None` if the column is not indexed or does not contain single numbers, or if the dataset has another order.
    ///
    /// # Errors
    /// Read errors.
    pub(super) fn find(dataset: &Dataset, path: &[Option<String>], kind: ColumnKind) -> Result<Option<Self>> {
        if dataset.positions.as_ref().is_some_and(|positions| !positions.is_sorted()) {
            return Ok(None);
        }
        let Some(parts) = dataset.rows.column_parts(path, kind)? else { return Ok(None) };
        let Some(types) = parts.iter().map(|part| part.dtype).collect::<Option<Vec<ColumnType>>>() else {
            return Ok(None);
        };
        // Strings and times are not numbers.
        let is_number = |dtype: &ColumnType| !matches!(dtype, ColumnType::Utf8 | ColumnType::Time(_));
        let Some(dtype) = common_type(&types).filter(is_number) else { return Ok(None) };
        Ok(Some(Self {
            blocks: blocks(dataset, &parts)?,
            key_kind: KeyKind::of(dtype),
            dataset: dataset.clone(),
            path: path.to_vec(),
            kind,
            kept: Mutex::default(),
        }))
    }

    pub(super) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    pub(super) fn samples(&self, block: usize) -> Range<usize> {
        self.blocks.get(block).map_or(0..0, |block| block.samples.clone())
    }

    /// The block that holds a sample.
    pub(super) fn block_of(&self, sample: usize) -> usize {
        self.blocks.partition_point(|block| block.samples.end <= sample)
    }

    /// Passes the key of each of these samples of a block to `take`.
    ///
    /// # Errors
    /// Read errors; `Invalid` for a sample that the block does not hold.
    pub(super) fn keys(
        &self,
        block: usize,
        samples: impl Iterator<Item = usize>,
        mut take: impl FnMut(usize, Option<u64>),
    ) -> Result<()> {
        let block = self.blocks.get(block).ok_or_else(|| Error::invalid("no such block"))?;
        let column = self.part(block.part)?;
        let cells = Cells::of(&column, self.key_kind)?;
        for sample in samples {
            let position = self.dataset.position(sample).checked_sub(block.first);
            let position = position.ok_or_else(|| Error::invalid("a sample of another block"))?;
            take(sample, cells.key(to_usize(position, "a position")?)?);
        }
        Ok(())
    }

    fn part(&self, part: usize) -> Result<Arc<ColumnData>> {
        let locked = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, column)) = locked().iter().find(|(kept, _)| *kept == part) {
            return Ok(Arc::clone(column));
        }
        let column = Arc::new(self.dataset.rows.column_part(part, &self.path, self.kind)?);
        let mut kept = locked();
        if kept.len() == KEPT_PARTS {
            kept.remove(0);
        }
        kept.push((part, Arc::clone(&column)));
        Ok(column)
    }
}

/// The samples of a dataset in blocks, none of which extends over two parts.
fn blocks(dataset: &Dataset, parts: &[ColumnPart]) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    let place = |position: u64| match &dataset.positions {
        Some(positions) => Ok(positions.partition_point(|other| *other < position)),
        None => to_usize(position, "a position"),
    };
    for (part, ColumnPart { start: first, .. }) in parts.iter().copied().enumerate() {
        let end = parts.get(part + 1).map_or(dataset.rows.files().samples, |next| next.start);
        let samples = place(first)?..place(end)?;
        let pieces = samples.clone().step_by(BLOCK).map(|start| start..samples.end.min(start + BLOCK));
        blocks.extend(pieces.map(|samples| Block { samples, part, first }));
    }
    Ok(blocks)
}
