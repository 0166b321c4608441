//! Time zones of columns whose unit Parquet does not have.
//!
//! The Arrow schema kept in a file names the zone, but the Parquet reader uses it only when the unit is the same:
//! seconds, which are stored as milliseconds, would come back in UTC.

use crate::arrow::schema::decode_schema;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::file::metadata::ParquetMetaData;
use std::sync::Arc;

/// The schema with the zones stated in the file; `None` if nothing changes.
pub(crate) fn restored(read: &Schema, metadata: &ParquetMetaData) -> Option<SchemaRef> {
    let notes = metadata.file_metadata().key_value_metadata()?;
    let kept = notes.iter().find(|note| note.key == ARROW_SCHEMA_META_KEY)?.value.as_deref()?;
    let kept = decode_schema(kept).ok()?;
    let changed = fields(read.fields(), kept.fields())?;
    Some(Arc::new(Schema::new_with_metadata(changed, read.metadata().clone())))
}

fn fields(read: &Fields, kept: &Fields) -> Option<Fields> {
    if read.len() != kept.len() {
        return None;
    }
    let changed: Vec<Option<FieldRef>> =
        read.iter().zip(kept).map(|(read, kept)| field(read, kept)).collect();
    if changed.iter().all(Option::is_none) {
        return None;
    }
    Some(
        changed
            .into_iter()
            .zip(read)
            .map(|(changed, read)| changed.unwrap_or_else(|| Arc::clone(read)))
            .collect(),
    )
}

fn field(read: &FieldRef, kept: &FieldRef) -> Option<FieldRef> {
    let data_type = match (read.data_type(), kept.data_type()) {
        (DataType::Timestamp(unit, Some(zone)), DataType::Timestamp(other, Some(kept)))
            if unit != other && zone != kept =>
        {
            DataType::Timestamp(*unit, Some(Arc::clone(kept)))
        }
        (DataType::Struct(read), DataType::Struct(kept)) => DataType::Struct(fields(read, kept)?),
        (DataType::List(read), DataType::List(kept)) => DataType::List(field(read, kept)?),
        (DataType::LargeList(read), DataType::LargeList(kept)) => DataType::LargeList(field(read, kept)?),
        (DataType::FixedSizeList(read, size), DataType::FixedSizeList(kept, _)) => {
            DataType::FixedSizeList(field(read, kept)?, *size)
        }
        (DataType::Map(read, sorted), DataType::Map(kept, _)) => DataType::Map(field(read, kept)?, *sorted),
        _ => return None,
    };
    Some(Arc::new(Field::clone(read).with_data_type(data_type)))
}
