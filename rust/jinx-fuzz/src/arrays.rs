//! Targets for arrays of numbers and for headers: the index, `.npy` payloads, the sidecar's header.

use super::place::{Files, Place};
use super::whole_files::read_all;
use jinx_core::checked_math::to_u64;
use jinx_core::codec::push_base64;
use jinx_core::npy;
use jinx_core::row_events::Payload;
use jinx_format::sidecar::Header;
use twox_hash::XxHash3_64;

const LINE: &[u8] = b"{\"a\":1}\n";

/// Reads a 1.0 file of up to 15 lines. Its index is the fuzzer's data, in the footer or in the sidecar.
pub(super) fn index(data: &[u8]) {
    let Some((head, data)) = data.split_first() else { return };
    let Some(place) = Place::new() else { return };
    let lines = LINE.repeat(usize::from(head % 16));
    let rows = to_u64(data.len() / 8).saturating_sub(u64::from(head & 32 == 0));
    let index = if head & 16 == 0 {
        let mut text = b"\"index.npy\":\"".to_vec();
        push_base64(&mut text, data);
        text.push(b'"');
        text
    } else {
        format!("\"index.npy.bin\":{{\"offset\":0,\"length\":{}}}", data.len()).into_bytes()
    };
    let rest = format!(",\"num_samples\":{rows},\"encoding\":\"b64\"}}\n{}\n", lines.len());
    let main = [&lines, b"{".as_slice(), &index, rest.as_bytes()].concat();
    let mut files: Files = vec![("a.jinx".to_owned(), main)];
    if head & 16 != 0 {
        files.push(("a.binx".to_owned(), data.to_vec()));
    }
    if place.put(&files).is_some() {
        read_all(&place.path("a.jinx"));
    }
}

pub(super) fn npy(data: &[u8]) {
    for payload in [Payload::Raw, Payload::Npy, Payload::Pt, Payload::Np] {
        let _ = npy::check_blob(payload, data);
    }
    let _ = npy::header_end(data);
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = npy::item_size(text);
    }
    let Ok(header) = npy::parse_header(data) else { return };
    assert!(header.data_offset <= data.len() && header.shape.len() <= 64);
    let items = header.shape.iter().try_fold(header.item_size, |all, size| all.checked_mul(*size));
    let needed = items.and_then(|items| items.checked_add(to_u64(header.data_offset)));
    let is_whole = header.check_payload(to_u64(data.len())).is_ok();
    if is_whole {
        assert_eq!(needed, Some(to_u64(data.len())), "{header:?}");
    }
}

pub(super) fn sidecar_header(data: &[u8]) {
    let mut sealed = data.to_vec();
    if let Some(head) = sealed.get_mut(..64) {
        let hash = XxHash3_64::oneshot(&head[..56]).to_le_bytes();
        head[56..].copy_from_slice(&hash);
    }
    for bytes in [data, &sealed] {
        for length in [to_u64(bytes.len()), 63, 64, 1 << 40, u64::MAX] {
            let Ok(header) = Header::parse(bytes, length) else { continue };
            assert!((64..=length).contains(&header.values_end) && header.id.len() == 32);
            let id = u128::from_str_radix(&header.id, 16);
            assert!(id.is_ok_and(|id| {
                Header::parse(&Header::encode(id, header.values_end), length)
                    .is_ok_and(|again| again == header)
            }));
        }
    }
}
