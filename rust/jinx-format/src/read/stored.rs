//! Values with a chain: parses their descriptions and fetches their bytes.

use crate::key::{Chain, FormatVersion, Kind};
pub use crate::read::pointer::Pointer;
use crate::read::shard::Shard;
use jinx_core::checked_math::to_u64;
use jinx_core::codec::is_strict_base64;
use jinx_core::codec::{self, Codec, TextEncoding};
use jinx_core::error::{Error, Result};
use jinx_core::io::UninitSlice;
use jinx_core::row_events::Payload;
use jiter::{Jiter, Peek};
use std::borrow::Cow;

/// The maximum length of a zstd frame header.
const ZSTD_HEADER_BYTES: u64 = 18;

/// A value with a chain, not yet fetched.
#[derive(Debug)]
pub struct EncodedValue<'a> {
    pub chain: Chain,
    pub place: Location<'a>,
    /// The file name of a media value.
    pub path: Option<Cow<'a, str>>,
}

#[derive(Debug)]
pub enum Location<'a> {
    /// The text of the encoded value in the line.
    Inline(Cow<'a, str>),
    Sidecar(Pointer),
    Null,
    /// The text of a number.
    Number(&'a str),
}

impl<'a> EncodedValue<'a> {
    /// Parses the JSON text under a key with a chain.
    ///
    /// # Errors
    /// `Corrupt` when the text does not fit the chain.
    pub fn parse(chain: Chain, text: &'a [u8]) -> Result<Self> {
        let misfit = || Error::corrupt("the value does not fit its suffix");
        let mut jiter = Jiter::new(text);
        let (is_number, is_float) = match chain.kind {
            Kind::Scalar(dtype) => (true, dtype.is_float()),
            _ => (false, false),
        };
        let mut path = None;
        let place = match jiter.peek().map_err(|_| misfit())? {
            Peek::String if !chain.bin && (is_float || !is_number) => {
                let inner = text.trim_ascii();
                if memchr::memchr(b'\\', inner).is_none() {
                    let body = inner
                        .strip_prefix(b"\"")
                        .and_then(|body| body.strip_suffix(b"\""))
                        .ok_or_else(misfit)?;
                    Location::Inline(Cow::Borrowed(std::str::from_utf8(body).map_err(|_| misfit())?))
                } else {
                    Location::Inline(Cow::Owned(jiter.known_str().map_err(|_| misfit())?.to_owned()))
                }
            }
            Peek::Object if chain.bin => {
                let (pointer, name) = Pointer::parse(text)?;
                path = name;
                Location::Sidecar(pointer)
            }
            Peek::Null if is_float => Location::Null,
            peek if peek.is_num() && is_number => {
                Location::Number(std::str::from_utf8(text.trim_ascii()).map_err(|_| misfit())?)
            }
            _ => return Err(misfit()),
        };
        Ok(Self { chain, place, path })
    }

    /// The decoded length, if the stored form states it. It is exact for an uncompressed value; for a compressed one it
    /// is what the header of the first frame claims (decoding checks it).
    pub fn announced_len(&self, shard: &Shard) -> Option<u64> {
        let mut codecs = self.chain.codecs();
        match (codecs.next(), &self.place) {
            (None, Location::Sidecar(pointer)) => Some(shard.head_of(self).unwrap_or(pointer.length)),
            (Some(Codec::Zstd), Location::Sidecar(pointer)) if codecs.next().is_none() => {
                let head = shard.sidecar_bytes(pointer.offset, pointer.length.min(ZSTD_HEADER_BYTES)).ok()?;
                zstd::zstd_safe::get_frame_content_size(&head).ok().flatten()
            }
            _ => None,
        }
    }
}

impl Shard {
    /// The bytes of the value after decoding with all codecs.
    ///
    /// # Errors
    /// `Corrupt`, `Truncated` or `Limit` when the stored bytes cannot be decoded.
    pub fn load(&self, stored: &EncodedValue<'_>) -> Result<Vec<u8>> {
        let max = self.limits().max_value_bytes;
        let mut bytes = match &stored.place {
            Location::Inline(text) => {
                let strict = self.rules() == FormatVersion::V1_1 && self.encoding() == TextEncoding::Base64;
                if strict && !is_strict_base64(text.as_bytes()) {
                    return Err(Error::corrupt("a value that is not strict base64"));
                }
                self.encoding().decode(text.as_bytes(), max)?
            }
            Location::Sidecar(pointer) => match self.head_of(stored) {
                Some(head) => self.sidecar_bytes(pointer.offset, head)?.into(),
                None => self.fetch(pointer)?,
            },
            Location::Null => Vec::new(),
            Location::Number(_) => return Err(Error::corrupt("a number instead of encoded bytes")),
        };
        for codec in stored.chain.codecs().rev() {
            // The 1.0 writer stores an empty value as an empty snappy stream without its header.
            if !(bytes.is_empty() && codec == Codec::Snappy && self.rules() == FormatVersion::V1_0) {
                bytes = codec::decode(codec, &bytes, max)?;
            }
        }
        Ok(bytes)
    }

    /// Decodes directly into `out`, which must have exactly the decoded length.
    ///
    /// # Errors
    /// The errors of [`Shard::load`], and `Corrupt` when the length differs.
    pub fn load_into<'o>(&self, stored: &EncodedValue<'_>, out: UninitSlice<'o>) -> Result<&'o mut [u8]> {
        let mut codecs = stored.chain.codecs();
        match (&stored.place, codecs.next(), codecs.next()) {
            (Location::Sidecar(pointer), None, _) if self.head_of(stored).is_none() => {
                self.fetch_into(pointer, out)
            }
            (Location::Sidecar(pointer), Some(codec), None) => {
                let bytes = self.fetch_shared(pointer)?;
                codec::decode_into(codec, &bytes, out)
            }
            _ => {
                let bytes = self.load(stored)?;
                if bytes.len() != out.len() {
                    return Err(Error::corrupt(format!(
                        "a value of {} bytes instead of {}",
                        bytes.len(),
                        out.len()
                    )));
                }
                let out = out.cleared();
                out.copy_from_slice(&bytes);
                Ok(out)
            }
        }
    }

    /// How many of a value's first bytes are read, if not all are.
    fn head_of(&self, stored: &EncodedValue<'_>) -> Option<u64> {
        let head = self.value_head()?;
        let is_as_it_is =
            stored.chain.kind == Kind::Blob(Payload::Raw) && stored.chain.codecs().next().is_none();
        matches!(&stored.place, Location::Sidecar(pointer) if is_as_it_is && pointer.length > head)
            .then_some(head)
    }

    /// The stored length of a value, for `repr` and `length`.
    pub fn stored_len(stored: &EncodedValue<'_>) -> u64 {
        match &stored.place {
            Location::Inline(text) => to_u64(text.len()),
            Location::Sidecar(pointer) => pointer.length,
            Location::Null | Location::Number(_) => 0,
        }
    }
}
