//! Copies datasets byte by byte, using the writers for new datasets: a copy is complete or absent, and leftovers of a
//! killed copy are removed.

use crate::identity::JinxIdentity;
use jinx_core::error::{Cause, Error, Result};
use jinx_core::interrupt;
use jinx_core::io::{Contents, DirectoryWriter, FileOps, Identity, PairWriter, RealOps};
use std::fs::{self, File, FileTimes};
use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The number of bytes copied between two checks for an interrupt.
const STEP_BYTES: u64 = 64 << 20;

/// A file, and what identified it when it was copied.
type Copied = (PathBuf, Identity);

/// Copies a main file and its sidecar to `target` and the sidecar's name next to it.
///
/// # Errors
/// The errors of [`PairWriter::begin`] and [`PairWriter::commit`]; `Io` when a file cannot be read;
/// `Interrupted`.
pub fn copy_pair(main: &Path, sidecar: Option<&Path>, target: &Path, overwrite: bool) -> Result<()> {
    copy_pair_into(PairWriter::begin(target, overwrite, JinxIdentity)?, main, sidecar)
}

pub(crate) fn copy_pair_into(mut writer: PairWriter, main: &Path, sidecar: Option<&Path>) -> Result<()> {
    let target = writer.main_path().to_owned();
    let mut copied = vec![(main.to_owned(), copy_file(main, writer.main_file(), &target)?)];
    if let Some(sidecar) = sidecar {
        copied.push((sidecar.to_owned(), copy_file(sidecar, writer.sidecar_file()?, &target)?));
    }
    let is_one_dataset = match writer.written_ids() {
        (Some(main_id), Some(sidecar_id)) => main_id == sidecar_id,
        // JINX 1.0 has no ids.
        _ => copied.iter().all(is_unchanged),
    };
    if is_one_dataset { writer.commit() } else { Err(changed_meanwhile(main)) }
}

/// Copies a directory of shards to the directory `target`.
///
/// # Errors
/// The errors of [`DirectoryWriter::begin`] and [`DirectoryWriter::commit`]; `Mismatch` when another writer
/// replaced or extended the directory meanwhile; `Io` when a file cannot be read; `Interrupted`.
pub fn copy_directory(directory: &Path, target: &Path, overwrite: bool) -> Result<()> {
    copy_directory_on(Arc::new(RealOps), directory, target, overwrite)
}

/// Like [`copy_directory`], through `ops`.
///
/// # Errors
/// The errors of [`copy_directory`].
pub fn copy_directory_on(
    ops: Arc<dyn FileOps>,
    directory: &Path,
    target: &Path,
    overwrite: bool,
) -> Result<()> {
    let writer = DirectoryWriter::begin_on(ops, target, overwrite, Contents::Pairs)?;
    let mut copied: Vec<Copied> = Vec::new();
    for file in files_of(directory)? {
        let place = writer.path().join(file.file_name().unwrap_or_default());
        let mut file_made = writer.ops().create(&place).map_err(|error| Error::io(&place, &error))?;
        let identity = copy_file(&file, &mut file_made, target)?;
        copied.push((file, identity));
    }
    require_same(directory, &copied)?;
    writer.commit()
}

/// The files of a directory of shards, without temporaries.
pub(crate) fn files_of(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Contents::Pairs.files_of(directory)?;
    files.retain(|file| !file.file_name().unwrap_or_default().as_encoded_bytes().starts_with(b"."));
    Ok(files)
}

/// Fails unless all copied files existed at the same time: none has changed or disappeared since, and none was added.
fn require_same(directory: &Path, copied: &[Copied]) -> Result<()> {
    let is_complete = files_of(directory)?.iter().eq(copied.iter().map(|(file, _)| file));
    if is_complete && copied.iter().all(is_unchanged) { Ok(()) } else { Err(changed_meanwhile(directory)) }
}

/// Whether the copied file still has its name and content.
fn is_unchanged((file, identity): &Copied) -> bool {
    fs::metadata(file).is_ok_and(|metadata| Identity::from(&metadata) == *identity)
}

fn changed_meanwhile(source: &Path) -> Error {
    Error::mismatch("the dataset was changed or replaced while it was copied; copy it again").in_file(source)
}

/// Copies content, permissions and the time of the last change, and returns the file's identity; `target` is the
/// output, for messages.
pub(crate) fn copy_file(from: &Path, to: &mut File, target: &Path) -> Result<Identity> {
    let mut copy = || -> Result<Identity> {
        let mut source = File::open(from)?;
        let metadata = source.metadata()?;
        while io::copy(&mut source.by_ref().take(STEP_BYTES), to)? == STEP_BYTES {
            interrupt::check()?;
        }
        to.set_permissions(metadata.permissions())?;
        to.set_times(FileTimes::new().set_modified(metadata.modified()?))?;
        Ok(Identity::from(&metadata))
    };
    copy().map_err(|error| match error.cause() {
        Cause::Io(StorageFull | QuotaExceeded | FileTooLarge) => error.in_file(target),
        _ => error.in_file(from),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::{fs, thread};

    #[test]
    fn an_interrupted_copy_leaves_nothing() {
        let place = tempfile::tempdir().unwrap();
        let [source, target, directory] = ["a", "b.jinx", "b"].map(|name| place.path().join(name));
        let [main, sidecar] = ["a.jinx", "a.binx"].map(|name| source.join(name));
        fs::create_dir(&source).unwrap();
        fs::write(&main, "").unwrap();
        // Interrupts are checked after the first step.
        File::create(&sidecar).unwrap().set_len(STEP_BYTES + 1).unwrap();
        // Each thread has its own check.
        let stopped = thread::spawn(move || {
            interrupt::also_ask(|| true);
            let pair = copy_pair(&main, Some(&sidecar), &target, false);
            [pair, copy_directory(&source, &directory, false)].map(Result::unwrap_err)
        });
        for error in stopped.join().unwrap() {
            assert_eq!(error.cause(), Cause::Interrupted);
        }
        let left: Vec<_> =
            fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["a"]);
    }
}
