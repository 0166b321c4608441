//! Targets for texts that end with their own checksum, the footer and the manifest: unchanged, and with a corrected
//! checksum.

use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::codec::TextEncoding;
use jinx_format::fields::FieldNode;
use jinx_format::footer::{ArrayRef, Footer, IndexRef, footer_range};
use jinx_format::manifest::Manifest;
use twox_hash::XxHash3_64;

/// The maximum number of bytes to decode: more makes a run slow and finds nothing new.
pub(super) const MAX_BYTES: u64 = 1 << 20;

pub(super) fn trailer_footer(data: &[u8]) {
    let total = to_u64(data.len());
    if let Ok((offset, length)) = footer_range(data, total) {
        let end = offset.checked_add(length);
        assert!(end.is_some_and(|end| end < total), "a footer outside the file");
        if let (Ok(start), Some(Ok(end))) = (to_usize(offset, "at"), end.map(|end| to_usize(end, "at"))) {
            parse(&data[start..end]);
        }
    }
    parse(data);
    parse(&signed(data));
}

fn parse(text: &[u8]) {
    let Ok(footer) = Footer::parse(text) else { return };
    let _ = FieldNode::build(&footer.fields);
    if let IndexRef::Text(text, codecs) = &footer.index
        && let Ok(bytes) =
            IndexRef::decode_text(text, codecs, footer.encoding.unwrap_or(TextEncoding::Ascii85), MAX_BYTES)
    {
        assert!(to_u64(bytes.len()) <= MAX_BYTES);
    }
    let columns = footer.columns.iter().flat_map(|info| {
        [Some(&info.data), info.validity.as_ref(), info.offsets.as_ref()].into_iter().flatten()
    });
    for place in columns.chain(&footer.line_hash) {
        if let ArrayRef::Inline { data, length, x } = place
            && *length <= MAX_BYTES
            && let Ok(bytes) = ArrayRef::decode_inline(data, *length, x, 0)
        {
            assert_eq!(to_u64(bytes.len()), *length);
        }
    }
}

pub(super) fn manifest(data: &[u8]) {
    for text in [data.to_vec(), signed(data)] {
        let Ok(manifest) = Manifest::parse(&text) else { continue };
        for shard in &manifest.shards {
            let name = &shard.name;
            assert!(
                !name.is_empty() && name.len() <= 255 && name != ".." && !name.contains(['/', '\\', '\0'])
            );
        }
        let counted: u64 = manifest.shards.iter().map(|shard| shard.samples).sum();
        assert_eq!(counted, manifest.num_samples);
        let again = manifest.to_text().ok().and_then(|text| Manifest::parse(text.as_bytes()).ok());
        assert_eq!(again, Some(manifest));
    }
}

/// The object with a correct `digest` as its last member, so that damaged text passes the checksum.
pub(super) fn signed(text: &[u8]) -> Vec<u8> {
    let text = text.trim_ascii_end();
    let mark = b",\"digest\":\"";
    let end = text.windows(mark.len()).rposition(|part| part == mark);
    let body = text.get(..end.unwrap_or(text.len().saturating_sub(1))).unwrap_or_default();
    [body, format!(",\"digest\":\"{:016x}\"}}", XxHash3_64::oneshot(body)).as_bytes()].concat()
}
