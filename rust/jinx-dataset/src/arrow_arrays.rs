//! Typed columns as Arrow arrays, which share the bytes of the file if Arrow has the same layout.

use crate::column_data::ColumnData;
use crate::gather::gathered;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, BooleanArray, DictionaryArray, FixedSizeListArray, PrimitiveArray, StringArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field};
use bytes::Bytes;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::value::Value;
use jinx_core::{Error, Result};
use jinx_format::read::columns::{ColumnType, TimeUnit};
use std::ops::Range;
use std::sync::Arc;

/// A typed column, ready to be cut into batches.
pub struct ArrowColumn {
    column: ColumnData,
    field: Field,
    samples: usize,
    /// All strings, for a column with codes.
    strings: Option<ArrayRef>,
}

impl ArrowColumn {
    /// `None` for a column that Arrow cannot represent unchanged.
    ///
    /// # Errors
    /// `Invalid` for an unknown type.
    pub fn of(column: ColumnData, field: &Field) -> Result<Option<Self>> {
        let own = column.field(field.name())?;
        let is_same = own.is_some_and(|own| own.data_type() == field.data_type());
        if !column.is_typed || !is_same || !field.metadata().is_empty() || !field.is_nullable() {
            return Ok(None);
        }
        let samples = column.samples()?;
        let strings = column.codes.as_ref().map(|_| strings_of(&column)).transpose()?;
        Ok(Some(Self { column, field: field.clone(), samples, strings }))
    }

    pub fn name(&self) -> &str {
        self.field.name()
    }

    /// The number of bytes that one sample takes.
    pub fn sample_bytes(&self) -> usize {
        self.column.cell_bytes().unwrap_or(size_of::<u64>())
    }

    /// The samples of a range, which share the bytes of the column.
    ///
    /// # Errors
    /// `Invalid` for samples that it does not have.
    pub fn range(&self, range: Range<usize>) -> Result<ArrayRef> {
        if range.end > self.samples || range.start > range.end {
            return Err(Error::invalid(format!("samples {range:?} of {}", self.samples)));
        }
        self.array(&self.column, range)
    }

    /// A copy of the samples at the given positions.
    ///
    /// # Errors
    /// `Invalid` for a position past the end.
    pub fn list(&self, positions: &[u64]) -> Result<ArrayRef> {
        self.array(&gathered(&self.column, positions)?, 0..positions.len())
    }

    fn array(&self, column: &ColumnData, range: Range<usize>) -> Result<ArrayRef> {
        let dtype = column.column_type()?;
        let nulls = column.validity.as_ref().map(|bits| {
            let bits = BooleanBuffer::new(Buffer::from(bits.clone()), range.start, range.len());
            NullBuffer::new(bits)
        });
        if let Some(strings) = &self.strings {
            let codes = column.codes.clone().unwrap_or_default();
            return match column.code_bytes() {
                1 => with_codes::<Int8Type>(codes, range, nulls, strings),
                2 => with_codes::<Int16Type>(codes, range, nulls, strings),
                _ => with_codes::<Int32Type>(codes, range, nulls, strings),
            };
        }
        let data = || column.data.clone();
        let Some(width) = column.width else {
            return match dtype {
                ColumnType::Bool => {
                    let bytes = column.data.get(range).unwrap_or_default();
                    let bits = BooleanBuffer::from_iter(bytes.iter().map(|byte| *byte != 0));
                    Ok(Arc::new(BooleanArray::new(bits, nulls)))
                }
                ColumnType::Utf8 => texts(column, range),
                _ => self.numbers(dtype, data(), range, nulls),
            };
        };
        let width = to_usize(width, "a vector")?;
        let numbers = range.start.saturating_mul(width)..range.end.saturating_mul(width);
        let numbers = self.numbers(dtype, data(), numbers, None)?;
        let DataType::FixedSizeList(item, size) = self.field.data_type() else {
            return Err(Error::invalid("vectors that are no list"));
        };
        let lists = FixedSizeListArray::try_new(Arc::clone(item), *size, numbers, nulls);
        Ok(Arc::new(lists.map_err(|error| failed(&error))?))
    }

    fn numbers(
        &self,
        dtype: ColumnType,
        data: Bytes,
        range: Range<usize>,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        let zone = match self.field.data_type() {
            DataType::Timestamp(_, zone) => zone.clone(),
            _ => None,
        };
        macro_rules! of {
            ($kind:ty) => {
                Arc::new(primitive::<$kind>(data, range, nulls)?)
            };
        }
        macro_rules! times {
            ($kind:ty) => {
                Arc::new(primitive::<$kind>(data, range, nulls)?.with_timezone_opt(zone))
            };
        }
        Ok(match dtype {
            ColumnType::Int8 => of!(Int8Type),
            ColumnType::Int16 => of!(Int16Type),
            ColumnType::Int32 => of!(Int32Type),
            ColumnType::Int64 => of!(Int64Type),
            ColumnType::Uint8 => of!(UInt8Type),
            ColumnType::Uint16 => of!(UInt16Type),
            ColumnType::Uint32 => of!(UInt32Type),
            ColumnType::Uint64 => of!(UInt64Type),
            ColumnType::Float16 => of!(Float16Type),
            ColumnType::Float32 => of!(Float32Type),
            ColumnType::Float64 => of!(Float64Type),
            ColumnType::Time(TimeUnit::Second) => times!(TimestampSecondType),
            ColumnType::Time(TimeUnit::Millisecond) => times!(TimestampMillisecondType),
            ColumnType::Time(TimeUnit::Microsecond) => times!(TimestampMicrosecondType),
            ColumnType::Time(TimeUnit::Nanosecond) => times!(TimestampNanosecondType),
            ColumnType::Bool | ColumnType::Utf8 => return Err(Error::invalid("these are not numbers")),
        })
    }
}

/// The numbers in a range. Bytes that do not lie where the processor wants such numbers are copied.
fn primitive<T: ArrowPrimitiveType>(
    data: Bytes,
    range: Range<usize>,
    nulls: Option<NullBuffer>,
) -> Result<PrimitiveArray<T>> {
    let is_aligned = data.as_ptr().align_offset(align_of::<T::Native>()) == 0;
    let buffer = if is_aligned { Buffer::from(data) } else { Buffer::from_slice_ref(&data[..]) };
    let have = buffer.len() / size_of::<T::Native>();
    if range.end > have {
        return Err(Error::invalid(format!("numbers {range:?} of {have}")));
    }
    let values = ScalarBuffer::new(buffer, range.start, range.len());
    PrimitiveArray::try_new(values, nulls).map_err(|error| failed(&error))
}

fn with_codes<T: arrow_array::types::ArrowDictionaryKeyType>(
    codes: Bytes,
    range: Range<usize>,
    nulls: Option<NullBuffer>,
    strings: &ArrayRef,
) -> Result<ArrayRef> {
    let keys = primitive::<T>(codes, range, nulls)?;
    let array = DictionaryArray::<T>::try_new(keys, Arc::clone(strings));
    Ok(Arc::new(array.map_err(|error| failed(&error))?))
}

fn strings_of(column: &ColumnData) -> Result<ArrayRef> {
    let plain = ColumnData { codes: None, validity: None, ..column.clone() };
    texts(&plain, 0..plain.strings())
}

fn texts(column: &ColumnData, range: Range<usize>) -> Result<ArrayRef> {
    let text = |i| match column.value(to_u64(i))? {
        Value::Str(text) => Ok(Some(text)),
        _ => Ok(None),
    };
    let texts = range.map(text).collect::<Result<Vec<Option<String>>>>()?;
    Ok(Arc::new(StringArray::from(texts)))
}

fn failed(error: &ArrowError) -> Error {
    Error::invalid(error.to_string())
}
