//! The schema with which binary columns are read as views, so that pages are shared instead of copied.

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use std::sync::Arc;

pub(crate) fn with_binary_views(schema: &Schema) -> SchemaRef {
    Arc::new(Schema::new_with_metadata(fields(schema.fields()), schema.metadata().clone()))
}

fn fields(fields: &Fields) -> Fields {
    fields.iter().map(field).collect()
}

fn field(field: &FieldRef) -> FieldRef {
    let inner = |list: &FieldRef| self::field(list);
    let data_type = match field.data_type() {
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        DataType::List(item) => DataType::List(inner(item)),
        DataType::LargeList(item) => DataType::LargeList(inner(item)),
        DataType::Struct(members) => DataType::Struct(fields(members)),
        // Other types contain no media and stay unchanged.
        _ => return field.clone(),
    };
    Arc::new(Field::clone(field).with_data_type(data_type))
}
