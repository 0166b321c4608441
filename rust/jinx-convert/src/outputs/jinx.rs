//! Writes rows to a JINX dataset: workers encode them, and the calling thread places them.

use crate::arrow::project::is_in_column;
use crate::suggest::no_written_column;
use crate::{ChunkEncoder, OnRefused, RowTarget, Summary};
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use jinx_core::row_events::Sink;
use jinx_format::write::dataset::DatasetWriter;
use jinx_format::write::encode::{EncodedRow, RowEncoder};
use jinx_format::write::options::EncodeOptions;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The maximum number of names that are kept for the error about a missing column.
const MAX_NAMES: usize = 1000;

/// A dataset that is being written.
pub struct JinxTarget {
    writer: DatasetWriter,
    options: Arc<EncodeOptions>,
    /// Columns and paths that no row had so far, although one must.
    missing: Vec<String>,
    /// The columns of the rows, as long as any is missing.
    names: BTreeSet<String>,
}

impl JinxTarget {
    pub fn new(writer: DatasetWriter) -> Self {
        let options = Arc::new(writer.options().encode.clone());
        Self { writer, options, missing: Vec::new(), names: BTreeSet::new() }
    }

    /// Requires that, if there are rows, one of them has each of these columns and paths.
    #[must_use]
    pub fn requiring(mut self, columns: &[String]) -> Self {
        self.missing = columns.to_vec();
        self
    }

    fn note_columns(&mut self, row: &EncodedRow) {
        for fact in &row.facts {
            let Some(Some(name)) = fact.path.first() else { continue };
            if self.names.contains(name) {
                continue;
            }
            self.missing.retain(|column| !is_in_column(column, name));
            if self.names.len() < MAX_NAMES {
                self.names.insert(name.clone());
            }
        }
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
            if !self.missing.is_empty() {
                self.note_columns(&row);
            }
            match self.writer.write_encoded(row) {
                Err(error) if !self.writer.is_broken() => refused(i, error)?,
                written => written?,
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Summary> {
        if let Some(column) = self.missing.first().filter(|_| self.writer.rows() > 0) {
            return Err(Error::invalid(no_written_column(column, self.names.iter().map(String::as_str))));
        }
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
