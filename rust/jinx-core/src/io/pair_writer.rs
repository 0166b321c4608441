//! Publishes one pair so that at any time, and after any crash, either the old or the new dataset can be opened.
//!
//! ```text
//! create    write .STEM.jinx.tmp (locked) and .STEM.binx.tmp -> fsync both
//!           -> rename .binx -> fsync directory -> rename .jinx (commit) -> fsync directory
//! replace   the same, but before: link the old sidecar to .STEM.binx.<old id> -> fsync directory; after: unlink it
//! change    as create, without a sidecar: that of the old main file stays, so both must have one id
//! move      as create or replace, but .STEM.binx.tmp is a link to the moved sidecar, and the moved main file is renamed
//! ```
//! Without the second name a crash between the renames would leave the old main file with the new sidecar.

use super::fs_calls::{FileOps, RealOps, if_there, look};
use super::links::{give_name, is_refused_link, rename_file};
use super::lock::{Lock, wait_for_finisher};
use super::pair_names::PairIdentity;
use super::pair_paths::PairPaths;
use super::sidecar_owner::require_own_sidecar;
use crate::error::{Error, Result};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes a pair STEM.jinx + STEM.binx to temporary files and publishes both with [`PairWriter::commit`].
///
/// Dropping it without `commit` removes the temporaries and leaves what was there.
pub struct PairWriter {
    ops: Arc<dyn FileOps>,
    paths: PairPaths,
    identity: Box<dyn PairIdentity>,
    overwrite: bool,
    sidecar: Option<File>,
    /// Whether the existing sidecar also belongs to the new main file.
    keeps_sidecar: bool,
    lock: Lock,
}

impl PairWriter {
    /// Starts to write `main`, whose name must end in `.jinx`, and undoes the unfinished work of a dead writer.
    ///
    /// # Errors
    /// `Invalid` when the name is unsuitable or too long, the directory is missing, the target is a directory, it
    /// exists and
    /// `overwrite` is false, or its sidecar's name is that of another dataset's sidecar; `Io` (`WouldBlock`) when
    /// another process is writing the same dataset; `Unsupported` when the file system has no locks.
    pub fn begin(main: &Path, overwrite: bool, identity: impl PairIdentity + 'static) -> Result<Self> {
        Self::begin_on(Arc::new(RealOps), main, overwrite, Box::new(identity))
    }

    /// Like [`PairWriter::begin`], but with file operations through `ops`.
    ///
    /// # Errors
    /// The errors of [`PairWriter::begin`].
    pub fn begin_on(
        ops: Arc<dyn FileOps>,
        main: &Path,
        overwrite: bool,
        identity: Box<dyn PairIdentity>,
    ) -> Result<Self> {
        Self::start(ops, main, overwrite, identity, false)
    }

    /// Starts to change the main file of a pair; its id and its sidecar stay. What is read of it from now on is what
    /// [`PairWriter::commit`] replaces.
    ///
    /// # Errors
    /// The errors of [`PairWriter::begin`].
    pub fn change(ops: Arc<dyn FileOps>, main: &Path, identity: impl PairIdentity + 'static) -> Result<Self> {
        Self::start(ops, main, true, Box::new(identity), true)
    }

    /// Starts to give the name `main` to another pair, whose sidecar is `sidecar`.
    ///
    /// # Errors
    /// The errors of [`PairWriter::begin`].
    pub fn receive(
        ops: Arc<dyn FileOps>,
        main: &Path,
        sidecar: Option<&Path>,
        overwrite: bool,
        identity: impl PairIdentity + 'static,
    ) -> Result<Self> {
        // The main file may have been renamed without its sidecar, and may get its old name back.
        let keeps_sidecar = sidecar == Some(&PairPaths::of(main)?.sidecar);
        Self::start(ops, main, overwrite, Box::new(identity), keeps_sidecar)
    }

    fn start(
        ops: Arc<dyn FileOps>,
        main: &Path,
        overwrite: bool,
        identity: Box<dyn PairIdentity>,
        keeps_sidecar: bool,
    ) -> Result<Self> {
        let paths = PairPaths::of(main)?;
        require_directory(&paths.directory)?;
        require_free(&paths, overwrite)?;
        let lock = Lock::take(&ops, &paths.main_temp, &paths.main)?;
        wait_for_finisher(&paths.main)?;
        // Check again, now that nobody else can publish.
        require_free(&paths, overwrite)?;
        if !keeps_sidecar {
            require_own_sidecar(&paths.main, &*identity)?;
        }
        let writer = Self { ops, paths, identity, overwrite, sidecar: None, keeps_sidecar, lock };
        writer.settle()?;
        Ok(writer)
    }

    /// The temporary file that becomes the main file.
    pub fn main_file(&mut self) -> &mut File {
        self.lock.file_mut()
    }

    /// The temporary file that becomes the sidecar; the first call creates it.
    pub fn sidecar_file(&mut self) -> Result<&mut File> {
        let path = &self.paths.sidecar_temp;
        match &mut self.sidecar {
            Some(file) => Ok(file),
            none => {
                let file = self.ops.create(path).map_err(|error| Error::io(path, &error))?;
                Ok(none.insert(file))
            }
        }
    }

    /// The ids of the main file and of the sidecar, as far as these are written.
    pub fn written_ids(&self) -> (Option<String>, Option<String>) {
        let sidecar = self.sidecar.as_ref().and_then(|_| self.identity.sidecar_id(&self.paths.sidecar_temp));
        (self.identity.main_id(&self.paths.main_temp), sidecar)
    }

    pub fn has_sidecar(&self) -> bool {
        self.sidecar.is_some()
    }

    /// Where the main file will be, absolute.
    pub fn main_path(&self) -> &Path {
        &self.paths.main
    }

    /// Where the sidecar will be, absolute.
    pub fn sidecar_path(&self) -> &Path {
        &self.paths.sidecar
    }

    /// Makes both files durable and publishes them.
    ///
    /// # Errors
    /// `Io` when the operating system refuses a step: the old dataset is then back in its place, except when only the
    /// last sync of the directory failed; the message says so. `Unsupported` when a pair with a sidecar is to be
    /// replaced on a file system without hard links.
    pub fn commit(mut self) -> Result<()> {
        self.require_still_free()?;
        self.finish_files()?;
        let temporary = self.paths.main_temp.clone();
        self.publish(&temporary)
    }

    /// Gives `sidecar` a second name, as the temporary file that becomes the sidecar. False if it must be copied,
    /// because the file system cannot give it one.
    ///
    /// # Errors
    /// `Io` when the operating system refuses.
    pub fn link_sidecar(&mut self, sidecar: &Path) -> Result<bool> {
        if self.keeps_sidecar {
            return Ok(true);
        }
        let file = self.synced(sidecar)?;
        let name = &self.paths.sidecar_temp;
        match give_name(&*self.ops, sidecar, name) {
            Err(error) if is_refused_link(&error) => Ok(false),
            Err(error) => Err(Error::io(name, &error)),
            Ok(()) => {
                self.sidecar = Some(file);
                Ok(true)
            }
        }
    }

    /// Gives the main file `main` the final name, instead of what was written. It must be on this file system, and
    /// nobody else may change it meanwhile: see [`super::PairLock`].
    ///
    /// # Errors
    /// The errors of [`PairWriter::commit`].
    pub fn commit_moved(mut self, main: &Path) -> Result<()> {
        self.require_still_free()?;
        self.synced(main)?;
        self.publish(main)
    }

    fn synced(&self, path: &Path) -> Result<File> {
        let failed = |error| Error::io(path, &error);
        let file = File::open(path).map_err(failed)?;
        self.ops.sync_file(&file, path).map_err(failed)?;
        Ok(file)
    }

    /// Checks again that the target is free: a program that takes no lock may have written there.
    fn require_still_free(&self) -> Result<()> {
        self.lock.require_ours()?;
        require_free(&self.paths, self.overwrite)?;
        // Copies of the old main file were searched for at the beginning, because this takes long in a large directory.
        if !self.keeps_sidecar && !self.paths.belonging(&*self.identity)?.1 {
            require_own_sidecar(&self.paths.main, &*self.identity)?;
        }
        Ok(())
    }

    /// Publishes the sidecar, and `new_main` as the main file.
    fn publish(&mut self, new_main: &Path) -> Result<()> {
        self.settle()?;
        let is_written = new_main == self.paths.main_temp;
        if is_written && self.keeps_sidecar {
            self.require_same_id()?;
        }
        let second = if self.sidecar.is_some() { self.keep_old_sidecar()? } else { None };
        let mut sidecar_moved = false;
        if let Err(error) = self.put_sidecar(&mut sidecar_moved).and_then(|()| self.put_main(new_main)) {
            self.take_back(second.as_deref(), sidecar_moved);
            return Err(error);
        }
        if is_written {
            self.lock.set_published();
        }
        self.sync_directory().map_err(|error| {
            let what = format!("published, but the directory could not be synced: {}", error.what());
            Error::new(error.cause(), what).in_file(&self.paths.main)
        })?;
        // The dataset is complete now; leftovers are removed later.
        if let Some(second) = &second {
            let _ = if_there(self.ops.remove(second));
        }
        if !sidecar_moved && !self.keeps_sidecar {
            let _ = if_there(self.ops.remove(&self.paths.sidecar));
        }
        Ok(())
    }

    /// Fails if a changed main file does not match the sidecar that stays.
    fn require_same_id(&self) -> Result<()> {
        let [old, new] = [&self.paths.main, &self.paths.main_temp].map(|path| self.identity.main_id(path));
        if old.is_some() && old == new {
            return Ok(());
        }
        Err(Error::mismatch("the file became another dataset while it was changed; try again")
            .in_file(&self.paths.main))
    }

    /// Recovers from an interrupted replacement, then removes the leftovers of dead writers.
    fn settle(&self) -> Result<()> {
        self.paths.recover(&*self.ops, &*self.identity)?;
        if self.sidecar.is_none() {
            self.remove_there(&self.paths.sidecar_temp)?;
        }
        // Second names exist only if a file was replaced. A new file has none, so the directory, which may be large,
        // need not be listed.
        if self.paths.main_exists()? {
            for second in self.paths.garbage(&*self.identity)? {
                self.remove_there(&second)?;
            }
        }
        Ok(())
    }

    fn finish_files(&self) -> Result<()> {
        let old_main = mode_of(&self.paths.main)?;
        let old_sidecar = mode_of(&self.paths.sidecar)?.or(old_main);
        self.finish_file(self.lock.file(), self.lock.path(), old_main)?;
        match &self.sidecar {
            Some(file) => self.finish_file(file, &self.paths.sidecar_temp, old_sidecar),
            None => Ok(()),
        }
    }

    fn finish_file(&self, file: &File, path: &Path, mode: Option<u32>) -> Result<()> {
        let set = mode.map_or(Ok(()), |mode| self.ops.set_mode(file, path, mode));
        set.and_then(|()| self.ops.sync_file(file, path)).map_err(|error| Error::io(path, &error))
    }

    /// Gives the old sidecar its second name, if it belongs to the old main file.
    fn keep_old_sidecar(&self) -> Result<Option<PathBuf>> {
        let Some(second) = self.paths.second_for_replacing(&*self.identity)? else {
            return Ok(None);
        };
        self.remove_there(&second)?;
        self.ops.link(&self.paths.sidecar, &second).map_err(|error| no_link(&self.paths.sidecar, &error))?;
        if let Err(error) = self.sync_directory() {
            let _ = self.ops.remove(&second);
            return Err(error);
        }
        Ok(Some(second))
    }

    fn put_sidecar(&self, moved: &mut bool) -> Result<()> {
        if self.sidecar.is_none() {
            return Ok(());
        }
        let (from, to) = (&self.paths.sidecar_temp, &self.paths.sidecar);
        self.ops.rename(from, to).map_err(|error| Error::io(to, &error))?;
        *moved = true;
        self.sync_directory()
    }

    fn put_main(&self, new: &Path) -> Result<()> {
        self.lock.require_ours()?;
        rename_file(&*self.ops, new, &self.paths.main).map_err(|error| Error::io(&self.paths.main, &error))
    }

    /// Puts the old sidecar back, after a step before the commit has failed. The error of that step is the one to
    /// report.
    fn take_back(&self, second: Option<&Path>, sidecar_moved: bool) {
        let undone = match (second, sidecar_moved) {
            // Both names are still the same file, and renaming one to the other would keep both.
            (Some(second), false) => self.ops.remove(second),
            (Some(second), true) => self.ops.rename(second, &self.paths.sidecar),
            (None, true) => self.ops.remove(&self.paths.sidecar),
            (None, false) => return,
        };
        let _ = undone.and_then(|()| self.ops.sync_directory(&self.paths.directory));
    }

    fn remove_there(&self, path: &Path) -> Result<()> {
        // Look first: usually, nothing has to be changed.
        match look(path).map_err(|error| Error::io(path, &error))? {
            Some(_) => if_there(self.ops.remove(path)).map_err(|error| Error::io(path, &error)),
            None => Ok(()),
        }
    }

    fn sync_directory(&self) -> Result<()> {
        self.ops
            .sync_directory(&self.paths.directory)
            .map_err(|error| Error::io(&self.paths.directory, &error))
    }
}

impl Drop for PairWriter {
    fn drop(&mut self) {
        // Dropping the lock, which comes next, removes the temporary main file. It must be last, because it protects
        // this one.
        let guarded = self.lock.is_own_process() && self.lock.is_ours().unwrap_or(false);
        if self.sidecar.is_some() && guarded {
            let _ = if_there(self.ops.remove(&self.paths.sidecar_temp));
        }
    }
}

/// Fails if the parent directory of a dataset does not exist.
pub(crate) fn require_directory(directory: &Path) -> Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    Err(Error::invalid("no such directory; create it first").in_file(directory))
}

/// Fails if the target is a directory, or a file that must not be replaced.
fn require_free(paths: &PairPaths, overwrite: bool) -> Result<()> {
    let main = &paths.main;
    match look(main).map_err(|error| Error::io(main, &error))? {
        None => Ok(()),
        Some(metadata) if metadata.is_dir() => {
            Err(Error::invalid("this is a directory; a pair needs a file name that ends in .jinx")
                .in_file(main))
        }
        Some(metadata) if !metadata.is_file() && !metadata.is_symlink() => {
            Err(Error::invalid("this is a pipe or a device, which cannot be replaced").in_file(main))
        }
        Some(_) if overwrite => Ok(()),
        Some(_) => Err(already_there(main)),
    }
}

pub(crate) fn already_there(target: &Path) -> Error {
    Error::invalid("this already exists; replace it with --overwrite (overwrite=True) or choose another name")
        .in_file(target)
}

/// The permission bits of a file that is about to be replaced.
pub(crate) fn mode_of(path: &Path) -> Result<Option<u32>> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata.permissions().mode())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io(path, &error)),
    }
}

fn no_link(sidecar: &Path, error: &io::Error) -> Error {
    use io::ErrorKind::{PermissionDenied, TooManyLinks, Unsupported};
    if matches!(error.kind(), Unsupported | PermissionDenied | TooManyLinks) {
        let advice = "the old sidecar cannot get a second name, which a safe replacement needs";
        let way_out = "write to a new name, or remove the old pair first";
        return Error::unsupported(format!("{advice} ({error}); {way_out}")).in_file(sidecar);
    }
    Error::io(sidecar, error)
}
