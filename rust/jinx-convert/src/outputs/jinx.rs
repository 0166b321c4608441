//! Writes rows to a JINX dataset: workers encode them, and the calling thread places them.

use crate::{ChunkEncoder, OnRefused, RowTarget, Summary};
use jinx_core::checked_math::to_u64;
use jinx_core::error::Result;
use jinx_core::row_events::Sink;
use jinx_format::write::dataset::DatasetWriter;
use jinx_format::write::encode::{EncodedRow, RowEncoder};
use jinx_format::write::options::EncodeOptions;
use std::sync::Arc;

/// A dataset that is being written.
pub struct JinxTarget {
    writer: DatasetWriter,
    options: Arc<EncodeOptions>,
}

impl JinxTarget {
    pub fn new(writer: DatasetWriter) -> Self {
        let options = Arc::new(writer.options().encode.clone());
        Self { writer, options }
    }
}

impl RowTarget for JinxTarget {
    type Part = Vec<EncodedRow>;
    type Encoder = JinxEncoder;

    fn encoder(&self) -> Result<JinxEncoder> {
        Ok(JinxEncoder { encoder: RowEncoder::new(Arc::clone(&self.options))?, rows: Vec::new(), bytes: 0 })
    }

    fn commit(&mut self, rows: Vec<EncodedRow>, refused: OnRefused<'_>) -> Result<()> {
        for (i, row) in rows.into_iter().enumerate() {
            match self.writer.write_encoded(row) {
                Err(error) if !self.writer.is_broken() => refused(i, error)?,
                written => written?,
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Summary> {
        let written = self.writer.close()?;
        Ok(Summary {
            rows: written.samples,
            bytes: written.bytes,
            sidecar_bytes: written.sidecar_bytes,
            files: written.shards,
            skipped: 0,
        })
    }
}

pub struct JinxEncoder {
    encoder: RowEncoder,
    rows: Vec<EncodedRow>,
    bytes: u64,
}

impl ChunkEncoder for JinxEncoder {
    type Part = Vec<EncodedRow>;

    fn encode(&mut self, emit: &mut dyn FnMut(&mut dyn Sink) -> Result<()>) -> Result<()> {
        let row = self.encoder.encode(|sink| emit(sink))?;
        let values: usize = row.values.iter().map(|value| value.data.memory_bytes()).sum();
        self.bytes += to_u64(row.text.len() + values);
        self.rows.push(row);
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn take(&mut self) -> Result<Vec<EncodedRow>> {
        self.bytes = 0;
        Ok(std::mem::take(&mut self.rows))
    }
}
