//! Columns of integers, durations, floats and decimals.

use super::{Column, misfit};
use crate::decimal;
use arrow_array::builder::PrimitiveBuilder;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, make_array};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use jinx_core::error::{Error, Result};
use jinx_core::sink::Number;
use jinx_core::value::Value;
use std::sync::Arc;

pub(super) fn column(data_type: &DataType) -> Result<Box<dyn Column>> {
    Ok(match data_type {
        DataType::Int8 => Integers::<Int8Type>::boxed(data_type),
        DataType::Int16 => Integers::<Int16Type>::boxed(data_type),
        DataType::Int32 => Integers::<Int32Type>::boxed(data_type),
        DataType::Int64 | DataType::Duration(_) => Integers::<Int64Type>::boxed(data_type),
        DataType::UInt8 => Integers::<UInt8Type>::boxed(data_type),
        DataType::UInt16 => Integers::<UInt16Type>::boxed(data_type),
        DataType::UInt32 => Integers::<UInt32Type>::boxed(data_type),
        DataType::UInt64 => Integers::<UInt64Type>::boxed(data_type),
        DataType::Float16 => {
            Floats::<Float16Type>::boxed(<Float16Type as ArrowPrimitiveType>::Native::from_f64)
        }
        DataType::Float32 => Floats::<Float32Type>::boxed(to_f32),
        DataType::Float64 => Floats::<Float64Type>::boxed(|value| value),
        DataType::Decimal32(_, scale) => Decimals::<Decimal32Type>::boxed(data_type, *scale),
        DataType::Decimal64(_, scale) => Decimals::<Decimal64Type>::boxed(data_type, *scale),
        DataType::Decimal128(_, scale) => Decimals::<Decimal128Type>::boxed(data_type, *scale),
        DataType::Decimal256(_, scale) => Decimals::<Decimal256Type>::boxed(data_type, *scale),
        other => {
            return Err(Error::unsupported(format!("columns of type {other} cannot be built from rows")));
        }
    })
}

/// The value as an integer, if it is one; floats are not, whatever their value.
fn integer(value: &Value) -> Option<i128> {
    match value {
        Value::Int(value) | Value::Scalar(_, Number::Int(value)) => Some((*value).into()),
        Value::Scalar(_, Number::Uint(value)) => Some((*value).into()),
        Value::BigInt(digits) => digits.parse().ok(),
        _ => None,
    }
}

/// Integers of any width; durations are stored as such and get their own type at the end.
struct Integers<T: ArrowPrimitiveType> {
    values: PrimitiveBuilder<T>,
    data_type: DataType,
}

impl<T: ArrowPrimitiveType<Native: TryFrom<i128>>> Integers<T> {
    fn boxed(data_type: &DataType) -> Box<dyn Column> {
        Box::new(Self { values: PrimitiveBuilder::new(), data_type: data_type.clone() })
    }
}

impl<T: ArrowPrimitiveType<Native: TryFrom<i128>>> Column for Integers<T> {
    fn push(&mut self, value: &Value) -> Result<()> {
        match integer(value).and_then(|wide| T::Native::try_from(wide).ok()) {
            Some(native) => self.values.append_value(native),
            None => return Err(misfit(value, &self.data_type.to_string())),
        }
        Ok(())
    }

    fn push_null(&mut self) -> Result<()> {
        self.values.append_null();
        Ok(())
    }

    fn bytes(&self) -> usize {
        size_of_val(self.values.values_slice())
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        retyped(self.values.finish().into_data(), &self.data_type)
    }
}

/// The same buffers under another type of the same width.
pub(super) fn retyped(data: ArrayData, data_type: &DataType) -> Result<ArrayRef> {
    let data =
        data.into_builder().data_type(data_type.clone()).build().map_err(crate::failure::from_arrow)?;
    Ok(make_array(data))
}

struct Floats<T: ArrowPrimitiveType> {
    values: PrimitiveBuilder<T>,
    round: fn(f64) -> T::Native,
}

impl<T: ArrowPrimitiveType<Native: Into<f64>>> Floats<T> {
    fn boxed(round: fn(f64) -> T::Native) -> Box<dyn Column> {
        Box::new(Self { values: PrimitiveBuilder::new(), round })
    }
}

impl<T: ArrowPrimitiveType<Native: Into<f64>>> Column for Floats<T> {
    fn push(&mut self, value: &Value) -> Result<()> {
        let native = match value {
            // A float is rounded to the column's precision, as everywhere; only overflow is an error.
            Value::Float(wide) | Value::Scalar(_, Number::Float(wide)) => {
                Some((self.round)(*wide)).filter(|native| (*native).into().is_finite() || !wide.is_finite())
            }
            // An integer must be held exactly.
            other => integer(other).and_then(|whole| {
                let native = (self.round)(exact_f64(whole)?);
                (exact_i128(native.into()) == Some(whole)).then_some(native)
            }),
        };
        match native {
            Some(native) => self.values.append_value(native),
            None => return Err(misfit(value, &T::DATA_TYPE.to_string())),
        }
        Ok(())
    }

    fn push_null(&mut self) -> Result<()> {
        self.values.append_null();
        Ok(())
    }

    fn bytes(&self) -> usize {
        size_of_val(self.values.values_slice())
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        Ok(Arc::new(self.values.finish()))
    }
}

/// Rounding is what the column asks for.
#[allow(clippy::cast_possible_truncation)]
fn to_f32(value: f64) -> f32 {
    value as f32
}

/// The integer as a float if none of it is lost.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn exact_f64(value: i128) -> Option<f64> {
    let float = value as f64;
    (exact_i128(float) == Some(value)).then_some(float)
}

/// A whole float as an integer; the bound keeps the cast inside i128.
#[allow(clippy::cast_possible_truncation)]
fn exact_i128(value: f64) -> Option<i128> {
    (value.fract() == 0.0 && value.abs() < 1e38).then_some(value as i128)
}

struct Decimals<T: DecimalType + ArrowPrimitiveType> {
    values: PrimitiveBuilder<T>,
    data_type: DataType,
    scale: i8,
}

impl<T: DecimalType<Native: std::str::FromStr>> Decimals<T> {
    fn boxed(data_type: &DataType, scale: i8) -> Box<dyn Column> {
        Box::new(Self { values: PrimitiveBuilder::new(), data_type: data_type.clone(), scale })
    }

    fn parse(&self, value: &Value) -> Option<T::Native> {
        let (DataType::Decimal32(precision, _)
        | DataType::Decimal64(precision, _)
        | DataType::Decimal128(precision, _)
        | DataType::Decimal256(precision, _)) = &self.data_type
        else {
            return None;
        };
        let digits = match value {
            Value::Str(text) => decimal::parse(text, self.scale)?,
            other => decimal::parse(&integer(other)?.to_string(), self.scale)?,
        };
        if digits.trim_start_matches('-').len() > usize::from(*precision) {
            return None;
        }
        digits.parse().ok()
    }
}

impl<T: DecimalType<Native: std::str::FromStr>> Column for Decimals<T> {
    fn push(&mut self, value: &Value) -> Result<()> {
        match self.parse(value) {
            Some(native) => self.values.append_value(native),
            None => return Err(misfit(value, &self.data_type.to_string())),
        }
        Ok(())
    }

    fn push_null(&mut self) -> Result<()> {
        self.values.append_null();
        Ok(())
    }

    fn bytes(&self) -> usize {
        size_of_val(self.values.values_slice())
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        retyped(self.values.finish().into_data(), &self.data_type)
    }
}
