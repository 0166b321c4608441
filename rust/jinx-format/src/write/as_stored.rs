//! Stores values from another sidecar or row without decoding them.

use crate::fields::{Fact, Measure, in_path};
use crate::key::{Chain, Kind};
use crate::write::encode::RowEncoder;
use crate::write::row_facts::kind_of;
use jinx_core::checked_math::to_u64;
use jinx_core::codec::Codec;
use jinx_core::error::Result;
use jinx_core::events::{StoredKind, StoredValue};
use twox_hash::XxHash3_64;

impl RowEncoder {
    /// Whether encoding the value would store it in the same form: in the sidecar, with a codec that we write.
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
        let size = decoded_bytes.max(to_u64(data.len()));
        self.options.check_value(size).map_err(|error| in_path(error, &self.path()))?;
        let chain = Chain::new(kind, codec, true);
        self.open_value(Some(&chain))?;
        let checksum = checksum.unwrap_or_else(|| XxHash3_64::oneshot(&data));
        self.copied_bytes += data.len();
        let stored = self.push_pointer(data, checksum, media.and_then(|media| media.path))?;
        self.close_value(Some(&chain));
        let (path, mime) = (self.path(), media.and_then(|media| media.mime));
        let coded = Some((stored, decoded_bytes));
        self.row.facts.push(Fact { path, kind: name, coded, quoted: false, mime, measure });
        Ok(())
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
