//! Writes batches to a Parquet file that pyarrow and `datasets` read with the same types and features.

use crate::arrow::failure::from_parquet;
use crate::arrow::nesting::check_nesting;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema, SchemaRef};
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter};
use parquet::basic::{BrotliLevel, Compression, GzipLevel, LogicalType, Type, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnDescriptor;
use std::io::Write;

/// The number of rows between two checks of a page's size; media rows are large, so pages could far exceed their limit.
const ROWS_PER_SIZE_CHECK: usize = 64;

/// How pages are compressed. Levels are those of the codec; out of range they are an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParquetCompression {
    None,
    Snappy,
    Lz4,
    Zstd(i32),
    Gzip(u32),
    Brotli(u32),
}

impl ParquetCompression {
    /// `none`, `snappy`, `lz4`, `zstd`, `gzip` or `brotli`, the last three with an optional `:LEVEL`.
    ///
    /// # Errors
    /// `Invalid` for any other text.
    pub fn parse(text: &str) -> Result<Self> {
        let bad = || {
            Error::invalid(format!(
                "unknown Parquet compression '{text}'; use none, snappy, lz4, zstd, gzip or brotli, with :LEVEL"
            ))
        };
        let (name, level) = match text.split_once(':') {
            Some((name, level)) => (name, Some(level)),
            None => (text, None),
        };
        let number = |default: u32| level.map_or(Ok(default), |level| level.parse().map_err(|_| bad()));
        match (name, level) {
            ("none", None) => Ok(Self::None),
            ("snappy", None) => Ok(Self::Snappy),
            ("lz4", None) => Ok(Self::Lz4),
            ("zstd", _) => Ok(Self::Zstd(level.map_or(Ok(3), |level| level.parse().map_err(|_| bad()))?)),
            ("gzip", _) => Ok(Self::Gzip(number(6)?)),
            ("brotli", _) => Ok(Self::Brotli(number(4)?)),
            _ => Err(bad()),
        }
    }

    fn codec(self) -> Result<Compression> {
        let level = |error: parquet::errors::ParquetError| Error::invalid(error.to_string());
        Ok(match self {
            Self::None => Compression::UNCOMPRESSED,
            Self::Snappy => Compression::SNAPPY,
            Self::Lz4 => Compression::LZ4_RAW,
            Self::Zstd(value) => Compression::ZSTD(ZstdLevel::try_new(value).map_err(level)?),
            Self::Gzip(value) => Compression::GZIP(GzipLevel::try_new(value).map_err(level)?),
            Self::Brotli(value) => Compression::BROTLI(BrotliLevel::try_new(value).map_err(level)?),
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParquetOptions {
    pub compression: ParquetCompression,
    /// The number of encoded bytes after which a row group is closed; the writer keeps about as much in memory.
    pub row_group_bytes: usize,
}

impl Default for ParquetOptions {
    fn default() -> Self {
        Self { compression: ParquetCompression::Snappy, row_group_bytes: 64 << 20 }
    }
}

/// Writes one Parquet file to any writer.
pub struct ParquetSink<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: SchemaRef,
    row_group_bytes: usize,
    rows: u64,
}

impl<W: Write + Send> ParquetSink<W> {
    /// # Errors
    /// `Unsupported` for a type that Parquet cannot store and `Limit` for one that its readers refuse, naming the
    /// column; `Invalid` for a wrong level.
    pub fn create(writer: W, schema: SchemaRef, options: ParquetOptions) -> Result<Self> {
        for field in schema.fields() {
            storable(field.data_type()).map_err(|error| error.in_column(field.name()))?;
        }
        check_nesting(&schema)?;
        let properties = properties(&schema, options)?;
        let writer = ArrowWriter::try_new(writer, schema.clone(), Some(properties)).map_err(write_error)?;
        Ok(Self { writer, schema, row_group_bytes: options.row_group_bytes.max(1), rows: 0 })
    }

    /// Adds the rows of `batch`, which must have the schema's columns.
    ///
    /// # Errors
    /// `Mismatch` for other columns; `Io` from the writer.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.schema_ref().fields() != self.schema.fields() {
            return Err(Error::mismatch("the batch has other columns than the Parquet file"));
        }
        // In small steps, so that a large batch does not exceed the limit of the row group.
        let mut start = 0;
        while start < batch.num_rows() {
            let length = ROWS_PER_SIZE_CHECK.min(batch.num_rows() - start);
            self.writer.write(&batch.slice(start, length)).map_err(write_error)?;
            if self.writer.in_progress_size() >= self.row_group_bytes {
                self.writer.flush().map_err(write_error)?;
            }
            start += length;
        }
        self.rows = self.rows.saturating_add(to_u64(batch.num_rows()));
        Ok(())
    }

    /// Writes the rest and the footer; returns the writer, which must then be synced and published.
    ///
    /// # Errors
    /// `Io` from the writer.
    pub fn close(self) -> Result<W> {
        self.writer.into_inner().map_err(write_error)
    }

    /// The number of rows written so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }
}

fn properties(schema: &Schema, options: ParquetOptions) -> Result<WriterProperties> {
    let mut metadata: Vec<_> = schema.metadata().iter().collect();
    metadata.sort();
    let metadata =
        metadata.into_iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
    let mut properties = WriterProperties::builder()
        .set_compression(options.compression.codec()?)
        .set_write_batch_size(ROWS_PER_SIZE_CHECK)
        .set_created_by(concat!("jinx ", env!("CARGO_PKG_VERSION")).to_owned())
        // Write it to the footer too, where other readers look for Hugging Face's features.
        .set_key_value_metadata(Some(metadata));
    let leaves = ArrowSchemaConverter::new().convert(schema).map_err(from_parquet)?;
    for leaf in leaves.columns().iter().filter(|leaf| is_plain_bytes(leaf)) {
        // No dictionary or statistics: media values never repeat, and their minimum and maximum are useless.
        properties = properties
            .set_column_dictionary_enabled(leaf.path().clone(), false)
            .set_column_statistics_enabled(leaf.path().clone(), EnabledStatistics::None);
    }
    Ok(properties.build())
}

fn is_plain_bytes(leaf: &ColumnDescriptor) -> bool {
    let text = matches!(
        leaf.logical_type_ref(),
        Some(LogicalType::String | LogicalType::Json | LogicalType::Decimal { .. })
    );
    leaf.physical_type() == Type::BYTE_ARRAY && !text
}

/// Refuses types that Parquet does not have, before a file is created.
fn storable(data_type: &DataType) -> Result<()> {
    match data_type {
        DataType::Struct(fields) if fields.is_empty() => Err(Error::unsupported(
            "Parquet cannot store a dict without members; drop the column or keep it as JSON text",
        )),
        DataType::Struct(fields) => fields
            .iter()
            .try_for_each(|field| storable(field.data_type()).map_err(|error| error.in_column(field.name()))),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::ListView(field)
        | DataType::LargeListView(field) => {
            storable(field.data_type()).map_err(|error| error.in_column("[]"))
        }
        DataType::Map(field, _) => storable(field.data_type()),
        DataType::Dictionary(_, values) => storable(values),
        DataType::RunEndEncoded(_, values) => storable(values.data_type()),
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale)
            if *scale < 0 =>
        {
            Err(Error::unsupported("Parquet cannot store decimals of negative scale; cast the column first"))
        }
        DataType::FixedSizeBinary(0) => {
            Err(Error::unsupported("Parquet cannot store bytes of fixed length 0; cast the column to binary"))
        }
        DataType::Union(..) => Err(Error::unsupported("Parquet cannot store unions")),
        _ => Ok(()),
    }
}

/// An error from writing; unlike an error from reading, it never means a damaged file.
fn write_error(error: parquet::errors::ParquetError) -> Error {
    let error = from_parquet(error);
    match error.cause() {
        jinx_core::Cause::Corrupt | jinx_core::Cause::Truncated => {
            Error::unsupported(format!("Parquet cannot store this: {}", error.what()))
        }
        _ => error,
    }
}
