//! Rows of a batch as events. Types are resolved once per batch; a row then costs one pass and no allocation, and media
//! are slices of the batch's memory.

use crate::arrow::calendar;
use crate::arrow::column::{ArrowColumn, Data, members};
use crate::arrow::decimal;
use crate::arrow::features::Features;
use crate::arrow::iso_string::IsoText;
use arrow_array::{ArrowPrimitiveType, PrimitiveArray, RecordBatch};
use arrow_buffer::{ArrowNativeType, ScalarBuffer, ToByteSlice};
use bytes::Bytes;
use jinx_core::error::{Error, Result};
use jinx_core::row_events::{Blob, BlobData, Payload, Sink};
use std::fmt::{Display, Write};
use std::ops::Range;

/// Emits rows of one batch, in any order, any number of times.
pub struct RowEmitter {
    columns: Vec<(String, ArrowColumn)>,
    rows: usize,
}

impl RowEmitter {
    /// Resolves the columns of `batch`; `features` states which ones contain media.
    ///
    /// # Errors
    /// `Unsupported` for unions, intervals and names that occur twice; names the column.
    pub fn new(batch: &RecordBatch, features: &Features) -> Result<Self> {
        let schema = batch.schema_ref();
        let names = schema.fields().iter().map(|field| field.name().as_str());
        let columns = members(names.zip(batch.columns()), |name| features.column(name), 1)?;
        Ok(Self { columns, rows: batch.num_rows() })
    }

    /// The number of rows of the batch.
    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Emits row `row` as one dict.
    ///
    /// # Errors
    /// `Invalid` past the last row; errors of the sink, with the field's name.
    pub fn emit_row(&self, row: usize, sink: &mut impl Sink) -> Result<()> {
        if row >= self.rows {
            return Err(Error::invalid(format!("row {row} of a batch of {} rows", self.rows)));
        }
        emit_members(&self.columns, row, sink)
    }
}

fn emit_members(columns: &[(String, ArrowColumn)], row: usize, sink: &mut impl Sink) -> Result<()> {
    sink.begin_dict(columns.len())?;
    for (name, column) in columns {
        sink.key(name)?;
        column.emit(row, sink).map_err(|error| error.in_column(name))?;
    }
    sink.end_dict()
}

impl ArrowColumn {
    fn is_null(&self, row: usize) -> bool {
        matches!(self.data, Data::Null) || self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    fn emit(&self, row: usize, sink: &mut impl Sink) -> Result<()> {
        if self.is_null(row) {
            return sink.null();
        }
        match &self.data {
            Data::Null => sink.null(),
            Data::Bool(values) => sink.bool(values.value(row)),
            Data::Int8(values) => sink.int(values[row].into()),
            Data::Int16(values) => sink.int(values[row].into()),
            Data::Int32(values) => sink.int(values[row].into()),
            Data::Int64(values) => sink.int(values[row]),
            Data::Uint8(values) => sink.int(values[row].into()),
            Data::Uint16(values) => sink.int(values[row].into()),
            Data::Uint32(values) => sink.int(values[row].into()),
            Data::Uint64(values) => match i64::try_from(values[row]) {
                Ok(value) => sink.int(value),
                Err(_) => text(sink, |text| text.digits(values[row], 1), EmitForm::Integer),
            },
            Data::Float16(values) => sink.float(values[row].to_f64()),
            Data::Float32(values) => sink.float(values[row].into()),
            Data::Float64(values) => sink.float(values[row]),
            Data::Text(_) | Data::LargeText(_) | Data::TextView(_) => sink.str(self.text_at(row)),
            Data::Bytes(..) | Data::LargeBytes(..) | Data::BytesView(..) | Data::FixedBytes(..) => {
                sink.blob(Payload::Raw, Blob { data: self.bytes_at(row)?, media: false, path: None })
            }
            Data::Date32(values) => iso(sink, |text| calendar::write_date(text, values[row].into())),
            Data::Date64(values) => iso(sink, |text| calendar::write_date64(text, values[row])),
            Data::Time32(values, unit) => {
                iso(sink, |text| calendar::write_time(text, values[row].into(), *unit))
            }
            Data::Time64(values, unit) => iso(sink, |text| calendar::write_time(text, values[row], *unit)),
            Data::Timestamp(values, unit, zone) => {
                iso(sink, |text| calendar::write_timestamp(text, values[row], *unit, *zone))
            }
            Data::Decimal32(values) => emit_decimal(values, row, values.scale(), sink),
            Data::Decimal64(values) => emit_decimal(values, row, values.scale(), sink),
            Data::Decimal128(values) => emit_decimal(values, row, values.scale(), sink),
            Data::Decimal256(values) => emit_decimal(values, row, values.scale(), sink),
            Data::List(offsets, items) => emit_list(items, span(offsets, row), sink),
            Data::LargeList(offsets, items) => emit_list(items, span(offsets, row), sink),
            Data::FixedList(size, items) => emit_list(items, row * size..(row + 1) * size, sink),
            Data::ListView(offsets, sizes, items) => emit_list(items, view_span(offsets, sizes, row), sink),
            Data::LargeListView(offsets, sizes, items) => {
                emit_list(items, view_span(offsets, sizes, row), sink)
            }
            Data::Struct(columns) => emit_members(columns, row, sink),
            Data::Map(offsets, keys, values) => emit_map(keys, values, span(offsets, row), sink),
            Data::Media(bytes, path) => emit_media(bytes, path, row, sink),
            Data::Indirect(rows, values) => values.emit(rows[row], sink),
        }
    }

    /// The string at `row` in a string column, where it is not null.
    fn text_at(&self, row: usize) -> &str {
        match &self.data {
            Data::Text(values) => values.value(row),
            Data::LargeText(values) => values.value(row),
            Data::TextView(values) => values.value(row),
            _ => "",
        }
    }

    /// The bytes at `row` in a binary column, where they are not null.
    fn bytes_at(&self, row: usize) -> Result<BlobData<'_>> {
        let (data, range) = match &self.data {
            Data::Bytes(offsets, data) => (data, span(offsets, row)),
            Data::LargeBytes(offsets, data) => (data, span(offsets, row)),
            Data::FixedBytes(size, data) => (data, row * size..(row + 1) * size),
            Data::BytesView(views, buffers) => return view_at(&views[row], buffers),
            _ => return Err(Error::invalid("bytes were expected in this column")),
        };
        shared(data, range)
    }
}

fn shared(data: &Bytes, range: Range<usize>) -> Result<BlobData<'_>> {
    if range.start > range.end || range.end > data.len() {
        return Err(Error::corrupt("a value lies outside its Arrow buffer"));
    }
    Ok(BlobData::Shared(data.slice(range)))
}

/// A view has 16 bytes: the length, then up to 12 bytes of data, or 4 bytes of prefix, the buffer's number and the
/// offset.
fn view_at<'a>(view: &'a u128, buffers: &'a [Bytes]) -> Result<BlobData<'a>> {
    let raw = view.to_byte_slice();
    let part = |at: usize| -> Option<usize> {
        let bytes = raw.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_ne_bytes(bytes)).ok()
    };
    let broken = || Error::corrupt("a view lies outside its Arrow buffers");
    let length = part(0).ok_or_else(broken)?;
    if length <= 12 {
        return raw.get(4..4 + length).map(BlobData::Borrowed).ok_or_else(broken);
    }
    let (number, offset) = part(8).zip(part(12)).ok_or_else(broken)?;
    shared(buffers.get(number).ok_or_else(broken)?, offset..offset.saturating_add(length))
}

fn span<O: ArrowNativeType>(offsets: &[O], row: usize) -> Range<usize> {
    offsets[row].as_usize()..offsets[row + 1].as_usize()
}

fn view_span<O: ArrowNativeType>(
    offsets: &ScalarBuffer<O>,
    sizes: &ScalarBuffer<O>,
    row: usize,
) -> Range<usize> {
    let start = offsets[row].as_usize();
    start..start.saturating_add(sizes[row].as_usize())
}

fn emit_list(items: &ArrowColumn, range: Range<usize>, sink: &mut impl Sink) -> Result<()> {
    sink.begin_list(range.len())?;
    let first = range.start;
    for at in range {
        items.emit(at, sink).map_err(|error| error.in_column(&format!("[{}]", at - first)))?;
    }
    sink.end_list()
}

fn emit_map(
    keys: &ArrowColumn,
    values: &ArrowColumn,
    range: Range<usize>,
    sink: &mut impl Sink,
) -> Result<()> {
    sink.begin_list(range.len())?;
    for at in range {
        sink.begin_list(2)?;
        keys.emit(at, sink)?;
        values.emit(at, sink)?;
        sink.end_list()?;
    }
    sink.end_list()
}

fn emit_media(bytes: &ArrowColumn, path: &ArrowColumn, row: usize, sink: &mut impl Sink) -> Result<()> {
    let name = (!path.is_null(row)).then(|| path.text_at(row));
    if !bytes.is_null(row) {
        return sink.blob(Payload::Raw, Blob { data: bytes.bytes_at(row)?, media: true, path: name });
    }
    if let Some(name) = name {
        return sink.media_path(name);
    }
    // A struct with neither member differs from null, so it is kept.
    sink.begin_dict(2)?;
    sink.key("bytes")?;
    sink.null()?;
    sink.key("path")?;
    sink.null()?;
    sink.end_dict()
}

enum EmitForm {
    Text,
    Integer,
}

fn text(sink: &mut impl Sink, write: impl FnOnce(&mut IsoText), form: EmitForm) -> Result<()> {
    let mut buffer = IsoText::new();
    write(&mut buffer);
    match form {
        EmitForm::Text => sink.str(buffer.as_str()),
        EmitForm::Integer => sink.big_int(buffer.as_str()),
    }
}

fn iso(sink: &mut impl Sink, write: impl FnOnce(&mut IsoText)) -> Result<()> {
    text(sink, write, EmitForm::Text)
}

fn emit_decimal<T>(values: &PrimitiveArray<T>, row: usize, scale: i8, sink: &mut impl Sink) -> Result<()>
where
    T: ArrowPrimitiveType<Native: Display>,
{
    let mut unscaled = IsoText::new();
    // The buffer has room for all digits of 256 bits.
    let _ = write!(unscaled, "{}", values.value(row));
    iso(sink, |text| decimal::write(text, unscaled.as_str(), scale))
}
