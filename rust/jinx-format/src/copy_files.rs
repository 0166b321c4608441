//! Copies datasets byte by byte through the writers of new ones: a copy is whole or absent, and the leftovers of a
//! killed one are swept.

use crate::identity::JinxIdentity;
use jinx_core::error::{Cause, Error, Result};
use jinx_core::interrupt;
use jinx_core::io::{Contents, DirectoryWriter, PairWriter};
use std::fs::{File, FileTimes};
use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Bytes copied between two checks for an interrupt.
const STEP_BYTES: u64 = 64 << 20;

/// Copies a main file and its sidecar to `target` and the sidecar's name next to it.
///
/// # Errors
/// As [`PairWriter::begin`] and [`PairWriter::commit`]; `Io` when a file cannot be read; `Interrupted`.
pub fn copy_pair(main: &Path, sidecar: Option<&Path>, target: &Path, overwrite: bool) -> Result<()> {
    copy_pair_into(PairWriter::begin(target, overwrite, JinxIdentity)?, main, sidecar)
}

pub(crate) fn copy_pair_into(mut writer: PairWriter, main: &Path, sidecar: Option<&Path>) -> Result<()> {
    let target = writer.main_path().to_owned();
    copy_file(main, writer.main_file(), &target)?;
    if let Some(sidecar) = sidecar {
        copy_file(sidecar, writer.sidecar_file()?, &target)?;
    }
    // Another writer may have replaced the pair after its main file was copied.
    match writer.written_ids() {
        (Some(main_id), Some(sidecar_id)) if main_id != sidecar_id => {
            Err(Error::mismatch("the dataset was replaced while it was copied; copy it again").in_file(main))
        }
        _ => writer.commit(),
    }
}

/// Copies the files of a directory of shards to the directory `target`.
///
/// # Errors
/// As [`DirectoryWriter::begin`] and [`DirectoryWriter::commit`]; `Io` when a file cannot be read; `Interrupted`.
pub fn copy_directory(files: &[PathBuf], target: &Path, overwrite: bool) -> Result<()> {
    let writer = DirectoryWriter::begin_with(target, overwrite, Contents::Pairs)?;
    for file in files {
        let place = writer.path().join(file.file_name().unwrap_or_default());
        let mut made = writer.ops().create(&place).map_err(|error| Error::io(&place, &error))?;
        copy_file(file, &mut made, target)?;
    }
    writer.commit()
}

/// Copies content, permissions and the time of the last change; `target` is the output, for messages.
pub(crate) fn copy_file(from: &Path, to: &mut File, target: &Path) -> Result<()> {
    let mut copy = || -> Result<()> {
        let mut source = File::open(from)?;
        while io::copy(&mut source.by_ref().take(STEP_BYTES), to)? == STEP_BYTES {
            interrupt::check()?;
        }
        let metadata = source.metadata()?;
        to.set_permissions(metadata.permissions())?;
        Ok(to.set_times(FileTimes::new().set_modified(metadata.modified()?))?)
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
        let [main, sidecar, target, directory] =
            ["a.jinx", "a.binx", "b.jinx", "b"].map(|name| place.path().join(name));
        fs::write(&main, "").unwrap();
        // The interrupt is checked after the first step.
        File::create(&sidecar).unwrap().set_len(STEP_BYTES + 1).unwrap();
        // The check belongs to a thread.
        let stopped = thread::spawn(move || {
            interrupt::also_ask(|| true);
            let pair = copy_pair(&main, Some(&sidecar), &target, false);
            [pair, copy_directory(&[main, sidecar], &directory, false)].map(Result::unwrap_err)
        });
        for error in stopped.join().unwrap() {
            assert_eq!(error.cause(), Cause::Interrupted);
        }
        let mut left: Vec<_> =
            fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["a.binx", "a.jinx"]);
    }
}
