//! From the observed values to Arrow fields and Hugging Face's features.

use crate::arrow::features::METADATA_KEY;
use crate::arrow::infer::InferOptions;
use crate::arrow::infer::field_type::{InferredField, InferredType, Range};
use crate::arrow::json_string::JSON_KEY;
use crate::arrow::npy::Element;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use jinx_core::error::{Cause, Error, Result};
use jinx_core::row_events::Dtype;
use serde_json::{Map, Value as Json, json};
use std::collections::HashMap;
use std::sync::Arc;

/// Arrow's and `datasets`' own name for the elements of a list.
const ELEMENT: &str = "item";

pub(crate) fn schema(root: &InferredField, options: &InferOptions) -> Result<SchemaRef> {
    let InferredType::Dict(members) = &root.kind else {
        return Err(Error::mismatch("rows are dicts"));
    };
    let mut features = Map::new();
    let mut any_media = false;
    let mut fields = Vec::new();
    for (name, node) in members.iter().filter(|(_, node)| !node.is_left_out) {
        let field = match field(name, node, options) {
            Err(error) if options.leave_out && lacks_type(&error) => continue,
            field => field?,
        };
        features.insert(name.clone(), feature(node, field.data_type(), &mut any_media));
        fields.push(field);
    }
    let mut metadata = HashMap::new();
    if any_media {
        metadata.insert(METADATA_KEY.to_owned(), json!({"info": {"features": features}}).to_string());
    }
    Ok(Arc::new(Schema::new_with_metadata(fields, metadata)))
}

/// Whether values have no common type although they are not damaged.
pub(crate) fn lacks_type(error: &Error) -> bool {
    matches!(error.cause(), Cause::Mismatch | Cause::Unsupported | Cause::Limit)
}

fn field(name: &str, node: &InferredField, options: &InferOptions) -> Result<Field> {
    let data_type = data_type(node, options).map_err(|error| error.in_column(name))?;
    Ok(marked(Field::new(name, data_type, true), node, options))
}

fn marked(field: Field, node: &InferredField, options: &InferOptions) -> Field {
    match kept_as_json(node, options) {
        true => field.with_metadata([(JSON_KEY.to_owned(), "json".to_owned())]),
        false => field,
    }
}

/// Keeps a dict that never had a member as JSON text: Parquet cannot store it in another way.
fn kept_as_json(node: &InferredField, options: &InferOptions) -> bool {
    match &node.kind {
        InferredType::Json => true,
        InferredType::Dict(members) => options.mixed_json && members.is_empty(),
        InferredType::Number(range) => options.mixed_json && number(*range).is_err(),
        _ => false,
    }
}

fn data_type(node: &InferredField, options: &InferOptions) -> Result<DataType> {
    let list = |element: Field| DataType::List(Arc::new(element));
    let text = if options.large { DataType::LargeUtf8 } else { DataType::Utf8 };
    let bytes = if options.large { DataType::LargeBinary } else { DataType::Binary };
    Ok(match &node.kind {
        _ if kept_as_json(node, options) => text,
        InferredType::Media => media_struct(),
        InferredType::Null | InferredType::Bytes if node.media.is_some() => media_struct(),
        InferredType::Null => DataType::Null,
        InferredType::Bool => DataType::Boolean,
        InferredType::Number(range) => number(*range)?,
        InferredType::Scalar(dtype, _) => scalar(*dtype),
        InferredType::Text | InferredType::Json => text,
        InferredType::Bytes => bytes,
        InferredType::List(element) => {
            let inner = data_type(element, options).map_err(|error| error.in_column("[]"))?;
            list(marked(Field::new(ELEMENT, inner, true), element, options))
        }
        InferredType::Dict(members) if members.is_empty() => {
            return Err(Error::unsupported(
                "the dict has no member in any row, which Parquet cannot store; drop the column or keep it as JSON text",
            ));
        }
        InferredType::Dict(members) => {
            let fields = members.iter().map(|(name, node)| field(name, node, options));
            DataType::Struct(fields.collect::<Result<Vec<_>>>()?.into())
        }
        InferredType::Array(element, dimensions) => {
            (0..*dimensions).fold(array_element(*element), |inner, _| list(Field::new(ELEMENT, inner, true)))
        }
    })
}

/// The type that `datasets` stores for every media feature.
fn media_struct() -> DataType {
    let members = [Field::new("bytes", DataType::Binary, true), Field::new("path", DataType::Utf8, true)];
    DataType::Struct(Fields::from_iter(members))
}

pub(super) fn number(range: Range) -> Result<DataType> {
    if range.floats {
        return match range.inexact {
            None => Ok(DataType::Float64),
            Some(value) => Err(Error::mismatch(format!(
                "rows mix floats with the integer {value}, which no float64 equals; make them all floats or all integers"
            ))),
        };
    }
    let (low, high) = range.ints.unwrap_or((0, 0));
    if i64::try_from(low).is_ok() && i64::try_from(high).is_ok() {
        Ok(DataType::Int64)
    } else if u64::try_from(low).is_ok() && u64::try_from(high).is_ok() {
        Ok(DataType::UInt64)
    } else {
        Err(Error::mismatch(format!(
            "integers from {low} to {high} fit neither int64 nor uint64; store the column as strings"
        )))
    }
}

fn scalar(dtype: Dtype) -> DataType {
    match dtype {
        Dtype::Int8 => DataType::Int8,
        Dtype::Int16 => DataType::Int16,
        Dtype::Int32 => DataType::Int32,
        Dtype::Int64 => DataType::Int64,
        Dtype::Uint8 => DataType::UInt8,
        Dtype::Uint16 => DataType::UInt16,
        Dtype::Uint32 => DataType::UInt32,
        Dtype::Uint64 => DataType::UInt64,
        Dtype::Float32 => DataType::Float32,
        Dtype::Float64 => DataType::Float64,
    }
}

fn array_element(element: Element) -> DataType {
    match element {
        Element::Bool => DataType::Boolean,
        Element::Int(1) => DataType::Int8,
        Element::Int(2) => DataType::Int16,
        Element::Int(4) => DataType::Int32,
        Element::Int(_) => DataType::Int64,
        Element::Uint(1) => DataType::UInt8,
        Element::Uint(2) => DataType::UInt16,
        Element::Uint(4) => DataType::UInt32,
        Element::Uint(_) => DataType::UInt64,
        Element::Float(2) => DataType::Float16,
        Element::Float(4) => DataType::Float32,
        Element::Float(_) => DataType::Float64,
    }
}

/// The feature that `datasets` would write; lists have a form that old and new versions can read.
fn feature(node: &InferredField, data_type: &DataType, any_media: &mut bool) -> Json {
    let element = |inner: &Field, node: Option<&InferredField>, any_media: &mut bool| match node {
        Some(node) => feature(node, inner.data_type(), any_media),
        None => feature(&InferredField::default(), inner.data_type(), any_media),
    };
    match (data_type, &node.kind) {
        (DataType::Struct(_), InferredType::Media | InferredType::Null | InferredType::Bytes) => {
            match &node.media {
                Some(media) => {
                    *any_media = true;
                    media.feature_json.clone()
                }
                None => json!({"bytes": value("binary"), "path": value("string")}),
            }
        }
        (DataType::Struct(fields), InferredType::Dict(members)) => {
            let features = members
                .iter()
                .zip(fields)
                .map(|((name, node), field)| (name.clone(), feature(node, field.data_type(), any_media)));
            Json::Object(features.collect())
        }
        (DataType::List(inner), InferredType::List(node)) => json!([element(inner, Some(node), any_media)]),
        (DataType::List(inner), _) => json!([element(inner, None, any_media)]),
        (other, _) => value(match other {
            DataType::Null => "null",
            DataType::Boolean => "bool",
            DataType::Int8 => "int8",
            DataType::Int16 => "int16",
            DataType::Int32 => "int32",
            DataType::Int64 => "int64",
            DataType::UInt8 => "uint8",
            DataType::UInt16 => "uint16",
            DataType::UInt32 => "uint32",
            DataType::UInt64 => "uint64",
            DataType::Float16 => "float16",
            DataType::Float32 => "float32",
            DataType::Float64 => "float64",
            DataType::LargeUtf8 => "large_string",
            DataType::Binary => "binary",
            DataType::LargeBinary => "large_binary",
            _ => "string",
        }),
    }
}

fn value(dtype: &str) -> Json {
    json!({"dtype": dtype, "_type": "Value"})
}
