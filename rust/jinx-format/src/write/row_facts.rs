//! What the encoder records about a row for the footer's `fields` and `columns`.

use crate::fields::{Fact, Measure, Path};
use crate::key;
use crate::write::encode::{OpenContainer, RowEncoder};
use jinx_core::checked_math::to_u64;
use jinx_core::row_events::Payload;
use std::sync::Arc;

impl RowEncoder {
    /// The current position as a shared path.
    pub(super) fn path(&mut self) -> Arc<Path> {
        let names = &self.names;
        let name = |frame: &OpenContainer| frame.is_dict.then(|| &names[frame.name_start..frame.name_end]);
        self.paths.get(self.frames.iter().map(name))
    }

    /// Records a value for `fields` and `columns`, if these need it.
    pub(super) fn note(&mut self, kind: &'static str, measure: Measure) {
        let quoted = self.frames.last().is_some_and(|frame| {
            frame.is_dict && key::needs_quotes(&self.names[frame.name_start..frame.name_end])
        });
        let wanted = !self.options.columns.is_empty() && !self.frames.is_empty() && {
            let path = self.path();
            self.options.columns.contains(&*path)
        };
        if self.at_top() || quoted || wanted {
            let path = self.path();
            self.row.facts.push(Fact { path, kind, coded: None, quoted, mime: None, measure });
        }
    }

    /// What a column stores of a string.
    pub(super) fn measure_str(&mut self, value: &str) -> Measure {
        if !self.options.columns.is_empty() && self.is_wanted_text() {
            Measure::Text(value.to_owned())
        } else if self.at_top() {
            Measure::Length(to_u64(value.chars().count()))
        } else {
            Measure::None
        }
    }

    fn is_wanted_text(&mut self) -> bool {
        let path = self.path();
        self.options.columns.contains(&*path)
    }
}

/// The kind under which `fields` counts a value.
pub(super) fn kind_of(payload: Payload) -> &'static str {
    match payload {
        Payload::Raw => "bytes",
        Payload::Npy => "ndarray",
        Payload::Pt => "tensor",
        Payload::Np => "np",
    }
}
