//! The files of a pair while it is written.

use crate::identity::JinxIdentity;
use crate::write::pair::PairFiles;
use jinx_core::error::{Error, Result};
use jinx_core::io::{PairWriter, require_own_sidecar, sidecar_path};
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

/// A pair that is published by itself.
pub(super) struct AtomicPair(pub(super) PairWriter);

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

/// A pair inside a folder that is published as a whole.
pub(super) struct PlainPair {
    path: PathBuf,
    main: File,
    side: Option<File>,
}

impl PlainPair {
    pub(super) fn create(path: &Path) -> Result<Self> {
        Ok(Self { main: create_file(path)?, path: path.to_owned(), side: None })
    }
}

/// A new file; what lies there already is an unfinished shard that no manifest names.
fn create_file(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    match options.open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => std::fs::remove_file(path)
            .and_then(|()| options.open(path))
            .map_err(|error| Error::io(path, &error)),
        result => result.map_err(|error| Error::io(path, &error)),
    }
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
                Ok(empty.insert(create_file(&sidecar_path(&self.path))?))
            }
        }
    }
    fn publish(self: Box<Self>) -> Result<()> {
        self.main.sync_all().map_err(|error| Error::io(&self.path, &error))?;
        match &self.side {
            Some(side) => side.sync_all().map_err(|error| Error::io(sidecar_path(&self.path), &error)),
            None => Ok(()),
        }
    }
}
