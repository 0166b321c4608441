//! Arrow to rows and back: every type returns exactly.
#![allow(clippy::unwrap_used)]

mod support;

use arrow_array::{Array, ArrayRef, Int32Array, RecordBatch};
use arrow_schema::{DataType, Field, IntervalUnit, Schema};
use jinx_convert::arrow::{BatchBuilder, Features, RowEmitter, decode_schema, encode_schema};
use jinx_core::Cause;
use jinx_core::row_events::Payload;
use jinx_core::value::Value;
use std::sync::Arc;
use support::{assert_same, batch, full_batch, rows};

#[test]
fn every_type_comes_back() {
    let original = full_batch();
    let emitted = rows(&original);
    assert_same(&original, &batch(original.schema(), &emitted));
}

#[test]
fn slices_come_back() {
    let original = full_batch();
    for (start, length) in [(1, 3), (2, 1), (0, 2), (3, 1)] {
        let slice = original.slice(start, length);
        let emitted = rows(&slice);
        assert_eq!(emitted, rows(&original)[start..start + length]);
        assert_same(&slice, &batch(original.schema(), &emitted));
    }
}

#[test]
fn forms_are_those_of_the_format() {
    let emitted = rows(&full_batch());
    let text = |row: usize, name: &str| emitted[row].get(name).cloned().unwrap();
    assert_eq!(text(0, "dec_neg"), Value::Str("-7000".into()));
    assert_eq!(text(2, "date64"), Value::Str("1970-01-02".into()));
    assert_eq!(text(0, "ts_ms"), Value::Str("1969-12-31T23:59:59.999Z".into()));
    assert_eq!(text(2, "ts_us"), Value::Str("1970-01-01T05:30:00.000000+05:30".into()));
    assert_eq!(text(3, "u64"), Value::BigInt(u64::MAX.to_string()));
    assert_eq!(text(3, "map"), Value::List(vec![Value::List(vec![Value::Str("k".into()), Value::Int(2)])]));
    let media = |data: &'static [u8], path: Option<&str>| Value::Blob {
        payload: Payload::Raw,
        data: data.into(),
        media: true,
        path: path.map(str::to_owned),
    };
    assert_eq!(text(0, "image"), media(b"jpg", Some("a.jpg")));
    assert_eq!(text(1, "image"), Value::Null);
    assert_eq!(text(2, "image").get("path"), Some(&Value::Str("b.jpg".into())));
    assert_eq!(text(0, "images"), Value::List(vec![media(b"jpg", Some("a.jpg"))]));
    assert!(matches!(text(0, "not_media"), Value::Dict(_)));
}

#[test]
fn media_share_the_memory_of_the_batch() {
    struct Addresses(Vec<*const u8>);
    impl jinx_core::row_events::Sink for Addresses {
        fn null(&mut self) -> jinx_core::Result<()> {
            Ok(())
        }
        fn bool(&mut self, _: bool) -> jinx_core::Result<()> {
            Ok(())
        }
        fn int(&mut self, _: i64) -> jinx_core::Result<()> {
            Ok(())
        }
        fn big_int(&mut self, _: &str) -> jinx_core::Result<()> {
            Ok(())
        }
        fn float(&mut self, _: f64) -> jinx_core::Result<()> {
            Ok(())
        }
        fn str(&mut self, _: &str) -> jinx_core::Result<()> {
            Ok(())
        }
        fn blob(&mut self, _: Payload, blob: jinx_core::row_events::Blob<'_>) -> jinx_core::Result<()> {
            self.0.push(blob.into_bytes().as_ptr());
            Ok(())
        }
        fn scalar(
            &mut self,
            _: jinx_core::row_events::Dtype,
            _: jinx_core::row_events::Number,
        ) -> jinx_core::Result<()> {
            Ok(())
        }
        fn begin_list(&mut self, _: usize) -> jinx_core::Result<()> {
            Ok(())
        }
        fn end_list(&mut self) -> jinx_core::Result<()> {
            Ok(())
        }
        fn begin_dict(&mut self, _: usize) -> jinx_core::Result<()> {
            Ok(())
        }
        fn key(&mut self, _: &str) -> jinx_core::Result<()> {
            Ok(())
        }
        fn end_dict(&mut self) -> jinx_core::Result<()> {
            Ok(())
        }
    }
    let array = arrow_array::BinaryArray::from_iter_values([b"0123456789".as_slice(), b"abc"]);
    let start = array.value_data().as_ptr();
    let schema = Arc::new(Schema::new(vec![Field::new("b", DataType::Binary, true)]));
    let batch = RecordBatch::try_new(schema, vec![Arc::new(array) as ArrayRef]).unwrap();
    let emitter = RowEmitter::new(&batch, &Features::default()).unwrap();
    let mut sink = Addresses(Vec::new());
    emitter.emit_row(0, &mut sink).unwrap();
    emitter.emit_row(1, &mut sink).unwrap();
    assert_eq!(sink.0, [start, start.wrapping_add(10)]);
    assert_eq!(emitter.emit_row(2, &mut sink).unwrap_err().cause(), Cause::Invalid);
}

#[test]
fn types_without_a_form_name_the_column() {
    let interval = DataType::Interval(IntervalUnit::DayTime);
    let array: ArrayRef = arrow_array::new_null_array(&interval, 1);
    let list = arrow_array::ListArray::new(
        Arc::new(Field::new("item", interval.clone(), true)),
        arrow_buffer::OffsetBuffer::from_lengths([1]),
        array,
        None,
    );
    let schema = Arc::new(Schema::new(vec![Field::new("when", list.data_type().clone(), true)]));
    let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(list)]).unwrap();
    let error = RowEmitter::new(&batch, &Features::default()).err().unwrap();
    assert_eq!((error.cause(), error.column()), (Cause::Unsupported, Some("when[]")));
    let error = BatchBuilder::new(schema).err().unwrap();
    assert_eq!((error.cause(), error.column()), (Cause::Unsupported, Some("when[]")));

    let twice = Arc::new(Schema::new(vec![
        Field::new("a", DataType::Int32, true),
        Field::new("a", DataType::Int32, true),
    ]));
    let column: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let batch = RecordBatch::try_new(twice, vec![column.clone(), column]).unwrap();
    assert_eq!(RowEmitter::new(&batch, &Features::default()).err().unwrap().column(), Some("a"));
}

#[test]
fn values_that_do_not_fit_name_the_path() {
    let schema = full_batch().schema();
    let row =
        |name: &str, value: Value| Value::Dict(vec![("required".into(), Value::Null), (name.into(), value)]);
    let fails = |name: &str, value: Value| {
        let error = BatchBuilder::new(schema.clone()).unwrap().push(&row(name, value)).unwrap_err();
        assert_eq!(error.cause(), Cause::Mismatch, "{error}");
        error.to_string()
    };
    assert!(fails("i8", Value::Int(128)).contains("column 'i8': the integer 128 does not fit"));
    assert!(fails("i64", Value::Float(1.0)).contains("float"));
    assert!(fails("f32", Value::Int(16_777_217)).contains("16777217"));
    assert!(fails("f64", Value::Int(i64::MAX)).contains("Float64"));
    assert!(fails("f32", Value::Float(1e300)).contains("Float32"));
    assert!(fails("dec32", Value::Str("1.00001".into())).contains("Decimal32"));
    assert!(fails("dec32", Value::Str("1000000".into())).contains("Decimal32"));
    assert!(fails("ts_ns", Value::Str("2024-01-01T00:00:00".into())).contains("ISO 8601"));
    assert!(fails("date32", Value::Str("2024-02-30".into())).contains("ISO 8601"));
    assert!(fails("list", Value::List(vec![Value::Null, Value::Str("x".into())])).contains("'list[1]'"));
    assert!(
        fails("messages", Value::List(vec![Value::Dict(vec![("rolle".into(), Value::Null)])]))
            .contains("'messages[0].rolle'")
    );
    assert!(fails("fixed_list", Value::List(vec![])).contains("exactly 2"));
    assert!(
        fails(
            "fixed_binary",
            Value::Blob { payload: Payload::Raw, data: b"ab".as_slice().into(), media: false, path: None }
        )
        .contains("exactly 3")
    );
    assert!(fails("unknown", Value::Int(1)).contains("'unknown'"));
    assert!(
        fails("map", Value::List(vec![Value::List(vec![Value::Null, Value::Null])])).contains("'map.key'")
    );
    assert!(fails("required", Value::Null).contains("twice"));
    let missing = Value::Dict(vec![("required".into(), Value::Dict(vec![]))]);
    let error = BatchBuilder::new(schema.clone()).unwrap().push(&missing).unwrap_err();
    assert_eq!(error.column(), Some("required.must"));
}

#[test]
fn missing_members_are_null() {
    let schema = Arc::new(Schema::new(vec![
        Field::new("a", DataType::Int8, true),
        Field::new("b", DataType::Utf8, true),
    ]));
    let built =
        batch(schema, &[Value::Dict(vec![("b".into(), Value::Str("x".into()))]), Value::Dict(vec![])]);
    assert_eq!((built.column(0).null_count(), built.column(1).null_count()), (2, 1));
}

#[test]
fn schemas_come_back_as_text() {
    let schema = full_batch().schema();
    let text = encode_schema(&schema);
    assert_eq!(decode_schema(&text).unwrap(), *schema);
    for end in (0..text.len()).step_by(7) {
        if let Ok(other) = decode_schema(&text[..end]) {
            assert_ne!(other, *schema);
        }
    }
    let bytes = text.as_bytes();
    for at in 0..bytes.len() {
        for replacement in [b'A', b'/', b'7'] {
            let mut damaged = bytes.to_vec();
            damaged[at] = replacement;
            // Either an error or a schema that can be used; never a panic.
            if let Ok(schema) = decode_schema(std::str::from_utf8(&damaged).unwrap()) {
                let _ = BatchBuilder::new(Arc::new(schema));
            }
        }
    }
    assert_eq!(decode_schema("not base64!").unwrap_err().cause(), Cause::Corrupt);
}
