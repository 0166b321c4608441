//! The combined facts of the footers of all shards, so that not every process must open all shards.

use crate::shards::footer;
use crate::shards::shard_list::Shards;
use jinx_convert::arrow::common_schema;
use jinx_core::{Error, Result};
use jinx_format::fields::FieldInfo;
use jinx_format::read::columns::ColumnKind;
use jinx_format::write::inherit::Inherited;
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// Each fact is computed on demand, or set by [`Facts::assume`].
#[derive(Debug, Default)]
pub struct Facts {
    columns: OnceLock<Vec<String>>,
    statistics: OnceLock<Vec<FieldInfo>>,
    inherited: OnceLock<Inherited>,
    indexed: OnceLock<Vec<Indexed>>,
}

/// Path and kind of an indexed column.
type Indexed = (Vec<Option<String>>, String);

#[derive(Serialize, Deserialize)]
struct Told {
    columns: Vec<String>,
    statistics: Vec<FieldInfo>,
    inherited: Inherited,
    indexed: Vec<Indexed>,
}

impl Facts {
    /// The names of the columns; see [`footer::column_names`].
    pub fn columns(&self, shards: &Shards) -> Result<&[String]> {
        known(&self.columns, || footer::column_names(shards)).map(Vec::as_slice)
    }

    /// The statistics of all values at each path; see [`footer::statistics`].
    pub fn statistics(&self, shards: &Shards) -> Result<&[FieldInfo]> {
        known(&self.statistics, || footer::statistics(shards)).map(Vec::as_slice)
    }

    /// The facts that a copy of the samples takes over, for all columns.
    pub fn inherited(&self, shards: &Shards) -> Result<&Inherited> {
        known(&self.inherited, || {
            let mut all: Option<Inherited> = None;
            for i in telling(shards) {
                let mut more = Inherited::of(shards.next_shard(i)?.footer());
                if let Some(all) = &mut all {
                    let schema = common_schema(all.arrow_schema.take(), more.arrow_schema.take())?;
                    all.unite(more);
                    all.arrow_schema = schema;
                } else {
                    all = Some(more);
                }
            }
            Ok(all.unwrap_or_default())
        })
    }

    /// Whether it is known, without opening a shard, that some shard does not have the column in its index.
    pub fn lacks_indexed(&self, path: &[Option<String>], kind: ColumnKind) -> bool {
        let is_it = |(known, known_kind): &Indexed| known == path && known_kind == kind.name();
        self.indexed.get().is_some_and(|indexed| !indexed.iter().any(is_it))
    }

    /// All facts as JSON text.
    pub fn tell(&self, shards: &Shards) -> Result<String> {
        let told = Told {
            columns: self.columns(shards)?.to_vec(),
            statistics: self.statistics(shards)?.to_vec(),
            inherited: self.inherited(shards)?.clone(),
            indexed: known(&self.indexed, || indexed_everywhere(shards))?.clone(),
        };
        serde_json::to_string(&told).map_err(|error| Error::invalid(error.to_string()))
    }

    /// Uses the result of [`Facts::tell`] for the same shards; known facts stay unchanged.
    ///
    /// # Errors
    /// `Invalid` if the text is damaged.
    pub fn assume(&self, text: &str) -> Result<()> {
        let told: Told = serde_json::from_str(text)
            .map_err(|error| Error::invalid(format!("facts about a dataset: {error}")))?;
        let _ = self.columns.set(told.columns);
        let _ = self.statistics.set(told.statistics);
        let _ = self.inherited.set(told.inherited);
        let _ = self.indexed.set(told.indexed);
        Ok(())
    }
}

/// The shards that have samples, or all if none has: those without samples say nothing about the samples of others.
pub(super) fn telling(shards: &Shards) -> impl Iterator<Item = usize> {
    let is_empty = (0..shards.count()).all(|i| shards.samples(i) == 0);
    (0..shards.count()).filter(move |i| is_empty || shards.samples(*i) > 0)
}

fn known<T>(fact: &OnceLock<T>, find: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(known) = fact.get() {
        return Ok(known);
    }
    let found = find()?;
    Ok(fact.get_or_init(|| found))
}

/// The columns that all shards with samples have in their index.
fn indexed_everywhere(shards: &Shards) -> Result<Vec<Indexed>> {
    let mut all: Option<Vec<Indexed>> = None;
    for i in (0..shards.count()).filter(|i| shards.samples(*i) > 0) {
        let columns = &shards.next_shard(i)?.footer().columns;
        match &mut all {
            None => {
                all = Some(columns.iter().map(|column| (column.path.clone(), column.kind.clone())).collect())
            }
            Some(all) => {
                all.retain(|(path, kind)| {
                    columns.iter().any(|column| column.path == *path && column.kind == *kind)
                });
            }
        }
    }
    Ok(all.unwrap_or_default())
}
