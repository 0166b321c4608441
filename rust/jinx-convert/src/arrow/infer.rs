//! Infers a schema for rows without one: one type per field that can represent every row, or an error that says why
//! there is none.

mod field_type;
mod finish;

use crate::arrow::describe::describe;
use crate::arrow::features::MediaPath;
use arrow_schema::SchemaRef;
use field_type::InferredField;
pub(crate) use field_type::InferredType;
use jinx_core::error::{Error, Result};
use jinx_core::value::Value;

/// What inference may do in addition to exact promotion.
#[derive(Debug, Clone, Default)]
pub struct InferOptions {
    /// Fields that are known to contain media.
    pub media: Vec<MediaPath>,
    /// Keep a field of mixed kinds as JSON text instead of failing.
    pub mixed_json: bool,
    /// Use 64-bit offsets for strings and bytes, for batches over 2 GiB.
    pub large: bool,
    /// Leave out a column whose values have no common type instead of failing.
    pub leave_out: bool,
}

/// Observes rows one by one; only the schema takes memory.
///
/// Kinds are promoted null < anything, and integers < float64 where every integer is exact; integers past
/// int64 make uint64. InferredMembers of dicts are united, lists may be ragged, numpy arrays become nested lists of
/// their dtype.
#[derive(Clone)]
pub struct SchemaInference {
    options: InferOptions,
    root: InferredField,
}

impl SchemaInference {
    pub fn new(options: InferOptions) -> Self {
        let mut root = InferredField::default();
        root.kind = InferredType::empty_dict();
        for (path, media) in &options.media {
            root.mark_media(path, media);
        }
        Self { options, root }
    }

    /// Observes one row.
    ///
    /// # Errors
    /// `Mismatch` with the path and the two kinds when they do not mix; `Limit` for too many member names
    /// or lists and dicts that readers of tables refuse; naming the column.
    pub fn observe(&mut self, row: &Value) -> Result<()> {
        match row {
            Value::Dict(members) if self.options.leave_out => {
                self.root.observe_columns(members, self.options.mixed_json)
            }
            Value::Dict(_) => self.root.observe(row, self.options.mixed_json),
            other => Err(Error::mismatch(format!("{} is not a row; a row is a dict", describe(other)))),
        }
    }

    /// The schema, with Hugging Face's metadata if there are media.
    ///
    /// # Errors
    /// `Mismatch` for integers that fit no type, `Unsupported` for dicts that never had a member; names the path.
    pub fn finish(&self) -> Result<SchemaRef> {
        finish::schema(&self.root, &self.options)
    }
}
