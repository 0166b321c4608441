//! Stores values from another sidecar, row or file without decoding them.

use crate::fields::{Fact, Measure, in_path};
use crate::key::{Chain, Kind};
use crate::write::encode::RowEncoder;
use crate::write::row_facts::kind_of;
use jinx_core::codec::{self, Codec};
use jinx_core::error::Result;
use jinx_core::io::{Content, SourceRange};
use jinx_core::row_events::{Blob, Payload, Sink, StoredKind, StoredValue};
use twox_hash::XxHash3_64;

/// The number of first bytes of a file that show whether it is compressed.
const MAGIC_BYTES: u64 = 512;

impl RowEncoder {
    /// Whether encoding the value would store it in the same form: in the sidecar, with a codec that our writer uses.
    pub(super) fn keeps_stored(&self, is_str: bool, codec: Option<Codec>, decoded_bytes: u64) -> bool {
        let options = &self.options;
        let threshold = if is_str { options.string_threshold } else { options.binary_threshold };
        let is_form = match codec {
            None => true,
            Some(Codec::Zstd) => {
                options.compression.is_some()
                    && self.top_name().is_none_or(|name| !options.uncompressed.contains(name))
            }
            Some(_) => false,
        };
        options.keep_stored
            && options.sidecar
            && decoded_bytes > threshold
            && is_form
            && (self.in_dict() || !is_str)
    }

    pub(super) fn put_stored(&mut self, value: StoredValue<'_>) -> Result<()> {
        let StoredValue { kind, codec, data, checksum, decoded_bytes, media } = value;
        let (kind, name, measure) = match kind {
            StoredKind::Str(text) => (Kind::Str, "str", self.measure_str(text)),
            StoredKind::Blob(payload) => (Kind::Blob(payload), kind_of(payload), Measure::None),
        };
        let size = decoded_bytes.max(data.len());
        self.options.check_value(size).map_err(|error| in_path(error, &self.path()))?;
        let chain = Chain::new(kind, codec, true);
        self.open_value(Some(&chain))?;
        let checksum = match (checksum, &data) {
            (Some(checksum), _) => checksum,
            (None, Content::Memory(data)) => XxHash3_64::oneshot(data),
            (None, Content::Range(range)) => range.checksum()?,
        };
        self.copied_bytes += data.memory_bytes();
        let stored = self.push_pointer(data, checksum, media.and_then(|media| media.path))?;
        self.close_value(Some(&chain));
        let (path, mime) = (self.path(), media.and_then(|media| media.mime));
        let coded = Some((stored, decoded_bytes));
        self.row.facts.push(Fact { path, kind: name, coded, quoted: false, mime, measure });
        Ok(())
    }

    /// Whether to try compressing a value of `length` bytes that begins with `head`.
    pub(super) fn may_shrink(&self, length: u64, head: &[u8]) -> bool {
        let options = &self.options;
        let is_left = length < options.compress_threshold
            || codec::is_compressed_media(head)
            || self.top_name().is_some_and(|name| options.uncompressed.contains(name));
        options.compression.is_some() && !is_left
    }

    /// Stores plain bytes of a file like bytes in memory; reads the whole only if it may be compressed.
    pub(super) fn put_range(&mut self, range: &SourceRange) -> Result<()> {
        let length = range.len();
        self.options.check_value(length).map_err(|error| in_path(error, &self.path()))?;
        let to_sidecar = self.options.sidecar && length > self.options.binary_threshold;
        if !to_sidecar || self.may_shrink(length, &range.head(MAGIC_BYTES)?) {
            return self.blob(Payload::Raw, Blob::shared(range.read()?));
        }
        let kind = StoredKind::Blob(Payload::Raw);
        let data = Content::Range(range.clone());
        self.put_stored(StoredValue {
            kind,
            codec: None,
            data,
            checksum: None,
            decoded_bytes: length,
            media: None,
        })
    }

    /// Whether the next value contains no path to index.
    pub(super) fn keeps_json(&self) -> bool {
        let mut paths = self.options.columns.iter().filter(|path| path.len() > 1);
        !paths.any(|path| path[0].as_deref() == self.top_name())
    }

    pub(super) fn put_json(&mut self, text: &[u8], elements: u64) -> Result<()> {
        let (kind, measure) = match text.first() {
            Some(b'[') => ("list", Measure::Length(elements)),
            _ => ("dict", Measure::None),
        };
        self.plain(kind, measure, text)
    }
}
