//! String columns that keep values of mixed kinds as JSON.

use super::{ColumnBuilder, column_of};
use crate::arrow::json_string::to_json;
use arrow_array::ArrayRef;
use arrow_schema::DataType;
use jinx_core::error::Result;
use jinx_core::value::Value;

pub(crate) fn column(data_type: &DataType, depth: usize) -> Result<Box<dyn ColumnBuilder>> {
    Ok(Box::new(JsonTexts(column_of(data_type, depth)?)))
}

struct JsonTexts(Box<dyn ColumnBuilder>);

impl ColumnBuilder for JsonTexts {
    fn push(&mut self, value: &Value) -> Result<()> {
        self.0.push(&Value::Str(to_json(value)?))
    }

    fn push_null(&mut self) -> Result<()> {
        self.0.push_null()
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        self.0.finish()
    }
}
