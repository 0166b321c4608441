//! Targets for every decoder: its interfaces must agree with each other, and it must reverse its encoder.

use super::footers::MAX_BYTES;
use jinx_core::checked_math::to_u64;
use jinx_core::codec::{self, Codec, TextEncoding, push_base64};
use std::io::{Cursor, Read, Write};

pub(super) fn each_codec(data: &[u8]) {
    let Some((head, data)) = data.split_first() else { return };
    let which = usize::from(head % 9);
    let max = [MAX_BYTES, 100, 0, MAX_BYTES][usize::from(head / 9 % 4)];
    let Some(codec) = Codec::ALL.get(which).copied() else {
        if let Ok(bytes) = codec::decode_snappy_raw(data, max) {
            assert!(to_u64(bytes.len()) <= max);
        }
        return;
    };
    if matches!(codec, Codec::Zstd | Codec::Gzip) {
        round_trip(codec, data);
    }
    let whole = codec::decode(codec, data, max);
    let mut streamed = Vec::new();
    let reader = codec::reader(codec, Cursor::new(data.to_vec()));
    let end = reader.map(|reader| reader.take(max + 1).read_to_end(&mut streamed));
    let Ok(whole) = whole else { return };
    assert!(to_u64(whole.len()) <= max);
    assert!(matches!(end, Ok(Ok(_))), "{codec:?}: decodes at once, but not as a stream");
    assert_eq!(whole, streamed, "{codec:?}");
    let announced = codec::declared_len(codec, data);
    assert!(
        announced.is_none_or(|length| length == to_u64(whole.len())),
        "{codec:?}: announces {announced:?}"
    );
    let mut room = Vec::with_capacity(whole.len() + 1);
    let exact = codec::decode_into(codec, data, (&mut room.spare_capacity_mut()[..whole.len()]).into());
    assert!(exact.is_ok_and(|exact| exact == whole.as_slice()), "{codec:?}");
    let longer = codec::decode_into(codec, data, (&mut room.spare_capacity_mut()[..=whole.len()]).into());
    assert!(longer.is_err(), "{codec:?}");
}

fn round_trip(codec: Codec, data: &[u8]) {
    let Ok(mut writer) = codec::writer(codec, None, Vec::new()) else { return };
    let packed = writer.write_all(data).and_then(|()| writer.finish());
    let again = packed.ok().and_then(|packed| codec::decode(codec, &packed, to_u64(data.len())).ok());
    assert_eq!(again.as_deref(), Some(data), "{codec:?}");
}

pub(super) fn text_encodings(data: &[u8]) {
    let mut text = Vec::new();
    push_base64(&mut text, data);
    let again = TextEncoding::Base64.decode(&text, to_u64(data.len()));
    assert_eq!(again.ok().as_deref(), Some(data));
    let hex: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(TextEncoding::Hex.decode(hex.as_bytes(), MAX_BYTES).ok().as_deref(), Some(data));
    for encoding in [TextEncoding::Ascii85, TextEncoding::Base64, TextEncoding::Hex] {
        let Ok(bytes) = encoding.decode(data, MAX_BYTES) else { continue };
        let length = to_u64(bytes.len());
        assert!(length <= MAX_BYTES);
        assert_eq!(encoding.decode(data, length).ok(), Some(bytes), "{encoding:?} at the limit");
        assert!(length == 0 || encoding.decode(data, length - 1).is_err(), "{encoding:?} past the limit");
    }
}
