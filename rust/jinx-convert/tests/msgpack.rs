//! MessagePack that others wrote, and that nobody should have written.
#![allow(clippy::unwrap_used)]

use jinx_convert::msgpack::{self, RowWriter, Rows};
use jinx_core::error::{Cause, Result};
use jinx_core::value::{TreeBuilder, Value};
use proptest::prelude::*;

fn read_at_most(bytes: &[u8], max: u64) -> Result<Vec<Value>> {
    let mut rows = Rows::new(bytes, max);
    let mut found = Vec::new();
    while let Some(block) = rows.next_block(10)? {
        for (i, range) in block.rows.iter().enumerate() {
            let mut tree = TreeBuilder::default();
            let row = block.bytes.slice(range.clone());
            msgpack::emit(&row, false, &mut tree).map_err(|error| error.in_sample(block.first + i as u64))?;
            found.push(tree.take()?);
        }
    }
    Ok(found)
}

fn read(bytes: &[u8]) -> Result<Vec<Value>> {
    read_at_most(bytes, 1 << 20)
}

fn one(value: &[u8]) -> Result<Value> {
    let rows = read(&[b"\x82\xa5$jinx\x01\xa1a".as_slice(), value].concat())?;
    Ok(rows[0].get("a").unwrap().clone())
}

fn cause(bytes: &[u8]) -> (Cause, Option<u64>) {
    let error = read(bytes).unwrap_err();
    (error.cause(), error.sample())
}

#[test]
fn numbers_of_all_widths() {
    assert_eq!(one(b"\x7f").unwrap(), Value::Int(127));
    assert_eq!(one(b"\xff").unwrap(), Value::Int(-1));
    assert_eq!(one(b"\xcd\x01\x00").unwrap(), Value::Int(256));
    assert_eq!(one(b"\xd0\x80").unwrap(), Value::Int(-128));
    assert_eq!(one(b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff").unwrap(), Value::BigInt(u64::MAX.to_string()));
    assert_eq!(one(b"\xd3\x80\0\0\0\0\0\0\0").unwrap(), Value::Int(i64::MIN));
    assert_eq!(one(b"\xca\x3f\xc0\0\0").unwrap(), Value::Float(1.5));
    assert_eq!(one(b"\xcb\x3f\xf8\0\0\0\0\0\0").unwrap(), Value::Float(1.5));
    assert_eq!(one(b"\xd6\xff\0\0\0\0").unwrap(), Value::Str("1970-01-01T00:00:00Z".into()));
    assert_eq!(
        one(b"\xc7\x14\x0412345678901234567890").unwrap(),
        Value::BigInt("12345678901234567890".into())
    );
}

#[test]
fn the_last_of_equal_names_holds() {
    let rows = read(b"\x83\xa1a\x01\xa1b\x82\xa1c\x05\xa1c\x06\xa1a\x03").unwrap();
    let inner = Value::Dict(vec![("c".into(), Value::Int(6))]);
    assert_eq!(rows, [Value::Dict(vec![("a".into(), Value::Int(3)), ("b".into(), inner)])]);
}

#[test]
fn what_ends_early_is_truncated_at_its_row() {
    let row = b"\x83\xa1a\x92\xc0\xc3\xa1b\xc4\x03abc\xa1c\xcb\0\0\0\0\0\0\0\0";
    let rows = [row.as_slice(), row, row].concat();
    assert_eq!(read(&rows).unwrap().len(), 3);
    for end in 0..rows.len() {
        if end % row.len() == 0 {
            assert_eq!(read(&rows[..end]).unwrap().len(), end / row.len());
        } else {
            assert_eq!(cause(&rows[..end]), (Cause::Truncated, Some((end / row.len()) as u64)));
        }
    }
}

#[test]
fn lengths_are_not_believed() {
    for huge in
        [b"\xdf\xff\xff\xff\xff".as_slice(), b"\x81\xa1a\xdd\xff\xff\xff\xff", b"\x81\xdb\x00\x0f\xf0\x00"]
    {
        assert_eq!(cause(huge), (Cause::Truncated, Some(0)));
    }
    assert_eq!(cause(b"\x80\x81\xa1a\xc6\xff\xff\xff\xff").0, Cause::Limit);
    let row = [b"\x81\xa1a\xc5\x01\x00".as_slice(), &[0; 256]].concat();
    assert!(read_at_most(&row, 262).is_ok());
    assert_eq!(read_at_most(&row, 261).unwrap_err().cause(), Cause::Limit);
    let nested = |depth: usize| [b"\x81\xa1a".repeat(depth), b"\x01".to_vec()].concat();
    assert!(read(&nested(256)).is_ok());
    assert_eq!(cause(&nested(257)), (Cause::Limit, Some(0)));
    assert_eq!(cause(&nested(300_000)), (Cause::Limit, Some(0)));
}

#[test]
fn what_is_ours_counts_in_rows_that_say_so() {
    let cases = [
        (b"\x81\xa1a\xd4\x01\x00".as_slice(), "MessagePack extension type 1 is not supported"),
        (b"\x82\xa5$jinx\x01\xa1a\xd4\x02\x00", "a tensor that does not begin as torch.save writes it"),
        (b"\x82\xa5$jinx\x01\xa1a\xd4\x01\x00", "an array that does not begin with the magic bytes of .npy"),
        (b"\x82\xa5$jinx\x01\xa1a\x81\xa6$bytes\xc4\x00", "an invalid $bytes"),
    ];
    for (row, says) in cases {
        let error = read(row).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
    let dict = |name: &str, value| Value::Dict(vec![(name.to_owned(), value)]);
    let data = b"\x82\xa5$jinx\x02\xa1a\x81\xa6$bytes\xa4AA==";
    let inner = dict("$bytes", Value::Str("AA==".into()));
    let expected = Value::Dict(vec![("$jinx".into(), Value::Int(2)), ("a".into(), inner.clone())]);
    assert_eq!(read(data).unwrap(), [expected]);
    let tricky = [
        inner.clone(),
        dict("$jinx", Value::Int(1)),
        dict("$dict", dict("$dict", Value::Null)),
        Value::Dict(vec![("a".into(), inner), ("b".into(), Value::BigInt("1".repeat(30)))]),
        Value::Dict(vec![("a".into(), dict("$jinx", Value::Int(1)))]),
    ];
    let mut rows = RowWriter::default();
    tricky.iter().for_each(|row| row.emit(&mut rows).unwrap());
    assert_eq!(read(&rows.out).unwrap(), tricky);
}

#[test]
fn foreign_things_are_named() {
    let error = read(b"\x80\x81\xa1a\xd4\x2a\x00").unwrap_err();
    assert_eq!(error.to_string(), "sample 1, column 'a': MessagePack extension type 42 is not supported");
    assert_eq!(cause(b"\x80\x80\x81\x01\x01"), (Cause::Unsupported, Some(2)));
    assert_eq!(cause(b"\x91\x80"), (Cause::Unsupported, Some(0)));
    assert_eq!(cause(b"\x80\x2a"), (Cause::Corrupt, Some(1)));
    assert_eq!(cause(b"\x80\xc1"), (Cause::Corrupt, Some(1)));
    assert_eq!(cause(b"\x81\xa1a\xa1\xff"), (Cause::Corrupt, Some(0)));
    for bad in [b"\xd4\x04x".as_slice(), b"\xd5\x0400", b"\xd4\x04-", b"\xc7\0\x04", b"\xd4\xff\0"] {
        assert!(one(bad).is_err() || one(bad).unwrap() == Value::Int(0), "{bad:?}");
    }
}

proptest! {
    #[test]
    fn no_bytes_crash_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes);
        let _ = read(&[b"\x81\xa1a".as_slice(), &bytes].concat());
    }

    #[test]
    fn what_is_read_is_written_in_its_shortest_form(count in 0usize..70_000) {
        let members = (0..count).map(|i| (i.to_string(), Value::Null)).collect();
        let row = Value::Dict(vec![
            ("l".into(), Value::List(vec![Value::Bool(true); count])),
            ("d".into(), Value::Dict(members)),
        ]);
        let mut exact = RowWriter::default();
        row.emit(&mut exact).unwrap();
        prop_assert_eq!(&read_at_most(&exact.out, 1 << 24).unwrap()[0], &row);
        // The same from wrong hints.
        let mut again = RowWriter::default();
        jinx_core::row_events::Sink::begin_dict(&mut again, 99).unwrap();
        for (name, value) in [("l", row.get("l").unwrap()), ("d", row.get("d").unwrap())] {
            jinx_core::row_events::Sink::key(&mut again, name).unwrap();
            value.emit(&mut again).unwrap();
        }
        jinx_core::row_events::Sink::end_dict(&mut again).unwrap();
        prop_assert!(again.out == exact.out);
    }
}
