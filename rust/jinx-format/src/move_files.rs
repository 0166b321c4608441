//! Renames and removes datasets.
//!
//! At every moment of a move, and after any crash, the new name has its old or its new dataset, and until it has the new
//! one, the old name is complete. No writer of either name works meanwhile.

use crate::copy_files::{copy_file, copy_pair_into, files_of};
use crate::identity::{JinxIdentity, sidecar_of};
use jinx_core::error::{Cause, Error, Result};
use jinx_core::io::links::{give_name, is_refused_link, rename_file};
use jinx_core::io::{
    Contents, DirectoryLock, DirectoryWriter, FileOps, PairLock, PairWriter, RealOps, other_owner,
};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;

/// Moves a main file and its sidecar, by copying them if the target is on another file system. A sidecar that another
/// main file needs keeps its old name as well.
///
/// # Errors
/// `Mismatch` when the sidecar is missing; the errors of [`PairLock::take`], [`PairWriter::begin`] and
/// [`PairWriter::commit`].
pub fn move_pair(from: &Path, to: &Path, overwrite: bool) -> Result<()> {
    move_pair_on(Arc::new(RealOps), from, to, overwrite)
}

/// Like [`move_pair`], through `ops`.
///
/// # Errors
/// The errors of [`move_pair`].
pub fn move_pair_on(ops: Arc<dyn FileOps>, from: &Path, to: &Path, overwrite: bool) -> Result<()> {
    let source = PairLock::take(Arc::clone(&ops), from, &JinxIdentity)?;
    let main = source.main().to_owned();
    let sidecar = sidecar_of(&main)?;
    let mut writer = PairWriter::receive(ops, to, sidecar.as_deref(), overwrite, JinxIdentity)?;
    // If the main file was renamed alone, the sidecar may already have the new name.
    let removed = no_longer_needed(sidecar.clone(), &main)?.filter(|path| path != writer.sidecar_path());
    let is_linked = match &sidecar {
        _ if !is_on_device_of(&main, writer.main_path())? => false,
        Some(sidecar) => writer.link_sidecar(sidecar)?,
        None => true,
    };
    if is_linked {
        writer.commit_moved(&main)?;
    } else {
        copy_pair_into(writer, &main, sidecar.as_deref())?;
    }
    source.remove(removed.as_deref())
}

/// Removes a main file and its sidecar, unless another main file needs the sidecar.
///
/// # Errors
/// The errors of [`PairLock::take`] and [`PairLock::remove`].
pub fn remove_pair(main: &Path) -> Result<()> {
    let pair = PairLock::take(Arc::new(RealOps), main, &JinxIdentity)?;
    let sidecar = match sidecar_of(pair.main()) {
        // The sidecar is already missing.
        Err(error) if error.cause() == Cause::Mismatch => None,
        found => found?,
    };
    let sidecar = no_longer_needed(sidecar, pair.main())?;
    pair.remove(sidecar.as_deref())
}

/// The sidecar of `main`, unless another main file needs it.
fn no_longer_needed(sidecar: Option<PathBuf>, main: &Path) -> Result<Option<PathBuf>> {
    let Some(sidecar) = sidecar else { return Ok(None) };
    Ok(other_owner(&sidecar, main, &JinxIdentity)?.is_none().then_some(sidecar))
}

/// Moves a directory of shards: its files get second names, and lose those in the old directory once the new one is
/// complete. A link to a directory is moved itself.
///
/// # Errors
/// `Invalid` when the directory holds other files; the errors of [`DirectoryLock::take`],
/// [`DirectoryWriter::begin`] and [`DirectoryWriter::commit`].
pub fn move_directory(from: &Path, to: &Path, overwrite: bool) -> Result<()> {
    move_directory_on(Arc::new(RealOps), from, to, overwrite)
}

/// Like [`move_directory`], through `ops`.
///
/// # Errors
/// The errors of [`move_directory`].
pub fn move_directory_on(ops: Arc<dyn FileOps>, from: &Path, to: &Path, overwrite: bool) -> Result<()> {
    let (from, to) = (absolute(from)?, absolute(to)?);
    if from.is_symlink() {
        return move_link(&*ops, &from, &to);
    }
    let source = DirectoryLock::take(Arc::clone(&ops), &from, &JinxIdentity)?;
    if is_inside(&to, &from) {
        return Err(Error::invalid("a directory cannot be moved into itself").in_file(to));
    }
    let files = files_of(&from)?;
    let writer = DirectoryWriter::begin_on(Arc::clone(&ops), &to, overwrite, Contents::Pairs)?;
    for file in &files {
        let name = writer.path().join(file.file_name().unwrap_or_default());
        match give_name(&*ops, file, &name) {
            Err(error) if is_refused_link(&error) => {
                let mut file_made = ops.create(&name).map_err(|error| Error::io(&name, &error))?;
                copy_file(file, &mut file_made, &to)?;
            }
            done => done.map_err(|error| Error::io(&name, &error))?,
        }
    }
    let mode = fs::metadata(&from).map_err(|error| Error::io(&from, &error))?.mode();
    File::open(writer.path())
        .and_then(|work| ops.set_mode(&work, writer.path(), mode))
        .map_err(|error| Error::io(writer.path(), &error))?;
    writer.commit()?;
    source.remove()
}

/// Removes a directory of shards.
///
/// # Errors
/// The errors of [`DirectoryLock::take`] and [`DirectoryLock::remove`].
pub fn remove_directory(directory: &Path) -> Result<()> {
    remove_directory_on(Arc::new(RealOps), directory)
}

/// Like [`remove_directory`], through `ops`.
///
/// # Errors
/// The errors of [`remove_directory`].
pub fn remove_directory_on(ops: Arc<dyn FileOps>, directory: &Path) -> Result<()> {
    let directory = directory.canonicalize().map_err(|error| Error::io(directory, &error))?;
    DirectoryLock::take(ops, &directory, &JinxIdentity)?.remove()
}

/// Moves a link to a directory.
fn move_link(ops: &dyn FileOps, from: &Path, to: &Path) -> Result<()> {
    rename_file(ops, from, to).map_err(|error| Error::io(to, &error))?;
    for path in [to, from] {
        let parent = path.parent().unwrap_or(Path::new("/"));
        ops.sync_directory(parent).map_err(|error| Error::io(parent, &error))?;
    }
    Ok(())
}

fn is_inside(path: &Path, directory: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    path.parent().is_some_and(|parent| real(parent).starts_with(real(directory)))
}

/// Whether a file can be renamed to `target`, because both are on one device.
fn is_on_device_of(file: &Path, target: &Path) -> Result<bool> {
    let device = |path: &Path| match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(metadata.dev()),
        Err(error) => Err(Error::io(path, &error)),
    };
    Ok(device(file)? == device(target.parent().unwrap_or(Path::new("/")))?)
}
