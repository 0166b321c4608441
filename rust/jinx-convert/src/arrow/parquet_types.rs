//! The types that a Parquet file can restore: an unsupported type becomes the nearest supported one.
//!
//! Parquet has no seconds and no dates in milliseconds; a column of these would come back as bare integers. They are
//! written as pyarrow writes them: seconds as milliseconds, such dates as days.

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use std::sync::Arc;

pub(crate) fn storable(schema: &Schema) -> SchemaRef {
    Arc::new(Schema::new_with_metadata(fields(schema.fields()), schema.metadata().clone()))
}

fn fields(fields: &Fields) -> Fields {
    fields.iter().map(field).collect()
}

fn field(field: &FieldRef) -> FieldRef {
    let data_type = data_type(field.data_type());
    if data_type == *field.data_type() {
        return Arc::clone(field);
    }
    Arc::new(Field::clone(field).with_data_type(data_type))
}

fn data_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Date64 => DataType::Date32,
        DataType::Time32(TimeUnit::Second) => DataType::Time32(TimeUnit::Millisecond),
        DataType::Timestamp(TimeUnit::Second, zone) => {
            DataType::Timestamp(TimeUnit::Millisecond, zone.clone())
        }
        DataType::Struct(members) => DataType::Struct(fields(members)),
        DataType::List(item) => DataType::List(field(item)),
        DataType::LargeList(item) => DataType::LargeList(field(item)),
        DataType::ListView(item) => DataType::ListView(field(item)),
        DataType::LargeListView(item) => DataType::LargeListView(field(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(field(item), *size),
        DataType::Map(entries, sorted) => DataType::Map(field(entries), *sorted),
        DataType::Dictionary(keys, values) => {
            DataType::Dictionary(keys.clone(), Box::new(self::data_type(values)))
        }
        DataType::RunEndEncoded(ends, values) => DataType::RunEndEncoded(ends.clone(), field(values)),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_milliseconds_at_any_depth() {
        let seconds = DataType::Timestamp(TimeUnit::Second, Some("Europe/Paris".into()));
        let item = Arc::new(Field::new("item", seconds, true));
        let schema = Schema::new(vec![
            Field::new("a", DataType::List(item), true),
            Field::new("b", DataType::Date64, false),
            Field::new("c", DataType::Utf8, false),
        ]);
        let stored = storable(&schema);
        let DataType::List(item) = stored.field(0).data_type() else {
            return assert_eq!(stored.field(0), schema.field(0));
        };
        assert_eq!(
            *item.data_type(),
            DataType::Timestamp(TimeUnit::Millisecond, Some("Europe/Paris".into()))
        );
        assert_eq!(stored.field(1), &Field::new("b", DataType::Date32, false));
        assert_eq!(stored.field(2), schema.field(2));
    }
}
