//! The formats, and how they are named.

use jinx_core::codec::Codec;
use jinx_core::error::{Error, Result};
use std::path::Path;

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    Jinx,
    JsonLines,
    MessagePack,
    Parquet,
    /// Arrow IPC, as a file or a stream.
    Arrow,
    /// WebDataset: files that share a name are a sample.
    Tar,
    /// A directory of Mosaic Data Shards.
    Mds,
}

impl Format {
    pub const ALL: [Self; 7] =
        [Self::Jinx, Self::JsonLines, Self::MessagePack, Self::Parquet, Self::Arrow, Self::Tar, Self::Mds];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jinx => "jinx",
            Self::JsonLines => "jsonl",
            Self::MessagePack => "msgpack",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
            Self::Tar => "tar",
            Self::Mds => "mds",
        }
    }

    fn suffixes(self) -> &'static [&'static str] {
        match self {
            Self::Jinx => &["jinx"],
            Self::JsonLines => &["jsonl", "ndjson", "json", "jsonlines"],
            Self::MessagePack => &["msgpack", "mpk", "mp"],
            Self::Parquet => &["parquet", "pq"],
            Self::Arrow => &["arrow", "arrows", "feather", "ipc"],
            Self::Tar => &["tar", "tgz"],
            Self::Mds => &["mds"],
        }
    }

    /// # Errors
    /// `Invalid` for other names than [`Format::name`] gives.
    pub fn from_name(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| {
            Error::invalid(format!(
                "unknown format '{name}'; use arrow, jinx, jsonl, mds, msgpack, parquet or tar"
            ))
        })
    }

    /// The format in a name's suffix, before the suffix of a codec (`a.jsonl.zst`); `None` if there is none.
    pub fn from_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_lowercase();
        let mut parts = name.rsplit('.');
        let mut last = parts.next()?;
        if Codec::from_ext(last).is_some() {
            last = parts.next()?;
        }
        parts.next()?;
        Self::ALL.into_iter().find(|format| format.suffixes().contains(&last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_say_the_format() {
        let of = |name: &str| Format::from_path(Path::new(name));
        assert_eq!(of("a.jinx"), Some(Format::Jinx));
        assert_eq!(of("d/a.b.JSONL.zst"), Some(Format::JsonLines));
        assert_eq!(of("a.ndjson.gz"), Some(Format::JsonLines));
        assert_eq!(of("a.msgpack.br"), Some(Format::MessagePack));
        assert_eq!(of("a.parquet"), Some(Format::Parquet));
        assert_eq!(of("a.tar.gz"), Some(Format::Tar));
        assert_eq!(of("a.feather"), Some(Format::Arrow));
        assert_eq!(of("jsonl"), None);
        assert_eq!(of("a.gz"), None);
        assert_eq!(of("directory"), None);
    }
}
