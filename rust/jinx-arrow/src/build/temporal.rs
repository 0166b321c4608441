//! Columns of dates, times and timestamps, from their ISO texts.

use super::numeric::retyped;
use super::{Column, misfit};
use crate::calendar;
use arrow_array::builder::PrimitiveBuilder;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_schema::DataType;
use jinx_core::error::Result;
use jinx_core::value::Value;

pub(super) fn column(data_type: &DataType) -> Box<dyn Column> {
    let data_type = data_type.clone();
    match data_type {
        DataType::Date32 | DataType::Time32(_) => {
            Box::new(Temporal::<Int32Type> { ticks: PrimitiveBuilder::new(), data_type })
        }
        _ => Box::new(Temporal::<Int64Type> { ticks: PrimitiveBuilder::new(), data_type }),
    }
}

/// Ticks as plain integers, which get their type at the end.
struct Temporal<T: ArrowPrimitiveType> {
    ticks: PrimitiveBuilder<T>,
    data_type: DataType,
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

impl<T: ArrowPrimitiveType<Native: TryFrom<i64>>> Column for Temporal<T> {
    fn push(&mut self, value: &Value) -> Result<()> {
        let ticks = match value {
            Value::Str(text) => parse(text, &self.data_type),
            _ => None,
        };
        match ticks.and_then(|ticks| T::Native::try_from(ticks).ok()) {
            Some(ticks) => self.ticks.append_value(ticks),
            None => return Err(misfit(value, &format!("{} in ISO 8601 form", self.data_type))),
        }
        Ok(())
    }

    fn push_null(&mut self) -> Result<()> {
        self.ticks.append_null();
        Ok(())
    }

    fn bytes(&self) -> usize {
        size_of_val(self.ticks.values_slice())
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        retyped(self.ticks.finish().into_data(), &self.data_type)
    }
}
