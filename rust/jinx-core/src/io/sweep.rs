//! Removes what writers that died left in a folder, and nothing else.

use super::contents::Contents;
use super::folder;
use super::lock::{Lock, wait_for_finisher};
use super::ops::{FileOps, RealOps, if_there};
use super::pair_names::{PairIdentity, PairNames, hidden_stem, split_second_name};
use crate::error::{Error, Result};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;

/// Names in one folder that may be leftovers, by what they would be leftovers of.
#[derive(Default)]
struct Suspects {
    /// STEM of pairs.
    pairs: BTreeSet<OsString>,
    /// Temporaries of single files.
    singles: BTreeSet<OsString>,
    /// NAME of folders.
    folders: BTreeSet<OsString>,
}

/// Removes temporaries whose writer is dead and second names that no main file needs, and says which.
///
/// Temporaries of living writers and every name that is not ours stay. Nothing inside subfolders is touched, except
/// the hidden work folders of folder datasets.
///
/// # Errors
/// `Io` when the folder cannot be read or a leftover cannot be removed.
pub fn sweep(folder: &Path, identity: &dyn PairIdentity) -> Result<Vec<PathBuf>> {
    let folder = absolute(folder).map_err(|error| Error::io(folder, &error))?;
    let ops: Arc<dyn FileOps> = Arc::new(RealOps);
    let suspects = find(&folder).map_err(|error| Error::io(&folder, &error))?;
    let mut removed = Vec::new();
    // Whoever died while adding to this very folder left its lock beside it.
    if let Ok(names) = folder::FolderNames::of(&folder)
        && names.lock.exists()
    {
        removed.extend(folder::sweep_work(&ops, &names, identity)?);
    }
    for stem in &suspects.pairs {
        sweep_pair(&ops, &PairNames::inside(&folder, stem), identity, &mut removed)?;
    }
    for name in &suspects.singles {
        let path = folder.join(name);
        // Dropping the lock removes the file.
        if Lock::try_take(&ops, &path)?.is_some() {
            removed.push(path);
        }
    }
    for name in &suspects.folders {
        let names = folder::FolderNames::inside(&folder, name);
        removed.extend(folder::sweep_work(&ops, &names, identity)?);
    }
    Ok(removed)
}

fn find(folder: &Path) -> io::Result<Suspects> {
    let mut suspects = Suspects::default();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let name = entry.file_name();
        if kind.is_dir() {
            let ours = || Contents::of_any_kind(&entry.path());
            let target = hidden_stem(&name, ".tmp").or_else(|| hidden_stem(&name, ".tmp.old"));
            if let Some(target) = target.filter(|_| ours()) {
                suspects.folders.insert(target.to_owned());
            }
        } else if kind.is_file() {
            suspects.add_file(&name);
        } else if let Some((stem, _)) = split_second_name(&name) {
            // A sidecar that is a link has a second name that is a link.
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
            self.folders.insert(target.to_owned());
        } else if name == ".jinx.json.tmp" || hidden_stem(name, ".jinx.json.tmp").is_some() {
            self.singles.insert(name.to_owned());
        }
    }
}

fn sweep_pair(
    ops: &Arc<dyn FileOps>,
    names: &PairNames,
    identity: &dyn PairIdentity,
    removed: &mut Vec<PathBuf>,
) -> Result<()> {
    let was_there = names.main_temp.exists();
    let Some(_lock) = Lock::try_take_kept(ops, &names.main_temp)? else {
        return Ok(());
    };
    wait_for_finisher(&names.main)?;
    if identity.main_id(&names.main).is_some() {
        // Died between the two renames: the old sidecar goes back to its place.
        names.recover(&**ops, identity)?;
    }
    let mut leftovers = names.garbage(identity)?;
    leftovers.extend(names.unfinished_sidecar(identity)?);
    if names.sidecar_temp.exists() {
        leftovers.push(names.sidecar_temp.clone());
    }
    for path in leftovers {
        if_there(ops.remove(&path)).map_err(|error| Error::io(&path, &error))?;
        removed.push(path);
    }
    if was_there {
        // Removed when the lock is dropped.
        removed.push(names.main_temp.clone());
    }
    Ok(())
}
