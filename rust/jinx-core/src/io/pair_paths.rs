//! The files around one pair STEM.jinx + STEM.binx: which belong together, and which are leftovers.

use super::fs_calls::{FileOps, is_same, look};
use super::pair_names::{PairIdentity, hidden, is_id, second_name, split_second_name};
use super::sidecar_owner::other_owner;
use crate::error::{Error, Result};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf, absolute};

/// The maximum length that our names add to STEM: `.` + `.binx.` + 32 digits.
const LONGEST_ADDITION: usize = 39;
const LONGEST_NAME: usize = 255;

/// Every path that is touched when one pair is published; absolute, so that the working directory may change.
#[derive(Debug, Clone)]
pub(crate) struct PairPaths {
    pub directory: PathBuf,
    pub stem: OsString,
    pub main: PathBuf,
    pub sidecar: PathBuf,
    pub main_temp: PathBuf,
    pub sidecar_temp: PathBuf,
}

impl PairPaths {
    pub(crate) fn of(main: &Path) -> Result<Self> {
        let whole = absolute(main).map_err(|error| Error::io(main, &error))?;
        let stem = whole
            .file_name()
            .and_then(|name| name.as_bytes().strip_suffix(b".jinx"))
            // Without its suffix, the name `..jinx` would be the directory itself.
            .filter(|stem| !stem.is_empty() && *stem != b".")
            .ok_or_else(|| Error::invalid("the name of a dataset must be NAME.jinx").in_file(main))?;
        let stem = OsStr::from_bytes(stem);
        if stem.len() + LONGEST_ADDITION > LONGEST_NAME {
            let limit = LONGEST_NAME - LONGEST_ADDITION;
            return Err(Error::invalid(format!("the name is too long: at most {limit} bytes before .jinx"))
                .in_file(main));
        }
        let directory = whole.parent().unwrap_or(Path::new("/"));
        Ok(Self::inside(directory, stem))
    }

    pub(crate) fn inside(directory: &Path, stem: &OsStr) -> Self {
        let named = |suffix: &str| {
            let mut name = stem.to_owned();
            name.push(suffix);
            directory.join(name)
        };
        Self {
            directory: directory.to_owned(),
            stem: stem.to_owned(),
            main: named(".jinx"),
            sidecar: named(".binx"),
            main_temp: directory.join(hidden(stem, ".jinx.tmp")),
            sidecar_temp: directory.join(hidden(stem, ".binx.tmp")),
        }
    }

    pub(crate) fn main_exists(&self) -> Result<bool> {
        exists(&self.main)
    }

    /// The main file's id, and whether the sidecar with the visible name belongs to it.
    pub(crate) fn belonging(&self, identity: &dyn PairIdentity) -> Result<(Option<String>, bool)> {
        let main_id = identity.main_id(&self.main).filter(|id| is_id(id));
        let fits = exists(&self.sidecar)? && identity.sidecar_id(&self.sidecar) == main_id;
        Ok((main_id, fits))
    }

    /// The name under which the old sidecar must stay reachable while it is replaced, if there is an old pair.
    pub(crate) fn second_for_replacing(&self, identity: &dyn PairIdentity) -> Result<Option<PathBuf>> {
        if !self.main_exists()? {
            return Ok(None);
        }
        let (main_id, fits) = self.belonging(identity)?;
        Ok(fits.then(|| second_name(&self.main, main_id.as_deref())))
    }

    /// Undoes a replacement that was interrupted between its two renames. Only under the pair's lock.
    pub(crate) fn recover(&self, ops: &dyn FileOps, identity: &dyn PairIdentity) -> Result<()> {
        if !self.main_exists()? {
            return Ok(());
        }
        let (main_id, fits) = self.belonging(identity)?;
        let second = second_name(&self.main, main_id.as_deref());
        if fits || !exists(&second)? || identity.sidecar_id(&second) != main_id {
            return Ok(());
        }
        // The file at this path may be the only sidecar of another main file.
        if other_owner(&self.sidecar, &self.main, identity)?.is_some() {
            return Ok(());
        }
        let restored = ops.rename(&second, &self.sidecar).and_then(|()| ops.sync_directory(&self.directory));
        restored.map_err(|error| Error::io(&self.sidecar, &error))
    }

    /// The sidecar of a pair whose writer died before its main file got its name; any existing main file with that name
    /// has no sidecar. Only under the pair's lock, after [`Self::recover`].
    pub(crate) fn unfinished_sidecar(&self, identity: &dyn PairIdentity) -> Result<Option<PathBuf>> {
        if !exists(&self.sidecar)? {
            return Ok(None);
        }
        let written = identity.main_id(&self.main_temp).filter(|id| is_id(id));
        let main_id = identity.main_id(&self.main);
        if self.main_exists()? && (main_id.is_none() || main_id == written) {
            return Ok(None);
        }
        let is_its = written.is_some() && identity.sidecar_id(&self.sidecar) == written;
        let is_garbage = is_its && other_owner(&self.sidecar, &self.main, identity)?.is_none();
        Ok(is_garbage.then(|| self.sidecar.clone()))
    }

    /// Second names of this pair that no main file needs any more. Only under the pair's lock.
    pub(crate) fn garbage(&self, identity: &dyn PairIdentity) -> Result<Vec<PathBuf>> {
        let failed = |error: &io::Error| Error::io(&self.directory, error);
        let mut paths = Vec::new();
        for entry in fs::read_dir(&self.directory).map_err(|error| failed(&error))? {
            let entry = entry.map_err(|error| failed(&error))?;
            match split_second_name(&entry.file_name()) {
                Some((stem, tag))
                    if stem == self.stem && self.is_garbage(&entry.path(), &tag, identity)? =>
                {
                    paths.push(entry.path());
                }
                _ => {}
            }
        }
        paths.sort();
        Ok(paths)
    }

    fn is_garbage(&self, second: &Path, tag: &str, identity: &dyn PairIdentity) -> Result<bool> {
        let is_needed = self.main_exists()? && {
            let (main_id, fits) = self.belonging(identity)?;
            match main_id {
                Some(main_id) => !fits && tag == main_id,
                // There is no id, or the main file cannot be read: then it is unneeded only if it is another name of
                // the very same file.
                None => !fits || !is_one_file(second, &self.sidecar)?,
            }
        };
        Ok(!is_needed && other_owner(second, &self.main, identity)?.is_none())
    }
}

fn is_one_file(left: &Path, right: &Path) -> Result<bool> {
    let left = look(left).map_err(|error| Error::io(left, &error))?;
    let right = look(right).map_err(|error| Error::io(right, &error))?;
    Ok(matches!((left, right), (Some(left), Some(right)) if is_same(&left, &right)))
}

fn exists(path: &Path) -> Result<bool> {
    Ok(look(path).map_err(|error| Error::io(path, &error))?.is_some())
}
