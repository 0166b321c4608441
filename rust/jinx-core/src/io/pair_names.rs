//! The names around one pair STEM.jinx + STEM.binx, and which of them belong together.

use super::neighbours::other_owner;
use super::ops::{FileOps, is_same, look};
use crate::error::{Error, Result};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf, absolute};

/// The tag of a second name whose dataset has no id (JINX 1.0).
const NO_ID: &str = "old";
/// What the longest name we make adds to STEM: `.` + `.binx.` + 32 digits.
const LONGEST_ADDITION: usize = 39;
const LONGEST_NAME: usize = 255;

/// How to tell which sidecar belongs to which main file. JINX 1.0 files have no id: `None`, as for unreadable ones.
pub trait PairIdentity: Send + Sync {
    /// The `id` in the footer of a main file, 32 hex digits.
    fn main_id(&self, main: &Path) -> Option<String>;
    /// The `id` in the header of a sidecar, 32 hex digits.
    fn sidecar_id(&self, sidecar: &Path) -> Option<String>;
    /// The sidecar with the id of a main file, where its readers find it; `None` when there is none.
    fn sidecar_of(&self, main: &Path) -> Option<PathBuf>;
    /// The main files that the manifest of `folder` lists; `None` when that cannot be told.
    fn listed(&self, _folder: &Path) -> Option<Vec<String>> {
        None
    }
}

/// The sidecar beside a main file: the last suffix replaced (`a.b.jinx` -> `a.b.binx`).
pub fn sidecar_path(main: &Path) -> PathBuf {
    main.with_extension("binx")
}

/// The name that keeps the old sidecar reachable while a pair is replaced: `.STEM.binx.<id>`, or `.STEM.binx.old` for
/// a dataset without id. An id that is no id (it comes from a file) counts as none.
pub fn second_name(main: &Path, old_id: Option<&str>) -> PathBuf {
    let stem = main.file_stem().unwrap_or_default();
    let tag = old_id.filter(|id| is_id(id)).unwrap_or(NO_ID);
    main.with_file_name(hidden(stem, &format!(".binx.{tag}")))
}

fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

pub(crate) fn hidden(stem: &OsStr, suffix: &str) -> OsString {
    let mut name = OsString::from(".");
    name.push(stem);
    name.push(suffix);
    name
}

/// The part between a leading dot and `suffix` of a hidden name of ours.
pub(crate) fn hidden_stem<'a>(name: &'a OsStr, suffix: &str) -> Option<&'a OsStr> {
    let stem = name.as_bytes().strip_prefix(b".")?.strip_suffix(suffix.as_bytes())?;
    (!stem.is_empty()).then(|| OsStr::from_bytes(stem))
}

/// STEM and tag of a second name.
pub(crate) fn split_second_name(name: &OsStr) -> Option<(OsString, String)> {
    let text = name.as_bytes().strip_prefix(b".")?;
    let dot = text.iter().rposition(|b| *b == b'.')?;
    let (head, tag) = (text.get(..dot)?, text.get(dot + 1..)?);
    let stem = head.strip_suffix(b".binx").filter(|stem| !stem.is_empty())?;
    let tag = std::str::from_utf8(tag).ok().filter(|tag| *tag == NO_ID || is_id(tag))?;
    Some((OsString::from_vec(stem.to_vec()), tag.to_owned()))
}

/// Every path that publishing one pair touches, absolute, so that a change of the working folder does no harm.
#[derive(Debug, Clone)]
pub(crate) struct PairNames {
    pub folder: PathBuf,
    pub stem: OsString,
    pub main: PathBuf,
    pub sidecar: PathBuf,
    pub main_temp: PathBuf,
    pub sidecar_temp: PathBuf,
}

impl PairNames {
    pub(crate) fn of(main: &Path) -> Result<Self> {
        let whole = absolute(main).map_err(|error| Error::io(main, &error))?;
        let stem = whole
            .file_name()
            .and_then(|name| name.as_bytes().strip_suffix(b".jinx"))
            .filter(|stem| !stem.is_empty())
            .ok_or_else(|| Error::invalid("the name of a dataset must end in .jinx").in_file(main))?;
        let stem = OsStr::from_bytes(stem);
        if stem.len() + LONGEST_ADDITION > LONGEST_NAME {
            let most = LONGEST_NAME - LONGEST_ADDITION;
            return Err(Error::invalid(format!("the name is too long: at most {most} bytes before .jinx"))
                .in_file(main));
        }
        let folder = whole.parent().unwrap_or(Path::new("/"));
        Ok(Self::inside(folder, stem))
    }

    pub(crate) fn inside(folder: &Path, stem: &OsStr) -> Self {
        let named = |suffix: &str| {
            let mut name = stem.to_owned();
            name.push(suffix);
            folder.join(name)
        };
        Self {
            folder: folder.to_owned(),
            stem: stem.to_owned(),
            main: named(".jinx"),
            sidecar: named(".binx"),
            main_temp: folder.join(hidden(stem, ".jinx.tmp")),
            sidecar_temp: folder.join(hidden(stem, ".binx.tmp")),
        }
    }

    pub(crate) fn main_exists(&self) -> Result<bool> {
        exists(&self.main)
    }

    /// The main file's id and whether the sidecar under the visible name belongs to it.
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

    /// Undoes a replacement that died between its two renames. Only under the pair's lock.
    pub(crate) fn recover(&self, ops: &dyn FileOps, identity: &dyn PairIdentity) -> Result<()> {
        if !self.main_exists()? {
            return Ok(());
        }
        let (main_id, fits) = self.belonging(identity)?;
        let second = second_name(&self.main, main_id.as_deref());
        if fits || !exists(&second)? || identity.sidecar_id(&second) != main_id {
            return Ok(());
        }
        // What lies in its place may be all that another main file has.
        if other_owner(&self.sidecar, &self.main, identity)?.is_some() {
            return Ok(());
        }
        let restored = ops.rename(&second, &self.sidecar).and_then(|()| ops.sync_folder(&self.folder));
        restored.map_err(|error| Error::io(&self.sidecar, &error))
    }

    /// The sidecar of a new pair whose writer died before its main file got its name. Only under the pair's lock.
    pub(crate) fn unfinished_sidecar(&self, identity: &dyn PairIdentity) -> Result<Option<PathBuf>> {
        if self.main_exists()? || !exists(&self.sidecar)? {
            return Ok(None);
        }
        let written = identity.main_id(&self.main_temp).filter(|id| is_id(id));
        let is_its = written.is_some() && identity.sidecar_id(&self.sidecar) == written;
        let is_garbage = is_its && other_owner(&self.sidecar, &self.main, identity)?.is_none();
        Ok(is_garbage.then(|| self.sidecar.clone()))
    }

    /// Second names of this pair that no main file needs any more. Only under the pair's lock.
    pub(crate) fn garbage(&self, identity: &dyn PairIdentity) -> Result<Vec<PathBuf>> {
        let failed = |error: &io::Error| Error::io(&self.folder, error);
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(|error| failed(&error))? {
            let entry = entry.map_err(|error| failed(&error))?;
            match split_second_name(&entry.file_name()) {
                Some((stem, tag))
                    if stem == self.stem && self.is_garbage(&entry.path(), &tag, identity)? =>
                {
                    found.push(entry.path());
                }
                _ => {}
            }
        }
        found.sort();
        Ok(found)
    }

    fn is_garbage(&self, second: &Path, tag: &str, identity: &dyn PairIdentity) -> Result<bool> {
        let is_needed = self.main_exists()? && {
            let (main_id, fits) = self.belonging(identity)?;
            match main_id {
                Some(main_id) => !fits && tag == main_id,
                // No id, or a main file that cannot be read: only a second name of the very same file is surely not needed.
                None => !fits || !is_one_file(second, &self.sidecar)?,
            }
        };
        Ok(!is_needed && other_owner(second, &self.main, identity)?.is_none())
    }
}

fn is_one_file(one: &Path, other: &Path) -> Result<bool> {
    let one = look(one).map_err(|error| Error::io(one, &error))?;
    let other = look(other).map_err(|error| Error::io(other, &error))?;
    Ok(matches!((one, other), (Some(one), Some(other)) if is_same(&one, &other)))
}

fn exists(path: &Path) -> Result<bool> {
    Ok(look(path).map_err(|error| Error::io(path, &error))?.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "00112233445566778899aabbccddeeff";

    #[test]
    fn sidecar_and_second_name_follow_the_stem() {
        assert_eq!(sidecar_path(Path::new("d/a.b.jinx")), Path::new("d/a.b.binx"));
        let second = format!("d/.a.b.binx.{ID}");
        assert_eq!(second_name(Path::new("d/a.b.jinx"), Some(ID)), Path::new(&second));
        assert_eq!(second_name(Path::new("a.jinx"), None), Path::new(".a.binx.old"));
        assert_eq!(second_name(Path::new("a.jinx"), Some("../../x")), Path::new(".a.binx.old"));
    }

    #[test]
    fn second_names_are_told_from_temporaries() {
        let split = |name: &str| split_second_name(OsStr::new(name));
        assert_eq!(split(&format!(".a.b.binx.{ID}")), Some(("a.b".into(), ID.to_owned())));
        assert_eq!(split(".a.binx.old"), Some(("a".into(), "old".to_owned())));
        for other in
            [".a.binx.tmp", "a.binx.old", ".binx.old", ".a.binx.OLD", ".a.jinx.old", ".a.binx.", "", "."]
        {
            assert_eq!(split(other), None, "{other}");
        }
    }
}
