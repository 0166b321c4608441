//! Streaming: readers that decode whole files, and the two codecs with which files are written.

use super::Codec;
use super::brotli::BrotliStep;
use super::bz2::Bzip2Step;
use super::deflate::GzipStep;
use super::lz4::Lz4Reader;
use super::members::Members;
use super::snappy::SnappyReader;
use super::xz::XzStep;
use super::zstd::{ZstdStep, check_level};
use crate::error::{Error, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, BufRead, BufReader, Read, Write};

/// The number of compressed bytes that are read from the file at once.
const READ_BYTES: usize = 256 << 10;
const DEFAULT_ZSTD_LEVEL: i32 = 3;
const DEFAULT_GZIP_LEVEL: i32 = 6;

pub(super) fn open<'a, R: BufRead + Send + 'a>(codec: Codec, source: R) -> Result<Box<dyn Read + Send + 'a>> {
    Ok(match codec {
        Codec::Zstd => Box::new(Members::new(ZstdStep::new()?, source)),
        Codec::Gzip => Box::new(Members::new(GzipStep::new(), source)),
        Codec::Brotli => Box::new(Members::new(BrotliStep::new(), source)),
        Codec::Bzip2 => Box::new(Members::new(Bzip2Step::new(), source)),
        Codec::Lz4 => Box::new(Lz4Reader::new(source)),
        Codec::Lzma => Box::new(Members::new(XzStep::lzma()?, source)),
        Codec::Xz => Box::new(Members::new(XzStep::xz()?, source)),
        Codec::Snappy => Box::new(SnappyReader::new(source)),
    })
}

/// Decodes a file of any length in constant memory. The caller must limit the output.
///
/// For bad data `read` returns an `io::Error`, from which `Error::from` restores the cause.
///
/// # Errors
/// `Limit` if there is no memory for the decoder.
pub fn reader(codec: Codec, source: impl Read + Send + 'static) -> Result<Box<dyn Read + Send>> {
    open(codec, BufReader::with_capacity(READ_BYTES, source))
}

/// A compressing writer; without [`Writer::finish`] the file is incomplete.
pub enum Writer<W: Write> {
    Zstd(Box<zstd::stream::write::Encoder<'static, W>>),
    Gzip(Box<GzEncoder<W>>),
}

/// Compresses what is written with zstd (level 3) or gzip (level 6), unless `level` is given.
///
/// # Errors
/// `Invalid` for another codec or a level that the codec does not have.
pub fn writer<W: Write + Send>(codec: Codec, level: Option<i32>, target: W) -> Result<Writer<W>> {
    match codec {
        Codec::Zstd => {
            let level = level.unwrap_or(DEFAULT_ZSTD_LEVEL);
            check_level(level)?;
            Ok(Writer::Zstd(Box::new(zstd::stream::write::Encoder::new(target, level)?)))
        }
        Codec::Gzip => {
            let level = level.unwrap_or(DEFAULT_GZIP_LEVEL);
            let checked = u32::try_from(level).ok().filter(|&level| level <= 9);
            let level =
                checked.ok_or_else(|| Error::invalid(format!("gzip has no level {level}; use 0 to 9")))?;
            Ok(Writer::Gzip(Box::new(GzEncoder::new(target, Compression::new(level)))))
        }
        other => Err(Error::invalid(format!("cannot write {} files; use zstd or gzip", other.name()))),
    }
}

impl<W: Write> Writer<W> {
    /// Writes the end of the compressed data, and returns the target without flushing it.
    ///
    /// # Errors
    /// The errors of writing to the target.
    pub fn finish(self) -> io::Result<W> {
        match self {
            Self::Zstd(encoder) => encoder.finish(),
            Self::Gzip(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> Write for Writer<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Self::Zstd(encoder) => encoder.write(buf),
            Self::Gzip(encoder) => encoder.write(buf),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Zstd(encoder) => encoder.flush(),
            Self::Gzip(encoder) => encoder.flush(),
        }
    }
}

/// The codec of a file by its first bytes (10 are enough); brotli and `.lzma` have no magic number.
pub fn sniff(first: &[u8]) -> Option<Codec> {
    const MAGICS: [(&[u8], Codec); 6] = [
        (b"\x28\xb5\x2f\xfd", Codec::Zstd),
        (b"\x1f\x8b\x08", Codec::Gzip),
        (b"\x04\x22\x4d\x18", Codec::Lz4),
        (b"\xfd7zXZ\0", Codec::Xz),
        (b"\xff\x06\0\0sNaPpY", Codec::Snappy),
        // A skippable frame. lz4 has them too, but only zstd files (seekable, or from pzstd) begin with one.
        (b"\x50\x2a\x4d\x18", Codec::Zstd),
    ];
    let bzip2 = matches!(first, [b'B', b'Z', b'h', b'1'..=b'9', ..]);
    let by_magic = MAGICS.into_iter().find(|(magic, _)| first.starts_with(magic)).map(|(_, codec)| codec);
    by_magic.or_else(|| bzip2.then_some(Codec::Bzip2))
}
