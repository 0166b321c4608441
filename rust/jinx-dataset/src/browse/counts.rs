//! Counts the samples with each code, given the choices made in other columns.

use crate::browse::selected::Selected;
use jinx_core::checked_math::to_u64;
use jinx_core::cores::usable_cores;
use jinx_core::threads;
use jinx_core::{Error, Result};
use std::ops::Range;

/// The number of samples that a thread counts before it takes the next ones; their bits are whole bytes.
const BLOCK: usize = 1 << 18;

/// The codes of a column, one byte per sample, and which codes are chosen.
#[derive(Clone, Copy)]
pub struct KeptCodes<'c> {
    pub codes: &'c [u8],
    pub is_kept: &'c [bool; 256],
}

/// The number of samples with each code.
#[derive(Debug, PartialEq, Eq)]
pub struct Counts {
    /// For each column, the samples that every *other* column keeps.
    pub by_column: Vec<[u64; 256]>,
    /// The samples that all columns keep.
    pub kept: u64,
}

/// Counts codes in each column, among the samples in `among` that all other columns keep.
///
/// # Errors
/// `Invalid` if a column has another length.
pub fn linked_counts(
    columns: &[KeptCodes<'_>],
    among: Option<Selected<'_>>,
    samples: usize,
) -> Result<Counts> {
    check(columns, among, samples)?;
    let count = |block: Range<usize>, _| {
        let mut counts = Counts { by_column: vec![[0; 256]; columns.len()], kept: 0 };
        for i in block {
            if among.is_some_and(|among| !among.has(i)) {
                continue;
            }
            // A sample that exactly one column refuses counts only in that column.
            let (mut refusals, mut refusing) = (0, 0);
            for (at, column) in columns.iter().enumerate() {
                let is_refused = !column.is_kept[usize::from(column.codes[i])];
                refusals += usize::from(is_refused);
                refusing = if is_refused { at } else { refusing };
            }
            match refusals {
                0 => {
                    counts.kept += 1;
                    for (column, counts) in columns.iter().zip(&mut counts.by_column) {
                        counts[usize::from(column.codes[i])] += 1;
                    }
                }
                1 => counts.by_column[refusing][usize::from(columns[refusing].codes[i])] += 1,
                _ => {}
            }
        }
        Ok(counts)
    };
    let mut sum = Counts { by_column: vec![[0; 256]; columns.len()], kept: 0 };
    for part in threads::map(usable_cores(), blocks(samples), "a counting thread", count) {
        let part = part?;
        sum.kept += part.kept;
        let cells = sum.by_column.iter_mut().flatten().zip(part.by_column.iter().flatten());
        cells.for_each(|(sum, count)| *sum += count);
    }
    Ok(sum)
}

/// The samples in `among` that all columns keep, as bits of [`Selected`].
///
/// # Errors
/// `Invalid` if a column has another length.
pub fn kept_samples(
    columns: &[KeptCodes<'_>],
    among: Option<Selected<'_>>,
    samples: usize,
) -> Result<Vec<u8>> {
    check(columns, among, samples)?;
    let is_kept = |i: usize| {
        among.is_none_or(|among| among.has(i))
            && columns.iter().all(|column| column.is_kept[usize::from(column.codes[i])])
    };
    let of_block = |block: Range<usize>, _| {
        let mut bits = vec![0u8; block.len().div_ceil(8)];
        for (at, i) in block.enumerate() {
            bits[at / 8] |= u8::from(is_kept(i)) << (at % 8);
        }
        Ok(bits)
    };
    let mut bits = Vec::with_capacity(samples.div_ceil(8));
    for part in threads::map(usable_cores(), blocks(samples), "a selecting thread", of_block) {
        bits.extend(part?);
    }
    Ok(bits)
}

fn blocks(samples: usize) -> impl Iterator<Item = Range<usize>> + Send {
    (0..samples).step_by(BLOCK).map(move |start| start..samples.min(start + BLOCK))
}

fn check(columns: &[KeptCodes<'_>], among: Option<Selected<'_>>, samples: usize) -> Result<()> {
    let selected = among.map(|among| among.samples());
    let lengths = columns.iter().map(|column| column.codes.len()).chain(selected);
    match lengths.into_iter().find(|length| *length != samples) {
        Some(length) => {
            Err(Error::invalid(format!("{} codes for {} samples", to_u64(length), to_u64(samples))))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::browse::selected::tests::bits;

    #[test]
    fn counts_are_those_of_a_plain_loop() {
        let samples = BLOCK + 1000;
        let first: Vec<u8> = (0..samples).map(|i| u8::try_from(i % 7).unwrap()).collect();
        let second: Vec<u8> = (0..samples).map(|i| u8::try_from(i * 31 % 11).unwrap()).collect();
        let third: Vec<u8> = (0..samples).map(|i| if i % 5 == 0 { u8::MAX } else { 1 }).collect();
        let chosen: Vec<usize> = (0..samples).filter(|i| i % 13 != 0).collect();
        let among = bits(&chosen, samples);
        let keeps = [[0, 3, 4], [1, 2, 10]].map(|codes: [usize; 3]| {
            let mut kept = [false; 256];
            codes.into_iter().for_each(|code| kept[code] = true);
            kept
        });
        let all = [true; 256];
        let columns = [
            KeptCodes { codes: &first, is_kept: &keeps[0] },
            KeptCodes { codes: &second, is_kept: &keeps[1] },
            KeptCodes { codes: &third, is_kept: &all },
        ];
        for among in [None, Some(Selected::new(&among, samples).unwrap())] {
            let counts = linked_counts(&columns, among, samples).unwrap();
            for at in 0..columns.len() {
                let mut expected = [0u64; 256];
                for i in 0..samples {
                    let others = columns.iter().enumerate().filter(|(other, _)| *other != at);
                    let is_kept = among.is_none_or(|among| among.has(i))
                        && others.into_iter().all(|(_, c)| c.is_kept[usize::from(c.codes[i])]);
                    expected[usize::from(columns[at].codes[i])] += u64::from(is_kept);
                }
                assert_eq!(counts.by_column[at], expected);
            }
            let is_right = |i: &usize| {
                among.is_none_or(|among| among.has(*i))
                    && keeps[0][usize::from(first[*i])]
                    && keeps[1][usize::from(second[*i])]
            };
            let expected: Vec<usize> = (0..samples).filter(is_right).collect();
            assert_eq!(kept_samples(&columns, among, samples).unwrap(), bits(&expected, samples));
            assert_eq!(counts.kept, to_u64(expected.len()));
        }
    }

    #[test]
    fn columns_of_another_length_are_refused() {
        let column = KeptCodes { codes: &[1, 2], is_kept: &[true; 256] };
        assert!(linked_counts(&[column], None, 3).is_err());
        let among = Selected::new(&[0b1], 2).unwrap();
        assert!(kept_samples(&[], Some(among), 3).is_err());
        assert_eq!(kept_samples(&[], None, 3).unwrap(), [0b111]);
    }
}
