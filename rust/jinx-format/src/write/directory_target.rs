//! A directory of pairs that is being written.

use crate::manifest::{Manifest, ShardEntry};
use crate::view_footer::NewView;
use crate::write::dataset::Summary;
use crate::write::encode::EncodedRow;
use crate::write::footer_text::room_for_names;
use crate::write::journal::{Journal, RefusedRow};
use crate::write::options::WriteOptions;
use crate::write::pair::{PairBuilder, PairSummary};
use crate::write::pair_target::PlainPair;
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use jinx_core::io::{DirectoryAppend, DirectoryWriter, FileOps};
use jinx_core::limits::MAX_SHARDS;
use std::path::PathBuf;
use std::sync::Arc;

pub(super) struct DirectoryTarget {
    /// Where shards are written: a work directory or, when appending, the dataset's own.
    pub(super) directory: PathBuf,
    pub(super) publish: Publish,
    pub(super) manifest: Manifest,
    pub(super) current: Option<Box<PairBuilder>>,
    pub(super) next_shard: u64,
    /// Records which shards are finished, for a later run.
    pub(super) journal: Option<Journal>,
    /// Rows that were left out; kept if a later run must know them.
    pub(super) refused: Vec<RefusedRow>,
    /// Whether all rows are written, because their shards were planned together.
    pub(super) is_complete: bool,
}

pub(super) enum Publish {
    Directory(DirectoryWriter),
    /// Shards that will be removed again, unless the manifest lists them.
    Append(DirectoryAppend),
}

impl Publish {
    pub(super) fn ops(&self) -> &Arc<dyn FileOps> {
        match self {
            Self::Directory(work) => work.ops(),
            Self::Append(append) => append.ops(),
        }
    }
}

fn shard_name(number: u64) -> String {
    format!("shard-{number:05}.jinx")
}

impl DirectoryTarget {
    pub(super) fn set_options(&mut self, options: &Arc<WriteOptions>) -> Result<()> {
        room_for_names(options)?;
        if let Some(pair) = &mut self.current {
            pair.set_options(options)?;
        }
        if matches!(self.publish, Publish::Directory(_)) {
            self.manifest.split.clone_from(&options.split);
            self.manifest.meta = options.meta.clone();
        }
        Ok(())
    }

    /// The shard for `row`: a new one if the current one is full.
    pub(super) fn shard_for(
        &mut self,
        row: &EncodedRow,
        options: &Arc<WriteOptions>,
        written: &mut Summary,
    ) -> Result<&mut Box<PairBuilder>> {
        if let (Some(pair), Some(limit)) = (&self.current, options.shard_bytes) {
            let values = row.values.iter().map(|value| value.data.len()).sum::<u64>();
            let arrays =
                options.view.as_ref().map_or(0, |view| view.sample_bytes().saturating_mul(pair.rows() + 1));
            let size = pair.bytes() + arrays + to_u64(row.text.len()) + values;
            if pair.rows() > 0 && size > limit && self.may_begin_another() {
                self.finish_shard(options, written)?;
            }
        }
        self.current(options)
    }

    /// Records that a row was left out, after `written` others were written.
    pub(super) fn note_refused(&mut self, written: u64, reason: &Error) {
        if self.journal.is_some() {
            let given = written + to_u64(self.refused.len());
            self.refused.push(RefusedRow { given, written, reason: reason.what().to_owned() });
        }
    }

    /// Why an interrupted run left out the row that was passed after `given` others, if it did.
    pub(super) fn refusal(&self, given: u64) -> Option<Error> {
        let at = self.refused.binary_search_by_key(&given, |row| row.given).ok()?;
        let row = &self.refused[at];
        Some(Error::limit(row.reason.clone()).in_sample(row.written))
    }

    /// The current shard, started if there is none.
    pub(super) fn current(&mut self, options: &Arc<WriteOptions>) -> Result<&mut Box<PairBuilder>> {
        if self.is_complete {
            return Err(Error::invalid("all rows of this directory are written already"));
        }
        if self.current.is_none() {
            let name = shard_name(self.next_shard);
            if let Publish::Append(append) = &mut self.publish {
                append.add(&name)?;
            }
            let path = self.directory.join(name);
            let files = PlainPair::create(self.publish.ops(), &path)?;
            self.current = Some(Box::new(PairBuilder::new(&path, Box::new(files), options)?));
        }
        self.current.as_mut().ok_or_else(|| Error::invalid("no shard is open"))
    }

    /// Whether another shard may follow the current one.
    fn may_begin_another(&self) -> bool {
        self.manifest.shards.len() + 1 < MAX_SHARDS
    }

    /// Finishes the last shard, or all shards of a view without columns of its own.
    pub(super) fn finish_shards(&mut self, options: &Arc<WriteOptions>, written: &mut Summary) -> Result<()> {
        self.finish_shard(options, written)?;
        let shown = options.view.as_ref().map_or(0, |view| view.num_samples);
        while self.manifest.shards.is_empty() || self.manifest.num_samples < shown {
            self.current(options)?;
            self.finish_shard(options, written)?;
        }
        Ok(())
    }

    /// The samples of a view that the current shard shows: those after the samples of earlier shards.
    fn next_part(&self, view: &NewView, rows: u64, limit: Option<u64>) -> Result<NewView> {
        let start = self.manifest.num_samples;
        let left = view.num_samples.saturating_sub(start);
        let most = match limit {
            Some(limit) if self.may_begin_another() => (limit / view.sample_bytes()).max(1),
            _ => left,
        };
        view.part(&(start..start + if rows > 0 { rows } else { left.min(most) }))
    }

    fn finish_shard(&mut self, options: &WriteOptions, written: &mut Summary) -> Result<()> {
        let Some(mut pair) = self.current.take() else { return Ok(()) };
        if let Some(view) = &options.view {
            pair.show(self.next_part(view, pair.rows(), options.shard_bytes)?);
        }
        let (summary, files) = pair.finish(i64::try_from(self.next_shard).unwrap_or(-1))?;
        files.publish()?;
        self.add_shard(summary, written);
        if let (Some(journal), Publish::Directory(work)) = (&self.journal, &mut self.publish) {
            journal.write(&self.manifest.shards, &self.refused)?;
            work.keep_work();
        }
        Ok(())
    }

    /// Whether no shard of this writer has any rows.
    pub(super) fn is_new(&self) -> bool {
        self.current.is_none() && self.journal.is_none() && !self.is_complete
    }

    /// How many more shards a directory may have.
    pub(super) fn free_shards(&self) -> usize {
        MAX_SHARDS.saturating_sub(self.manifest.shards.len())
    }

    /// The numbers and main files of the next shards, before they are created.
    pub(super) fn name_shards(&mut self, count: usize) -> Result<Vec<(u64, PathBuf)>> {
        let numbers = (self.next_shard..).take(count);
        let files = numbers.map(|number| {
            let name = shard_name(number);
            if let Publish::Append(append) = &mut self.publish {
                append.add(&name)?;
            }
            Ok((number, self.directory.join(name)))
        });
        files.collect()
    }

    /// Adds the next shard, which is finished, to the list.
    pub(super) fn add_shard(&mut self, summary: PairSummary, written: &mut Summary) {
        written.add(&summary);
        self.manifest.push(ShardEntry {
            name: shard_name(self.next_shard),
            samples: summary.samples,
            bytes: summary.bytes,
            sidecar_bytes: summary.sidecar_bytes,
            id: summary.id,
        });
        self.next_shard += 1;
    }
}
