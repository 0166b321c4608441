//! The numbers of a column in the order of a dataset, for charts and orders.

use crate::browse::MISSING;
use crate::browse::packed_keys::{BLOCK, PackedKeys};
use crate::browse::sortable_cells::{Cells, KeyKind, float_key};
use crate::browse::stored::Stored;
use crate::column_data::ColumnData;
use crate::dataset::Dataset;
use jinx_core::checked_math::to_usize;
use jinx_core::{Error, Result};
use jinx_format::fields::Measure;
use jinx_format::ordered_blocks::in_order;
use jinx_format::read::columns::ColumnKind;
use std::ops::Range;

/// The number of samples whose rows a thread reads at a time.
const READ_BLOCK: usize = 8192;

/// The numbers of a column. Missing values and NaN have none.
pub struct Numbers {
    keys: Keys,
    samples: usize,
    kind: KeyKind,
    facts: Facts,
}

/// Integers that sort like the numbers.
enum Keys {
    /// Numbers stored in the files.
    Stored(Stored),
    /// Numbers of a dataset whose samples are in another order than the column.
    Gathered { column: ColumnData, dataset: Dataset },
    /// Numbers that were read from the rows.
    Kept(PackedKeys),
}

/// What is known about all numbers.
#[derive(Clone, Copy, Default)]
struct Facts {
    /// The smallest and the largest finite number.
    range: Option<(f64, f64)>,
    missing: u64,
}

impl Facts {
    fn add(&mut self, number: Option<f64>) {
        match (number, self.range) {
            (None, _) => self.missing += 1,
            (Some(number), _) if !number.is_finite() => {}
            (Some(number), None) => self.range = Some((number, number)),
            (Some(number), Some((least, largest))) => {
                self.range = Some((least.min(number), largest.max(number)))
            }
        }
    }

    fn join(&mut self, other: Self) {
        self.missing += other.missing;
        let limits = self.range.into_iter().chain(other.range);
        self.range = limits.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
    }
}

impl Numbers {
    /// The numbers or lengths at a path, from the index or by reading every sample. `None` if the values are not numbers.
    ///
    /// # Errors
    /// Read errors.
    pub fn read(dataset: &Dataset, path: &[String], kind: ColumnKind) -> Result<Option<Self>> {
        let names: Vec<Option<String>> = path.iter().cloned().map(Some).collect();
        if let Some(stored) = Stored::find(dataset, &names, kind)? {
            let kind = stored.key_kind;
            return Self::of(Keys::Stored(stored), dataset.len(), kind).map(Some);
        }
        if let Some(column) = dataset.rows.column(&names, kind)? {
            let is_time = column.dtype.starts_with("datetime");
            return if column.offsets.is_some() || column.width.is_some() || is_time {
                Ok(None)
            } else {
                Self::gathered(dataset, column).map(Some)
            };
        }
        Self::measured(dataset, path, kind)
    }

    /// The numbers of a column in another order than that of the column.
    fn gathered(dataset: &Dataset, column: ColumnData) -> Result<Self> {
        let kind = KeyKind::of(column.column_type()?);
        Self::of(Keys::Gathered { column, dataset: dataset.clone() }, dataset.len(), kind)
    }

    /// Reads every sample, in parallel.
    fn measured(dataset: &Dataset, path: &[String], kind: ColumnKind) -> Result<Option<Self>> {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let read = |block: usize| {
            let block = block * READ_BLOCK..dataset.len().min((block + 1) * READ_BLOCK);
            let mut positions = block.map(|i| dataset.position(i));
            let measures = dataset.rows.measure(&mut positions, &path, kind)?;
            measures.into_iter().map(|measure| Ok(number_of(measure)?.and_then(float_key))).collect()
        };
        let mut kept = PackedKeys::new(KeyKind::Float);
        let done = in_order(dataset.len().div_ceil(READ_BLOCK), read, |keys: Vec<Option<u64>>| {
            keys.into_iter().for_each(|key| kept.push(key));
            false
        });
        match done {
            // Reading rows also reports these errors for a list or dict.
            Err(error) if matches!(error.cause(), jinx_core::Cause::Mismatch | jinx_core::Cause::Invalid) => {
                return Ok(None);
            }
            done => done?,
        }
        Self::of(Keys::Kept(kept.finished()), dataset.len(), KeyKind::Float).map(Some)
    }

    fn of(keys: Keys, samples: usize, kind: KeyKind) -> Result<Self> {
        let mut numbers = Self { keys, samples, kind, facts: Facts::default() };
        let mut facts = Facts::default();
        let look = |block: usize| {
            let mut facts = Facts::default();
            let take = |_, key: Option<u64>| facts.add(key.map(|key| kind.number(key)));
            numbers.keys_in(block, numbers.block(block), take)?;
            Ok(facts)
        };
        in_order(numbers.blocks(), look, |more| {
            facts.join(more);
            false
        })?;
        numbers.facts = facts;
        Ok(numbers)
    }

    pub fn len(&self) -> usize {
        self.samples
    }

    pub fn is_empty(&self) -> bool {
        self.samples == 0
    }

    pub fn is_integer(&self) -> bool {
        self.kind == KeyKind::Int
    }

    /// The smallest and the largest finite number; `None` if there is none.
    pub fn range(&self) -> Option<(f64, f64)> {
        self.facts.range
    }

    /// The number of samples without a number.
    pub fn missing(&self) -> u64 {
        self.facts.missing
    }

    /// For each sample, the number of its bin. `edges` are the lower edges of all bins but the first, in ascending
    /// order.
    ///
    /// # Errors
    /// `Invalid` for more bins than codes; read errors.
    pub fn codes(&self, edges: &[f64]) -> Result<Vec<u8>> {
        if edges.len() >= super::MAX_CODES {
            return Err(Error::invalid("too many bins"));
        }
        let code = |key: Option<u64>| match key {
            None => MISSING,
            Some(key) => {
                let number = self.number(key);
                u8::try_from(edges.partition_point(|edge| *edge <= number)).unwrap_or(MISSING)
            }
        };
        let of_block = |block: usize| {
            let samples = self.block(block);
            let mut codes = Vec::with_capacity(samples.len());
            self.keys_in(block, samples, |_, key| codes.push(code(key)))?;
            Ok(codes)
        };
        let mut codes = Vec::with_capacity(self.samples);
        in_order(self.blocks(), of_block, |more| {
            codes.extend(more);
            false
        })?;
        Ok(codes)
    }

    pub(super) fn number(&self, key: u64) -> f64 {
        self.kind.number(key)
    }

    /// The number of blocks of samples. A thread takes one block at a time.
    pub(super) fn blocks(&self) -> usize {
        match &self.keys {
            Keys::Stored(stored) => stored.blocks(),
            Keys::Gathered { .. } | Keys::Kept(_) => self.samples.div_ceil(BLOCK),
        }
    }

    /// The samples of a block.
    pub(super) fn block(&self, block: usize) -> Range<usize> {
        match &self.keys {
            Keys::Stored(stored) => stored.samples(block),
            Keys::Gathered { .. } | Keys::Kept(_) => block * BLOCK..self.samples.min((block + 1) * BLOCK),
        }
    }

    /// The block that contains a sample.
    pub(super) fn block_of(&self, sample: usize) -> usize {
        match &self.keys {
            Keys::Stored(stored) => stored.block_of(sample),
            Keys::Gathered { .. } | Keys::Kept(_) => sample / BLOCK,
        }
    }

    /// Passes each of these samples of a block to `take`, with its key.
    ///
    /// # Errors
    /// Read errors.
    pub(super) fn keys_in(
        &self,
        block: usize,
        samples: impl Iterator<Item = usize>,
        mut take: impl FnMut(usize, Option<u64>),
    ) -> Result<()> {
        match &self.keys {
            Keys::Stored(stored) => stored.keys(block, samples, take),
            Keys::Gathered { column, dataset } => {
                let cells = Cells::of(column, self.kind)?;
                for sample in samples {
                    take(sample, cells.key(to_usize(dataset.position(sample), "a position")?)?);
                }
                Ok(())
            }
            Keys::Kept(keys) => {
                samples.for_each(|sample| take(sample, keys.key(sample)));
                Ok(())
            }
        }
    }
}

fn number_of(measure: Option<Measure>) -> Result<Option<f64>> {
    #[allow(clippy::cast_precision_loss)] // used only for charts and orders of columns that are not indexed
    Ok(match measure {
        None | Some(Measure::None) => None,
        Some(Measure::Bool(value)) => Some(f64::from(u8::from(value))),
        Some(Measure::Int(value)) => Some(value as f64),
        Some(Measure::Uint(value) | Measure::Length(value)) => Some(value as f64),
        Some(Measure::Float(value)) => Some(value),
        Some(Measure::Huge(digits)) => digits.parse().ok(),
        Some(Measure::Text(_)) => return Err(Error::mismatch("a string where a number was expected")),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests {
    use super::*;

    pub fn floats(values: &[f64]) -> Numbers {
        let mut kept = PackedKeys::new(KeyKind::Float);
        values.iter().for_each(|value| kept.push(float_key(*value)));
        Numbers::of(Keys::Kept(kept.finished()), values.len(), KeyKind::Float).unwrap()
    }

    #[test]
    fn bins_are_half_open() {
        let numbers = floats(&[0.0, 0.999, 1.0, 1.5, 2.0, 9.0, f64::NAN, -4.0]);
        assert_eq!(numbers.codes(&[1.0, 2.0]).unwrap(), [0, 0, 1, 1, 2, 2, MISSING, 0]);
        assert_eq!((numbers.range(), numbers.missing()), (Some((-4.0, 9.0)), 1));
        assert!(numbers.codes(&[0.0; super::super::MAX_CODES]).is_err());
        assert_eq!(floats(&[f64::NAN]).range(), None);
    }
}
