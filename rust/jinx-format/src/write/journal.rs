//! Records which shards in a work directory are finished, so that an interrupted run can be resumed.

use crate::manifest::{Manifest, ShardEntry};
use crate::write::options::Resume;
use jinx_core::error::{Error, Result};
use jinx_core::io::fs_calls::{FileOps, if_there};
use jinx_core::io::{DirectoryWriter, sidecar_path};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A name that the removal of leftovers recognizes.
const NAME: &str = ".progress.json.tmp";
const NEXT: &str = ".progress2.json.tmp";

#[derive(Serialize, Deserialize)]
struct Notes {
    key: String,
    shards: Vec<ShardEntry>,
    /// The rows that were left out before the end of the last shard.
    #[serde(default)]
    refused: Vec<RefusedRow>,
}

/// A row that would have made the dataset unreadable.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RefusedRow {
    /// How many rows had been passed before it, including refused rows.
    pub(crate) given: u64,
    /// How many rows had been written before it.
    pub(crate) written: u64,
    pub(crate) reason: String,
}

/// The list of finished shards.
pub(crate) struct Journal {
    ops: Arc<dyn FileOps>,
    directory: PathBuf,
    key: String,
}

impl Journal {
    /// Takes over the finished shards in `work` from an interrupted run; removes everything else. Returns the rows that
    /// were left out among theirs, too.
    ///
    /// # Errors
    /// `Mismatch` when they were made from other inputs or with other options; they are kept then.
    pub(crate) fn begin(
        work: &mut DirectoryWriter,
        resume: &Resume,
        manifest: &mut Manifest,
    ) -> Result<(Self, Vec<RefusedRow>)> {
        let ops = Arc::clone(work.ops());
        let journal = Self { ops, directory: work.path().to_owned(), key: resume.key.clone() };
        let notes = resume.proceed.then(|| journal.read()).flatten();
        if let Some(notes) = &notes
            && notes.key != journal.key
        {
            work.keep_work();
            return Err(Error::mismatch(
                "inputs or options are not those of the interrupted run; repeat its command with --resume, \
                 or leave out --resume to start again",
            )
            .in_file(work.target()));
        }
        let (shards, mut refused) = notes.map(|notes| (notes.shards, notes.refused)).unwrap_or_default();
        for shard in shards {
            if !is_whole(&journal.directory, &shard) {
                break;
            }
            manifest.push(shard);
        }
        refused.retain(|row| row.written <= manifest.num_samples);
        journal.remove_others(&manifest.shards)?;
        if !manifest.shards.is_empty() {
            journal.write(&manifest.shards, &refused)?;
            work.keep_work();
        }
        Ok((journal, refused))
    }

    fn read(&self) -> Option<Notes> {
        serde_json::from_slice(&fs::read(self.directory.join(NAME)).ok()?).ok()
    }

    /// Records that these shards are finished, and which rows were left out so far.
    pub(crate) fn write(&self, shards: &[ShardEntry], refused: &[RefusedRow]) -> Result<()> {
        let notes = Notes { key: self.key.clone(), shards: shards.to_vec(), refused: refused.to_vec() };
        let text = serde_json::to_vec(&notes).map_err(|error| Error::invalid(error.to_string()))?;
        let (next, path) = (self.directory.join(NEXT), self.directory.join(NAME));
        let written = self.ops.write(&next, &text).and_then(|()| self.ops.rename(&next, &path));
        written.map_err(|error| Error::io(&path, &error))
    }

    /// Removes the record, before the directory is published.
    pub(crate) fn remove(&self) -> Result<()> {
        self.remove_name(NAME)
    }

    fn remove_name(&self, name: &str) -> Result<()> {
        let path = self.directory.join(name);
        if_there(self.ops.remove(&path)).map_err(|error| Error::io(&path, &error))
    }

    /// Removes unfinished shards, and nothing else.
    fn remove_others(&self, shards: &[ShardEntry]) -> Result<()> {
        let failed = |error: std::io::Error| Error::io(&self.directory, &error);
        for entry in fs::read_dir(&self.directory).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let Some(name) = name.to_str() else { continue };
            let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
            let is_shard = name.starts_with("shard-") || name == NAME || name == NEXT;
            let is_kept = shards.iter().any(|shard| shard.name.strip_suffix(".jinx") == Some(stem));
            if is_shard && !is_kept {
                self.remove_name(name)?;
            }
        }
        Ok(())
    }
}

fn is_whole(directory: &Path, shard: &ShardEntry) -> bool {
    let main = directory.join(&shard.name);
    let size = |path: &Path| path.metadata().map_or(0, |metadata| metadata.len());
    size(&main) == shard.bytes && size(&sidecar_path(&main)) == shard.sidecar_bytes
}
