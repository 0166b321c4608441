//! Writes rows to an MDS directory, after a first pass that infers the encodings of columns.

use crate::first_pass::Findings;
use crate::{ChunkEncoder, OnRefused, RowTarget, Summary};
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Cause, Result};
use jinx_core::row_events::Sink;
use jinx_core::value::{TreeBuilder, Value};
use jinx_mds::encodings::encode::encode;
use jinx_mds::write::infer::Inference;
use jinx_mds::write::writer::{SampleEncoder, Writer};

impl Findings for Inference {
    fn observe(&mut self, row: &Value) -> Result<()> {
        Self::observe(self, row)
    }
}

/// Writes an MDS directory.
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

    fn commit(&mut self, samples: Vec<Vec<u8>>, refused: OnRefused<'_>) -> Result<()> {
        for (i, sample) in samples.iter().enumerate() {
            match self.0.push(sample) {
                Err(error) if error.cause() == Cause::Limit => refused(i, error)?,
                pushed => pushed?,
            }
        }
        Ok(())
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

/// Encoded samples for the writer of shards.
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
            values.push(value.map_err(|error| error.in_column(&column.name))?);
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
