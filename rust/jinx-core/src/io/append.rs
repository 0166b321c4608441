//! Adds shards to a published directory, one writer at a time. Shards that a dead writer added are removed.
//!
//! ```text
//! .NAME.tmp.lock    held from begin to the end, the same as for replacing; lists the shards that are being added
//! shard files       under their final names, which count once the manifest lists them
//! ```

use super::directory_contents::Contents;
use super::directory_paths::{DirectoryPaths, remove_dataset};
use super::fs_calls::{FileOps, RealOps, if_there};
use super::lock::Lock;
use super::pair_names::{PairIdentity, sidecar_path};
use super::pair_writer::require_directory;
use super::sidecar_owner::other_owner;
use crate::checked_math::to_usize;
use crate::error::{Error, Result};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The maximum number of bytes read from a list of added shards: 50,000 names.
const MAX_LIST_BYTES: u64 = 1 << 20;

/// Adds shards to a directory; dropping it without [`DirectoryAppend::keep`] removes them.
pub struct DirectoryAppend {
    ops: Arc<dyn FileOps>,
    directory: PathBuf,
    added: Vec<String>,
    lock: Lock,
}

impl DirectoryAppend {
    /// Locks the directory `target`, and undoes the unfinished work of a dead writer.
    ///
    /// # Errors
    /// `Invalid` when the parent directory is missing; `Io` (`WouldBlock`) when another process is writing it.
    pub fn begin(target: &Path, identity: &dyn PairIdentity) -> Result<Self> {
        Self::begin_on(Arc::new(RealOps), target, identity)
    }

    /// Like [`DirectoryAppend::begin`], through `ops`.
    ///
    /// # Errors
    /// The errors of [`DirectoryAppend::begin`].
    pub fn begin_on(ops: Arc<dyn FileOps>, target: &Path, identity: &dyn PairIdentity) -> Result<Self> {
        let paths = DirectoryPaths::of(target)?;
        require_directory(&paths.parent)?;
        let lock = Lock::take_kept(&ops, &paths.lock, &paths.target)?;
        paths.recover(&*ops)?;
        remove_unlisted(&*ops, &paths.target, &lock, identity)?;
        for left in [&paths.work, &paths.aside] {
            remove_dataset(&*ops, left, Contents::Jinx)?;
        }
        lock.clear()?;
        Ok(Self { ops, directory: paths.target, added: Vec::new(), lock })
    }

    /// The operations with which files in the directory are made.
    pub fn ops(&self) -> &Arc<dyn FileOps> {
        &self.ops
    }

    /// The directory, absolute.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Records a main file; call this before creating the file `name`.
    pub fn add(&mut self, name: &str) -> Result<()> {
        let noted = writeln!(self.lock.file_mut(), "{name}");
        noted.map_err(|error| Error::io(self.lock.path(), &error))?;
        self.added.push(name.to_owned());
        Ok(())
    }

    /// Makes the names of the added files durable, because a manifest must not list files that a power cut would
    /// remove.
    pub fn sync(&self) -> Result<()> {
        self.ops.sync_directory(&self.directory).map_err(|error| Error::io(&self.directory, &error))
    }

    /// Keeps the added shards, which the manifest lists now.
    pub fn keep(mut self) {
        self.added.clear();
    }
}

impl Drop for DirectoryAppend {
    fn drop(&mut self) {
        if self.lock.is_own_process() {
            for name in &self.added {
                // Leftovers that no manifest lists only cost space.
                let _ = remove_files(&*self.ops, &shard_files(&self.directory, name));
            }
        }
    }
}

/// The sidecar and the main file of a shard, if they exist.
fn shard_files(directory: &Path, name: &str) -> Vec<PathBuf> {
    let main = directory.join(name);
    [sidecar_path(&main), main].into_iter().filter(|path| path.exists()).collect()
}

fn remove_files(ops: &dyn FileOps, files: &[PathBuf]) -> Result<()> {
    files.iter().try_for_each(|path| if_there(ops.remove(path)).map_err(|error| Error::io(path, &error)))
}

/// Removes the shards that a dead writer listed in its lock, except those in the manifest. Only under the lock.
pub(crate) fn remove_unlisted(
    ops: &dyn FileOps,
    directory: &Path,
    lock: &Lock,
    identity: &dyn PairIdentity,
) -> Result<Vec<PathBuf>> {
    let failed = |error: &std::io::Error| Error::io(lock.path(), error);
    let length = lock.file().metadata().map_err(|error| failed(&error))?.len().min(MAX_LIST_BYTES);
    let mut text = vec![0; to_usize(length, "a length")?];
    lock.file().read_exact_at(&mut text, 0).map_err(|error| failed(&error))?;
    let text = String::from_utf8_lossy(&text);
    // Without a readable manifest, it is unknown which shards count.
    let Some(listed) = identity.listed(directory).filter(|_| !text.is_empty()) else {
        return Ok(Vec::new());
    };
    let mut removed = Vec::new();
    for name in text.lines().filter(|name| is_shard(name) && !listed.iter().any(|other| other == name)) {
        let mut files = shard_files(directory, name);
        if other_owner(&sidecar_path(&directory.join(name)), &directory.join(name), identity)?.is_some() {
            files.retain(|path| !path.ends_with(sidecar_path(Path::new(name))));
        }
        remove_files(ops, &files)?;
        removed.extend(files);
    }
    Ok(removed)
}

/// Whether a name is `shard-DIGITS.jinx`; no other names are ever added.
fn is_shard(name: &str) -> bool {
    let number = name.strip_prefix("shard-").and_then(|rest| rest.strip_suffix(".jinx"));
    number.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}
