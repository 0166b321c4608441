//! Keys of numbers that were read from rows, in few bytes: most such columns are lengths or small integers.

use crate::browse::sortable_cells::{KeyKind, float_key, int_key};

/// The number of samples in a block.
pub(super) const BLOCK: usize = 1 << 16;

/// The keys of a column. Samples without a number have none.
pub(super) struct PackedKeys {
    blocks: Vec<Block>,
    kind: KeyKind,
    /// The samples that are not in a block yet.
    open: Vec<Option<u64>>,
}

struct Block {
    cells: Cells,
    /// Which samples have no number; empty if all have one.
    missing: Vec<bool>,
}

enum Cells {
    /// Integers, as differences from the smallest one.
    Bytes(i64, Vec<u8>),
    Shorts(i64, Vec<u16>),
    Words(i64, Vec<u32>),
    Keys(Vec<u64>),
}

impl Cells {
    fn pack(keys: &[Option<u64>], kind: KeyKind) -> Self {
        let integers = || keys.iter().flatten().map(|key| kind.integer(*key));
        let wide = || Self::Keys(keys.iter().map(|key| key.unwrap_or_default()).collect());
        if integers().any(|integer| integer.is_none()) {
            return wide();
        }
        let least = integers().flatten().min().unwrap_or_default();
        let differences = || {
            let integers = keys.iter().map(move |key| key.and_then(|key| kind.integer(key)));
            integers.map(move |integer| integer.map_or(0, |value| value.abs_diff(least)))
        };
        let bytes = || Some(Self::Bytes(least, narrowed(differences())?));
        let shorts = || Some(Self::Shorts(least, narrowed(differences())?));
        let words = || Some(Self::Words(least, narrowed(differences())?));
        bytes().or_else(shorts).or_else(words).unwrap_or_else(wide)
    }

    fn key(&self, at: usize, kind: KeyKind) -> Option<u64> {
        let integer =
            |least: i64, difference: Option<u64>| Some(kind.key(least.wrapping_add_unsigned(difference?)));
        match self {
            Self::Bytes(least, cells) => integer(*least, cells.get(at).map(|cell| u64::from(*cell))),
            Self::Shorts(least, cells) => integer(*least, cells.get(at).map(|cell| u64::from(*cell))),
            Self::Words(least, cells) => integer(*least, cells.get(at).map(|cell| u64::from(*cell))),
            Self::Keys(keys) => keys.get(at).copied(),
        }
    }
}

/// The numbers in a smaller type; `None` if one does not fit.
fn narrowed<T: TryFrom<u64>>(numbers: impl Iterator<Item = u64>) -> Option<Vec<T>> {
    numbers.map(|number| T::try_from(number).ok()).collect()
}

impl PackedKeys {
    pub(super) fn new(kind: KeyKind) -> Self {
        Self { blocks: Vec::new(), kind, open: Vec::with_capacity(BLOCK) }
    }

    pub(super) fn push(&mut self, key: Option<u64>) {
        self.open.push(key);
        if self.open.len() == BLOCK {
            self.close();
        }
    }

    /// All keys, once no more follow.
    pub(super) fn finished(mut self) -> Self {
        if !self.open.is_empty() {
            self.close();
        }
        self.open = Vec::new();
        self
    }

    fn close(&mut self) {
        let missing = if self.open.contains(&None) {
            self.open.iter().map(Option::is_none).collect()
        } else {
            Vec::new()
        };
        self.blocks.push(Block { cells: Cells::pack(&self.open, self.kind), missing });
        self.open.clear();
    }

    pub(super) fn key(&self, sample: usize) -> Option<u64> {
        let block = self.blocks.get(sample / BLOCK)?;
        let at = sample % BLOCK;
        if block.missing.get(at).copied().unwrap_or_default() { None } else { block.cells.key(at, self.kind) }
    }
}

impl KeyKind {
    /// The integer for a key, if the key can be recovered from it.
    fn integer(self, key: u64) -> Option<i64> {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        match self {
            Self::Int => Some((key ^ int_key(0)).cast_signed()),
            Self::Float => {
                let value = self.number(key);
                #[allow(clippy::cast_possible_truncation)] // a whole number that both types hold exactly
                (value.fract() == 0.0 && value.abs() < EXACT).then_some(value as i64)
            }
        }
    }

    /// The key for such an integer.
    fn key(self, value: i64) -> u64 {
        match self {
            Self::Int => int_key(value),
            #[allow(clippy::cast_precision_loss)] // see `integer`
            Self::Float => float_key(value as f64).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: KeyKind, keys: &[Option<u64>]) {
        let mut packed = PackedKeys::new(kind);
        keys.iter().for_each(|key| packed.push(*key));
        let packed = packed.finished();
        let found: Vec<Option<u64>> = (0..keys.len()).map(|sample| packed.key(sample)).collect();
        assert_eq!(found, keys);
        assert_eq!(packed.key(keys.len()), None);
    }

    #[test]
    fn keys_are_those_that_were_packed() {
        for scale in [1, 200, 70_000, 1 << 40, i64::MAX / 4000] {
            let ints: Vec<_> =
                (0..2000).map(|i| (i % 7 != 3).then_some(int_key((i - 1000) * scale))).collect();
            check(KeyKind::Int, &ints);
        }
        check(KeyKind::Int, &[Some(int_key(i64::MIN)), None, Some(int_key(i64::MAX))]);
        let floats = [0.0, -0.0, 3.0, 255.0, -7.0, 1e300, 0.25, f64::INFINITY, f64::NEG_INFINITY, 9.1e15];
        for value in floats {
            check(KeyKind::Float, &[float_key(value), None, float_key(12.0)]);
            check(KeyKind::Float, &[float_key(value)]);
        }
        check(KeyKind::Float, &floats.map(float_key));
        check(KeyKind::Float, &[None, None]);
        check(KeyKind::Float, &[]);
    }

    #[test]
    fn lengths_take_two_bytes_or_one() {
        let mut packed = PackedKeys::new(KeyKind::Float);
        for i in 0..BLOCK + 10 {
            packed.push(float_key(if i < BLOCK {
                f64::from(u16::try_from(i % 3000).unwrap_or_default())
            } else {
                17.0
            }));
        }
        let packed = packed.finished();
        assert!(matches!(packed.blocks[0].cells, Cells::Shorts(0, _)));
        assert!(matches!(packed.blocks[1].cells, Cells::Bytes(17, _)));
    }
}
