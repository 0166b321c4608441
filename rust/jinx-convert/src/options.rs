//! The options of a conversion, as JSON.

use crate::arrow::features::{MediaFeature, MediaPath};
use crate::inputs::STANDARD_STREAM;
use crate::outputs::parquet::{ParquetCompression, ParquetOptions};
use crate::{ConvertOptions, EmbedOptions, Format, Missing};
use jinx_core::codec::Codec;
use jinx_core::error::{Error, Result};
use jinx_format::fields::{self, parse_path};
use jinx_format::meta::Meta;
use jinx_format::write::options::{ColumnChoice, EncodeOptions, Resume, WriteOptions};
use jinx_mds::write::writer::{DEFAULT_SIZE_LIMIT, Settings};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const DEFAULT_LEVEL: i32 = 3;

/// The options of a conversion. Missing members have their defaults; unknown ones are an error.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools)]
pub struct ConvertSpec {
    /// JINX: whether large values go to a second file.
    pub sidecar: bool,
    /// JINX: `zstd` (default) or none. JSON Lines and MessagePack: `none`, `zstd` or `gz`; the default follows the
    /// output's suffix. Parquet: `none`, `snappy` (default), `zstd` or `gzip`. JSON null is none.
    #[serde(deserialize_with = "given")]
    pub compression: Option<Option<String>>,
    pub level: Option<i32>,
    /// JINX: binary values above this number of bytes go to the sidecar.
    pub binary_threshold: Option<u64>,
    /// JINX: dotted paths to index, in addition to the default ones.
    pub indexed: Option<Vec<String>>,
    /// JINX: dotted paths to index, and no others.
    pub only_indexed: Option<Vec<String>>,
    /// JINX: columns that are never compressed.
    pub uncompressed: Vec<String>,
    /// JINX directories: the number of bytes after which a new shard begins.
    pub shard_size: Option<u64>,
    pub overwrite: bool,
    /// JINX directories: add shards to the existing ones.
    pub append: bool,
    pub split: Option<String>,
    pub meta: Option<Meta>,
    /// JSON Lines, MessagePack and tars as inputs: every row contains markers, even if it does not declare them.
    pub markers: bool,
    /// The number of rows after which to stop.
    pub limit: Option<u64>,
    /// Columns to keep.
    pub columns: Option<Vec<String>>,
    /// Columns to leave out.
    pub drop: Vec<String>,
    /// Old and new names of columns.
    pub rename: Option<Map<String, Json>>,
    /// The expression that selects rows.
    #[serde(rename = "where")]
    pub filter: Option<String>,
    /// The number of worker threads; 0 means one per core.
    pub threads: usize,
    /// Parquet: keep a column of mixed kinds as JSON text. Also `mixed`, with `"json"` or `"error"`.
    #[serde(alias = "mixed", deserialize_with = "mixed")]
    pub mixed_json: bool,
    /// Which strings are paths of files to embed.
    pub embed: Option<EmbedSpec>,
    /// Leave out null members of nested dicts.
    pub drop_nulls: bool,
    /// Not JINX: binary values go to files in this directory.
    pub media_dir: Option<PathBuf>,
    /// Leave out rows with errors, and list them in this file.
    pub rejects: Option<PathBuf>,
    /// JINX directories: identifies inputs and options, so that an interrupted run can be resumed.
    pub resume_key: Option<String>,
    /// Resume an interrupted run that has the same key.
    pub resume: bool,
}

/// Which files to embed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmbedSpec {
    /// Dotted paths.
    pub paths: Vec<String>,
    pub root: PathBuf,
    /// `fail`, `skip` or `null`.
    pub missing: String,
    /// The known kinds of the files: paths, each with `Image`, `Audio` or `Video`.
    #[serde(default)]
    pub media: Vec<(fields::Path, String)>,
}

impl EmbedSpec {
    fn options(&self) -> Result<EmbedOptions> {
        let missing = match self.missing.as_str() {
            "fail" => Missing::Fail,
            "skip" => Missing::Skip,
            "null" => Missing::Null,
            other => return Err(Error::invalid(format!("missing='{other}'; use fail, skip or null"))),
        };
        Ok(EmbedOptions { paths: self.paths.clone(), root: self.root.clone(), missing })
    }
}

impl Default for ConvertSpec {
    fn default() -> Self {
        Self {
            sidecar: true,
            compression: None,
            level: None,
            binary_threshold: None,
            indexed: None,
            only_indexed: None,
            uncompressed: Vec::new(),
            shard_size: None,
            overwrite: false,
            append: false,
            split: None,
            meta: None,
            markers: false,
            limit: None,
            columns: None,
            rename: None,
            filter: None,
            threads: 0,
            mixed_json: false,
            drop: Vec::new(),
            embed: None,
            drop_nulls: false,
            media_dir: None,
            rejects: None,
            resume_key: None,
            resume: false,
        }
    }
}

fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<String>>, D::Error> {
    Option::<String>::deserialize(from).map(Some)
}

fn mixed<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    match Json::deserialize(from)? {
        Json::Null => Ok(false),
        Json::Bool(value) => Ok(value),
        Json::String(text) if text == "json" => Ok(true),
        Json::String(text) if text == "error" => Ok(false),
        other => Err(serde::de::Error::custom(format!("mixed is {other}; it must be \"error\" or \"json\""))),
    }
}

impl ConvertSpec {
    /// Reads JSON text.
    ///
    /// # Errors
    /// `Invalid` for an unknown member or a value of the wrong type.
    pub fn from_json(text: &str) -> Result<Self> {
        let bad = |error: serde_json::Error| Error::invalid(format!("conversion options: {error}"));
        // serde would also read a list, as the fields in order.
        if !text.trim_start().starts_with('{') {
            return Err(Error::invalid("conversion options: not a JSON object"));
        }
        serde_json::from_str(text).map_err(bad)
    }

    /// The options for the run itself.
    ///
    /// # Errors
    /// `Invalid` for a new name that is not a string.
    pub(crate) fn engine(&self) -> Result<ConvertOptions> {
        let rename = self.rename.iter().flatten().map(|(old, new)| match new {
            Json::String(new) => Ok((old.clone(), new.clone())),
            _ => Err(Error::invalid(format!("the new name of '{old}' must be a string"))),
        });
        Ok(ConvertOptions {
            limit: self.limit,
            columns: self.columns.clone(),
            drop: self.drop.clone(),
            rename: rename.collect::<Result<_>>()?,
            filter: self.filter.clone(),
            threads: self.threads,
            embed: self.embed.as_ref().map(EmbedSpec::options).transpose()?,
            drop_nulls: self.drop_nulls,
            media_dir: self.media_dir.clone(),
            rejects: self.rejects.clone(),
            skip: 0,
        })
    }

    /// The kinds of the embedded files.
    pub(crate) fn embedded_media(&self) -> Vec<MediaPath> {
        let media = self.embed.iter().flat_map(|embed| &embed.media);
        media.map(|(path, kind)| (path.clone(), MediaFeature::of(kind))).collect()
    }

    /// Refuses options that the target does not support and would ignore.
    ///
    /// # Errors
    /// `Invalid`.
    pub(crate) fn check(&self, out: &Path, target: Format) -> Result<()> {
        let has_shards = matches!(target, Format::Jinx | Format::Mds);
        let refused = [
            ("append", self.append && target != Format::Jinx),
            ("shard_size", self.shard_size.is_some() && !has_shards),
        ];
        match refused.iter().find(|(_, refused)| *refused) {
            Some((name, _)) => Err(Error::invalid(format!(
                "{name} is for directories of JINX shards, not for {}",
                target.name()
            ))),
            None if target == Format::Jinx && self.media_dir.is_some() => {
                Err(Error::invalid("a directory for media is for JSON Lines; JINX keeps them in its sidecar"))
            }
            None if target == Format::Tar => self.tar_codec(out).map(|_| ()),
            None if target == Format::Mds && out == Path::new(STANDARD_STREAM) => {
                Err(Error::invalid("MDS is a directory and cannot go to standard output; give it a name"))
            }
            None if target == Format::Jinx && out == Path::new(STANDARD_STREAM) => Err(Error::invalid(
                "JINX may take two files and cannot go to standard output; give it a name",
            )),
            None => Ok(()),
        }
    }

    /// The options for writing a JINX dataset, without facts from the source.
    pub(crate) fn jinx(&self) -> Result<WriteOptions> {
        let compression = match self.compression.as_ref().map(Option::as_deref) {
            None => Some(self.level.unwrap_or(DEFAULT_LEVEL)),
            Some(None | Some("none")) => None,
            Some(Some(name)) if Codec::from_name(name) == Some(Codec::Zstd) => {
                Some(self.level.unwrap_or(DEFAULT_LEVEL))
            }
            Some(Some(name)) => return Err(unknown(name, "JINX", "zstd or none")),
        };
        let paths =
            |names: &[String]| names.iter().map(|name| path_of(name)).collect::<Result<Vec<fields::Path>>>();
        let columns = match (&self.only_indexed, &self.indexed) {
            (Some(only), _) => ColumnChoice::Only(paths(only)?),
            (None, Some(also)) => ColumnChoice::Also(paths(also)?),
            (None, None) => ColumnChoice::Default,
        };
        let listed = match &columns {
            ColumnChoice::Only(paths) | ColumnChoice::Also(paths) => paths.iter().cloned().collect(),
            ColumnChoice::Default => Default::default(),
        };
        let plain = EncodeOptions::default();
        Ok(WriteOptions {
            encode: EncodeOptions {
                sidecar: self.sidecar,
                compression,
                binary_threshold: self.binary_threshold.unwrap_or(plain.binary_threshold),
                uncompressed: self.uncompressed.iter().cloned().collect(),
                // A codec or level that the caller sets applies to every value.
                keep_stored: self.compression.is_none() && self.level.is_none(),
                columns: listed,
                ..plain
            },
            columns,
            shard_bytes: self.shard_size,
            overwrite: self.overwrite,
            // The conversion's own workers encode the rows.
            threads: 1,
            resume: self.resume_key.clone().map(|key| Resume { key, proceed: self.resume }),
            ..WriteOptions::default()
        })
    }

    /// The options for writing an MDS directory.
    pub(crate) fn mds(&self, columns: BTreeMap<String, String>) -> Result<Settings> {
        let compression = match self.compression.as_ref().map(Option::as_deref) {
            None | Some(None | Some("none")) => None,
            Some(Some(name)) => Some(match self.level {
                Some(level) => format!("{name}:{level}"),
                None => name.to_owned(),
            }),
        };
        Ok(Settings {
            columns,
            compression,
            hashes: Vec::new(),
            size_limit: Some(self.shard_size.unwrap_or(DEFAULT_SIZE_LIMIT)),
            overwrite: self.overwrite,
            threads: self.threads,
        })
    }

    /// The codec of a JSON Lines or MessagePack file.
    pub(crate) fn stream_codec(&self, out: &Path) -> Result<Option<Codec>> {
        let suffix = out.extension().and_then(|ext| ext.to_str()).and_then(Codec::from_ext);
        let asked = match self.compression.as_ref().map(Option::as_deref) {
            None => return Ok(suffix),
            Some(None | Some("none")) => None,
            Some(Some(name)) => match Codec::from_name(name) {
                Some(codec @ (Codec::Zstd | Codec::Gzip)) => Some(codec),
                _ => return Err(unknown(name, "JSON Lines and MessagePack", "zstd, gz or none")),
            },
        };
        match suffix {
            Some(codec) if asked != Some(codec) => {
                let asked = asked.map_or("none", Codec::name);
                let what =
                    format!("the name says {}, the option says {asked}; change one of them", codec.name());
                Err(Error::invalid(what).in_file(out))
            }
            _ => Ok(asked),
        }
    }

    /// The codec of a tar, according to its suffix.
    pub(crate) fn tar_codec(&self, out: &Path) -> Result<Option<Codec>> {
        let suffix = out.extension().and_then(|ext| ext.to_str()).unwrap_or_default();
        let named = match suffix {
            "gz" | "tgz" => Some(Some(Codec::Gzip)),
            "tar" => Some(None),
            _ if out == Path::new(STANDARD_STREAM) => Some(None),
            _ => None,
        };
        let asked = match self.compression.as_ref().map(Option::as_deref) {
            None => return named.ok_or_else(|| other_tar(out)),
            Some(None | Some("none")) => None,
            Some(Some(name)) => Some(Codec::from_name(name).ok_or_else(|| other_tar(out))?),
        };
        named.filter(|named| *named == asked).ok_or_else(|| other_tar(out))
    }

    pub(crate) fn parquet(&self) -> Result<ParquetOptions> {
        let name = match self.compression.as_ref().map(Option::as_deref) {
            None => return Ok(ParquetOptions::default()),
            Some(None) => "none",
            Some(Some("gz")) => "gzip",
            Some(Some(name)) => name,
        };
        let text = match (name, self.level) {
            ("zstd" | "gzip" | "brotli", Some(level)) => format!("{name}:{level}"),
            _ => name.to_owned(),
        };
        Ok(ParquetOptions { compression: ParquetCompression::parse(&text)?, ..ParquetOptions::default() })
    }
}

fn other_tar(out: &Path) -> Error {
    let what = "a tar is written as it is (.tar) or with gzip (.tar.gz, .tgz); choose by the suffix";
    Error::invalid(what).in_file(out)
}

fn unknown(name: &str, format: &str, choices: &str) -> Error {
    Error::invalid(format!("compression '{name}' is not known for {format}; use {choices}"))
}

/// A dotted path as components.
fn path_of(name: &str) -> Result<fields::Path> {
    Ok(parse_path(name)?.into_iter().map(Some).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn spec(text: &str) -> ConvertSpec {
        ConvertSpec::from_json(text).unwrap()
    }

    #[test]
    fn unknown_and_wrong_members_are_refused() {
        for wrong in
            [r#"{"sidecars":true}"#, r#"{"limit":-1}"#, r#"{"mixed":"yes"}"#, r#"{"level":"3"}"#, "[]"]
        {
            assert!(ConvertSpec::from_json(wrong).is_err(), "{wrong}");
        }
        assert_eq!(spec("{}"), ConvertSpec::default());
        assert!(spec(r#"{"mixed":"json"}"#).mixed_json && spec(r#"{"mixed_json":true}"#).mixed_json);
    }

    #[test]
    fn compression_by_format() {
        let jinx = |text: &str| spec(text).jinx().map(|options| options.encode.compression);
        assert_eq!(jinx("{}").unwrap(), Some(3));
        assert_eq!(jinx(r#"{"compression":null}"#).unwrap(), None);
        assert_eq!(jinx(r#"{"compression":"zstd","level":9}"#).unwrap(), Some(9));
        assert!(jinx(r#"{"compression":"br"}"#).is_err());
        let codec = |text: &str, out: &str| spec(text).stream_codec(Path::new(out));
        assert_eq!(codec("{}", "a.jsonl").unwrap(), None);
        assert_eq!(codec("{}", "a.jsonl.gz").unwrap(), Some(Codec::Gzip));
        assert_eq!(codec(r#"{"compression":"zstd"}"#, "a.jsonl").unwrap(), Some(Codec::Zstd));
        assert!(codec(r#"{"compression":"none"}"#, "a.jsonl.gz").is_err());
        assert!(codec(r#"{"compression":"xz"}"#, "a.jsonl").is_err());
        let parquet = |text: &str| spec(text).parquet().map(|options| options.compression);
        assert_eq!(parquet(r#"{"compression":"zstd","level":5}"#).unwrap(), ParquetCompression::Zstd(5));
        assert_eq!(parquet(r#"{"compression":null}"#).unwrap(), ParquetCompression::None);
    }
}
