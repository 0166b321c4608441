use super::super::write::{Binary, JsonText};
use super::*;

fn text_of(value: &Value) -> String {
    let mut text = JsonText::new(Binary::Tagged);
    value.emit(&mut text).unwrap();
    String::from_utf8(text.out).unwrap()
}

fn read(line: &str, always: bool) -> Result<Value> {
    let mut tree = TreeBuilder::default();
    emit_line(line.as_bytes(), Markers { always, files: None }, &mut tree)?;
    tree.take()
}

fn dict(name: &str, value: Value) -> Value {
    Value::Dict(vec![(name.into(), value)])
}

fn blob(payload: Payload, data: &'static [u8]) -> Value {
    Value::Blob { payload, data: Bytes::from_static(data), media: false, path: None }
}

#[test]
fn what_json_cannot_say_comes_back() {
    let row = Value::Dict(vec![
        ("b".into(), blob(Payload::Raw, b"\x00\xff")),
        ("n".into(), Value::List(vec![blob(Payload::Pt, b"PK\x03\x04"), Value::Float(f64::INFINITY)])),
        ("d".into(), dict("$bytes", Value::Str("AA==".into()))),
        ("e".into(), dict("$dict", Value::Dict(vec![]))),
    ]);
    let text = text_of(&row);
    assert!(text.starts_with(r#"{"$jinx":1,"b":{"$bytes":"AP8="},"#), "{text}");
    assert_eq!(read(&text, false).unwrap(), row);
    for first in ["$jinx", "$dict", "$bytes"] {
        let row = dict(first, Value::Int(1));
        assert_eq!(text_of(&row), format!(r#"{{"$jinx":1,"$dict":{{"{first}":1}}}}"#));
        assert_eq!(read(&text_of(&row), false).unwrap(), row);
    }
    let plain = Value::Dict(vec![("a".into(), dict("$jinx", Value::Int(1))), ("$bytes".into(), Value::Null)]);
    assert_eq!(text_of(&plain), r#"{"a":{"$jinx":1},"$bytes":null}"#);
}

#[test]
fn the_deepest_row_comes_back() {
    let mut deepest = blob(Payload::Raw, b"x");
    for _ in 0..MAX_DEPTH {
        deepest = dict("$bytes", deepest);
    }
    assert_eq!(read(&text_of(&deepest), false).unwrap(), deepest);
    let too_deep = dict("a", deepest);
    assert_eq!(read(&text_of(&too_deep), false).unwrap_err().cause(), Cause::Limit);
}

#[test]
fn markers_count_only_in_rows_that_say_so() {
    let lines = [
        r#"{"a":{"$bytes":"AP8="}}"#,
        r#"{"a":{"$float":"nan"},"$jinx":1}"#,
        r#"{"a":{"$dict":{}}}"#,
        r#"{"a":{"$pt":"aGVsbG8="}}"#,
        r#"{"$jinx":2,"a":{"$bytes":"AP8="}}"#,
        r#"{"$jinx":1.0,"a":{"$bytes":"AP8="}}"#,
    ];
    for line in lines {
        let mut plain = TreeBuilder::default();
        super::super::emit(line.as_bytes(), 0, &mut plain).unwrap();
        assert_eq!(read(line, false).unwrap(), plain.take().unwrap(), "{line}");
    }
    let bytes = dict("a", blob(Payload::Raw, b"\x00\xff"));
    assert_eq!(read(" { \"$jinx\" : 1 , \"a\": {\"$bytes\":\"AP8=\"}}", false).unwrap(), bytes);
    assert_eq!(read(lines[0], true).unwrap(), bytes);
    assert_eq!(read(r#"{"$jinx":1}"#, false).unwrap(), Value::Dict(vec![]));
}

#[test]
fn a_marker_that_is_none_is_refused() {
    for inner in [
        r#"{"$bytes":"A"}"#,
        r#"{"$bytes":"A A="}"#,
        r#"{"$bytes":5}"#,
        r#"{"$bytes":"AA==","more":1}"#,
        r#"{"$float":"1"}"#,
        r#"{"$dict":[]}"#,
        r#"{"$pt":"aGVsbG8="}"#,
        r#"{"$npy":"aGVsbG8="}"#,
        r#"{"$np":"aGVsbG8="}"#,
        r#"{"$bytes":{"$file":"jpg"}}"#,
    ] {
        let error = read(&format!("{{\"$jinx\":1,\"a\":{inner}}}"), false).unwrap_err();
        assert_eq!(error.cause(), Cause::Corrupt, "{inner}");
    }
}

#[test]
fn the_last_of_two_equal_names_holds() {
    let row = read(r#"{"a":1,"b":2,"a":3}"#, false).unwrap();
    let expected = vec![("a".to_owned(), Value::Int(3)), ("b".to_owned(), Value::Int(2))];
    assert_eq!(row, Value::Dict(expected));
}
