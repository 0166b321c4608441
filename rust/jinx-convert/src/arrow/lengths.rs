//! The settings of counted lengths in the metadata of a schema, where Parquet and Arrow store them.

use arrow_schema::{Schema, SchemaRef};
use jinx_core::error::Result;
use jinx_format::meta::Meta;
use std::sync::Arc;

/// The key in the metadata of a schema.
const KEY: &str = "jinx.annotate";
/// A table that lacks any of these columns has no lengths.
const LENGTHS: [&str; 2] = ["num_tokens", "input_ids"];

/// The schema with the settings returned by `meta`, which is called only if there are lengths.
///
/// # Errors
/// The errors of `meta`.
pub fn with_lengths(schema: SchemaRef, meta: impl FnOnce() -> Result<Meta>) -> Result<SchemaRef> {
    if LENGTHS.iter().all(|name| schema.field_with_name(name).is_err()) {
        return Ok(schema);
    }
    let meta = meta()?;
    let Some(text) = meta.lengths() else { return Ok(schema) };
    let mut metadata = schema.metadata().clone();
    metadata.insert(KEY.to_owned(), text.to_owned());
    Ok(Arc::new(Schema::new_with_metadata(schema.fields().clone(), metadata)))
}

/// The schema without the settings of lengths, and these settings; damaged text counts as missing.
pub fn take_lengths(schema: &SchemaRef) -> (SchemaRef, Meta) {
    let mut metadata = schema.metadata().clone();
    let Some(text) = metadata.remove(KEY) else { return (Arc::clone(schema), Meta::default()) };
    let meta = Meta::of_lengths(&text).unwrap_or_default();
    (Arc::new(Schema::new_with_metadata(schema.fields().clone(), metadata)), meta)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use arrow_schema::{DataType, Field};
    use std::collections::HashMap;

    #[test]
    fn lengths_take_their_way_of_counting_along() {
        let field = |name: &str| Field::new(name, DataType::Int64, true);
        let plain = Arc::new(Schema::new(vec![field("num_tokens"), field("id")]));
        let meta = Meta::parse(r#"{"annotate":{"rule":4},"a":1}"#).unwrap();
        let kept = with_lengths(Arc::clone(&plain), || Ok(meta.clone())).unwrap();
        let (schema, found) = take_lengths(&kept);
        assert_eq!((schema, found.as_str()), (plain, r#"{"annotate":{"rule":4}}"#));
        let other = Arc::new(Schema::new(vec![field("id")]));
        assert_eq!(with_lengths(Arc::clone(&other), || Ok(meta)).unwrap(), other);
        let metadata = HashMap::from([(KEY.to_owned(), "{".to_owned())]);
        let damaged = Schema::new_with_metadata(vec![field("id")], metadata);
        assert_eq!(take_lengths(&Arc::new(damaged)), (other, Meta::default()));
    }
}
