//! Three-valued logic, with answers that may still be open.

use std::ops::{BitAnd, BitOr, Not};

/// The possible answers of a condition for a sample: a subset of false, unknown and true.
///
/// Comparing a missing value gives unknown. A set of several answers is open: the values have not been read, or cannot
/// be compared. An open answer may not matter, as in `False and ...`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truth(u8);

impl Truth {
    pub const FALSE: Self = Self(0b001);
    pub const UNKNOWN: Self = Self(0b010);
    pub const TRUE: Self = Self(0b100);
    /// Every answer is possible.
    pub const OPEN: Self = Self(0b111);

    #[inline]
    pub fn of(value: bool) -> Self {
        if value { Self::TRUE } else { Self::FALSE }
    }

    /// Whether true is the only possible answer.
    #[inline]
    pub fn is_true(self) -> bool {
        self == Self::TRUE
    }

    /// Whether true and another answer are both possible, so that more of the sample must be read.
    #[inline]
    pub fn is_open(self) -> bool {
        self.0 > Self::TRUE.0
    }

    /// Whether any of the answers is open. It avoids a branch per answer.
    pub fn any_open(answers: &[Self]) -> bool {
        answers.iter().fold(false, |any, answer| any | answer.is_open())
    }

    /// Whether the sample is selected; `None` if this is not certain.
    #[inline]
    pub fn decided(self) -> Option<bool> {
        (!self.is_open()).then(|| self.is_true())
    }
}

impl From<bool> for Truth {
    fn from(value: bool) -> Self {
        Self::of(value)
    }
}

impl BitAnd for Truth {
    type Output = Self;

    /// Kleene's `and` of every pair of answers.
    #[inline]
    fn bitand(self, other: Self) -> Self {
        let (a, b) = (self.0, other.0);
        // The bit of unknown is set in `a_more` and `b_more` if unknown or true is possible.
        let (a_more, b_more) = (a | a >> 1, b | b >> 1);
        let unknown = (a & b_more | b & a_more) & Self::UNKNOWN.0;
        Self(a & b & Self::TRUE.0 | unknown | (a | b) & Self::FALSE.0)
    }
}

impl BitOr for Truth {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        !(!self & !other)
    }
}

impl Not for Truth {
    type Output = Self;

    #[inline]
    fn not(self) -> Self {
        let bits = self.0;
        Self(bits >> 2 & Self::FALSE.0 | bits & Self::UNKNOWN.0 | bits << 2 & Self::TRUE.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWERS: [Truth; 3] = [Truth::FALSE, Truth::UNKNOWN, Truth::TRUE];

    fn kleene_and(a: usize, b: usize) -> usize {
        a.min(b)
    }

    fn sets() -> impl Iterator<Item = Vec<usize>> {
        (1..8usize).map(|bits| (0..3).filter(|i| bits >> i & 1 == 1).collect())
    }

    fn truth(answers: impl IntoIterator<Item = usize>) -> Truth {
        Truth(answers.into_iter().fold(0, |bits, i| bits | ANSWERS[i].0))
    }

    #[test]
    fn sets_of_answers_combine_as_all_their_pairs() {
        for left in sets() {
            assert_eq!(!truth(left.clone()), truth(left.iter().map(|a| 2 - a)));
            for right in sets() {
                let pairs = || left.iter().flat_map(|a| right.iter().map(move |b| (*a, *b)));
                let (a, b) = (truth(left.clone()), truth(right.clone()));
                assert_eq!(a & b, truth(pairs().map(|(a, b)| kleene_and(a, b))));
                assert_eq!(a | b, truth(pairs().map(|(a, b)| a.max(b))));
            }
        }
    }

    #[test]
    fn only_what_cannot_be_otherwise_is_decided() {
        assert_eq!(Truth::TRUE.decided(), Some(true));
        for no in [Truth::FALSE, Truth::UNKNOWN, Truth::UNKNOWN & Truth::OPEN] {
            assert_eq!(no.decided(), Some(false));
        }
        for open in [Truth::OPEN, Truth::UNKNOWN | Truth::OPEN, !(Truth::UNKNOWN & Truth::OPEN)] {
            assert_eq!(open.decided(), None);
        }
    }
}
