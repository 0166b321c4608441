//! Second names of files that may be symbolic links, which must still lead to the same file from their new location.

use super::fs_calls::{FileOps, if_there, look};
use super::pair_names::hidden;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Gives a file a second name. If it is a symbolic link, the second name is another link to the same file.
pub fn give_name(ops: &dyn FileOps, file: &Path, name: &Path) -> io::Result<()> {
    if !is_link(file)? {
        return ops.link(file, name);
    }
    ops.symlink(&leading_to_the_same(file, name)?, name)
}

/// Whether the file system cannot give a file this second name, so that it must be copied.
pub fn is_refused_link(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, PermissionDenied, TooManyLinks, Unsupported};
    matches!(error.kind(), CrossesDevices | PermissionDenied | TooManyLinks | Unsupported)
}

/// Renames a file, replacing an existing one; a symbolic link still leads to the same file afterwards.
pub fn rename_file(ops: &dyn FileOps, file: &Path, name: &Path) -> io::Result<()> {
    if !is_link(file)? {
        return ops.rename(file, name);
    }
    let temporary = name.with_file_name(hidden(name.file_name().unwrap_or_default(), ".moved"));
    if look(&temporary)?.is_some() {
        if_there(ops.remove(&temporary))?;
    }
    give_name(ops, file, &temporary)?;
    if let Err(error) = ops.rename(&temporary, name) {
        let _ = ops.remove(&temporary);
        return Err(error);
    }
    ops.remove(file)
}

fn is_link(file: &Path) -> io::Result<bool> {
    Ok(look(file)?.is_some_and(|metadata| metadata.is_symlink()))
}

/// The target with which a link at `name` leads to the same file as `link`.
fn leading_to_the_same(link: &Path, name: &Path) -> io::Result<PathBuf> {
    let to = fs::read_link(link)?;
    if to.is_absolute() {
        return Ok(to);
    }
    // Directories in the path may also be links, and `..` leads from their targets.
    let [from, here] = [link, name].map(|path| path.parent().unwrap_or(Path::new("/")).canonicalize());
    let (from, here) = (from?, here?);
    let common = from.components().zip(here.components()).take_while(|(one, other)| one == other).count();
    let ups = here.components().skip(common).map(|_| Component::ParentDir);
    let path: PathBuf = ups.chain(from.components().skip(common)).collect();
    Ok(path.join(to))
}
