//! A batch with every type that has a form in a row, and the way there and back.
#![allow(dead_code, clippy::unwrap_used, clippy::type_complexity)]

use arrow_array::builder::*;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::{NullBuffer, OffsetBuffer, i256};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use jinx_convert::arrow::{BatchBuilder, Features, RowEmitter};
use jinx_core::value::{TreeBuilder, Value};
use std::sync::Arc;

pub const ROWS: usize = 4;

fn primitive<T: ArrowPrimitiveType>(values: [T::Native; 3], data_type: DataType) -> ArrayRef {
    let [a, b, c] = values;
    Arc::new(PrimitiveArray::<T>::from_iter([Some(a), None, Some(b), Some(c)]).with_data_type(data_type))
}

fn numbers() -> Vec<(&'static str, ArrayRef)> {
    let half = <Float16Type as ArrowPrimitiveType>::Native::from_f32;
    vec![
        ("bool", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), Some(true)]))),
        ("i8", primitive::<Int8Type>([i8::MIN, 0, i8::MAX], DataType::Int8)),
        ("i16", primitive::<Int16Type>([i16::MIN, 0, i16::MAX], DataType::Int16)),
        ("i32", primitive::<Int32Type>([i32::MIN, 0, i32::MAX], DataType::Int32)),
        ("i64", primitive::<Int64Type>([i64::MIN, 0, i64::MAX], DataType::Int64)),
        ("u8", primitive::<UInt8Type>([1, 0, u8::MAX], DataType::UInt8)),
        ("u16", primitive::<UInt16Type>([1, 0, u16::MAX], DataType::UInt16)),
        ("u32", primitive::<UInt32Type>([1, 0, u32::MAX], DataType::UInt32)),
        ("u64", primitive::<UInt64Type>([1, 0, u64::MAX], DataType::UInt64)),
        (
            "f16",
            primitive::<Float16Type>([half(0.1), half(-65504.0), half(f32::INFINITY)], DataType::Float16),
        ),
        ("f32", primitive::<Float32Type>([0.1, f32::MAX, -0.0], DataType::Float32)),
        ("f64", primitive::<Float64Type>([0.1, f64::MIN_POSITIVE, f64::NEG_INFINITY], DataType::Float64)),
        ("dec32", primitive::<Decimal32Type>([-1, 0, 999_999_999], DataType::Decimal32(9, 4))),
        ("dec64", primitive::<Decimal64Type>([-1, 0, 123], DataType::Decimal64(18, 0))),
        ("dec128", primitive::<Decimal128Type>([-1, 0, i128::pow(10, 38) - 1], DataType::Decimal128(38, 20))),
        (
            "dec256",
            primitive::<Decimal256Type>(
                [i256::MINUS_ONE, i256::ZERO, i256::from_i128(i128::MAX)],
                DataType::Decimal256(76, 76),
            ),
        ),
    ]
}

fn times() -> Vec<(&'static str, ArrayRef)> {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    let zone = |name: &str| Some(Arc::from(name));
    vec![
        ("date32", primitive::<Date32Type>([-719_529, 0, i32::MAX], DataType::Date32)),
        ("date64", primitive::<Date64Type>([-1, 86_400_000, i64::MAX], DataType::Date64)),
        ("time_s", primitive::<Time32SecondType>([0, 1, 86_399], DataType::Time32(Second))),
        ("time_ms", primitive::<Time32MillisecondType>([0, 1, 86_399_999], DataType::Time32(Millisecond))),
        (
            "time_us",
            primitive::<Time64MicrosecondType>([0, 1, 86_399_999_999], DataType::Time64(Microsecond)),
        ),
        (
            "time_ns",
            primitive::<Time64NanosecondType>([0, 1, 86_399_999_999_999], DataType::Time64(Nanosecond)),
        ),
        ("ts_s", primitive::<TimestampSecondType>([-1, 0, 1 << 40], DataType::Timestamp(Second, None))),
        (
            "ts_ms",
            primitive::<TimestampMillisecondType>(
                [-1, 0, i64::MAX],
                DataType::Timestamp(Millisecond, zone("UTC")),
            ),
        ),
        (
            "ts_us",
            primitive::<TimestampMicrosecondType>(
                [i64::MIN, 0, 7],
                DataType::Timestamp(Microsecond, zone("+05:30")),
            ),
        ),
        (
            "ts_ns",
            primitive::<TimestampNanosecondType>(
                [i64::MIN, 1, i64::MAX],
                DataType::Timestamp(Nanosecond, zone("Europe/Berlin")),
            ),
        ),
        ("dur", primitive::<DurationNanosecondType>([i64::MIN, 1, i64::MAX], DataType::Duration(Nanosecond))),
        ("null", Arc::new(NullArray::new(ROWS))),
    ]
}

fn texts() -> Vec<(&'static str, ArrayRef)> {
    let texts = [Some("a"), None, Some(""), Some("é\u{1F600} longer than twelve bytes")];
    let bytes: [Option<&[u8]>; 4] = [Some(b"\x00\xff"), None, Some(b""), Some(&[7; 100])];
    let mut fixed = FixedSizeBinaryBuilder::new(3);
    fixed.append_value([1, 2, 3]).unwrap();
    fixed.append_null();
    fixed.append_value([0, 0, 0]).unwrap();
    fixed.append_value([255; 3]).unwrap();
    vec![
        ("utf8", Arc::new(StringArray::from_iter(texts))),
        ("large_utf8", Arc::new(LargeStringArray::from_iter(texts))),
        ("utf8_view", Arc::new(StringViewArray::from_iter(texts))),
        ("binary", Arc::new(BinaryArray::from_iter(bytes))),
        ("large_binary", Arc::new(LargeBinaryArray::from_iter(bytes))),
        ("binary_view", Arc::new(BinaryViewArray::from_iter(bytes))),
        ("fixed_binary", Arc::new(fixed.finish())),
        ("dict", Arc::new(DictionaryArray::<Int8Type>::from_iter([Some("x"), None, Some("x"), Some("y")]))),
        ("dict_empty", Arc::new(DictionaryArray::<Int32Type>::from_iter([None::<&str>; 4]))),
    ]
}

pub fn media_struct(bytes: [Option<&[u8]>; 4], paths: [Option<&str>; 4], nulls: [bool; 4]) -> StructArray {
    let fields = vec![Field::new("bytes", DataType::Binary, true), Field::new("path", DataType::Utf8, true)];
    StructArray::new(
        fields.into(),
        vec![Arc::new(BinaryArray::from_iter(bytes)), Arc::new(StringArray::from_iter(paths))],
        Some(NullBuffer::from(nulls.to_vec())),
    )
}

fn nested() -> Vec<(&'static str, ArrayRef)> {
    let ints = || Some(vec![Some(1), None, Some(3)]);
    let lists = [ints(), None, Some(vec![]), Some(vec![Some(9)])];
    let fixed = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(
        [
            Some(vec![Some(1.0), Some(2.0)]),
            None,
            Some(vec![None, Some(0.5)]),
            Some(vec![Some(3.0), Some(4.0)]),
        ],
        2,
    );
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    map.keys().append_value("k");
    map.values().append_value(1);
    map.keys().append_value("l");
    map.values().append_null();
    map.append(true).unwrap();
    map.append(false).unwrap();
    map.append(true).unwrap();
    map.keys().append_value("k");
    map.values().append_value(2);
    map.append(true).unwrap();
    // A list of dicts that hold a list: what chat messages look like.
    let content = ListArray::from_iter_primitive::<Int64Type, _, _>(lists.clone().map(|row| {
        row.map(|row: Vec<Option<i32>>| row.into_iter().map(|item| item.map(i64::from)).collect::<Vec<_>>())
    }));
    let members: Vec<(Arc<Field>, ArrayRef)> = vec![
        (
            Arc::new(Field::new("role", DataType::Utf8, true)),
            Arc::new(StringArray::from(vec![Some("user"), None, Some("x"), Some("y")])),
        ),
        (Arc::new(Field::new("content", content.data_type().clone(), true)), Arc::new(content)),
    ];
    let messages = StructArray::from(members);
    let item = Arc::new(Field::new("item", messages.data_type().clone(), true));
    let list_of_structs = LargeListArray::new(
        item,
        OffsetBuffer::from_lengths([2, 0, 0, 2]),
        Arc::new(messages),
        Some(NullBuffer::from(vec![true, true, false, true])),
    );
    let required = StructArray::new(
        vec![Field::new("must", DataType::Int32, false)].into(),
        vec![Arc::new(Int32Array::from(vec![1, 0, 3, 4]))],
        Some(NullBuffer::from(vec![true, false, true, true])),
    );
    let image = || {
        media_struct(
            [Some(b"jpg"), None, None, Some(&[9; 200])],
            [Some("a.jpg"), None, Some("b.jpg"), None],
            [true, false, true, true],
        )
    };
    let images = ListArray::new(
        Arc::new(Field::new("item", image().data_type().clone(), true)),
        OffsetBuffer::from_lengths([1, 0, 1, 2]),
        Arc::new(image()),
        None,
    );
    vec![
        ("list", Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists))),
        ("fixed_list", Arc::new(fixed)),
        ("map", Arc::new(map.finish())),
        ("messages", Arc::new(list_of_structs)),
        ("required", Arc::new(required)),
        ("image", Arc::new(image())),
        ("images", Arc::new(images)),
        ("not_media", Arc::new(image())),
    ]
}

/// What only Arrow has and Parquet cannot store, at least not in this version.
fn arrow_only() -> Vec<(&'static str, ArrayRef)> {
    let runs = RunArray::<Int32Type>::try_new(
        &Int32Array::from(vec![2, 4]),
        &StringArray::from(vec![Some("r"), None]),
    )
    .unwrap();
    let list = ListArray::from_iter_primitive::<Int64Type, _, _>([
        Some(vec![Some(1)]),
        None,
        Some(vec![]),
        Some(vec![Some(2), None]),
    ]);
    let view = ListViewArray::from(list);
    vec![
        ("runs", Arc::new(runs)),
        ("dec_neg", primitive::<Decimal128Type>([-7, 0, 123], DataType::Decimal128(20, -3))),
        ("list_view", Arc::new(view)),
        (
            "empty_dict",
            Arc::new(StructArray::new_empty_fields(
                ROWS,
                Some(NullBuffer::from(vec![true, false, true, true])),
            )),
        ),
    ]
}

pub const FEATURES: &str =
    r#"{"info":{"features":{"image":{"_type":"Image","mode":"RGB"},"images":[{"_type":"Image"}]}}}"#;

fn batch_of(columns: Vec<(&'static str, ArrayRef)>) -> RecordBatch {
    let fields: Vec<Field> =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    let metadata = std::collections::HashMap::from([("huggingface".to_owned(), FEATURES.to_owned())]);
    let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
    RecordBatch::try_new(schema, columns.into_iter().map(|(_, array)| array).collect()).unwrap()
}

/// Every type that Parquet stores.
pub fn parquet_batch() -> RecordBatch {
    batch_of([numbers(), times(), texts(), nested()].concat())
}

/// Every type that a Parquet file gives back as it went in, with any reader.
pub fn storable_batch() -> RecordBatch {
    let mut columns = [numbers(), times(), texts(), nested()].concat();
    columns.retain(|(name, _)| !["date64", "time_s", "ts_s"].contains(name));
    batch_of(columns)
}

/// Every type at all.
pub fn full_batch() -> RecordBatch {
    batch_of([numbers(), times(), texts(), nested(), arrow_only()].concat())
}

pub fn rows(batch: &RecordBatch) -> Vec<Value> {
    let emitter = RowEmitter::new(batch, &Features::from_schema(batch.schema_ref())).unwrap();
    let mut tree = TreeBuilder::default();
    (0..emitter.len())
        .map(|row| {
            emitter.emit_row(row, &mut tree).unwrap();
            tree.take().unwrap()
        })
        .collect()
}

pub fn batch(schema: SchemaRef, rows: &[Value]) -> RecordBatch {
    let mut builder = BatchBuilder::new(schema).unwrap();
    for row in rows {
        builder.push(row).unwrap();
    }
    builder.finish().unwrap()
}

pub fn assert_same(one: &RecordBatch, other: &RecordBatch) {
    assert_eq!(one.schema(), other.schema());
    for (field, (a, b)) in one.schema().fields().iter().zip(one.columns().iter().zip(other.columns())) {
        if let DataType::RunEndEncoded(..) = field.data_type() {
            let plain = |array: &ArrayRef| {
                let run = array.as_run::<Int32Type>();
                (0..run.len())
                    .map(|row| {
                        run.values()
                            .as_string::<i32>()
                            .iter()
                            .nth(run.get_physical_index(row))
                            .unwrap()
                            .map(str::to_owned)
                    })
                    .collect::<Vec<_>>()
            };
            assert_eq!(plain(a), plain(b));
        } else {
            assert_eq!(a, b, "{}", field.name());
        }
    }
}
