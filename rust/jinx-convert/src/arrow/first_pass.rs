//! The first pass over rows without a schema, to infer one.

use crate::Findings;
use crate::arrow::infer::SchemaInference;
use jinx_core::error::Result;
use jinx_core::value::{TreeBuilder, Value};

impl Findings for SchemaInference {
    fn observe(&mut self, row: &Value) -> Result<()> {
        Self::observe(self, row)
    }

    /// Replaces plain bytes, because a schema does not depend on their content.
    fn tree() -> TreeBuilder {
        TreeBuilder::without_bytes()
    }
}
