//! `jinx.json`: the shards of a dataset in a directory.

use crate::footer::{check_features, check_names};
use crate::meta::Meta;
use crate::metadata_digest::{check_digest, with_digest};
use crate::view_footer;
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use jinx_core::io::{Access, Source, plain_component};
use jinx_core::limits::MAX_MANIFEST_BYTES;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use std::collections::HashSet;
use std::path::Path;

pub const NAME: &str = "jinx.json";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub format: String,
    pub version: String,
    /// A counter that increases with every change of the directory.
    pub generation: u64,
    #[serde(default)]
    pub features_required: Vec<String>,
    pub split: Option<String>,
    pub num_samples: u64,
    pub shards: Vec<ShardEntry>,
    #[serde(default)]
    pub meta: Meta,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardEntry {
    pub name: String,
    pub samples: u64,
    pub bytes: u64,
    pub sidecar_bytes: u64,
    pub id: String,
}

fn check_size(bytes: u64) -> Result<()> {
    if bytes <= MAX_MANIFEST_BYTES {
        return Ok(());
    }
    Err(Error::limit(format!("a manifest of {bytes} bytes; at most {MAX_MANIFEST_BYTES} are read")))
}

impl Manifest {
    pub fn new(split: Option<String>, meta: Meta) -> Self {
        Self {
            format: "jinx".into(),
            version: "1.1".into(),
            generation: 0,
            features_required: Vec::new(),
            split,
            num_samples: 0,
            shards: Vec::new(),
            meta,
        }
    }

    /// Whether the shards are saved views; either all of them are, or none.
    pub fn is_of_views(&self) -> bool {
        self.features_required.iter().any(|feature| feature == view_footer::FEATURE)
    }

    pub fn push(&mut self, entry: ShardEntry) {
        self.num_samples += entry.samples;
        self.shards.push(entry);
    }

    /// The text of the file, checked as a reader would.
    ///
    /// # Errors
    /// The errors that a reader would report.
    pub fn to_text(&self) -> Result<String> {
        let text = with_digest(self)? + "\n";
        check_size(to_u64(text.len()))?;
        Self::parse(text.as_bytes()).map(|_| text).map_err(|error| {
            Error::new(error.cause(), format!("the manifest could not be read again: {}", error.what()))
        })
    }

    /// Reads and checks `directory/jinx.json`; `None` when there is none.
    ///
    /// # Errors
    /// `Corrupt` for damage, `Unsupported` for newer files, or names that leave the directory.
    pub fn read(directory: &Path) -> Result<Option<Self>> {
        let path = directory.join(NAME);
        if !path.exists() {
            return Ok(None);
        }
        Self::read_source(&Source::open(&path, Access::Pread)?).map(Some)
    }

    /// Reads and checks an open manifest.
    ///
    /// # Errors
    /// The errors of [`Manifest::read`].
    pub fn read_source(source: &Source) -> Result<Self> {
        let read = || {
            check_size(source.len())?;
            Self::parse(&source.read_vec(0, source.len())?)
        };
        read().map_err(|error| error.in_file(source.path()))
    }

    /// Parses a manifest's text.
    ///
    /// # Errors
    /// The errors of [`Manifest::read`].
    pub fn parse(text: &[u8]) -> Result<Self> {
        let bad = |error: serde_json::Error| Error::corrupt(format!("the manifest is damaged: {error}"));
        check_names(text, "manifest")?;
        let map: Map<String, Json> = serde_json::from_slice(text).map_err(bad)?;
        check_digest(text, &map)?;
        check_features(&map)?;
        let manifest: Self = serde_json::from_slice(text).map_err(bad)?;
        if manifest.format != "jinx" {
            return Err(Error::corrupt(format!("a manifest of the format '{}'", manifest.format)));
        }
        if !manifest.version.starts_with("1.") {
            return Err(Error::unsupported(format!("a manifest of version {}", manifest.version)));
        }
        let mut names = HashSet::new();
        let mut samples = 0u64;
        for shard in &manifest.shards {
            plain_component(&shard.name, "a shard's name")?;
            if !names.insert(&shard.name) {
                return Err(Error::corrupt(format!("the manifest lists '{}' twice", shard.name)));
            }
            samples = samples
                .checked_add(shard.samples)
                .ok_or_else(|| Error::corrupt("the manifest's counts overflow"))?;
        }
        if samples != manifest.num_samples {
            return Err(Error::corrupt(format!(
                "the manifest counts {} samples, its shards {samples}",
                manifest.num_samples
            )));
        }
        Ok(manifest)
    }
}
