//! A first pass over rows that have no schema, to infer one.

use crate::infer::{InferOptions, SchemaInference};
use arrow_schema::SchemaRef;
use bytes::Bytes;
use jinx_core::convert::{ChunkEncoder, RowTarget, Summary};
use jinx_core::error::Result;
use jinx_core::num::to_u64;
use jinx_core::sink::{Payload, Sink};
use jinx_core::value::{TreeBuilder, Value};
use std::sync::{Arc, Mutex, PoisonError};

/// What one value costs beside its bytes.
const VALUE_BYTES: u64 = 64;

/// Looks at rows and writes nothing. Clones look at the same.
#[derive(Clone)]
pub(crate) struct Observer(Arc<Mutex<SchemaInference>>);

impl Observer {
    pub(crate) fn new(options: InferOptions) -> Self {
        Self(Arc::new(Mutex::new(SchemaInference::new(options))))
    }

    /// The schema that fits all rows.
    pub(crate) fn schema(&self) -> Result<SchemaRef> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).finish()
    }
}

impl RowTarget for Observer {
    type Part = Vec<Value>;
    type Encoder = Trees;

    fn encoder(&self) -> Result<Trees> {
        Ok(Trees::default())
    }

    fn commit(&mut self, rows: Vec<Value>) -> Result<()> {
        let mut inference = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rows.iter().try_for_each(|row| inference.observe(row))
    }

    fn finish(self) -> Result<Summary> {
        Ok(Summary::default())
    }
}

#[derive(Default)]
pub(crate) struct Trees {
    tree: TreeBuilder,
    rows: Vec<Value>,
    bytes: u64,
}

impl ChunkEncoder for Trees {
    type Part = Vec<Value>;

    fn encode(&mut self, emit: &mut dyn FnMut(&mut dyn Sink) -> Result<()>) -> Result<()> {
        emit(&mut self.tree)?;
        let mut row = self.tree.take()?;
        self.bytes += lightened(&mut row);
        self.rows.push(row);
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn take(&mut self) -> Result<Vec<Value>> {
        self.bytes = 0;
        Ok(std::mem::take(&mut self.rows))
    }
}

/// Drops what a schema does not depend on, the content of plain bytes; returns about how much memory is left.
fn lightened(value: &mut Value) -> u64 {
    VALUE_BYTES
        + match value {
            Value::Blob { payload: Payload::Raw, data, .. } => {
                *data = Bytes::new();
                0
            }
            Value::Blob { data, .. } => to_u64(data.len()),
            Value::Str(text) => to_u64(text.len()),
            Value::List(items) => items.iter_mut().map(lightened).sum(),
            Value::Dict(members) => {
                members.iter_mut().map(|(name, value)| to_u64(name.len()) + lightened(value)).sum()
            }
            _ => 0,
        }
}
