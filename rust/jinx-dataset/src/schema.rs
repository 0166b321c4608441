//! The Arrow schema of a dataset.

use crate::dataset::Dataset;
use arrow_schema::{Field, Schema, SchemaRef};
use jinx_convert::arrow::infer::InferOptions;
use jinx_convert::arrow::{SchemaInference, decode_schema, encode_schema};
use jinx_core::Result;
use jinx_core::checked_math::to_u64;
use jinx_core::row_events::Sink;
use jinx_core::value::TreeBuilder;
use std::sync::Arc;

impl Dataset {
    /// The schema with which the samples were written, or one inferred from all of them. With `mixed_json`, columns of
    /// mixed types count as JSON.
    ///
    /// # Errors
    /// Read errors; `Mismatch` for a column of mixed types, if there are samples.
    pub fn schema(&self, mixed_json: bool) -> Result<SchemaRef> {
        let types = self.rows.arrow_types()?;
        if let Some(text) = types.schema {
            return self.projected(&decode_schema(&text)?);
        }
        // Without samples, the schema comes from all rows. Values that nobody selected must not cause errors, so a
        // column without a common type is left out.
        let leave_out = self.is_empty();
        let mut inference =
            SchemaInference::new(InferOptions { media: types.media, mixed_json, large: false, leave_out });
        let whole = Self::of(Arc::clone(&self.rows));
        let seen = if self.is_empty() { &whole } else { self };
        let is_open = |name: &str| types.typed.iter().all(|field| field.name() != name);
        for i in 0..seen.len() {
            let mut tree = TreeBuilder::without_bytes();
            tree.begin_dict(0)?;
            seen.rows.emit_members(seen.position(i), &is_open, &mut tree)?;
            tree.end_dict()?;
            inference.observe(&tree.take()?).map_err(|error| error.in_sample(to_u64(i)))?;
        }
        let inferred = inference.finish()?;
        if types.typed.is_empty() {
            return self.projected(&inferred);
        }
        let names = self.rows.column_names()?;
        let mut fields: Vec<_> = inferred.fields().iter().map(|field| Field::clone(field)).collect();
        fields.extend(types.typed);
        fields.sort_by_key(|field| names.iter().position(|name| name == field.name()).unwrap_or(usize::MAX));
        self.projected(&Schema::new_with_metadata(fields, inferred.metadata().clone()))
    }

    /// The schema as text, in the form used in footers. Columns of mixed types count as JSON.
    ///
    /// # Errors
    /// Read errors.
    pub fn schema_text(&self) -> Result<String> {
        self.schema(true).map(|schema| encode_schema(&schema))
    }

    fn projected(&self, schema: &Schema) -> Result<SchemaRef> {
        let Some(names) = &self.rows.projection().columns else { return Ok(Arc::new(schema.clone())) };
        let fields: Vec<_> = names
            .iter()
            .filter_map(|name| schema.fields().iter().find(|field| field.name() == name).cloned())
            .collect();
        Ok(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
    }
}
