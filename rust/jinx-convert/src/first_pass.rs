//! A first pass over rows, which writes nothing.

use crate::{ChunkEncoder, OnRefused, RowTarget, Summary};
use jinx_core::checked_math::to_u64;
use jinx_core::error::Result;
use jinx_core::row_events::Sink;
use jinx_core::value::{TreeBuilder, Value};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The memory that a value takes in addition to its bytes.
const VALUE_BYTES: u64 = 64;

/// What the first pass finds out about rows.
pub trait Findings: Clone + Send + 'static {
    /// Observes a row.
    ///
    /// # Errors
    /// Fails when no schema fits this row and the previous ones. The findings are then no longer valid.
    fn observe(&mut self, row: &Value) -> Result<()>;

    /// Builds the rows to observe; may leave out what does not affect the findings.
    fn tree() -> TreeBuilder {
        TreeBuilder::default()
    }
}

/// Observes rows. Clones share their findings.
pub struct Observer<F>(Arc<Mutex<F>>);

impl<F> Clone for Observer<F> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<F> Observer<F> {
    pub fn new(findings: F) -> Self {
        Self(Arc::new(Mutex::new(findings)))
    }

    /// The findings so far.
    pub fn findings(&self) -> MutexGuard<'_, F> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: Findings> RowTarget for Observer<F> {
    type Part = Vec<Value>;
    type Encoder = Trees<F>;

    fn encoder(&self) -> Result<Trees<F>> {
        Ok(Trees { tree: F::tree(), rows: Vec::new(), bytes: 0, findings: PhantomData })
    }

    fn commit(&mut self, rows: Vec<Value>, refused: OnRefused<'_>) -> Result<()> {
        let mut findings = self.findings();
        let (mut before, mut first) = (findings.clone(), 0);
        for (i, row) in rows.iter().enumerate() {
            let Err(error) = findings.observe(row) else { continue };
            refused(i, error)?;
            // A row that was left out must not affect later rows.
            findings.clone_from(&before);
            rows[first..i].iter().try_for_each(|row| findings.observe(row))?;
            (before, first) = (findings.clone(), i + 1);
        }
        Ok(())
    }

    fn finish(self) -> Result<Summary> {
        Ok(Summary::default())
    }
}

/// Rows that are waiting for the observer.
pub struct Trees<F> {
    tree: TreeBuilder,
    rows: Vec<Value>,
    bytes: u64,
    findings: PhantomData<fn() -> F>,
}

impl<F: Findings> ChunkEncoder for Trees<F> {
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

/// The approximate memory of a value.
fn size_of(value: &Value) -> u64 {
    VALUE_BYTES
        + match value {
            Value::Blob { data, .. } => to_u64(data.len()),
            Value::Str(text) => to_u64(text.len()),
            Value::List(items) => items.iter().map(size_of).sum(),
            Value::Dict(members) => {
                members.iter().map(|(name, value)| to_u64(name.len()) + size_of(value)).sum()
            }
            _ => 0,
        }
}
