//! Filters between a source and a target: columns left out, files embedded or written out, nulls dropped. Each worker
//! has its own.

pub(crate) mod condition;
mod drop_nulls;
pub mod embed;
pub(crate) mod forward;
pub mod select;

use crate::filters::condition::Condition;
use crate::filters::drop_nulls::DropNulls;
use crate::filters::embed::{Embed, EmbedOptions};
use crate::filters::select::{Select, Selection};
use crate::outputs::media::MediaOut;
use crate::row_traits::RowChunk;
use crate::run_options::ConvertOptions;
use jinx_core::error::{Cause, Error, Result};
use jinx_core::row_events::Sink;
use jinx_core::value::{TreeBuilder, Value};
use std::path::PathBuf;
use std::sync::Arc;

/// The filters in order; unused ones cost nothing.
pub(crate) struct Filters {
    condition: Option<Arc<Condition>>,
    embed: Option<Embed>,
    select: Option<Select>,
    drop_nulls: bool,
    media_out: Option<PathBuf>,
    skip_errors: bool,
}

impl Filters {
    pub(crate) fn new(
        options: &ConvertOptions,
        selection: Option<&Arc<Selection>>,
        condition: Option<Arc<Condition>>,
    ) -> Self {
        Self {
            condition,
            embed: options.embed.clone().map(Embed::new),
            select: selection.map(|selection| Select::new(Arc::clone(selection))),
            drop_nulls: options.drop_nulls,
            media_out: options.media_dir.clone(),
            skip_errors: options.rejects.is_some(),
        }
    }

    /// Whether row `i` is wanted.
    ///
    /// # Errors
    /// The errors of [`Condition::selects`].
    pub(crate) fn selects(&self, chunk: &dyn RowChunk, i: usize) -> Result<bool> {
        self.condition.as_ref().map_or(Ok(true), |condition| condition.selects(chunk, i))
    }

    /// Whether a row may be rejected, so that it must be complete before it is forwarded.
    pub(crate) fn may_skip(&self) -> bool {
        self.skip_errors || self.embed.as_ref().is_some_and(|embed| embed.options().skips())
    }

    /// Forwards row `i`.
    ///
    /// # Errors
    /// Errors of the source, a step or the sink.
    pub(crate) fn emit(&mut self, chunk: &dyn RowChunk, i: usize, sink: &mut dyn Sink) -> Result<()> {
        match self.media_out.clone() {
            Some(directory) => self.without_nulls(chunk, i, &mut MediaOut::around(&directory, sink)),
            None => self.without_nulls(chunk, i, sink),
        }
    }

    fn without_nulls(&mut self, chunk: &dyn RowChunk, i: usize, sink: &mut dyn Sink) -> Result<()> {
        if self.drop_nulls {
            return self.selected(chunk, i, &mut DropNulls::around(sink));
        }
        self.selected(chunk, i, sink)
    }

    fn selected(&mut self, chunk: &dyn RowChunk, i: usize, sink: &mut dyn Sink) -> Result<()> {
        match &mut self.select {
            Some(select) => embedded(self.embed.as_mut(), chunk, i, &mut select.around(sink)),
            None => embedded(self.embed.as_mut(), chunk, i, sink),
        }
    }

    /// Row `i` as a tree, or the reason to reject it.
    ///
    /// # Errors
    /// Errors that do not reject the row alone.
    pub(crate) fn whole(
        &mut self,
        chunk: &dyn RowChunk,
        i: usize,
    ) -> Result<std::result::Result<Value, Error>> {
        let mut tree = TreeBuilder::default();
        match self.emit(chunk, i, &mut tree) {
            Ok(()) => tree.take().map(Ok),
            Err(error) if self.skips(&error) => Ok(Err(error)),
            Err(error) => Err(error),
        }
    }

    /// Whether the error rejects only its row.
    pub(crate) fn skips(&self, error: &Error) -> bool {
        let is_missing = self.embed.as_ref().is_some_and(Embed::was_missing);
        is_missing || self.skip_errors && error.cause() != Cause::Interrupted
    }
}

fn embedded(embed: Option<&mut Embed>, chunk: &dyn RowChunk, i: usize, sink: &mut dyn Sink) -> Result<()> {
    match embed {
        Some(embed) => chunk.emit(i, &mut embed.around(sink)),
        None => chunk.emit(i, sink),
    }
}

impl EmbedOptions {
    fn skips(&self) -> bool {
        self.missing == crate::Missing::Skip
    }
}
