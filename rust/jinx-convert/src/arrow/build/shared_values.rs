//! Dictionaries and runs: built from their values, and encoded when the batch is finished.

use super::{ColumnBuilder, column_of};
use crate::arrow::failure::from_arrow;
use crate::arrow::npy::Npy;
use arrow_array::ArrayRef;
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType};
use jinx_core::error::{Error, Result};
use jinx_core::value::Value;

pub(crate) fn column(encoded: &DataType, values: &DataType, depth: usize) -> Result<Box<dyn ColumnBuilder>> {
    Ok(Box::new(SharedValues { values: column_of(values, depth + 1)?, encoded: encoded.clone() }))
}

struct SharedValues {
    values: Box<dyn ColumnBuilder>,
    encoded: DataType,
}

impl ColumnBuilder for SharedValues {
    fn push(&mut self, value: &Value) -> Result<()> {
        self.values.push(value)
    }

    fn push_null(&mut self) -> Result<()> {
        self.values.push_null()
    }

    fn push_array(&mut self, array: &Npy, level: usize, at: usize) -> Result<()> {
        self.values.push_array(array, level, at)
    }

    fn bytes(&self) -> usize {
        self.values.bytes()
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        let values = self.values.finish()?;
        cast(&values, &self.encoded).map_err(|error| match error {
            ArrowError::DictionaryKeyOverflowError | ArrowError::RunEndIndexOverflowError => {
                Error::limit(format!(
                    "more different values in one batch than {} can count; write fewer rows per batch",
                    self.encoded
                ))
            }
            ArrowError::CastError(what) => {
                Error::unsupported(format!("columns of type {} cannot be built: {what}", self.encoded))
            }
            other => from_arrow(other),
        })
    }
}
