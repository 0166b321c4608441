//! Values as `spec/vectors` writes them: JSON with tags.

use jinx_core::codec::TextEncoding;
use jinx_core::npy;
use jinx_core::row_events::{Dtype, Number, Payload};
use jinx_core::value::Value;

pub fn text_of(value: &Value) -> &str {
    match value {
        Value::Str(text) => text,
        other => panic!("{other:?} is not a string"),
    }
}

fn bytes_of(value: &Value) -> Vec<u8> {
    TextEncoding::Base64.decode(text_of(value).as_bytes(), 1 << 30).unwrap()
}

/// A little-endian integer of any width.
pub fn int_of(bytes: &[u8], signed: bool) -> Value {
    let negative = signed && bytes.last().is_some_and(|byte| *byte >= 0x80);
    let mut wide = [if negative { 0xff } else { 0 }; 16];
    wide[..bytes.len()].copy_from_slice(bytes);
    let value = i128::from_le_bytes(wide);
    i64::try_from(value).map_or_else(|_| Value::BigInt(value.to_string()), Value::Int)
}

pub fn show(value: &Value) -> String {
    format!("{value:?}").chars().take(300).collect()
}

/// Whether `found` is what the tagged value `expected` means.
pub fn same(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Dict(members), _) if matches!(members.as_slice(), [(name, _)] if name.starts_with('$')) => {
            same_tagged(&members[0].0, &members[0].1, found)
        }
        (Value::Dict(expected), Value::Dict(found)) => same_dicts(expected, found),
        (Value::List(expected), Value::List(found)) => {
            expected.len() == found.len() && expected.iter().zip(found).all(|(a, b)| same(a, b))
        }
        (Value::Float(expected), Value::Float(found)) => same_floats(*expected, *found),
        (Value::Null, Value::Null) => true,
        (expected, found) => expected == found,
    }
}

fn same_floats(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

fn same_dicts(expected: &[(String, Value)], found: &[(String, Value)]) -> bool {
    expected.len() == found.len()
        && expected.iter().zip(found).all(|((name, a), (other, b))| name == other && same(a, b))
}

fn same_tagged(tag: &str, inner: &Value, found: &Value) -> bool {
    match (tag, found) {
        ("$bytes", Value::Blob { payload: Payload::Raw, data, .. }) => *data == bytes_of(inner),
        ("$float", Value::Float(found)) => same_floats(text_of(inner).parse().unwrap(), *found),
        ("$int", Value::BigInt(digits)) => text_of(inner) == digits,
        ("$ndarray", Value::Blob { payload: Payload::Npy, data, .. }) => same_array(inner, data),
        ("$np", found) => same_scalar(inner, found),
        ("$lists", found) => match (inner, found) {
            (Value::Int(1), Value::List(items)) => items.is_empty(),
            (Value::Int(depth), Value::List(items)) if items.len() == 1 => {
                same_tagged(tag, &Value::Int(depth - 1), &items[0])
            }
            _ => false,
        },
        ("$dict", Value::Dict(found)) => {
            let Value::List(pairs) = inner else { panic!("$dict without pairs") };
            let pair = |pair: &Value| match pair {
                Value::List(pair) => (text_of(&pair[0]).to_owned(), pair[1].clone()),
                _ => panic!("$dict without pairs"),
            };
            same_dicts(&pairs.iter().map(pair).collect::<Vec<_>>(), found)
        }
        _ => false,
    }
}

fn same_array(expected: &Value, payload: &[u8]) -> bool {
    let header = npy::parse_header(payload).unwrap();
    header.check_payload(payload.len() as u64).unwrap();
    let Some(Value::List(shape)) = expected.get("shape") else { panic!("no shape") };
    let shape: Vec<u64> = shape
        .iter()
        .map(|size| if let Value::Int(size) = size { size.cast_unsigned() } else { panic!("no size") })
        .collect();
    let item = header.item_size as usize;
    let data = &payload[header.data_offset..];
    let data = if header.fortran { c_order(data, &shape, item) } else { data.to_vec() };
    text_of(expected.get("dtype").unwrap()) == header.descr
        && shape == header.shape
        && data == bytes_of(expected.get("data").unwrap())
}

/// The items of an array in Fortran order, brought into C order.
fn c_order(data: &[u8], shape: &[u64], item: usize) -> Vec<u8> {
    let count = data.len() / item.max(1);
    let mut out = Vec::new();
    for i in 0..count {
        let (mut rest, mut at, mut stride) = (i, 0usize, count);
        let mut weight = vec![1usize; shape.len()];
        for d in 1..shape.len() {
            weight[d] = weight[d - 1] * shape[d - 1] as usize;
        }
        for (d, size) in shape.iter().enumerate() {
            stride /= *size as usize;
            at += rest / stride * weight[d];
            rest %= stride;
        }
        out.extend_from_slice(&data[at * item..][..item]);
    }
    out
}

fn same_scalar(expected: &Value, found: &Value) -> bool {
    let dtype = text_of(expected.get("dtype").unwrap());
    match (expected.get("value"), found) {
        (Some(value), Value::Scalar(found_dtype, number)) => {
            dtype == found_dtype.name() && same_number(value, *number)
        }
        (Some(value), Value::Blob { payload: Payload::Np, data, .. }) => {
            let (descr, item) = split_scalar(data);
            let name = Dtype::ALL.into_iter().find(|other| descr_of(*other) == descr);
            let number = match (&descr[1..], item.len()) {
                ("f4", 4) => Value::Float(f64::from(f32::from_le_bytes(item.try_into().unwrap()))),
                ("f8", 8) => Value::Float(f64::from_le_bytes(item.try_into().unwrap())),
                _ => int_of(item, descr[1..].starts_with('i')),
            };
            name.is_some_and(|name| name.name() == dtype) && same(value, &number)
        }
        (None, Value::Blob { payload: Payload::Np, data, .. }) => {
            let (descr, item) = split_scalar(data);
            descr == dtype && item == bytes_of(expected.get("data").unwrap())
        }
        _ => false,
    }
}

fn split_scalar(data: &[u8]) -> (&str, &[u8]) {
    let end = data.iter().position(|byte| *byte == 0).unwrap();
    (std::str::from_utf8(&data[..end]).unwrap(), &data[end + 1..])
}

fn descr_of(dtype: Dtype) -> String {
    let name = dtype.name();
    let bits: u32 = name.trim_start_matches(|c: char| c.is_ascii_alphabetic()).parse().unwrap();
    let order = if bits == 8 { '|' } else { '<' };
    format!("{order}{}{}", &name[..1], bits / 8)
}

fn same_number(expected: &Value, number: Number) -> bool {
    match number {
        Number::Int(value) => same(expected, &Value::Int(value)),
        Number::Uint(value) => same(expected, &int_of(&value.to_le_bytes(), false)),
        Number::Float(value) => same(expected, &Value::Float(value)),
    }
}
