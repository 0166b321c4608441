//! The `compression` of an index.

use jinx_core::codec::{self, Codec};
use jinx_core::error::{Error, Result};

/// The five codecs that MDS supports. Snappy is the raw block, not the framed stream that [`Codec::Snappy`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    Brotli,
    Bzip2,
    Gzip,
    Snappy,
    Zstd,
}

impl Algorithm {
    pub const ALL: [Self; 5] = [Self::Brotli, Self::Bzip2, Self::Gzip, Self::Snappy, Self::Zstd];

    /// The name, which is also the file suffix.
    pub fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Bzip2 => "bz2",
            Self::Gzip => "gz",
            Self::Snappy => "snappy",
            Self::Zstd => "zstd",
        }
    }

    /// The lowest, highest and default level; `None` for snappy, which has no levels.
    pub fn levels(self) -> Option<(i32, i32, i32)> {
        match self {
            Self::Brotli => Some((0, 11, 11)),
            Self::Bzip2 => Some((1, 9, 9)),
            Self::Gzip => Some((0, 9, 9)),
            Self::Snappy => None,
            Self::Zstd => Some((1, 22, 3)),
        }
    }

    /// The codec for streams; a snappy block is not a stream.
    pub(crate) fn stream(self) -> Option<Codec> {
        match self {
            Self::Brotli => Some(Codec::Brotli),
            Self::Bzip2 => Some(Codec::Bzip2),
            Self::Gzip => Some(Codec::Gzip),
            Self::Zstd => Some(Codec::Zstd),
            Self::Snappy => None,
        }
    }

    /// Decodes all of `input`, into at most `max` bytes.
    ///
    /// # Errors
    /// The errors of [`codec::decode`].
    pub fn decode(self, input: &[u8], max: u64) -> Result<Vec<u8>> {
        match self.stream() {
            Some(codec) => codec::decode(codec, input, max),
            None => codec::decode_snappy_raw(input, max),
        }
    }

    /// The decoded length, if the data states it.
    pub fn declared_len(self, input: &[u8]) -> Option<u64> {
        codec::declared_len(self.stream()?, input)
    }
}

/// One codec, with its level if the index states one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    pub algorithm: Algorithm,
    pub level: Option<i32>,
}

/// How a shard is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    #[default]
    None,
    /// The whole file is compressed.
    File(Setting),
    /// Each sample is compressed separately, as MLDataForge writes it.
    Sample(Setting),
}

impl Compression {
    /// # Errors
    /// `Unsupported` for a name or level that no writer has.
    pub fn parse(text: Option<&str>) -> Result<Self> {
        let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(Self::None) };
        Ok(match text.strip_prefix("sample::") {
            Some(rest) => Self::Sample(setting(rest)?),
            None => Self::File(setting(text)?),
        })
    }
}

fn setting(text: &str) -> Result<Setting> {
    let (name, level) = text.split_once(':').map_or((text, None), |(name, level)| (name, Some(level)));
    let unknown = || {
        let shown: String = text.chars().take(40).collect();
        Error::unsupported(format!("the compression {shown:?} is not known; use br, bz2, gz, snappy or zstd"))
    };
    let algorithm =
        Algorithm::ALL.into_iter().find(|candidate| candidate.name() == name).ok_or_else(unknown)?;
    let level = match level {
        None => None,
        Some(level) => {
            let level: i32 = level.parse().map_err(|_| unknown())?;
            let (low, high, _) = algorithm.levels().ok_or_else(unknown)?;
            if !(low..=high).contains(&level) {
                return Err(unknown());
            }
            Some(level)
        }
    };
    Ok(Setting { algorithm, level })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_and_levels() {
        let zstd = Setting { algorithm: Algorithm::Zstd, level: Some(22) };
        assert_eq!(Compression::parse(Some("zstd:22")).unwrap(), Compression::File(zstd));
        let plain = Setting { algorithm: Algorithm::Snappy, level: None };
        assert_eq!(Compression::parse(Some("sample::snappy")).unwrap(), Compression::Sample(plain));
        assert_eq!(Compression::parse(None).unwrap(), Compression::None);
        for bad in ["zstd:23", "zstd:x", "snappy:1", "lz4", "sample::", "sample::sample::gz", "gz:-1"] {
            assert!(Compression::parse(Some(bad)).is_err(), "{bad}");
        }
    }
}
