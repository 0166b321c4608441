//! What a first pass over rows that have no schema looks at, to infer one.

use crate::infer::SchemaInference;
use bytes::Bytes;
use jinx_core::convert::Findings;
use jinx_core::error::Result;
use jinx_core::sink::Payload;
use jinx_core::value::Value;

impl Findings for SchemaInference {
    fn observe(&mut self, row: &Value) -> Result<()> {
        Self::observe(self, row)
    }

    /// A schema does not depend on the content of plain bytes.
    fn lighten(row: &mut Value) {
        match row {
            Value::Blob { payload: Payload::Raw, data, .. } => *data = Bytes::new(),
            Value::List(items) => items.iter_mut().for_each(Self::lighten),
            Value::Dict(members) => members.iter_mut().for_each(|(_, value)| Self::lighten(value)),
            _ => {}
        }
    }
}
