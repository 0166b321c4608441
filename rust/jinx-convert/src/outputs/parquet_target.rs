//! Writes rows to a Parquet file: workers build batches, which are written in order.

use crate::arrow::build::BatchBuilder;
use crate::arrow::parquet_types::storable;
use crate::outputs::parquet::{ParquetOptions, ParquetSink};
use crate::{ChunkEncoder, OnRefused, RowTarget, Summary};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use jinx_core::io::StreamOut;
use jinx_core::row_events::Sink;
use jinx_core::value::{TreeBuilder, Value};
use std::path::PathBuf;

/// A Parquet file that is being written.
pub struct ParquetTarget {
    sink: ParquetSink<StreamOut>,
    schema: SchemaRef,
    path: PathBuf,
}

impl ParquetTarget {
    /// Columns of `schema` without a Parquet type are written with the nearest one.
    ///
    /// # Errors
    /// The errors of [`ParquetSink::create`].
    pub fn new(out: StreamOut, schema: SchemaRef, options: ParquetOptions) -> Result<Self> {
        let path = out.path().to_owned();
        let schema = storable(&schema);
        let sink = ParquetSink::create(out, schema.clone(), options).map_err(|error| error.in_file(&path))?;
        Ok(Self { sink, schema, path })
    }
}

impl RowTarget for ParquetTarget {
    type Part = RecordBatch;
    type Encoder = BatchEncoder;

    fn encoder(&self) -> Result<BatchEncoder> {
        let rows = BatchBuilder::new(self.schema.clone())?;
        Ok(BatchEncoder { rows, tree: TreeBuilder::default(), schema: self.schema.clone(), whole: None })
    }

    fn commit(&mut self, batch: RecordBatch, _refused: OnRefused<'_>) -> Result<()> {
        if batch.num_columns() == 0 && batch.num_rows() > 0 {
            let what =
                "no row has a column, and a Parquet file without columns does not keep the number of rows";
            return Err(Error::unsupported(what).in_file(&self.path));
        }
        self.sink.write(&batch).map_err(|error| error.in_file(&self.path))
    }

    fn finish(self) -> Result<Summary> {
        let rows = self.sink.rows();
        let out = self.sink.close().map_err(|error| error.in_file(&self.path))?;
        let bytes = out.commit()?;
        Ok(Summary { rows, bytes, files: 1, ..Summary::default() })
    }
}

pub struct BatchEncoder {
    rows: BatchBuilder,
    tree: TreeBuilder,
    schema: SchemaRef,
    /// The complete rows in the builder, so that a failed row leaves nothing behind.
    whole: Option<Vec<Value>>,
}

impl ChunkEncoder for BatchEncoder {
    type Part = RecordBatch;

    fn encode(&mut self, emit: &mut dyn FnMut(&mut dyn Sink) -> Result<()>) -> Result<()> {
        emit(&mut self.tree)?;
        let row = self.tree.take()?;
        self.rows.push(&row)?;
        if let Some(whole) = &mut self.whole {
            whole.push(row);
        }
        Ok(())
    }

    fn expect_undo(&mut self) {
        self.whole = Some(Vec::new());
    }

    fn undo(&mut self) -> Result<()> {
        self.tree = TreeBuilder::default();
        // Start again, because half of the row may already be in the builder.
        self.rows = BatchBuilder::new(self.schema.clone())?;
        self.whole.iter().flatten().try_for_each(|row| self.rows.push(row))
    }

    fn bytes(&self) -> u64 {
        to_u64(self.rows.bytes())
    }

    fn take(&mut self) -> Result<RecordBatch> {
        if let Some(whole) = &mut self.whole {
            whole.clear();
        }
        self.rows.finish()
    }
}
