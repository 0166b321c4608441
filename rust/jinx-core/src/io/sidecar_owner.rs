//! Finds the main file that owns a sidecar. A main file that was renamed, or copied without its sidecar,
//! needs the sidecar under the old name.

use super::fs_calls::{is_same, look};
use super::pair_names::{PairIdentity, sidecar_path};
use crate::error::{Error, Result};
use crate::interrupt;
use std::ffi::OsStr;
use std::fs::{self, DirEntry, Metadata};
use std::path::{Path, PathBuf};

/// A main file in the directory, other than `main`, that has the id of `sidecar` and no other sidecar with this id.
///
/// # Errors
/// `Io` when the directory cannot be read; `Interrupted`.
pub fn other_owner(sidecar: &Path, main: &Path, identity: &dyn PairIdentity) -> Result<Option<PathBuf>> {
    let Some(id) = identity.sidecar_id(sidecar) else {
        // Without an id (JINX 1.0), only the name decides.
        return Ok(None);
    };
    let directory = sidecar.parent().unwrap_or(Path::new("/"));
    let failed = |error: &std::io::Error| Error::io(directory, error);
    let main_status = fs::metadata(main).ok();
    // Another file with this dataset's id is a copy of its main file. Compare lengths first, because few files have the
    // same.
    let copied = main_status.as_ref().filter(|_| identity.main_id(main).as_ref() == Some(&id));
    for entry in fs::read_dir(directory).map_err(|error| failed(&error))? {
        let entry = entry.map_err(|error| failed(&error))?;
        if Path::new(&entry.file_name()).extension() != Some(OsStr::new("jinx"))
            || copied.is_some_and(|copied| length_of(&entry).is_some_and(|length| length != copied.len()))
        {
            continue;
        }
        let path = entry.path();
        if path == main {
            continue;
        }
        interrupt::check()?;
        let needs = || identity.sidecar_of(&path).is_none_or(|found| found == sidecar);
        if identity.main_id(&path).as_ref() == Some(&id)
            && !is_link_to(&entry, main_status.as_ref())
            && needs()
        {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// The size of the file in bytes; links are followed.
fn length_of(entry: &DirEntry) -> Option<u64> {
    let metadata = entry.metadata().ok()?;
    let metadata = if metadata.is_symlink() { fs::metadata(entry.path()).ok()? } else { metadata };
    Some(metadata.len())
}

/// Whether `entry` is a link to the main file; such links always share its sidecar.
fn is_link_to(entry: &DirEntry, main: Option<&Metadata>) -> bool {
    let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
    is_link && main.is_some_and(|main| fs::metadata(entry.path()).is_ok_and(|found| is_same(&found, main)))
}

/// Fails if the sidecar that `main` would replace or remove belongs to another main file.
///
/// # Errors
/// `Invalid`, with the name of the other main file; `Io` when the directory cannot be read; `Interrupted`.
pub fn require_own_sidecar(main: &Path, identity: &dyn PairIdentity) -> Result<()> {
    let sidecar = sidecar_path(main);
    if look(&sidecar).map_err(|error| Error::io(&sidecar, &error))?.is_none() {
        return Ok(());
    }
    let Some(owner) = other_owner(&sidecar, main, identity)? else { return Ok(()) };
    let owned = sidecar_path(&owner);
    let [owner, owned] =
        [&owner, &owned].map(|path| path.file_name().unwrap_or_default().to_string_lossy().into_owned());
    // While the main file with this name exists, it needs the sidecar too.
    let way_out = if main.exists() { "copy" } else { "rename" };
    let what =
        format!("this is the sidecar of {owner}; {way_out} it to {owned} first, or choose another name");
    Err(Error::invalid(what).in_file(sidecar))
}
