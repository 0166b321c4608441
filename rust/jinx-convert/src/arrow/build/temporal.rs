//! Columns of dates, times and timestamps, from ISO 8601 strings.

use crate::arrow::build::ColumnBuilder;
use crate::arrow::build::fixed_width::Primitives;
use crate::arrow::calendar;
use arrow_array::ArrowPrimitiveType;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_schema::DataType;
use jinx_core::value::Value;

pub(crate) fn column(data_type: &DataType) -> Box<dyn ColumnBuilder> {
    match data_type {
        DataType::Date32 | DataType::Time32(_) => ticks::<Int32Type>(data_type),
        _ => ticks::<Int64Type>(data_type),
    }
}

fn ticks<T: ArrowPrimitiveType<Native: TryFrom<i64>>>(data_type: &DataType) -> Box<dyn ColumnBuilder> {
    let asked = data_type.clone();
    let native = move |value: &Value| match value {
        Value::Str(text) => T::Native::try_from(parse(text, &asked)?).ok(),
        _ => None,
    };
    let advice = match data_type {
        DataType::Date32 => "; a date with a time of day needs a column of timestamps (timestamp[ms])",
        _ => "",
    };
    Primitives::<T, _>::boxed(data_type, format!("{data_type} in ISO 8601 form{advice}"), native)
}

fn parse(text: &str, data_type: &DataType) -> Option<i64> {
    match data_type {
        DataType::Date32 => calendar::parse_date(text),
        DataType::Date64 => calendar::parse_date64(text),
        DataType::Time32(unit) | DataType::Time64(unit) => calendar::parse_time(text, *unit),
        DataType::Timestamp(unit, zone) => calendar::parse_timestamp(text, *unit, zone.is_some()),
        _ => None,
    }
}
