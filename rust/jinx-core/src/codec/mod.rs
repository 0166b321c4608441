//! Codecs of values and files: bounded decoding of untrusted input, zstd and gzip writing, text encodings.
//!
//! Every decoder respects the caller's cap, reserves memory only as bytes arrive, accepts several frames, members or
//! streams one after the other, and refuses anything after them.

mod ascii85;
mod bounded;
mod brotli;
mod bz2;
mod deflate;
mod hex;
mod lz4;
mod media_type;
mod members;
mod snappy;
mod stream;
mod text;
mod xz;
mod zstd;
mod zstd_frame;

use crate::checked_math::to_u64;
use crate::error::{Error, Result};
use crate::io::UninitSlice;

pub use media_type::{is_compressed_media, mime};
pub use snappy::decode_snappy_raw;
pub use stream::{Writer, reader, sniff, writer};
pub use text::{TextEncoding, base64_len, is_strict_base64, push_base64};
pub use zstd::Compressor;

/// A compression format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Codec {
    Zstd,
    /// Also the format of `pigz`.
    Gzip,
    Brotli,
    Bzip2,
    /// The frame format, not raw blocks.
    Lz4,
    /// The `.xz` container, under its JINX 1.0 name; or the older `.lzma` container.
    Lzma,
    Xz,
    /// The framed stream format; raw blocks have [`decode_snappy_raw`].
    Snappy,
}

impl Codec {
    pub const ALL: [Self; 8] =
        [Self::Zstd, Self::Gzip, Self::Brotli, Self::Bzip2, Self::Lz4, Self::Lzma, Self::Xz, Self::Snappy];

    /// The key and file suffix, without its dot.
    pub fn ext(self) -> &'static str {
        match self {
            Self::Zstd => "zst",
            Self::Gzip => "gz",
            Self::Brotli => "br",
            Self::Bzip2 => "bz2",
            Self::Lz4 => "lz4",
            Self::Lzma => "lzma",
            Self::Xz => "xz",
            Self::Snappy => "snappy",
        }
    }

    pub fn from_ext(ext: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|codec| codec.ext() == ext)
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
            Self::Brotli => "brotli",
            Self::Bzip2 => "bzip2",
            other => other.ext(),
        }
    }

    /// The codec for a command-line name, `pigz`, or a suffix.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "pigz" => Some(Self::Gzip),
            _ => Self::ALL.into_iter().find(|codec| codec.name() == name).or_else(|| Self::from_ext(name)),
        }
    }
}

/// Decodes all of `input` into at most `max` bytes.
///
/// # Errors
/// `Limit` when there would be more than `max` bytes or a window needs too much memory, `Truncated` when the
/// input ends early (empty input included), `Corrupt` for bad data and for bytes after the last frame.
pub fn decode(codec: Codec, input: &[u8], max: u64) -> Result<Vec<u8>> {
    match codec {
        Codec::Zstd => zstd::decode(input, max),
        _ => bounded::read_all(stream::open(codec, input)?, size_hint(codec, input), input.len(), max),
    }
}

/// The decoded length, if the headers state it and the blocks can contain it.
///
/// `None` is not an error: the length is unknown, or the input is damaged and [`decode`] will fail. The length may be
/// 128 KiB for each 4 bytes of input (zstd), so compare it with a cap before reserving memory.
pub fn declared_len(codec: Codec, input: &[u8]) -> Option<u64> {
    match codec {
        Codec::Zstd => zstd_frame::declared_len(input),
        Codec::Lz4 => lz4::declared_len(input),
        _ => None,
    }
}

/// Decodes `input` directly into `out`, which it must fill exactly.
///
/// # Errors
/// The errors of [`decode`], and `Corrupt` when the decoded length is not `out.len()`; the content of `out`
/// is then undefined.
pub fn decode_into<'o>(codec: Codec, input: &[u8], out: UninitSlice<'o>) -> Result<&'o mut [u8]> {
    match codec {
        Codec::Zstd => zstd::decode_into(input, out),
        _ => {
            let out = out.cleared();
            bounded::read_exactly(stream::open(codec, input)?, out)?;
            Ok(out)
        }
    }
}

/// An estimate of the decoded length, good enough for a first reservation, which is limited anyway.
fn size_hint(codec: Codec, input: &[u8]) -> Option<u64> {
    match codec {
        // The length of the last member modulo 2^32.
        Codec::Gzip => input.last_chunk::<4>().map(|tail| u64::from(u32::from_le_bytes(*tail))),
        _ => declared_len(codec, input),
    }
}

fn too_long(max: u64) -> Error {
    Error::limit(format!("decodes to more than {max} bytes; raise the limit if you trust the file"))
}

/// Grows `out` by exactly `additional` bytes of capacity, or fails for lack of memory.
fn reserve(out: &mut Vec<u8>, additional: usize) -> Result<()> {
    out.try_reserve_exact(additional).map_err(|_| {
        Error::limit(format!("no memory for {} decoded bytes", to_u64(out.len().saturating_add(additional))))
    })
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod text_tests;
