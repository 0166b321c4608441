//! The smallest bad input for each thing that footer, index, keys, pointers and headers can have wrong.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss, clippy::cast_possible_wrap)]

mod sample;

use jinx_core::Cause::{self, Corrupt, Limit, Truncated, Unsupported};
use jinx_core::codec::{Codec, TextEncoding};
use jinx_core::io::Access;
use jinx_core::json::scan::{Elements, Members};
use jinx_core::row_events::{Discard, Payload};
use jinx_format::footer::{ArrayRef, Footer, IndexRef, footer_range};
use jinx_format::key::{Chain, Form, FormatVersion, Kind, split};
use jinx_format::read::shard::{OpenOptions, Shard, Verify};
use jinx_format::read::stored::EncodedValue;
use jinx_format::sidecar::Header;
use proptest::prelude::*;
use twox_hash::XxHash3_64;

fn trailer(text: &str) -> Cause {
    footer_range(text.as_bytes(), text.len() as u64).unwrap_err().cause()
}

#[test]
fn trailers() {
    for text in [
        "",
        "\n",
        "12",
        "\n-1\n",
        "\n1.0\n",
        "\n1e3\n",
        "\nabc\n",
        "\n0x1\n",
        "\n+1\n",
        "{}\n123456789012345678901\n",
    ] {
        assert_eq!(trailer(text), Truncated, "{text:?}");
    }
    for text in ["{}\n99999999999999999999\n", "{}\n2\n", "{}\n3\n", "\n0\n"] {
        assert_eq!(trailer(text), Corrupt, "{text:?}");
    }
    assert_eq!(trailer(&format!("{{}}\n0\n{}", " ".repeat(1100))), Truncated);
    assert_eq!(footer_range(b"{}\n0\n", 5).unwrap(), (0, 2));
}

/// A 1.1 footer from its members without the digest.
fn footer(members: &str) -> Result<Footer, Cause> {
    let body = format!("{{{members}");
    let text = format!("{body},\"digest\":\"{:016x}\"}}", XxHash3_64::oneshot(body.as_bytes()));
    Footer::parse(text.as_bytes()).map_err(|error| error.cause())
}

const INDEX: &str = r#""index.npy.zst":"AA==","num_samples":1"#;
const REST: &str = r#""version":"1.1","encoding":"b64","id":"00","line_hash":{"data":"","length":8,"x":""},"fields":[],"columns":[]"#;

#[test]
fn footers() {
    assert!(footer(&format!("{INDEX},{REST}")).is_ok());
    for (members, cause) in [
        (format!(r#"{INDEX},"num_samples":1,{REST}"#), Corrupt),
        (format!(r#""num_samples":1,{REST}"#), Corrupt),
        (format!(r#""index.npy.zst":"AA==",{REST}"#), Corrupt),
        (format!(r#""index.npy.zst":"AA==","num_samples":-1,{REST}"#), Corrupt),
        (format!(r#""index.npy.zst":"AA==","num_samples":1.5,{REST}"#), Corrupt),
        (format!(r#""index.npy.zst":7,"num_samples":1,{REST}"#), Corrupt),
        (format!(r#""index.npy.bin":"AA==","num_samples":1,{REST}"#), Corrupt),
        (format!(r#""index.npy.bin":{{"offset":-1,"length":8}},"num_samples":1,{REST}"#), Corrupt),
        (format!(r#""index.raw":"AA==","num_samples":1,{REST}"#), Unsupported),
        (format!(r#""index.npy.zip":"AA==","num_samples":1,{REST}"#), Unsupported),
        (format!("{INDEX},{}", REST.replace("b64", "b65")), Unsupported),
        (format!("{INDEX},{}", REST.replace("1.1", "2.0")), Unsupported),
        (format!("{INDEX},{}", REST.replace("1.1", "x")), Corrupt),
        (format!("{INDEX},{}", REST.replace("\"1.1\"", "1.1")), Corrupt),
        (format!("{INDEX},{}", REST.replace("\"id\"", "\"di\"")), Corrupt),
        (format!("{INDEX},{}", REST.replace("\"fields\":[]", "\"fields\":{}")), Corrupt),
        (format!("{INDEX},{}", REST.replace("\"columns\":[]", "\"columns\":[{}]")), Corrupt),
        (format!(r#"{INDEX},{REST},"features_required":["x"]"#), Unsupported),
        (format!(r#"{INDEX},{REST},"features_required":"x""#), Corrupt),
        (format!(r#"{INDEX},{REST},"ext_sep":"""#), Corrupt),
        (format!(r#"{INDEX},{REST},"ext_sep":"~""#), Unsupported),
    ] {
        assert_eq!(footer(&members).unwrap_err(), cause, "{members}");
    }
    for text in ["", "{", "[]", "null", " {}", "{\"version\":\"1.1\"}", "{\"a\":1}x"] {
        assert_eq!(Footer::parse(text.as_bytes()).unwrap_err().cause(), Corrupt, "{text}");
    }
    let deep = format!(
        "{{\"index.npy\":\"\",\"num_samples\":0,\"x\":{}{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert_eq!(Footer::parse(deep.as_bytes()).unwrap_err().cause(), Corrupt);
}

#[test]
fn indexes_and_arrays() {
    let decode = |text: &str, codecs: &[Codec]| {
        IndexRef::decode_text(text, codecs, TextEncoding::Base64, 100).map_err(|e| e.cause())
    };
    assert_eq!(decode("A", &[]), Err(Corrupt));
    assert_eq!(decode("AAAA", &[Codec::Zstd]), Err(Corrupt));
    assert_eq!(decode(&"AAAA".repeat(34), &[]), Err(Limit));
    let inline =
        |data: &str, length: u64, x: &str| ArrayRef::decode_inline(data, length, x, 0).map_err(|e| e.cause());
    assert_eq!(inline("", 0, ""), Err(Truncated));
    assert_eq!(inline("AAAA", 8, ""), Err(Corrupt));
    assert_eq!(inline("AAAA", u64::MAX, ""), Err(Limit));
}

#[test]
fn keys() {
    let cause =
        |key: &str| split(key, Form::Str, FormatVersion::V1_1, ".").map(drop).map_err(|error| error.cause());
    for key in [
        "a.",
        "a.b",
        ".",
        "..",
        "a.raw.raw",
        "a.zst.raw",
        "a.bin.zst",
        "a.raw..",
        "a..raw",
        "a.RAW",
        "a.int8.zst",
        "a. raw",
        "a.raw.zst.bin.bin",
    ] {
        assert_eq!(cause(key), Err(Corrupt), "{key}");
    }
    assert_eq!(cause("a.zst.gz.br.xz"), Err(Limit));
    assert_eq!(cause(&format!("a{}", ".zst".repeat(100_000))), Err(Limit));
    assert!(cause("a....").is_ok());
}

#[test]
fn pointers_and_texts() {
    let raw = |bin| Chain::new(Kind::Blob(Payload::Raw), None, bin);
    let cause = |bin, text: &str| {
        EncodedValue::parse(raw(bin), text.as_bytes()).map(drop).map_err(|error| error.cause())
    };
    for text in ["", "1", "null", "true", "[]", "\"x", "{}"] {
        assert_eq!(cause(false, text), Err(Corrupt), "{text}");
    }
    for text in [
        "{}",
        "\"AA==\"",
        "null",
        "{\"offset\":1}",
        "{\"length\":1}",
        "{\"offset\":-1,\"length\":1}",
        "{\"offset\":1.0,\"length\":1}",
        "{\"offset\":1e3,\"length\":1}",
        "{\"offset\":\"1\",\"length\":1}",
        "{\"offset\":18446744073709551616,\"length\":1}",
        "{\"offset\":1,\"length\":null}",
        "{\"offset\":1,\"length\":1",
    ] {
        assert_eq!(cause(true, text), Err(Corrupt), "{text}");
    }
}

#[test]
fn headers() {
    let whole = Header::encode(7, 64);
    let cause =
        |bytes: &[u8], length: u64| Header::parse(bytes, length).map(drop).map_err(|error| error.cause());
    assert_eq!(cause(&whole, 64), Ok(()));
    assert_eq!(cause(&whole[..63], 63), Err(Truncated));
    assert_eq!(cause(&whole, 63), Err(Truncated));
    assert_eq!(cause(&Header::encode(7, 63), 64), Err(Truncated));
    for at in 0..64 {
        let mut bytes = whole;
        bytes[at] ^= 1;
        assert_eq!(cause(&bytes, 64), Err(Corrupt), "byte {at}");
    }
    for (at, value) in [(8, 2), (12, 1), (15, 1)] {
        let mut bytes = whole;
        bytes[at] = value;
        let hash = XxHash3_64::oneshot(&bytes[..56]);
        bytes[56..].copy_from_slice(&hash.to_le_bytes());
        assert_eq!(cause(&bytes, 64), Err(Unsupported), "byte {at}");
    }
}

/// Opens and reads everything; only that it ends matters.
fn read_all(path: &std::path::Path) {
    for (access, verify) in [(Access::Auto, Verify::None), (Access::Pread, Verify::Full)] {
        let Ok(shard) = Shard::open(path, &OpenOptions { access, verify, ..OpenOptions::default() }) else {
            continue;
        };
        for i in 0..shard.len().min(10) {
            let _ = shard.emit_row(i, &mut Discard);
            for name in ["id", "name", "image", "zeros", "list", "dict", "dict.a.b"] {
                let _ = shard.measure(i, &[name], jinx_format::read::columns::ColumnKind::Length);
                let _ = shard.measure(i, &[name], jinx_format::read::columns::ColumnKind::Value);
            }
        }
        for info in &shard.footer().columns {
            let _ = shard.read_column(info);
        }
    }
}

/// The footer with a digest that fits, so that damage gets past it.
fn sealed(bytes: &mut [u8]) -> Option<()> {
    let (offset, length) = footer_range(bytes, bytes.len() as u64).ok()?;
    let footer = bytes.get_mut(usize::try_from(offset).ok()?..)?.get_mut(..usize::try_from(length).ok()?)?;
    let body = footer.len().checked_sub(28)?;
    let digest = format!("{:016x}", XxHash3_64::oneshot(&footer[..body]));
    footer[body + 11..body + 27].copy_from_slice(digest.as_bytes());
    Some(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn damaged_pairs_never_panic(
        sidecar: bool,
        in_side: bool,
        seal: bool,
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..5),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.jinx");
        sample::write(&path, &sample::rows(4), sample::options(sidecar, Some(3)));
        prop_assert_eq!(sample::read(&path), sample::rows(4));
        let file = if in_side && sidecar { path.with_extension("binx") } else { path.clone() };
        let mut bytes = std::fs::read(&file).unwrap();
        for (at, value) in &flips {
            let at = at.index(bytes.len());
            bytes[at] ^= value;
        }
        if seal && file == path {
            let _ = sealed(&mut bytes);
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        std::fs::write(&file, &bytes).unwrap();
        read_all(&path);
        let _ = jinx_format::verify::verify(&path, &mut |_, _| Ok(()));
    }

    #[test]
    fn steps_through_text_never_panic(text in proptest::collection::vec(any::<u8>(), 0..60)) {
        let mut elements = Elements::new(&text);
        while let Ok(Some(_)) = elements.next_element() {}
        let mut members = Members::new(&text);
        while let Ok(Some(_)) = members.next_member() {}
        let _ = Footer::parse(&text);
        let _ = footer_range(&text, text.len() as u64);
        let _ = Header::parse(&text, text.len() as u64);
    }
}
