//! Removes the leftovers of dead writers from a directory, and nothing else.

use super::append::remove_unlisted;
use super::directory_contents::Contents;
use super::directory_paths::{DirectoryPaths, remove_dataset, remove_marked_work};
use super::fs_calls::{FileOps, RealOps, if_there};
use super::lock::{Lock, wait_for_finisher};
use super::pair_names::{PairIdentity, hidden_stem, split_second_name};
use super::pair_paths::PairPaths;
use super::scratch_directory;
use super::stream_out::TEMPORARY;
use crate::error::{Error, Result};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;

/// Names in one directory that may be leftovers, by the kind of write that leaves them behind.
#[derive(Default)]
struct Suspects {
    /// The STEM of pairs.
    pairs: BTreeSet<OsString>,
    /// Temporary files of single files.
    singles: BTreeSet<OsString>,
    /// The NAME of directories.
    directories: BTreeSet<OsString>,
}

/// Removes temporary files of dead writers and second names that no main file needs; returns their paths.
///
/// Temporaries of living writers and all foreign names stay. Nothing inside subdirectories is touched, except
/// the hidden work directories of directory datasets and of commands.
///
/// # Errors
/// `Io` when the directory cannot be read or a leftover cannot be removed.
pub fn remove_leftovers(directory: &Path, identity: &dyn PairIdentity) -> Result<Vec<PathBuf>> {
    let directory = absolute(directory).map_err(|error| Error::io(directory, &error))?;
    let ops: Arc<dyn FileOps> = Arc::new(RealOps);
    let suspects = find(&directory).map_err(|error| Error::io(&directory, &error))?;
    let mut removed = Vec::new();
    // A writer that died while adding to this directory has left its lock next to it.
    if let Ok(paths) = DirectoryPaths::of(&directory)
        && paths.lock.exists()
    {
        removed.extend(sweep_directory(&ops, &paths, identity)?);
    }
    for stem in &suspects.pairs {
        sweep_pair(&ops, &PairPaths::inside(&directory, stem), identity, &mut removed)?;
    }
    for name in &suspects.singles {
        let path = directory.join(name);
        // Dropping the lock removes its file.
        if Lock::try_take(&ops, &path)?.is_some() {
            removed.push(path);
        }
    }
    for name in &suspects.directories {
        let paths = DirectoryPaths::inside(&directory, name);
        removed.extend(sweep_directory(&ops, &paths, identity)?);
    }
    removed.extend(scratch_directory::remove_unlocked(&*ops, &directory));
    Ok(removed)
}

fn find(directory: &Path) -> io::Result<Suspects> {
    let mut suspects = Suspects::default();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let name = entry.file_name();
        if kind.is_dir() {
            let ours = || Contents::of_any_kind(&entry.path());
            let target = hidden_stem(&name, ".tmp").or_else(|| hidden_stem(&name, ".tmp.old"));
            if let Some(target) = target.filter(|_| ours()) {
                suspects.directories.insert(target.to_owned());
            }
        } else if kind.is_file() {
            suspects.add_file(&name);
        } else if let Some((stem, _)) = split_second_name(&name) {
            // If a sidecar is a link, its second name is a link too.
            suspects.pairs.insert(stem);
        }
    }
    Ok(suspects)
}

impl Suspects {
    fn add_file(&mut self, name: &OsStr) {
        let pair = hidden_stem(name, ".jinx.tmp").or_else(|| hidden_stem(name, ".binx.tmp"));
        if let Some(stem) = pair {
            self.pairs.insert(stem.to_owned());
        } else if let Some((stem, _)) = split_second_name(name) {
            self.pairs.insert(stem);
        } else if let Some(target) = hidden_stem(name, ".tmp.lock") {
            self.directories.insert(target.to_owned());
        } else if name == ".jinx.json.tmp"
            || [".jinx.json.tmp", TEMPORARY].iter().any(|end| hidden_stem(name, end).is_some())
        {
            self.singles.insert(name.to_owned());
        }
    }
}

fn sweep_pair(
    ops: &Arc<dyn FileOps>,
    paths: &PairPaths,
    identity: &dyn PairIdentity,
    removed: &mut Vec<PathBuf>,
) -> Result<()> {
    let was_there = paths.main_temp.exists();
    let Some(_lock) = Lock::try_take_kept(ops, &paths.main_temp)? else {
        return Ok(());
    };
    wait_for_finisher(&paths.main)?;
    if identity.main_id(&paths.main).is_some() {
        // The writer died between the two renames, so put the old sidecar back.
        paths.recover(&**ops, identity)?;
    }
    let mut leftovers = paths.garbage(identity)?;
    leftovers.extend(paths.unfinished_sidecar(identity)?);
    if paths.sidecar_temp.exists() {
        leftovers.push(paths.sidecar_temp.clone());
    }
    for path in leftovers {
        if_there(ops.remove(&path)).map_err(|error| Error::io(&path, &error))?;
        removed.push(path);
    }
    if was_there {
        // Dropping the lock removes the file.
        removed.push(paths.main_temp.clone());
    }
    Ok(())
}

/// Removes what a dead writer of one directory left, and returns the paths. A directory with foreign files stays.
fn sweep_directory(
    ops: &Arc<dyn FileOps>,
    paths: &DirectoryPaths,
    identity: &dyn PairIdentity,
) -> Result<Vec<PathBuf>> {
    let had_lock = paths.lock.exists();
    let Some(lock) = Lock::try_take_kept(ops, &paths.lock)? else {
        return Ok(Vec::new());
    };
    paths.recover(&**ops)?;
    let mut removed = remove_unlisted(&**ops, &paths.target, &lock, identity)?;
    let manifest = paths.target.join(".jinx.json.tmp");
    // Dropping the lock removes its file.
    if manifest.is_file() && Lock::try_take(ops, &manifest)?.is_some() {
        removed.push(manifest);
    }
    if remove_marked_work(&**ops, paths, &lock)? {
        removed.push(paths.work.clone());
    }
    for left in [&paths.work, &paths.aside] {
        // Files with arbitrary names are ours only if our lock proves it.
        let kinds = [Contents::Jinx, Contents::Mds, Contents::Pairs];
        let kinds = if had_lock { &kinds[..] } else { &kinds[..2] };
        if left.exists() && kinds.iter().any(|kind| remove_dataset(&**ops, left, *kind).is_ok()) {
            removed.push(left.clone());
        }
    }
    if had_lock {
        removed.push(paths.lock.clone());
    }
    Ok(removed)
}
