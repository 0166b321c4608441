//! Compresses whole files and single samples with MDS's codecs.

use crate::compression::{Algorithm, Setting};
use bzip2::write::BzEncoder;
use flate2::write::GzEncoder;
use jinx_core::codec::Compressor;
use jinx_core::error::{Error, Result};
use std::io::Write;

/// A compressor with its own memory, for one thread.
pub(crate) struct Packer {
    setting: Setting,
    zstd: Option<Compressor>,
}

impl Packer {
    pub(crate) fn new(setting: Setting) -> Result<Self> {
        let zstd = match setting.algorithm {
            Algorithm::Zstd => Some(Compressor::zstd(level(setting))?),
            _ => None,
        };
        Ok(Self { setting, zstd })
    }

    pub(crate) fn compress(&mut self, data: &[u8]) -> Result<Vec<u8>> {
        let level = level(self.setting);
        let natural = || u32::try_from(level).map_err(|_| Error::invalid(format!("no level {level}")));
        match self.setting.algorithm {
            Algorithm::Zstd => match &mut self.zstd {
                Some(zstd) => zstd.compress(data),
                None => Err(Error::invalid("no zstd compressor")),
            },
            Algorithm::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::new(natural()?));
                encoder.write_all(data)?;
                Ok(encoder.finish()?)
            }
            Algorithm::Bzip2 => {
                let mut encoder = BzEncoder::new(Vec::new(), bzip2::Compression::new(natural()?));
                encoder.write_all(data)?;
                Ok(encoder.finish()?)
            }
            Algorithm::Brotli => {
                let mut out = Vec::new();
                let parameters = brotli::enc::BrotliEncoderParams { quality: level, ..Default::default() };
                brotli::BrotliCompress(&mut &*data, &mut out, &parameters)?;
                Ok(out)
            }
            Algorithm::Snappy => snap::raw::Encoder::new()
                .compress_vec(data)
                .map_err(|error| Error::limit(format!("snappy cannot compress: {error}"))),
        }
    }
}

fn level(setting: Setting) -> i32 {
    setting.level.or(setting.algorithm.levels().map(|(_, _, default)| default)).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_codec_round_trips() {
        let data: Vec<u8> = (0..40_000u32).map(|i| u8::try_from(i / 7 % 251).unwrap()).collect();
        for algorithm in Algorithm::ALL {
            let mut packer = Packer::new(Setting { algorithm, level: None }).unwrap();
            for input in [&data[..], &[]] {
                let packed = packer.compress(input).unwrap();
                assert_eq!(algorithm.decode(&packed, 1 << 20).unwrap(), input, "{algorithm:?}");
            }
        }
    }
}
