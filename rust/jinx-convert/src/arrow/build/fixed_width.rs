//! Columns of numbers of one width, and of types that Arrow stores in the same way.

use super::{ColumnBuilder, misfit};
use crate::arrow::failure::from_arrow;
use arrow_array::builder::PrimitiveBuilder;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, make_array};
use arrow_schema::DataType;
use jinx_core::error::Result;
use jinx_core::value::Value;

/// Values as plain numbers, which are converted to the column's type at the end.
pub(crate) struct Primitives<T: ArrowPrimitiveType, F> {
    values: PrimitiveBuilder<T>,
    data_type: DataType,
    /// Describes the column in errors.
    wanted: String,
    native: F,
}

impl<T: ArrowPrimitiveType, F: Fn(&Value) -> Option<T::Native> + Send + 'static> Primitives<T, F> {
    pub fn boxed(data_type: &DataType, wanted: String, native: F) -> Box<dyn ColumnBuilder> {
        Box::new(Self { values: PrimitiveBuilder::new(), data_type: data_type.clone(), wanted, native })
    }
}

impl<T: ArrowPrimitiveType, F: Fn(&Value) -> Option<T::Native> + Send> ColumnBuilder for Primitives<T, F> {
    fn push(&mut self, value: &Value) -> Result<()> {
        let native = (self.native)(value).ok_or_else(|| misfit(value, &self.wanted))?;
        self.values.append_value(native);
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
        let data = self.values.finish().into_data().into_builder().data_type(self.data_type.clone());
        Ok(make_array(data.build().map_err(from_arrow)?))
    }
}
