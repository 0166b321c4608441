//! The Arrow schema of a dataset.

use crate::dataset::Dataset;
use arrow_schema::{Schema, SchemaRef};
use jinx_convert::arrow::infer::InferOptions;
use jinx_convert::arrow::{SchemaInference, decode_schema, encode_schema};
use jinx_core::Result;
use jinx_core::checked_math::to_u64;
use jinx_core::value::TreeBuilder;
use std::sync::Arc;

impl Dataset {
    /// The schema that the samples were written from, or one inferred from all of them. With `mixed_json`, columns of
    /// mixed types count as JSON.
    ///
    /// # Errors
    /// Read errors; `Mismatch` for a column of mixed types.
    pub fn schema(&self, mixed_json: bool) -> Result<SchemaRef> {
        let types = self.rows.arrow_types()?;
        if let Some(text) = types.schema {
            return self.projected(&decode_schema(&text)?);
        }
        let mut inference =
            SchemaInference::new(InferOptions { media: types.media, mixed_json, large: false });
        // Without samples, it has the types of all rows.
        let whole = Self::of(Arc::clone(&self.rows));
        let seen = if self.is_empty() { &whole } else { self };
        for i in 0..seen.len() {
            let mut tree = TreeBuilder::without_bytes();
            seen.rows.emit(seen.position(i), &mut tree)?;
            inference.observe(&tree.take()?).map_err(|error| error.in_sample(to_u64(i)))?;
        }
        self.projected(&*inference.finish()?)
    }

    /// The schema as text, as a footer has it. Columns of mixed types count as JSON.
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
