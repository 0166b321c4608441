//! The names around one pair STEM.jinx + STEM.binx.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The tag of a second name whose dataset has no id (JINX 1.0).
const NO_ID: &str = "old";

/// Finds the sidecar that belongs to a main file. JINX 1.0 files have no id: `None`, as for unreadable ones.
pub trait PairIdentity: Send + Sync {
    /// The `id` in the footer of a main file, as 32 hex digits.
    fn main_id(&self, main: &Path) -> Option<String>;
    /// The `id` in the header of a sidecar, as 32 hex digits.
    fn sidecar_id(&self, sidecar: &Path) -> Option<String>;
    /// The sidecar with the id of a main file, where readers find it; `None` if there is none.
    fn sidecar_of(&self, main: &Path) -> Option<PathBuf>;
    /// The main files in the manifest of `directory`; `None` if it cannot be read.
    fn listed(&self, _directory: &Path) -> Option<Vec<String>> {
        None
    }
}

/// The sidecar next to a main file: the last suffix is replaced (`a.b.jinx` -> `a.b.binx`).
pub fn sidecar_path(main: &Path) -> PathBuf {
    main.with_extension("binx")
}

/// The name under which the old sidecar stays reachable while a pair is replaced: `.STEM.binx.<id>`, or
/// `.STEM.binx.old` for a dataset without id. An invalid id (it comes from a file) counts as none.
pub fn second_name(main: &Path, old_id: Option<&str>) -> PathBuf {
    let stem = main.file_stem().unwrap_or_default();
    let tag = old_id.filter(|id| is_id(id)).unwrap_or(NO_ID);
    main.with_file_name(hidden(stem, &format!(".binx.{tag}")))
}

pub(crate) fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

pub(crate) fn hidden(stem: &OsStr, suffix: &str) -> OsString {
    let mut name = OsString::from(".");
    name.push(stem);
    name.push(suffix);
    name
}

/// The part between the leading dot and `suffix` of a hidden name.
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
