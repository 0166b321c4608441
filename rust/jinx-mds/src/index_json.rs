//! `index.json`: the shards of a directory.

use crate::columns::Columns;
use crate::compression::Compression;
use jinx_core::error::{Cause, Error, Result};
use jinx_core::io::plain_component;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file's name.
pub const INDEX_NAME: &str = "index.json";
/// The maximum number of directories in a basename: merged indexes have one, and merging those adds more.
const MAX_NAME_PARTS: usize = 8;

/// A file of a shard.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FileInfo {
    pub basename: String,
    pub bytes: u64,
    #[serde(default)]
    pub hashes: BTreeMap<String, String>,
}

impl FileInfo {
    /// The path relative to the index's directory.
    ///
    /// # Errors
    /// `Corrupt` for a name that leads out of the directory.
    pub fn path(&self, directory: &Path) -> Result<PathBuf> {
        let mut path = directory.to_owned();
        let parts: Vec<&str> = self.basename.split('/').collect();
        if parts.len() > MAX_NAME_PARTS {
            return Err(Error::corrupt(format!("a file name of {} parts", parts.len())));
        }
        for part in parts {
            path.push(plain_component(part, "file name")?);
        }
        Ok(path)
    }
}

/// One shard, as described in its index.
#[derive(Debug, Clone)]
pub struct ShardInfo {
    pub columns: Arc<Columns>,
    pub compression: Compression,
    pub raw: FileInfo,
    pub zip: Option<FileInfo>,
    pub samples: u64,
    /// Why the shard cannot be read, although the others can.
    fault: Option<(Cause, String)>,
}

#[derive(Deserialize)]
struct File {
    shards: Vec<IndexEntry>,
    version: u64,
}

#[derive(Deserialize)]
struct IndexEntry {
    #[serde(default)]
    column_names: Vec<String>,
    #[serde(default)]
    column_encodings: Vec<String>,
    #[serde(default)]
    column_sizes: Vec<Option<u64>>,
    #[serde(default)]
    compression: Option<String>,
    #[serde(default)]
    format: Option<String>,
    raw_data: FileInfo,
    #[serde(default)]
    zip_data: Option<FileInfo>,
    samples: u64,
    #[serde(default)]
    version: Option<u64>,
}

impl ShardInfo {
    /// A shard entry, from its parts.
    pub fn new(
        columns: Arc<Columns>,
        compression: Compression,
        raw: FileInfo,
        zip: Option<FileInfo>,
        samples: u64,
    ) -> Self {
        Self { columns, compression, raw, zip, samples, fault: None }
    }

    /// # Errors
    /// The error of the entry.
    pub fn check(&self) -> Result<()> {
        match &self.fault {
            Some((cause, what)) => Err(Error::new(*cause, what.clone())),
            None => Ok(()),
        }
    }

    fn from_entry(entry: IndexEntry, before: Option<&Arc<Columns>>) -> Self {
        let mut info =
            Self::new(Arc::default(), Compression::None, entry.raw_data, entry.zip_data, entry.samples);
        let filled = (|| {
            match entry.format.as_deref() {
                Some("mds") => {}
                Some(other) => {
                    let shown: String = other.chars().take(40).collect();
                    return Err(Error::unsupported(format!(
                        "a shard of the format {shown:?}; only mds is read"
                    )));
                }
                None => return Err(Error::corrupt("a shard without a format")),
            }
            if let Some(version) = entry.version.filter(|version| *version != 2) {
                return Err(Error::unsupported(format!("a shard of version {version}; version 2 is read")));
            }
            let columns = Columns::new(entry.column_names, entry.column_encodings, entry.column_sizes)?;
            info.columns = match before {
                Some(before) if **before == columns => Arc::clone(before),
                _ => Arc::new(columns),
            };
            info.compression = Compression::parse(entry.compression.as_deref())?;
            for file in [Some(&info.raw), info.zip.as_ref()].into_iter().flatten() {
                file.path(Path::new(""))?;
            }
            if u32::try_from(info.samples).is_err() {
                return Err(Error::corrupt(format!("a shard of {} samples", info.samples)));
            }
            if matches!(info.compression, Compression::File(_)) && info.zip.is_none() {
                return Err(Error::corrupt("a compressed shard without zip_data"));
            }
            Ok(())
        })();
        info.fault = filled.err().map(|error| (error.cause(), error.to_string()));
        info
    }
}

/// The shards that the text of an index lists. The error of a bad entry is reported when its shard is used.
///
/// # Errors
/// `Corrupt` for text that is not an index, `Unsupported` for another version than 2.
pub fn parse(text: &[u8]) -> Result<Vec<ShardInfo>> {
    let file: File =
        serde_json::from_slice(text).map_err(|error| Error::corrupt(format!("not an MDS index: {error}")))?;
    if file.version != 2 {
        return Err(Error::unsupported(format!(
            "an MDS index of version {}; version 2 is read",
            file.version
        )));
    }
    let mut shards: Vec<ShardInfo> = Vec::with_capacity(file.shards.len());
    for entry in file.shards {
        let before = shards.last().map(|shard| Arc::clone(&shard.columns));
        shards.push(ShardInfo::from_entry(entry, before.as_ref()));
    }
    Ok(shards)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value as Json, json};

    fn entry(basename: &str) -> Json {
        json!({
            "column_encodings": ["int"], "column_names": ["a"], "column_sizes": [8], "compression": null,
            "format": "mds", "hashes": [], "raw_data": {"basename": basename, "bytes": 10, "hashes": {}},
            "samples": 3, "size_limit": 67108864, "version": 2, "zip_data": null,
        })
    }

    fn index(entries: &[Json]) -> Vec<u8> {
        json!({"version": 2, "shards": entries}).to_string().into_bytes()
    }

    #[test]
    fn merged_names_have_directories() {
        let shards = parse(&index(&[entry("part-0/shard.00000.mds")])).unwrap();
        assert!(shards[0].check().is_ok());
        assert_eq!(shards[0].raw.path(Path::new("d")).unwrap(), Path::new("d/part-0/shard.00000.mds"));
    }

    #[test]
    fn evil_names_spoil_only_their_shard() {
        for evil in ["../x", "a/../../x", "/etc/passwd", "", "a//b", "..", "a\\b", "a\0b", "./a"] {
            let shards = parse(&index(&[entry(evil), entry("fine")])).unwrap();
            assert_eq!(shards[0].check().unwrap_err().cause(), Cause::Corrupt, "{evil:?}");
            assert!(shards[1].check().is_ok());
            assert_eq!(shards[0].samples, 3);
        }
    }

    #[test]
    fn other_versions_and_formats_are_named() {
        assert_eq!(parse(br#"{"version": 3, "shards": []}"#).unwrap_err().cause(), Cause::Unsupported);
        let mut other = entry("x");
        other["format"] = json!("csv");
        assert!(parse(&index(&[other])).unwrap()[0].check().unwrap_err().what().contains("csv"));
    }

    #[test]
    fn equal_columns_are_shared() {
        let shards = parse(&index(&[entry("a"), entry("b")])).unwrap();
        assert!(Arc::ptr_eq(&shards[0].columns, &shards[1].columns));
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_or_refused(text in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&text);
        }

        #[test]
        fn a_changed_byte_is_parsed_or_refused(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut text = index(&[entry("a"), entry("b")]);
            let at = at.index(text.len());
            text[at] = byte;
            if let Ok(shards) = parse(&text) {
                for shard in shards {
                    let _ = shard.check();
                }
            }
        }
    }
}
