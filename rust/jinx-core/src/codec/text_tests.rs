//! The text decoders against what CPython 3.11 answers for the same `str`, and their caps.

#![allow(clippy::unwrap_used, clippy::panic)]

use super::{TextEncoding, base64_len, push_base64};
use crate::error::Cause;
use proptest::prelude::*;

/// Text, and the bytes Python makes of it; `None` where Python raises.
type Vector = (&'static [u8], Option<&'static [u8]>);

// base64.a85decode(text, foldspaces=True)
#[rustfmt::skip]
const ASCII85: &[Vector] = &[
    (b"", Some(b"")),
    (b"!", Some(b"")),
    (b"u", None),
    (b"t", None),
    (b"s", None),
    (b"r", Some(b"")),
    (b"!!", Some(b"\0")),
    (b"uu", None),
    (b"s8", None),
    (b"s8W", None),
    (b"s8W-", None),
    (b"s8W-!", Some(b"\xff\xff\xff\xff")),
    (b"s8W-\"", None),
    (b"uuuuu", None),
    (b"z", Some(b"\0\0\0\0")),
    (b"zz", Some(b"\0\0\0\0\0\0\0\0")),
    (b"y", Some(b"    ")),
    (b"zyz", Some(b"\0\0\0\0    \0\0\0\0")),
    (b"!z", None),
    (b"!!!!y", None),
    (b"!!!!!z", Some(b"\0\0\0\0\0\0\0\0")),
    (b"z!", Some(b"\0\0\0\0")),
    (b"87cUR", Some(b"Hell")),
    (b"87cURD]j7BEbo80", Some(b"Hello world!")),
    (b"8 7\tc\nU\rR\x0bD", Some(b"Hell")),
    (b"87\x0ccUR", None),
    (b"<~87cUR~>", None),
    (b"v", None),
    (b"~", None),
    (b"87cUR\0", None),
    (b"87cU\xc3\xa9", None),
    (b"x", None),
    (b"{", None),
    (b"5sdq,77Kd<8P2WL9hnJ\\;,U=l<E<1'=^&1Gz<E<1'", Some(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ\xb4h\0\0\0\0UVWX")),
    (b"!!!!!!!!!!!!!!!!!!!!!!!!", Some(b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")),
    (b"!!!!!!!!!!!!!!!!!!!!!!!u", Some(b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x1c")),
    (b"!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!zs8W-!s8W-!s8W-!@:E^", Some(b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffabc")),
    (b"sz5!u\"", None),
    (b"u-\n! 8!uz", None),
    (b"u8u z!\"", None),
    (b"u855\n!\n\nz!", None),
    (b"! \"s", Some(b"\0\x12")),
    (b"zs u\n", None),
    (b" \"5su", Some(b"\x03\xe1\x15")),
    (b"\n58-u Cu\n!", None),
    (b"8y5 z'-y\ny", None),
    (b"W8'sC'", Some(b"\xa8\xdcIS")),
    (b"u\nW ", None),
    (b"-CyW\nuu ", None),
    (b"s'-syz!", None),
    (b"u' \n'\"--C-\n", None),
    (b"\n'yu\"uWy", None),
    (b"u!CCW5\n5\"yW", None),
    (b"5-!y-s\n", None),
    (b"y!", Some(b"    ")),
    (b"'WsC", Some(b"\x14\xae8")),
    (b"zz\"y", None),
    (b"sy", None),
    (b" Ws\"z\" ", None),
    (b"Cz-5z", None),
    (b"suss", None),
];

// base64.b64decode(text)
#[rustfmt::skip]
const BASE64: &[Vector] = &[
    (b"", Some(b"")),
    (b"A", None),
    (b"AA", None),
    (b"AAA", None),
    (b"AAAA", Some(b"\0\0\0")),
    (b"AA=", None),
    (b"AA==", Some(b"\0")),
    (b"AA===", Some(b"\0")),
    (b"AAA=", Some(b"\0\0")),
    (b"AAA==", Some(b"\0\0")),
    (b"A=", None),
    (b"A==", None),
    (b"A===", None),
    (b"A=A=A==", Some(b"\0\0")),
    (b"=", Some(b"")),
    (b"==", Some(b"")),
    (b"====", Some(b"")),
    (b"=AAA", None),
    (b"=AAAA", Some(b"\0\0\0")),
    (b"AA=A", None),
    (b"AA=A=", Some(b"\0\0")),
    (b"AA=AA", Some(b"\0\0\0")),
    (b"AA==AAAA", Some(b"\0")),
    (b"AAA=AAAA", Some(b"\0\0")),
    (b"AAAA=", Some(b"\0\0\0")),
    (b"AAAA==AAAA", Some(b"\0\0\0\0\0\0")),
    (b"AAAA====AAAA", Some(b"\0\0\0\0\0\0")),
    (b"AB==", Some(b"\0")),
    (b"AAB=", Some(b"\0\0")),
    (b"Zm9v\nYmFy", Some(b"foobar")),
    (b" Z m 9 v ", Some(b"foo")),
    (b"Zm9v!", Some(b"foo")),
    (b"Zm9-", None),
    (b"Zm9_Zg==", None),
    (b"Zg=*=", Some(b"f")),
    (b"Zg=\n=", Some(b"f")),
    (b"Zg=a=", Some(b"f\x06")),
    (b"Zg=ab=", Some(b"f\x06\x9b")),
    (b"Zg=abc", None),
    (b"Zm9v\0YmFy", Some(b"foobar")),
    (b"Zm9v\xc3\xa9", None),
    (b"-_-_", Some(b"")),
    (b"Zm9vYmE", None),
    (b"Zm9vYmFyZ", None),
    (b"Zm9vYg", None),
    (b"/+/+", Some(b"\xff\xef\xfe")),
    (b"//8=", Some(b"\xff\xff")),
    (b" 9A=", None),
    (b"z++Az==/==", Some(b"\xcf\xef\x80\xcf")),
    (b"z\n==  ", None),
    (b"A=! !=====B=", None),
    (b"=A9B9=zB/=A", Some(b"\x03\xd0}\xcc\x1f")),
    (b"=B/", None),
    (b"AB9==z +/=", Some(b"\0\x1f")),
    (b"=BB===", Some(b"\x04")),
    (b"+BzB\n/\n+", None),
    (b"\nz=A9=/z", Some(b"\xcc\x0f")),
    (b"=A!=+ B\n+=/z", None),
    (b"!9==!=", None),
    (b" 9=!!!", None),
    (b"!9=\n", None),
    (b"99==/\nAA!+=+9", Some(b"\xf7")),
    (b"=/=!\n//B9B9=", Some(b"\xff\xff\xc1\xf4\x1f")),
    (b"/9==", Some(b"\xff")),
    (b"A= /! B B=", Some(b"\x03\xf0A")),
    (b"\n!9=z=! /B!\n=", Some(b"\xf7?\xc1")),
    (b"=\nB\nzzzA", None),
    (b"==!", Some(b"")),
    (b"z=== /z==zA", Some(b"\xcf\xfc")),
    (b"!", Some(b"")),
    (b" B=\nz=99A+9+", Some(b"\x07?}\x03\xef~")),
    (b"9!=/+==zA", Some(b"\xf7\xff")),
    (b"/= ====z=z==", Some(b"\xff<")),
    (b"z=A!!zzz==\nB=", None),
    (b"/", None),
    (b"====!!B=A99", Some(b"\x04\x0f}")),
    (b"A!B==", Some(b"\0")),
    (b"A!B=/====", Some(b"\0\x1f")),
    (b"\n+==", None),
    (b"!==9\n=+=9", None),
    (b"z=B==/B ", Some(b"\xcc")),
    (b"=B9 ", None),
    (b"!B!z\n", None),
    (b" /z+z=9\nB==", Some(b"\xff?\xb3\xf4")),
    (b" 9z", None),
    (b"===/=9//B\n/A", None),
    (b"===\nA=", None),
    (b"==+=BB", None),
    (b"9BB++A!z+!z= ", None),
    (b"=z===", None),
    (b"\n/B+A!\nz", None),
    (b"B+A B!+", None),
    (b"=9", None),
    (b"+B", None),
    (b"A/==+=zA", Some(b"\x03")),
    (b"\n9Bz+Az9+", Some(b"\xf4\x1c\xfe\x03?~")),
    (b"+=!9+== z+/", Some(b"\xfb\xdf")),
    (b"A+AAA\n==9==9=", Some(b"\x03\xe0\0\x03")),
    (b"  ", Some(b"")),
    (b" ====+\n", None),
    (b"9/9\n", None),
    (b" z=/AzAB \n+=", Some(b"\xcf\xf03\0\x1f")),
    (b"AB ", None),
    (b"= +=9\n+", None),
];

// bytes.fromhex(text)
#[rustfmt::skip]
const HEX: &[Vector] = &[
    (b"", Some(b"")),
    (b"0", None),
    (b"00", Some(b"\0")),
    (b"0g", None),
    (b"g0", None),
    (b"fF", Some(b"\xff")),
    (b"DEADbeef", Some(b"\xde\xad\xbe\xef")),
    (b"de ad", Some(b"\xde\xad")),
    (b"d e", None),
    (b" de\tad\n\r\x0b\x0cbe ", Some(b"\xde\xad\xbe")),
    (b"de-ad", None),
    (b"abc", None),
    (b"0x00", None),
    (b"00 0", None),
    (b"00\0", None),
    (b"00\xc3\xa9", None),
    (b"\x1f00", None),
    (b"aFf", None),
    (b"F", None),
    (b"F9Fa0F", Some(b"\xf9\xfa\x0f")),
    (b"Fa0F", Some(b"\xfa\x0f")),
    (b"0fF9 aa", Some(b"\x0f\xf9\xaa")),
    (b"\n00F\n0af9", None),
    (b"f", None),
    (b" a099", Some(b"\xa0\x99")),
    (b"  \n", Some(b"")),
    (b"\nF faF ", None),
    (b"0\n\n", None),
    (b" f  \n9a9\n", None),
    (b"9\n\n\n0\n 9\n", None),
    (b"000a", Some(b"\0\n")),
    (b"0f\nf90", None),
];

fn check(encoding: TextEncoding, vectors: &[Vector]) {
    for (text, expected) in vectors {
        match (encoding.decode(text, 1 << 20), expected) {
            (Ok(bytes), Some(expected)) => assert_eq!(&bytes, expected, "{}", text.escape_ascii()),
            (Err(error), None) => assert_eq!(error.cause(), Cause::Corrupt),
            (result, _) => panic!("{}: {result:?}, Python says {expected:?}", text.escape_ascii()),
        }
    }
}

#[test]
fn ascii85_is_pythons() {
    check(TextEncoding::Ascii85, ASCII85);
}

#[test]
fn base64_is_pythons() {
    check(TextEncoding::Base64, BASE64);
}

#[test]
fn hex_is_pythons() {
    check(TextEncoding::Hex, HEX);
}

#[test]
fn output_stops_at_the_limit() {
    for (encoding, text, length) in [
        (TextEncoding::Ascii85, &b"zzz87cUR"[..], 16),
        (TextEncoding::Ascii85, b"87cUR87cUR87", 9),
        (TextEncoding::Base64, b"Zm9vYmFy", 6),
        (TextEncoding::Base64, b"Zm9v YmE=", 5),
        (TextEncoding::Hex, b"00 11 22", 3),
    ] {
        assert_eq!(encoding.decode(text, length).unwrap().len() as u64, length);
        assert_eq!(encoding.decode(text, length - 1).unwrap_err().cause(), Cause::Limit);
    }
}

#[test]
fn names_are_read_and_written() {
    for encoding in [TextEncoding::Ascii85, TextEncoding::Base64, TextEncoding::Hex] {
        assert_eq!(TextEncoding::from_name(encoding.name()), Some(encoding));
    }
    assert_eq!(TextEncoding::from_name("base16"), Some(TextEncoding::Hex));
    assert_eq!(TextEncoding::from_name("b32"), None);
}

fn ascii85_of(data: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    for chunk in data.chunks(4) {
        let mut word = [0; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        let mut value = u32::from_be_bytes(word);
        if value == 0 && chunk.len() == 4 {
            text.push(b'z');
            continue;
        }
        let mut digits = [0; 5];
        for digit in digits.iter_mut().rev() {
            *digit = u8::try_from(value % 85).unwrap() + b'!';
            value /= 85;
        }
        text.extend_from_slice(&digits[..=chunk.len()]);
    }
    text
}

proptest! {
    #[test]
    fn every_text_comes_back(data in proptest::collection::vec(any::<u8>(), 0..700)) {
        let mut base64 = b"x".to_vec();
        push_base64(&mut base64, &data);
        prop_assert_eq!(base64.len(), 1 + base64_len(data.len()));
        prop_assert_eq!(TextEncoding::Base64.decode(&base64[1..], 1 << 20).unwrap(), data.clone());
        // A line break takes the lenient path.
        base64[0] = b'\n';
        prop_assert_eq!(TextEncoding::Base64.decode(&base64, 1 << 20).unwrap(), data.clone());
        prop_assert_eq!(TextEncoding::Ascii85.decode(&ascii85_of(&data), 1 << 20).unwrap(), data.clone());
        let hex: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
        prop_assert_eq!(TextEncoding::Hex.decode(hex.as_bytes(), 1 << 20).unwrap(), data.clone());
    }

    #[test]
    fn no_text_panics(text in proptest::collection::vec(any::<u8>(), 0..200), max in 0u64..100) {
        for encoding in [TextEncoding::Ascii85, TextEncoding::Base64, TextEncoding::Hex] {
            if let Ok(bytes) = encoding.decode(&text, max) {
                prop_assert!(bytes.len() as u64 <= max);
            }
        }
    }
}
