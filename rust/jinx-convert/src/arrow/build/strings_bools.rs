//! Columns of nulls, bools, strings and bytes.

use super::{ColumnBuilder, misfit};
use crate::arrow::failure::from_arrow;
use arrow_array::builder::{BooleanBuilder, GenericByteBuilder, GenericByteViewBuilder};
use arrow_array::types::{
    BinaryType, BinaryViewType, ByteArrayType, ByteViewType, LargeBinaryType, LargeUtf8Type, StringViewType,
    Utf8Type,
};
use arrow_array::{ArrayRef, FixedSizeBinaryArray, NullArray, OffsetSizeTrait};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::DataType;
use jinx_core::error::{Error, Result};
use jinx_core::row_events::Payload;
use jinx_core::value::Value;
use std::sync::Arc;

pub(crate) fn plain(data_type: &DataType) -> Box<dyn ColumnBuilder> {
    match data_type {
        DataType::Null => Box::new(Nulls(0)),
        _ => Box::new(Bools(BooleanBuilder::new())),
    }
}

pub(crate) fn text(data_type: &DataType) -> Box<dyn ColumnBuilder> {
    match data_type {
        DataType::Utf8 => Joined::<Utf8Type>::boxed(text_of),
        DataType::LargeUtf8 => Joined::<LargeUtf8Type>::boxed(text_of),
        _ => Views::<StringViewType>::boxed(text_of),
    }
}

pub(crate) fn binary(data_type: &DataType) -> Result<Box<dyn ColumnBuilder>> {
    Ok(match data_type {
        DataType::Binary => Joined::<BinaryType>::boxed(bytes_of),
        DataType::LargeBinary => Joined::<LargeBinaryType>::boxed(bytes_of),
        DataType::FixedSizeBinary(size) => match usize::try_from(*size) {
            Ok(width) => Box::new(FixedBytes {
                values: Vec::new(),
                nulls: NullBufferBuilder::new(0),
                size: *size,
                width,
            }),
            Err(_) => return Err(Error::invalid("a column of binaries has a negative size")),
        },
        _ => Views::<BinaryViewType>::boxed(bytes_of),
    })
}

/// Checks that `more` bytes still fit into an offset; otherwise, Arrow's builders would panic.
fn check_offset<O: OffsetSizeTrait>(held: usize, added: usize) -> Result<()> {
    match held.checked_add(added).and_then(O::from_usize) {
        Some(_) => Ok(()),
        None => Err(Error::limit("more than 2 GiB in one column of a batch; write fewer rows per batch")),
    }
}

struct Nulls(usize);

impl ColumnBuilder for Nulls {
    fn push(&mut self, value: &Value) -> Result<()> {
        Err(misfit(value, "nulls"))
    }
    fn push_null(&mut self) -> Result<()> {
        self.0 += 1;
        Ok(())
    }
    fn bytes(&self) -> usize {
        0
    }
    fn finish(&mut self) -> Result<ArrayRef> {
        Ok(Arc::new(NullArray::new(std::mem::take(&mut self.0))))
    }
}

struct Bools(BooleanBuilder);

impl ColumnBuilder for Bools {
    fn push(&mut self, value: &Value) -> Result<()> {
        match value {
            Value::Bool(value) => self.0.append_value(*value),
            other => return Err(misfit(other, "bools")),
        }
        Ok(())
    }
    fn push_null(&mut self) -> Result<()> {
        self.0.append_null();
        Ok(())
    }
    fn bytes(&self) -> usize {
        self.0.values_slice().len()
    }
    fn finish(&mut self) -> Result<ArrayRef> {
        Ok(Arc::new(self.0.finish()))
    }
}

fn text_of(value: &Value) -> Result<&str> {
    match value {
        Value::Str(text) => Ok(text),
        other => Err(misfit(other, "strings")),
    }
}

/// The plain bytes of a value; a value with a file name is an error, because a plain column would lose the name.
fn bytes_of(value: &Value) -> Result<&[u8]> {
    match value {
        Value::Blob { payload: Payload::Raw, data, path: None, .. } => Ok(data),
        Value::Blob { payload: Payload::Raw, path: Some(path), .. } => Err(Error::mismatch(format!(
            "a media value with the file name '{path}' does not fit a column of plain bytes"
        ))),
        other => Err(misfit(other, "bytes")),
    }
}

/// Strings or bytes, stored one after another.
struct Joined<T: ByteArrayType> {
    values: GenericByteBuilder<T>,
    native: fn(&Value) -> Result<&T::Native>,
}

impl<T: ByteArrayType> Joined<T> {
    fn boxed(native: fn(&Value) -> Result<&T::Native>) -> Box<dyn ColumnBuilder> {
        Box::new(Self { values: GenericByteBuilder::new(), native })
    }
}

impl<T: ByteArrayType> ColumnBuilder for Joined<T> {
    fn push(&mut self, value: &Value) -> Result<()> {
        let native = (self.native)(value)?;
        let bytes: &[u8] = native.as_ref();
        check_offset::<T::Offset>(self.bytes(), bytes.len())?;
        self.values.append_value(native);
        Ok(())
    }
    fn push_null(&mut self) -> Result<()> {
        self.values.append_null();
        Ok(())
    }
    fn bytes(&self) -> usize {
        self.values.values_slice().len()
    }
    fn finish(&mut self) -> Result<ArrayRef> {
        Ok(Arc::new(self.values.finish()))
    }
}

/// Strings or bytes, with short ones inline.
struct Views<T: ByteViewType> {
    values: GenericByteViewBuilder<T>,
    native: fn(&Value) -> Result<&T::Native>,
    bytes: usize,
}

impl<T: ByteViewType> Views<T> {
    fn boxed(native: fn(&Value) -> Result<&T::Native>) -> Box<dyn ColumnBuilder> {
        Box::new(Self { values: GenericByteViewBuilder::new(), native, bytes: 0 })
    }
}

impl<T: ByteViewType> ColumnBuilder for Views<T> {
    fn push(&mut self, value: &Value) -> Result<()> {
        let native = (self.native)(value)?;
        self.values.try_append_value(native).map_err(from_arrow)?;
        let bytes: &[u8] = native.as_ref();
        self.bytes += bytes.len();
        Ok(())
    }
    fn push_null(&mut self) -> Result<()> {
        self.values.append_null();
        Ok(())
    }
    fn bytes(&self) -> usize {
        self.bytes
    }
    fn finish(&mut self) -> Result<ArrayRef> {
        self.bytes = 0;
        Ok(Arc::new(self.values.finish()))
    }
}

struct FixedBytes {
    values: Vec<u8>,
    nulls: NullBufferBuilder,
    size: i32,
    width: usize,
}

impl ColumnBuilder for FixedBytes {
    fn push(&mut self, value: &Value) -> Result<()> {
        let data = bytes_of(value)?;
        if data.len() != self.width {
            return Err(misfit(value, &format!("exactly {} bytes", self.width)));
        }
        self.values.extend_from_slice(data);
        self.nulls.append_non_null();
        Ok(())
    }
    fn push_null(&mut self) -> Result<()> {
        self.values.resize(self.values.len() + self.width, 0);
        self.nulls.append_null();
        Ok(())
    }
    fn bytes(&self) -> usize {
        self.values.len()
    }
    fn finish(&mut self) -> Result<ArrayRef> {
        let rows = self.nulls.len();
        let (values, nulls) = (std::mem::take(&mut self.values).into(), self.nulls.finish());
        let array = FixedSizeBinaryArray::try_new_with_len(self.size, values, nulls, rows);
        Ok(Arc::new(array.map_err(from_arrow)?))
    }
}
