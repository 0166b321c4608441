//! Publishing under faults: a file layer that records, fails or stops, and datasets that are one line of text.

mod blocks;
mod crash;
mod directories;
mod leftovers;
mod model;
mod pairs;
mod power_cuts;
mod sidecar_owner;
mod sources;

use super::PairWriter;
use super::fs_calls::{Call, FileOps, RealOps};
use super::pair_names::{PairIdentity, second_name, sidecar_path};
use crate::error::Result;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Mutex;

const OLD: &str = "0000000000000000000000000000000a";
const NEW: &str = "0000000000000000000000000000000b";

/// A call with owned paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    SyncFile(PathBuf),
    SyncDirectory,
    Link(PathBuf, PathBuf),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    Other(String),
}

/// What the layer does at its `at`-th call, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// That call fails with an I/O error, later ones work.
    Fail(usize),
    /// That call and all later ones fail: the process has died.
    Stop(usize),
}

pub(crate) struct Layer {
    fault: Fault,
    steps: Mutex<Vec<Step>>,
    /// Errors for calls of one name whatever their number, such as a file system without hard links.
    refuse: Option<(&'static str, io::ErrorKind)>,
}

impl Layer {
    pub(crate) fn new(fault: Fault) -> Arc<Self> {
        Arc::new(Self { fault, steps: Mutex::new(Vec::new()), refuse: None })
    }

    pub(crate) fn refusing(call: &'static str, kind: io::ErrorKind) -> Arc<Self> {
        Arc::new(Self { fault: Fault::None, steps: Mutex::new(Vec::new()), refuse: Some((call, kind)) })
    }

    pub(crate) fn steps(&self) -> Vec<Step> {
        self.steps.lock().unwrap().clone()
    }
}

impl FileOps for Layer {
    fn permit(&self, call: Call<'_>) -> io::Result<()> {
        let mut steps = self.steps.lock().unwrap();
        let number = steps.len();
        steps.push(match call {
            Call::SyncFile(path) => Step::SyncFile(path.into()),
            Call::SyncDirectory(_) => Step::SyncDirectory,
            Call::Link(from, to) => Step::Link(from.into(), to.into()),
            Call::Rename(from, to) => Step::Rename(from.into(), to.into()),
            Call::Remove(path) => Step::Remove(path.into()),
            other => Step::Other(format!("{other:?}")),
        });
        if let Some((name, kind)) = self.refuse
            && format!("{call:?}").starts_with(name)
        {
            return Err(kind.into());
        }
        match self.fault {
            Fault::Fail(at) if number == at => Err(io::Error::other("injected")),
            Fault::Stop(at) if number >= at => Err(io::Error::other("stopped")),
            _ => Ok(()),
        }
    }
}

/// Files whose id is their text up to a blank; `-` is a dataset without id.
#[derive(Clone, Copy)]
pub(crate) struct FirstWord;

impl FirstWord {
    fn id(path: &Path) -> Option<String> {
        let text = fs::read_to_string(path).ok()?;
        text.split(' ').next().filter(|id| *id != "-").map(str::to_owned)
    }
}

impl PairIdentity for FirstWord {
    fn main_id(&self, main: &Path) -> Option<String> {
        Self::id(main)
    }
    fn sidecar_id(&self, sidecar: &Path) -> Option<String> {
        Self::id(sidecar)
    }
    fn sidecar_of(&self, main: &Path) -> Option<PathBuf> {
        let id = Self::id(main);
        let candidates = [sidecar_path(main), second_name(main, id.as_deref())];
        candidates.into_iter().find(|path| id.is_some() && Self::id(path) == id)
    }
}

/// Writes a pair on `ops`: `sidecar` says whether it has one.
pub(crate) fn write_on(ops: Arc<dyn FileOps>, main: &Path, id: &str, sidecar: bool) -> Result<()> {
    let mut writer = PairWriter::begin_on(ops, main, true, Box::new(FirstWord))?;
    write!(writer.main_file(), "{id} {}", if sidecar { "with" } else { "alone" }).unwrap();
    if sidecar {
        write!(writer.sidecar_file()?, "{id} media").unwrap();
    }
    writer.commit()
}

pub(crate) fn write_pair(main: &Path, id: &str, sidecar: bool) -> Result<()> {
    write_on(Arc::new(RealOps), main, id, sidecar)
}

/// What a reader sees: the id of a whole dataset (`-` without id), `None` where there is none, or a broken state.
pub(crate) fn read_pair(main: &Path) -> std::result::Result<Option<String>, String> {
    let Ok(text) = fs::read_to_string(main) else {
        return Ok(None);
    };
    let (id, rest) = text.split_once(' ').ok_or_else(|| format!("bad main file {text:?}"))?;
    if rest == "alone" {
        return Ok(Some(id.to_owned()));
    }
    let id_of_pair = Some(id).filter(|id| *id != "-");
    let wanted = format!("{id} media");
    let fits = |path: PathBuf| fs::read_to_string(path).is_ok_and(|text| text == wanted);
    if fits(sidecar_path(main)) || fits(second_name(main, id_of_pair)) {
        Ok(Some(id.to_owned()))
    } else {
        Err(format!("no sidecar for {id}"))
    }
}

/// Every name in a directory, sorted.
pub(crate) fn names_in(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

pub(crate) fn hidden_in(directory: &Path) -> Vec<String> {
    names_in(directory).into_iter().filter(|name| name.starts_with('.')).collect()
}
