//! Rows into an MDS folder, after a first pass that finds the columns' encodings.

use super::{ChunkEncoder, RowTarget, Summary};
use crate::error::Result;
use crate::mds::encode::encode;
use crate::mds::infer::Inference;
use crate::mds::writer::{SampleEncoder, Writer};
use crate::num::to_u64;
use crate::sink::Sink;
use crate::value::{TreeBuilder, Value};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Looks at rows and writes nothing. Clones look at the same.
#[derive(Clone, Default)]
pub struct MdsObserver(Arc<Mutex<Inference>>);

impl MdsObserver {
    /// Names and encodings that fit all rows.
    pub fn columns(&self) -> BTreeMap<String, String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).columns()
    }
}

impl RowTarget for MdsObserver {
    type Part = Vec<Value>;
    type Encoder = Observed;

    fn encoder(&self) -> Result<Observed> {
        Ok(Observed::default())
    }

    fn commit(&mut self, rows: Vec<Value>) -> Result<()> {
        let mut inference = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rows.iter().try_for_each(|row| inference.observe(row))
    }

    fn finish(self) -> Result<Summary> {
        Ok(Summary::default())
    }
}

/// Rows on their way to the observer.
#[derive(Default)]
pub struct Observed {
    tree: TreeBuilder,
    rows: Vec<Value>,
    bytes: u64,
}

impl ChunkEncoder for Observed {
    type Part = Vec<Value>;

    fn encode(&mut self, emit: &mut dyn FnMut(&mut dyn Sink) -> Result<()>) -> Result<()> {
        emit(&mut self.tree)?;
        let row = self.tree.take()?;
        self.bytes += size_of(&row);
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

/// About how much memory a value takes.
fn size_of(value: &Value) -> u64 {
    64 + match value {
        Value::Blob { data, .. } => to_u64(data.len()),
        Value::Str(text) => to_u64(text.len()),
        Value::List(items) => items.iter().map(size_of).sum(),
        Value::Dict(members) => members.iter().map(|(name, value)| to_u64(name.len()) + size_of(value)).sum(),
        _ => 0,
    }
}

/// Writes an MDS folder.
pub struct MdsTarget(Writer);

impl MdsTarget {
    pub fn new(writer: Writer) -> Self {
        Self(writer)
    }
}

impl RowTarget for MdsTarget {
    type Part = Vec<Vec<u8>>;
    type Encoder = Samples;

    fn encoder(&self) -> Result<Samples> {
        Ok(Samples {
            encoder: self.0.encoder()?,
            tree: TreeBuilder::default(),
            samples: Vec::new(),
            bytes: 0,
        })
    }

    fn commit(&mut self, samples: Vec<Vec<u8>>) -> Result<()> {
        samples.iter().try_for_each(|sample| self.0.push(sample))
    }

    fn finish(self) -> Result<Summary> {
        let written = self.0.finish()?;
        Ok(Summary {
            rows: written.samples,
            bytes: written.bytes,
            sidecar_bytes: 0,
            files: written.shards,
            skipped: 0,
        })
    }
}

/// Encoded samples on their way to the writer.
pub struct Samples {
    encoder: SampleEncoder,
    tree: TreeBuilder,
    samples: Vec<Vec<u8>>,
    bytes: u64,
}

impl ChunkEncoder for Samples {
    type Part = Vec<Vec<u8>>;

    fn encode(&mut self, emit: &mut dyn FnMut(&mut dyn Sink) -> Result<()>) -> Result<()> {
        emit(&mut self.tree)?;
        let row = self.tree.take()?;
        let mut values = Vec::with_capacity(self.encoder.columns().len());
        for column in self.encoder.columns() {
            let value = encode(&column.encoding, row.get(&column.name));
            values.push(value.map_err(|error| error.in_field(&column.name))?);
        }
        let sample = self.encoder.encode(&values)?;
        self.bytes += to_u64(sample.len());
        self.samples.push(sample);
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn take(&mut self) -> Result<Vec<Vec<u8>>> {
        self.bytes = 0;
        Ok(std::mem::take(&mut self.samples))
    }
}
