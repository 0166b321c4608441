//! Columns of integers, durations, floats and decimals.

use crate::arrow::build::ColumnBuilder;
use crate::arrow::build::fixed_width::Primitives;
use crate::arrow::decimal;
use crate::arrow::exact_numbers::{exact_f64, exact_i128};
use arrow_array::ArrowPrimitiveType;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_schema::DataType;
use jinx_core::error::{Error, Result};
use jinx_core::row_events::Number;
use jinx_core::value::Value;
use std::str::FromStr;

pub(crate) fn column(data_type: &DataType) -> Result<Box<dyn ColumnBuilder>> {
    Ok(match data_type {
        DataType::Int8 => integers::<Int8Type>(data_type),
        DataType::Int16 => integers::<Int16Type>(data_type),
        DataType::Int32 => integers::<Int32Type>(data_type),
        DataType::Int64 | DataType::Duration(_) => integers::<Int64Type>(data_type),
        DataType::UInt8 => integers::<UInt8Type>(data_type),
        DataType::UInt16 => integers::<UInt16Type>(data_type),
        DataType::UInt32 => integers::<UInt32Type>(data_type),
        DataType::UInt64 => integers::<UInt64Type>(data_type),
        DataType::Float16 => floats::<Float16Type>(<Float16Type as ArrowPrimitiveType>::Native::from_f64),
        DataType::Float32 => floats::<Float32Type>(to_f32),
        DataType::Float64 => floats::<Float64Type>(|value| value),
        DataType::Decimal32(precision, scale) => decimals::<Decimal32Type>(data_type, *precision, *scale),
        DataType::Decimal64(precision, scale) => decimals::<Decimal64Type>(data_type, *precision, *scale),
        DataType::Decimal128(precision, scale) => decimals::<Decimal128Type>(data_type, *precision, *scale),
        DataType::Decimal256(precision, scale) => decimals::<Decimal256Type>(data_type, *precision, *scale),
        other => {
            return Err(Error::unsupported(format!("columns of type {other} cannot be built from rows")));
        }
    })
}

/// The value as an integer, if its type is an integer; a float never counts as one.
fn integer(value: &Value) -> Option<i128> {
    match value {
        Value::Int(value) | Value::Scalar(_, Number::Int(value)) => Some((*value).into()),
        Value::Scalar(_, Number::Uint(value)) => Some((*value).into()),
        Value::BigInt(digits) => digits.parse().ok(),
        _ => None,
    }
}

fn integers<T: ArrowPrimitiveType<Native: TryFrom<i128>>>(data_type: &DataType) -> Box<dyn ColumnBuilder> {
    let native = |value: &Value| T::Native::try_from(integer(value)?).ok();
    Primitives::<T, _>::boxed(data_type, data_type.to_string(), native)
}

fn floats<T: ArrowPrimitiveType<Native: Into<f64>>>(round: fn(f64) -> T::Native) -> Box<dyn ColumnBuilder> {
    let native = move |value: &Value| match value {
        // As everywhere, a float is rounded to the column's precision; only overflow is an error.
        Value::Float(wide) | Value::Scalar(_, Number::Float(wide)) => {
            Some(round(*wide)).filter(|native| (*native).into().is_finite() || !wide.is_finite())
        }
        // An integer must be represented exactly.
        other => {
            let whole = integer(other)?;
            let native = round(exact_f64(whole)?);
            (exact_i128(native.into()) == Some(whole)).then_some(native)
        }
    };
    Primitives::<T, _>::boxed(&T::DATA_TYPE, T::DATA_TYPE.to_string(), native)
}

fn decimals<T: DecimalType<Native: FromStr>>(
    data_type: &DataType,
    precision: u8,
    scale: i8,
) -> Box<dyn ColumnBuilder> {
    let native = move |value: &Value| {
        let digits = match value {
            Value::Str(text) => decimal::parse(text, scale)?,
            other => decimal::parse(&integer(other)?.to_string(), scale)?,
        };
        if digits.trim_start_matches('-').len() > usize::from(precision) {
            return None;
        }
        digits.parse().ok()
    };
    Primitives::<T, _>::boxed(data_type, data_type.to_string(), native)
}

/// Rounding to the column's precision is intended.
#[allow(clippy::cast_possible_truncation)]
fn to_f32(value: f64) -> f32 {
    value as f32
}
