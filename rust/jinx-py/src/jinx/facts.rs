//! What the footers of all shards say together, so that another process need not open them all to know it.

use crate::jinx::footer;
use crate::jinx::shards::Shards;
use jinx_core::{Error, Result};
use jinx_format::write::inherit::Inherited;
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// Found when it is asked for, or told by [`Facts::assume`].
#[derive(Debug, Default)]
pub struct Facts {
    columns: OnceLock<Vec<String>>,
    inherited: OnceLock<Inherited>,
}

#[derive(Serialize, Deserialize)]
struct Told {
    columns: Vec<String>,
    inherited: Inherited,
}

impl Facts {
    /// The names of the columns; see [`footer::column_names`].
    pub fn columns(&self, shards: &Shards) -> Result<&[String]> {
        if self.columns.get().is_none() {
            let _ = self.columns.set(footer::column_names(shards)?);
        }
        Ok(self.columns.get().map_or(&[], Vec::as_slice))
    }

    /// What a copy of the samples takes over, of all columns.
    pub fn inherited(&self, shards: &Shards) -> Result<&Inherited> {
        if let Some(known) = self.inherited.get() {
            return Ok(known);
        }
        let mut all: Option<Inherited> = None;
        for i in 0..shards.count() {
            let one = Inherited::of(shards.shard(i)?.footer());
            match &mut all {
                None => all = Some(one),
                Some(all) => all.unite(one),
            }
        }
        Ok(self.inherited.get_or_init(|| all.unwrap_or_default()))
    }

    /// All of it as JSON text.
    pub fn tell(&self, shards: &Shards) -> Result<String> {
        let told = Told {
            columns: self.columns(shards)?.to_vec(),
            inherited: self.inherited(shards)?.clone(),
        };
        serde_json::to_string(&told).map_err(|error| Error::invalid(error.to_string()))
    }

    /// Takes what [`Facts::tell`] has said of the same shards; what is known already stays.
    ///
    /// # Errors
    /// `Invalid` if the text is damaged.
    pub fn assume(&self, text: &str) -> Result<()> {
        let told: Told = serde_json::from_str(text)
            .map_err(|error| Error::invalid(format!("facts about a dataset: {error}")))?;
        let _ = self.columns.set(told.columns);
        let _ = self.inherited.set(told.inherited);
        Ok(())
    }
}
