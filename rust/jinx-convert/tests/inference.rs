//! Schemas from rows.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use arrow_schema::{DataType, SchemaRef};
use jinx_convert::arrow::{Features, InferOptions, SchemaInference};
use jinx_convert::outputs::{ParquetOptions, ParquetSink};
use jinx_core::row_events::{Dtype, Number, Payload};
use jinx_core::value::Value;
use jinx_core::{Cause, Error};
use support::{batch, parquet_batch, rows};

fn dict<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Dict(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn text(text: &str) -> Value {
    Value::Str(text.to_owned())
}

fn infer(rows: &[Value], options: InferOptions) -> Result<SchemaRef, Error> {
    let mut inference = SchemaInference::new(options);
    for row in rows {
        inference.observe(row)?;
    }
    inference.finish()
}

/// The type of the one column `a` with these values, after a trip through a batch.
fn column<const N: usize>(values: [Value; N]) -> Result<DataType, Error> {
    let rows = values.map(|value| dict([("a", value)]));
    let schema = infer(&rows, InferOptions::default())?;
    batch(schema.clone(), &rows);
    Ok(schema.field(0).data_type().clone())
}

fn mixed<const N: usize>(values: [Value; N]) -> (Cause, String) {
    let error = column(values).unwrap_err();
    (error.cause(), error.to_string())
}

fn npy(descr: &str, shape: &str, body: &[u8]) -> Value {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut data = b"\x93NUMPY\x01\x00".to_vec();
    data.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    data.extend(header.as_bytes());
    data.extend(body);
    Value::Blob { payload: Payload::Npy, data: data.into(), media: false, path: None }
}

fn blob(payload: Payload, data: &'static [u8]) -> Value {
    Value::Blob { payload, data: data.into(), media: false, path: None }
}

#[test]
fn promotion() {
    use Value::{BigInt, Bool, Float, Int, List, Null, Scalar};
    let list = |items: Vec<Value>| List(items);
    assert_eq!(column([Null, Bool(true)]).unwrap(), DataType::Boolean);
    assert_eq!(column([Null, Null]).unwrap(), DataType::Null);
    assert_eq!(column([Int(1), Null, Int(-1)]).unwrap(), DataType::Int64);
    assert_eq!(column([Int(1), Float(0.5)]).unwrap(), DataType::Float64);
    assert_eq!(column([Int(0), BigInt(u64::MAX.to_string())]).unwrap(), DataType::UInt64);
    assert_eq!(column([Int(0), Scalar(Dtype::Int8, Number::Int(1))]).unwrap(), DataType::Int64);
    assert_eq!(column([Scalar(Dtype::Int8, Number::Int(1))]).unwrap(), DataType::Int8);
    assert_eq!(column([Scalar(Dtype::Float32, Number::Float(0.5)), Float(0.1)]).unwrap(), DataType::Float64);
    assert_eq!(column([blob(Payload::Np, b"<f8\0\0\0\0\0\0\0\0\0"), Float(1.0)]).unwrap(), DataType::Float64);
    assert_eq!(column([blob(Payload::Raw, b"x")]).unwrap(), DataType::Binary);
    let ragged = column([list(vec![Null]), list(vec![]), list(vec![Int(1), Float(2.5)])]).unwrap();
    assert!(matches!(ragged, DataType::List(item) if *item.data_type() == DataType::Float64));
    let nulls = column([list(vec![])]).unwrap();
    assert!(matches!(nulls, DataType::List(item) if *item.data_type() == DataType::Null));
    let united = column([dict([("x", Int(1))]), dict([("y", text("t"))]), Null]).unwrap();
    assert!(matches!(united, DataType::Struct(fields) if fields.len() == 2));
}

#[test]
fn what_does_not_mix_names_path_and_kinds() {
    use Value::{BigInt, Float, Int, List};
    let (cause, message) = mixed([Int(1), text("x")]);
    assert_eq!(cause, Cause::Mismatch);
    assert!(
        message.contains("column 'a'")
            && message.contains("integer before")
            && message.contains("string 'x'"),
        "{message}"
    );
    let (_, message) = mixed([dict([("b", List(vec![Int(1), dict([])]))])]);
    assert!(message.contains("'a.b[1]'"), "{message}");
    assert_eq!(mixed([Int((1 << 53) + 1), Float(0.5)]).0, Cause::Mismatch);
    assert_eq!(mixed([BigInt(u64::MAX.to_string()), Int(-1)]).0, Cause::Mismatch);
    assert_eq!(mixed([BigInt("1".repeat(60))]).0, Cause::Mismatch);
    assert_eq!(mixed([dict([])]).0, Cause::Unsupported);
    assert_eq!(mixed([blob(Payload::Pt, b"x")]).0, Cause::Unsupported);
    let (_, message) = mixed([List(vec![dict([])])]);
    assert!(message.contains("'a[]'"), "{message}");
}

#[test]
fn mixed_kinds_as_json_text() {
    let options = || InferOptions { mixed_json: true, ..InferOptions::default() };
    let values = [
        dict([("a", Value::Int(1)), ("e", dict([]))]),
        dict([("a", text("é\"")), ("e", Value::Null)]),
        dict([("a", dict([("k", Value::List(vec![Value::Float(1.0), Value::BigInt("9".repeat(30))]))]))]),
        dict([("a", Value::Null)]),
    ];
    let schema = infer(&values, options()).unwrap();
    assert_eq!(*schema.field(0).data_type(), DataType::Utf8);
    let back = rows(&batch(schema, &values));
    let texts: Vec<_> = back.iter().map(|row| row.get("a").cloned().unwrap()).collect();
    let long = format!("{{\"k\":[1.0,{}]}}", "9".repeat(30));
    assert_eq!(texts, [text("1"), text("\"é\\\"\""), text(&long), Value::Null]);
    assert_eq!(back[0].get("e"), Some(&text("{}")));
    let bytes = [dict([("a", Value::Int(1))]), dict([("a", blob(Payload::Raw, b"x"))])];
    assert_eq!(infer(&bytes, options()).unwrap_err().cause(), Cause::Mismatch);
}

#[test]
fn arrays_become_nested_lists() {
    let arrays =
        [dict([("a", npy("<f4", "(2, 2)", &[0; 16]))]), dict([("a", npy("<f4", "(1, 3)", &[0; 12]))])];
    let schema = infer(&arrays, InferOptions::default()).unwrap();
    let DataType::List(outer) = schema.field(0).data_type() else { panic!() };
    let DataType::List(inner) = outer.data_type() else { panic!() };
    assert_eq!(*inner.data_type(), DataType::Float32);
    let back = rows(&batch(schema.clone(), &arrays));
    let zeros = |count: usize| Value::List(vec![Value::Float(0.0); count]);
    assert_eq!(back[0].get("a"), Some(&Value::List(vec![zeros(2), zeros(2)])));
    assert_eq!(back[1].get("a"), Some(&Value::List(vec![zeros(3)])));
    let flat = dict([("a", npy("<f4", "(4,)", &[0; 16]))]);
    assert!(infer(&[arrays[0].clone(), flat.clone()], InferOptions::default()).is_err());
    let mut builder = jinx_convert::arrow::BatchBuilder::new(schema).unwrap();
    assert_eq!(builder.push(&flat).unwrap_err().cause(), Cause::Mismatch);
    assert!(mixed([npy("<c8", "(1,)", &[0; 8])]).1.contains("'a'"));
}

#[test]
fn media_get_their_struct_and_features() {
    let original = parquet_batch();
    let media = Features::from_schema(original.schema_ref()).media_paths();
    let keep = |row: &Value| {
        let names = ["i64", "image", "images", "messages"];
        Value::Dict(names.iter().map(|name| ((*name).to_owned(), row.get(name).cloned().unwrap())).collect())
    };
    let kept: Vec<Value> = rows(&original).iter().map(keep).collect();
    let schema = infer(&kept, InferOptions { media: media.clone(), ..InferOptions::default() }).unwrap();
    assert_eq!(
        schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>(),
        ["i64", "image", "images", "messages"]
    );
    assert_eq!(Features::from_schema(&schema).media_paths(), media);
    assert_eq!(rows(&batch(schema.clone(), &kept)), kept);
    let mut sink = ParquetSink::create(Vec::new(), schema.clone(), ParquetOptions::default()).unwrap();
    sink.write(&batch(schema, &kept)).unwrap();
    sink.close().unwrap();
    // Marked or with a file name, a value is media without being announced, but no kind of feature is known.
    let schema = infer(&kept, InferOptions::default()).unwrap();
    assert!(Features::from_schema(&schema).is_empty());
    assert_eq!(schema.field(1).data_type(), original.column_by_name("image").unwrap().data_type());
}
