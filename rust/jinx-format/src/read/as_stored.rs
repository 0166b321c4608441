//! Reads values of a sidecar in their stored form, for copying them without decoding.

use crate::fields::FieldNode;
use crate::key::Kind;
use crate::read::shard::Shard;
use crate::read::stored::{EncodedValue, Location, Pointer};
use bytes::Bytes;
use jinx_core::checked_math::to_usize;
use jinx_core::codec::{self, Codec};
use jinx_core::error::{Error, Result};
use jinx_core::io::Content;
use jinx_core::row_events::{Sink, StoredKind, StoredMedia, StoredValue, UnreadValue};
use std::borrow::Cow;

/// Values of at least this size are checked first and then copied in blocks. Shorter ones are read once.
const STREAMED_BYTES: u64 = 8 << 20;
/// The number of first bytes of a file that show its type.
const MAGIC_BYTES: u64 = 512;

/// A value in the sidecar with at most one codec and a known decoded length.
pub(crate) struct AsStored<'s, 'v> {
    shard: &'s Shard,
    value: &'v EncodedValue<'v>,
    pointer: Pointer,
    is_media: bool,
    has_mime: bool,
    pub(crate) codec: Option<Codec>,
    pub(crate) decoded_bytes: u64,
}

impl<'s, 'v> AsStored<'s, 'v> {
    /// `None` for any other value.
    pub(crate) fn of(
        shard: &'s Shard,
        value: &'v EncodedValue<'v>,
        node: Option<&FieldNode>,
    ) -> Option<Self> {
        let Location::Sidecar(pointer) = value.place else { return None };
        if !matches!(value.chain.kind, Kind::Str | Kind::Blob(_)) {
            return None;
        }
        let decoded_bytes = value.announced_len(shard)?;
        let is_media = value.path.is_some() || node.is_some_and(|node| node.media);
        let has_mime = node.is_some_and(|node| node.mime);
        let codec = value.chain.codecs().next();
        Some(Self { shard, value, pointer, is_media, has_mime, codec, decoded_bytes })
    }

    pub(crate) fn is_str(&self) -> bool {
        self.value.chain.kind == Kind::Str
    }

    pub(crate) fn unread(&self) -> UnreadValue {
        let payload = match self.value.chain.kind {
            Kind::Blob(payload) => Some(payload),
            _ => None,
        };
        let (stored_bytes, checksum) = (self.pointer.length, self.pointer.x);
        UnreadValue { payload, codec: self.codec, stored_bytes, decoded_bytes: self.decoded_bytes, checksum }
    }

    /// # Errors
    /// The errors of [`Shard::fetch`]; for a string, as [`Shard::load`].
    pub(crate) fn emit(&self, sink: &mut impl Sink) -> Result<()> {
        let data = self.data(sink)?;
        // Decode a string, because `fields` needs its number of characters.
        let text = match &data {
            Content::Memory(data) if self.is_str() => Some(self.decode(data)?),
            _ => None,
        };
        let kind = match (self.value.chain.kind, &text) {
            (Kind::Blob(payload), _) => StoredKind::Blob(payload),
            (_, Some(text)) => StoredKind::Str(
                std::str::from_utf8(text).map_err(|_| Error::corrupt("text that is not UTF-8"))?,
            ),
            _ => return Err(Error::invalid("a value that is not stored as bytes")),
        };
        let mime = match &data {
            Content::Memory(data) if self.has_mime => codec::mime(&self.decode(data)?),
            Content::Range(range) if self.has_mime => codec::mime(&range.head(MAGIC_BYTES)?),
            _ => None,
        };
        let media = self.is_media.then_some(StoredMedia { path: self.value.path.as_deref(), mime });
        let (codec, checksum, decoded_bytes) = (self.codec, self.pointer.x, self.decoded_bytes);
        sink.stored(StoredValue { kind, codec, data: data.clone(), checksum, decoded_bytes, media })
    }

    fn data(&self, sink: &mut impl Sink) -> Result<Content> {
        let is_decoded = self.is_str() || (self.has_mime && self.codec.is_some());
        if self.pointer.length >= STREAMED_BYTES
            && !is_decoded
            && let Some(range) = self.shard.range(&self.pointer)?
        {
            return Ok(Content::Range(range));
        }
        let length = to_usize(self.pointer.length, "value length")?;
        let Some(mut memory) = sink.stored_memory(length) else {
            return Ok(Bytes::from(self.shard.fetch(&self.pointer)?).into());
        };
        let place = memory.bytes().get_mut(..length).ok_or_else(|| Error::invalid("too little memory"))?;
        self.shard.fetch_into(&self.pointer, place.into())?;
        Ok(memory.share(length).into())
    }

    fn decode<'d>(&self, data: &'d [u8]) -> Result<Cow<'d, [u8]>> {
        match self.codec {
            None => Ok(Cow::Borrowed(data)),
            Some(codec) => codec::decode(codec, data, self.shard.limits().max_value_bytes).map(Cow::Owned),
        }
    }
}
