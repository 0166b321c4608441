use super::*;
use crate::Cause;
use proptest::prelude::*;

fn payload(version: u8, dict: &str, data: usize) -> Vec<u8> {
    let mut text = dict.to_owned();
    text.push('\n');
    let mut out = b"\x93NUMPY".to_vec();
    out.extend_from_slice(&[version, 0]);
    match version {
        1 => out.extend_from_slice(&u16::try_from(text.len()).unwrap().to_le_bytes()),
        _ => out.extend_from_slice(&u32::try_from(text.len()).unwrap().to_le_bytes()),
    }
    out.extend_from_slice(text.as_bytes());
    out.resize(out.len() + data, 0);
    out
}

fn dict(descr: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}")
}

#[test]
fn reads_what_numpy_writes() {
    for version in [1, 2, 3] {
        let bytes = payload(version, &dict("<f4", "(3, 4)"), 48);
        let header = parse_header(&bytes).unwrap();
        assert_eq!(
            (header.descr.as_str(), header.fortran, header.shape.as_slice()),
            ("<f4", false, [3, 4].as_slice())
        );
        header.check_payload(bytes.len() as u64).unwrap();
        assert_eq!(header.check_payload(bytes.len() as u64 - 1).unwrap_err().cause(), Cause::Corrupt);
        assert!(header.check_payload(0).is_err());
    }
    for (descr, shape, data) in [
        ("|b1", "()", 1),
        ("<U5", "(2,)", 40),
        ("|S0", "(7,)", 0),
        ("<M8[ns]", "(0, 9)", 0),
        (">m8[25us]", "(1L,)", 8),
        ("<c16", "(1, 1, 1)", 16),
        ("<f2", "(4611686018427387903, 0)", 0),
    ] {
        let bytes = payload(1, &dict(descr, shape), data);
        parse_header(&bytes).unwrap().check_payload(bytes.len() as u64).unwrap();
    }
}

#[test]
fn refuses_what_is_no_plain_array() {
    for descr in [
        "|O",
        "O",
        "<f3",
        "f16",
        "<M8[x]",
        "<M8[ns",
        "S",
        "S-1",
        "S+1",
        "U99999999999",
        "",
        "<",
        "<<f4",
        "V8",
    ] {
        let error = parse_header(&payload(1, &dict(descr, "(1,)"), 8)).unwrap_err();
        assert_eq!(error.cause(), Cause::Corrupt, "{descr}");
    }
    let structured = "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}";
    assert_eq!(parse_header(&payload(1, structured, 4)).unwrap_err().cause(), Cause::Unsupported);
    for shape in
        ["(-1,)", "(1.0,)", "3", "(3)", "[3]", "(3,", "(99999999999999999999,)", "(1,2,,)", "(,)", "()()"]
    {
        assert_eq!(
            parse_header(&payload(1, &dict("<f4", shape), 0)).unwrap_err().cause(),
            Cause::Corrupt,
            "{shape}"
        );
    }
    assert!(parse_header(&payload(1, &dict("<f4", &format!("({})", "1,".repeat(65))), 4)).is_err());
    for (descr, shape) in [
        ("<f8", "(4611686018427387904, 4)"),
        ("<f2", "(4611686018427387904, 0)"),
        ("<f2", "(18446744073709551615, 18446744073709551615, 0)"),
        ("|S0", "(9223372036854775807, 2)"),
    ] {
        let bytes = payload(1, &dict(descr, shape), 0);
        let huge = parse_header(&bytes).unwrap();
        assert_eq!(huge.check_payload(bytes.len() as u64).unwrap_err().cause(), Cause::Corrupt, "{shape}");
    }
    for bytes in [
        b"".as_slice(),
        b"PK\x03\x04",
        b"\x93NUMPY",
        b"\x93NUMPY\x01\0\xff\xff{",
        b"\x93NUMPY\x04\0\0\0\0\0",
        b"\x93NUMPY\x02\0\xff\xff\xff\xff",
    ] {
        assert_eq!(parse_header(bytes).unwrap_err().cause(), Cause::Corrupt);
    }
    for text in [
        "{}",
        "{'descr': '<f4'}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}",
        "x",
    ] {
        assert!(parse_header(&payload(1, text, 0)).is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn shapes_come_back(shape in proptest::collection::vec(0u64..9, 0..6), fortran: bool) {
        let text: String = shape.iter().map(|size| format!("{size}, ")).collect();
        let order = if fortran { "True" } else { "False" };
        let bytes = payload(1, &format!("{{\"shape\":({text}),'fortran_order':{order},'descr':'<i2'}}"), 0);
        let header = parse_header(&bytes).unwrap();
        prop_assert_eq!(header.fortran, fortran);
        prop_assert_eq!(data_len(&header.shape, header.item_size).unwrap(), shape.iter().product::<u64>() * 2);
        prop_assert_eq!(header.shape, shape);
    }

    #[test]
    fn never_panics(version in 0u8..5, text in "[{}()\\[\\]':, a-zA-Z0-9<|]{0,60}", cut in 0usize..80) {
        let mut bytes = payload(version.max(1), &text, 3);
        bytes[6] = version;
        bytes.truncate(cut);
        if let Ok(header) = parse_header(&bytes) {
            let _ = header.check_payload(bytes.len() as u64);
        }
    }
}
