//! Whole columns in memory.

use arrow_schema::{DataType, Field, TimeUnit as ArrowUnit};
use bytes::Bytes;
use jinx_convert::arrow::calendar::timestamp_text;
use jinx_core::checked_math::to_u64;
use jinx_core::npy;
use jinx_core::row_events::Payload;
use jinx_core::value::Value;
use jinx_core::{Error, Result};
use jinx_format::own_columns::code_type;
use jinx_format::read::column_view::{CellNumber, ColumnView};
use jinx_format::read::columns::{ColumnType, TimeUnit};
use jinx_format::write::own_column::OwnColumn;
use std::sync::Arc;

/// A whole column: little-endian values, or the bytes of strings.
#[derive(Clone)]
pub struct ColumnData {
    pub dtype: &'static str,
    /// The number of elements of each vector; `None` for single values.
    pub width: Option<u64>,
    /// For times that are instants, the time zone.
    pub zone: Option<Arc<str>>,
    /// Whether the type is the column's own. Otherwise it is the narrowest type for an index.
    pub is_typed: bool,
    pub data: Bytes,
    /// One bit per sample; present only if any sample has no value.
    pub validity: Option<Bytes>,
    /// For strings: the start of each string, and the end of the last.
    pub offsets: Option<Bytes>,
    /// For strings: which string each sample has, as integers of [`code_type`]. `None`: one string a sample.
    pub codes: Option<Bytes>,
}

/// A part of an indexed column, in a single file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnPart {
    /// The position of its first cell.
    pub start: u64,
    /// `None` if its cells are vectors.
    pub dtype: Option<ColumnType>,
}

impl ColumnData {
    /// A column of single values, in the narrowest type.
    pub fn indexed(
        dtype: &'static str,
        data: Vec<u8>,
        validity: Option<Vec<u8>>,
        offsets: Option<Vec<u8>>,
    ) -> Self {
        let (validity, offsets) = (validity.map(Bytes::from), offsets.map(Bytes::from));
        let (data, zone, codes) = (data.into(), None, None);
        Self { dtype, width: None, zone, is_typed: false, data, validity, offsets, codes }
    }

    /// The number of samples in the column.
    ///
    /// # Errors
    /// `Invalid` for an unknown type.
    pub fn samples(&self) -> Result<usize> {
        Ok(match (&self.offsets, &self.codes) {
            (Some(_), Some(codes)) => codes.len() / self.code_bytes(),
            (Some(_), None) => self.strings(),
            _ => self.data.len() / self.cell_bytes()?.max(1),
        })
    }

    /// The number of strings, which does not depend on the number of samples.
    pub fn strings(&self) -> usize {
        self.offsets.as_ref().map_or(0, |offsets| (offsets.len() / size_of::<u64>()).saturating_sub(1))
    }

    /// The size of a code in bytes.
    pub fn code_bytes(&self) -> usize {
        match code_type(to_u64(self.strings())) {
            ColumnType::Int8 => 1,
            ColumnType::Int16 => 2,
            _ => 4,
        }
    }

    /// Its cells.
    ///
    /// # Errors
    /// `Invalid` for an unknown type.
    pub fn view(&self) -> Result<ColumnView<'_>> {
        Ok(ColumnView {
            dtype: self.column_type()?,
            rows: to_u64(self.samples()?),
            width: self.width,
            validity: self.validity.as_deref(),
            offsets: self.offsets.as_deref(),
            data: &self.data,
            codes: self.codes.as_deref(),
        })
    }

    /// The same values with one string per sample, for strings with codes and for times.
    ///
    /// # Errors
    /// `Invalid` for an unknown type.
    pub fn with_plain_strings(self) -> Result<Self> {
        let dtype = self.column_type()?;
        if self.codes.is_none() && !matches!(dtype, ColumnType::Time(_)) {
            return Ok(self);
        }
        let (mut data, mut offsets) = (Vec::new(), 0u64.to_le_bytes().to_vec());
        for i in 0..self.samples()? {
            if let Value::Str(text) = self.value(to_u64(i))? {
                data.extend_from_slice(text.as_bytes());
            }
            offsets.extend_from_slice(&to_u64(data.len()).to_le_bytes());
        }
        let (data, offsets) = (data.into(), Some(offsets.into()));
        Ok(Self { dtype: ColumnType::Utf8.name(), zone: None, data, offsets, codes: None, ..self })
    }

    /// The value of sample `i`, or null.
    ///
    /// # Errors
    /// `Invalid` past the end.
    pub fn value(&self, i: u64) -> Result<Value> {
        let past = || Error::invalid(format!("sample {i} is past the end of the column"));
        let view = self.view()?;
        if !view.is_valid(i).ok_or_else(past)? {
            return Ok(Value::Null);
        }
        if view.offsets.is_some() {
            return view.text(i).map(|text| Value::Str(text.to_owned()));
        }
        let cell = view.bytes(i).ok_or_else(past)?;
        Ok(cell_value(view.dtype, view.width, self.zone.as_deref(), cell))
    }

    /// The column as 64-bit integers; `None` if it holds anything but single integers, or one that is too large.
    pub fn as_int64(&self) -> Option<Self> {
        let (dtype, bytes) = (self.column_type().ok()?, self.cell_bytes().ok()?);
        let mut data = Vec::with_capacity(self.data.len() / bytes * size_of::<i64>());
        for cell in self.data.chunks_exact(bytes) {
            let Value::Int(value) = cell_value(dtype, self.width, None, cell) else { return None };
            data.extend_from_slice(&value.to_le_bytes());
        }
        Some(Self { dtype: ColumnType::Int64.name(), data: data.into(), ..self.clone() })
    }

    /// The Arrow field of the column; `None` for vectors that are too long for Arrow.
    ///
    /// # Errors
    /// `Invalid` for an unknown type.
    pub fn field(&self, name: &str) -> Result<Option<Field>> {
        let entries = self.codes.as_ref().map(|_| to_u64(self.strings()));
        let (dtype, zone) = (self.column_type()?, self.zone.as_deref());
        Ok(arrow_field(name, ArrowForm { dtype, width: self.width, zone, entries }))
    }

    /// The type of the column's cells.
    ///
    /// # Errors
    /// `Invalid` for an unknown type.
    pub fn column_type(&self) -> Result<ColumnType> {
        ColumnType::from_name(self.dtype).ok_or_else(|| Error::invalid(format!("a column of {}", self.dtype)))
    }

    /// The size of one cell in bytes.
    ///
    /// # Errors
    /// `Invalid` for strings.
    pub fn cell_bytes(&self) -> Result<usize> {
        let bytes = self.column_type()?.width().and_then(|width| width.checked_mul(self.width.unwrap_or(1)));
        let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
        bytes.ok_or_else(|| Error::invalid("strings have no common size"))
    }

    /// The column for the file of a view, with cells in the order `order`.
    ///
    /// # Errors
    /// `Invalid` for an unknown type.
    pub fn to_write(self, name: String, order: Option<Arc<Vec<u64>>>) -> Result<OwnColumn> {
        let dtype = self.column_type()?;
        let Self { width, data, validity, offsets, codes, .. } = self;
        let zone = self.zone.map(|zone| zone.to_string());
        Ok(OwnColumn { name, dtype, width, zone, data, offsets, codes, validity, order })
    }
}

/// The value in a cell that is not missing; vectors become arrays, and times become text.
pub fn cell_value(dtype: ColumnType, width: Option<u64>, zone: Option<&str>, cell: &[u8]) -> Value {
    if let Some(width) = width {
        let data = npy::vector(dtype.name(), width, cell).into();
        return Value::Blob { payload: Payload::Npy, data, media: false, path: None };
    }
    match (dtype.number(cell), dtype) {
        (Some(CellNumber::Bool(value)), _) => Value::Bool(value),
        (Some(CellNumber::Int(value)), _) => Value::Int(value),
        (Some(CellNumber::Uint(value)), _) => {
            i64::try_from(value).map_or_else(|_| Value::BigInt(value.to_string()), Value::Int)
        }
        (Some(CellNumber::Float(value)), _) => Value::Float(value),
        (None, ColumnType::Time(unit)) => {
            let count = cell.first_chunk().map_or(0, |count| i64::from_le_bytes(*count));
            Value::Str(timestamp_text(count, arrow_unit(unit), zone))
        }
        (None, _) => Value::Str(String::from_utf8_lossy(cell).into_owned()),
    }
}

fn arrow_unit(unit: TimeUnit) -> ArrowUnit {
    match unit {
        TimeUnit::Second => ArrowUnit::Second,
        TimeUnit::Millisecond => ArrowUnit::Millisecond,
        TimeUnit::Microsecond => ArrowUnit::Microsecond,
        TimeUnit::Nanosecond => ArrowUnit::Nanosecond,
    }
}

/// What determines the Arrow type of a column.
#[derive(Clone, Copy)]
pub struct ArrowForm<'a> {
    pub dtype: ColumnType,
    pub width: Option<u64>,
    pub zone: Option<&'a str>,
    /// The number of different strings that codes refer to; `None` without codes.
    pub entries: Option<u64>,
}

/// The Arrow field of a typed column; `None` for vectors that are too long for Arrow.
pub fn arrow_field(name: &str, form: ArrowForm<'_>) -> Option<Field> {
    let ArrowForm { dtype, width, zone, entries } = form;
    let item = match dtype {
        ColumnType::Bool => DataType::Boolean,
        ColumnType::Int8 => DataType::Int8,
        ColumnType::Int16 => DataType::Int16,
        ColumnType::Int32 => DataType::Int32,
        ColumnType::Int64 => DataType::Int64,
        ColumnType::Uint8 => DataType::UInt8,
        ColumnType::Uint16 => DataType::UInt16,
        ColumnType::Uint32 => DataType::UInt32,
        ColumnType::Uint64 => DataType::UInt64,
        ColumnType::Float16 => DataType::Float16,
        ColumnType::Float32 => DataType::Float32,
        ColumnType::Float64 => DataType::Float64,
        ColumnType::Time(unit) => DataType::Timestamp(arrow_unit(unit), zone.map(Arc::from)),
        ColumnType::Utf8 => match entries.map(code_type) {
            None => DataType::Utf8,
            Some(code) => {
                let keys = match code {
                    ColumnType::Int8 => DataType::Int8,
                    ColumnType::Int16 => DataType::Int16,
                    _ => DataType::Int32,
                };
                DataType::Dictionary(Box::new(keys), Box::new(DataType::Utf8))
            }
        },
    };
    let data_type = match width {
        None => item,
        Some(width) => {
            DataType::FixedSizeList(Arc::new(Field::new("item", item, true)), i32::try_from(width).ok()?)
        }
    };
    Some(Field::new(name, data_type, true))
}
