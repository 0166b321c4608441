//! The draws of an epoch: all samples once or, from each dataset of a mixture, as many samples as its weight implies.

use crate::permutation::{Permutation, Stream, permutation};
use crate::request::known_u32;

/// One dataset of a mixture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MixtureSource {
    pub samples: u32,
    /// The number of samples that this epoch draws. If it is less than `samples`, each epoch draws another part. If it
    /// is more, some samples are repeated.
    pub draws: u64,
    /// The number of samples that all earlier epochs drew, modulo `samples`: this epoch continues there.
    pub start: u64,
}

/// The draws of an epoch, in a fixed order.
#[derive(Debug)]
pub struct Draws {
    sources: Vec<Part>,
    total: u64,
}

#[derive(Debug)]
struct Part {
    /// The number of its first draw. `position` is its first position.
    draw: u64,
    position: u32,
    samples: u64,
    /// The place where earlier epochs stopped, and the order of the samples. `None` if each sample is drawn once.
    begins: Option<(u64, Option<Permutation>)>,
}

impl Draws {
    pub fn new(sources: &[MixtureSource], seed: Option<u64>) -> Self {
        let (mut total, mut position) = (0, 0);
        let sources = (0_u32..)
            .zip(sources)
            .map(|(number, source)| {
                let samples = u64::from(source.samples);
                let begins = (source.draws != samples && samples > 0).then(|| {
                    let order = seed.map(|seed| permutation(samples, seed, 0, Stream::Source(number)));
                    (source.start % samples, order)
                });
                let part = Part { draw: total, position, samples, begins };
                total += if samples == 0 { 0 } else { source.draws };
                position += source.samples;
                part
            })
            .filter(|part| part.samples > 0)
            .collect();
        Self { sources, total }
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    /// The position of the sample for a draw. `draw` must be below the total.
    pub fn position(&self, draw: u64) -> u32 {
        let after = match self.sources.as_slice() {
            [_] => 1,
            sources => sources.partition_point(|part| part.draw <= draw),
        };
        let part = &self.sources[after - 1];
        let inside = draw - part.draw;
        let sample = match &part.begins {
            None => inside,
            Some((before, order)) => {
                let place = (before + inside) % part.samples;
                order.as_ref().map_or(place, |order| order.at(place))
            }
        };
        part.position + known_u32(sample, "below the number of samples, which is u32")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(samples: u32) -> MixtureSource {
        MixtureSource { samples, draws: u64::from(samples), start: 0 }
    }

    fn drawn(sources: &[MixtureSource]) -> Vec<u32> {
        let draws = Draws::new(sources, Some(3));
        (0..draws.total()).map(|draw| draws.position(draw)).collect()
    }

    #[test]
    fn one_dataset_is_drawn_in_order() {
        assert_eq!(drawn(&[all(4)]), [0, 1, 2, 3]);
        assert!(drawn(&[all(0)]).is_empty());
    }

    #[test]
    fn epochs_that_continue_show_each_sample_once() {
        let epochs = [(0, 3), (3, 2), (5, 3), (8, 2)];
        let sources = epochs.map(|(start, draws)| [all(3), MixtureSource { samples: 10, draws, start }]);
        let mut drawn = sources.map(|sources| drawn(&sources).split_off(3)).concat();
        drawn.sort_unstable();
        assert_eq!(drawn, (3..13).collect::<Vec<_>>());
    }

    #[test]
    fn a_weight_of_two_shows_each_sample_twice() {
        let mut twice = drawn(&[MixtureSource { samples: 3, draws: 6, start: 1 }]);
        twice.sort_unstable();
        assert_eq!(twice, [0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn an_empty_source_between_others_is_passed_over() {
        assert_eq!(drawn(&[1, 0, 2].map(all)), [0, 1, 2]);
    }
}
