//! The two files of a pair: published on their own, or with the directory that contains them.

use crate::identity::JinxIdentity;
use jinx_core::error::{Error, Result};
use jinx_core::io::{FileOps, PairWriter, require_own_sidecar, sidecar_path};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The two files of a pair that is being written.
pub trait PairFiles: Send {
    fn main_file(&mut self) -> &mut File;
    /// The sidecar, created by the first call.
    ///
    /// # Errors
    /// I/O errors.
    fn sidecar_file(&mut self) -> Result<&mut File>;
    /// Whether the files are synced when they are published.
    fn are_synced(&self) -> bool {
        true
    }
    /// Syncs the complete files and gives them their names.
    ///
    /// # Errors
    /// I/O errors; the target is then as it was.
    fn publish(self: Box<Self>) -> Result<()>;
}

/// A pair that is published on its own.
pub(crate) struct AtomicPair(pub PairWriter);

impl PairFiles for AtomicPair {
    fn main_file(&mut self) -> &mut File {
        self.0.main_file()
    }
    fn sidecar_file(&mut self) -> Result<&mut File> {
        self.0.sidecar_file()
    }
    fn publish(self: Box<Self>) -> Result<()> {
        self.0.commit()
    }
}

/// A pair inside a directory that is published as a whole.
pub(crate) struct PlainPair {
    ops: Arc<dyn FileOps>,
    path: PathBuf,
    main: File,
    side: Option<File>,
}

impl PlainPair {
    pub(crate) fn create(ops: &Arc<dyn FileOps>, path: &Path) -> Result<Self> {
        let main = create_file(&**ops, path)?;
        Ok(Self { ops: Arc::clone(ops), main, path: path.to_owned(), side: None })
    }
}

/// A new file. An existing one is an unfinished shard that no manifest lists.
fn create_file(ops: &dyn FileOps, path: &Path) -> Result<File> {
    let created = match ops.create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            ops.remove(path).and_then(|()| ops.create(path))
        }
        created => created,
    };
    created.map_err(|error| Error::io(path, &error))
}

impl PairFiles for PlainPair {
    fn main_file(&mut self) -> &mut File {
        &mut self.main
    }
    fn sidecar_file(&mut self) -> Result<&mut File> {
        match &mut self.side {
            Some(side) => Ok(side),
            empty => {
                require_own_sidecar(&self.path, &JinxIdentity)?;
                Ok(empty.insert(create_file(&*self.ops, &sidecar_path(&self.path))?))
            }
        }
    }
    fn publish(self: Box<Self>) -> Result<()> {
        let side_path = sidecar_path(&self.path);
        let files = [(Some(&self.main), &self.path), (self.side.as_ref(), &side_path)];
        files.into_iter().filter_map(|(file, path)| Some((file?, path))).try_for_each(|(file, path)| {
            self.ops.sync_file(file, path).map_err(|error| Error::io(path, &error))
        })
    }
}
