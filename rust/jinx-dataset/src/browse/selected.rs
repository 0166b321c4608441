//! A selection of samples as one bit for each sample of a dataset, however many it selects.

use jinx_core::checked_math::to_u64;
use jinx_core::{Error, Result};
use std::ops::Range;

/// The selected samples; for sample `i`, this is bit `i % 8` of byte `i / 8`, counted from the lowest.
#[derive(Clone, Copy)]
pub struct Selected<'b> {
    bits: &'b [u8],
    samples: usize,
}

impl<'b> Selected<'b> {
    /// # Errors
    /// `Invalid` if there are not as many bits as samples, or a bit after the last sample is set.
    pub fn new(bits: &'b [u8], samples: usize) -> Result<Self> {
        let used = samples % 8;
        let has_more = used > 0 && bits.last().is_some_and(|last| last >> used != 0);
        if bits.len() != samples.div_ceil(8) || has_more {
            let bytes = to_u64(bits.len());
            return Err(Error::invalid(format!(
                "{bytes} bytes of bits do not select from {} samples",
                to_u64(samples)
            )));
        }
        Ok(Self { bits, samples })
    }

    /// The number of samples of the dataset.
    pub(super) fn samples(&self) -> usize {
        self.samples
    }

    pub(super) fn has(&self, sample: usize) -> bool {
        self.bits.get(sample / 8).is_some_and(|byte| byte >> (sample % 8) & 1 == 1)
    }

    pub(super) fn count(&self) -> usize {
        self.bits.iter().map(|byte| byte.count_ones() as usize).sum()
    }

    /// The selected samples of a range, in order.
    pub(super) fn within(self, range: Range<usize>) -> impl Iterator<Item = usize> {
        range.filter(move |sample| self.has(*sample))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests {
    use super::*;

    /// The bits of samples in a range.
    pub fn bits(selected: &[usize], samples: usize) -> Vec<u8> {
        let mut bits = vec![0; samples.div_ceil(8)];
        selected.iter().for_each(|sample| bits[sample / 8] |= 1 << (sample % 8));
        bits
    }

    #[test]
    fn bits_are_counted_from_the_lowest() {
        let bits = bits(&[0, 3, 8, 10], 11);
        assert_eq!(bits, [0b1001, 0b101]);
        let selected = Selected::new(&bits, 11).unwrap();
        assert_eq!(
            (selected.count(), selected.has(3), selected.has(4), selected.has(99)),
            (4, true, false, false)
        );
        assert_eq!(selected.within(1..9).collect::<Vec<_>>(), [3, 8]);
        assert_eq!(Selected::new(&[], 0).unwrap().count(), 0);
    }

    #[test]
    fn bits_that_do_not_fit_are_refused() {
        for (bits, samples) in [(&[0u8, 0][..], 8), (&[0], 9), (&[0b1000], 3), (&[], 1)] {
            assert!(Selected::new(bits, samples).is_err());
        }
        assert!(Selected::new(&[0b1000_0000], 8).is_ok());
    }
}
