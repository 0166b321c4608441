//! Files on other machines: they are named by URLs, which are passed around in the same paths as local names.

use super::Blocks;
use crate::error::Result;
use std::fmt::Debug;
use std::path::{Path, PathBuf};

/// Opens and writes the objects behind URLs.
pub trait Store: Debug + Send + Sync {
    /// Opens an object. Unless a main file was announced by [`Store::will_open`], its sidecar is expected to be opened next.
    ///
    /// # Errors
    /// `Io(NotFound)` when there is none; errors of the network and of the store.
    fn open(&self, url: &str) -> Result<Box<dyn Blocks>>;

    /// Announces objects that will be opened soon, so that opening can begin now. This neither waits nor fails.
    fn will_open(&self, urls: &[&str]);

    /// The tag of an object's current version; `None` if there is no object.
    ///
    /// # Errors
    /// Errors of the network and of the store.
    fn tag(&self, url: &str) -> Result<Option<String>>;

    /// Writes a local file as an object, which appears when it is complete. For a file that is sent in parts, the
    /// condition is checked before the first and before the last part.
    ///
    /// # Errors
    /// `Io(AlreadyExists)` and `Mismatch` when the condition is not met; `Io` for the file; errors of the network and of
    /// the store.
    fn put_file(&self, url: &str, file: &Path, condition: &Condition) -> Result<()>;

    /// Like [`Store::put_file`], for bytes in memory. The store itself compares the condition.
    ///
    /// # Errors
    /// The errors of [`Store::put_file`].
    fn put_bytes(&self, url: &str, bytes: Vec<u8>, condition: &Condition) -> Result<()>;

    /// Copies an object to a new local file.
    ///
    /// # Errors
    /// `Io(NotFound)`; `Io` for the file; errors of the network and of the store.
    fn get_file(&self, url: &str, file: &Path) -> Result<()>;

    /// Removes objects of one store, in any order; missing objects are ignored.
    ///
    /// # Errors
    /// Errors of the network and of the store.
    fn delete(&self, urls: &[String]) -> Result<()>;

    /// The names of the objects directly below a URL, in any order.
    ///
    /// # Errors
    /// `Unsupported` for a store that cannot list; errors of the network and of the store.
    fn list(&self, url: &str) -> Result<Vec<String>>;
}

/// The condition for writing an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// Write the object, whether one exists or not.
    Always,
    /// Only if there is no object.
    Absent,
    /// Only if the object has this tag.
    Matches(String),
}

/// The URL in a path; `None` for a local path.
pub fn url_of(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    let (scheme, _) = text.split_once("://")?;
    let is_scheme = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_scheme.then_some(text)
}

/// A path, relative to `base` unless it is absolute or a URL.
pub fn joined(base: &Path, path: &Path) -> PathBuf {
    if url_of(path).is_some() { path.to_owned() } else { base.join(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_stay_whole_and_their_neighbours_are_urls() {
        let path = Path::new("s3://bucket/a/train.jinx");
        assert_eq!(url_of(path), path.to_str());
        assert_eq!(joined(Path::new("/work"), path), path);
        assert_eq!(path.with_extension("binx"), Path::new("s3://bucket/a/train.binx"));
        assert_eq!(path.with_file_name("b.jinx").to_str(), Some("s3://bucket/a/b.jinx"));
        assert_eq!(joined(Path::new("/work"), Path::new("a.jinx")), Path::new("/work/a.jinx"));
        for local in ["a.jinx", "/a/b", "a:/b", "://x", "a b://c", "dir/s3://bucket"] {
            assert_eq!(url_of(Path::new(local)), None, "{local}");
        }
    }
}
