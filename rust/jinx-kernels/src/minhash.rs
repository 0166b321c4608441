//! MinHash signatures of texts and the keys of their bands, for finding near-duplicates.
//!
//! The share of equal elements of two signatures estimates the Jaccard similarity of the two sets of shingles. Two
//! texts are candidates if all elements of one band are equal.

use crate::per_text::fill;
use crate::repetition::hash_lowercase;
use jinx_core::error::{Error, Result};
use pulp::Arch;
use twox_hash::XxHash3_64;

/// The tokens of which shingles consist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tokens {
    /// Split at white space.
    Space,
    /// Split at white space and punctuation.
    Punctuation,
    /// Split into code points.
    Character,
}

/// How signatures are made. Two signatures are comparable only if their schemes are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    pub tokens: Tokens,
    /// The number of tokens per shingle. A text with fewer tokens has one shingle of all its tokens.
    pub window: usize,
    pub lowercase: bool,
    /// The number of elements per signature.
    pub permutations: usize,
}

/// The maximum number of elements of a signature. More elements do not improve it, and every text needs memory for
/// them.
const MAX_PERMUTATIONS: usize = 4096;
const MAX_WINDOW: usize = 1024;
const COMBINE: u64 = 0x9FB2_1C65_1E98_DF25;

impl Scheme {
    /// Checks that signatures can be made with this scheme.
    ///
    /// # Errors
    /// `Invalid` if a number is out of range.
    pub(crate) fn check(&self) -> Result<()> {
        if self.permutations == 0 || self.permutations > MAX_PERMUTATIONS {
            return Err(Error::invalid(format!(
                "{} permutations; use 1 to {MAX_PERMUTATIONS}",
                self.permutations
            )));
        }
        if self.window == 0 || self.window > MAX_WINDOW {
            return Err(Error::invalid(format!("shingles of {} tokens; use 1 to {MAX_WINDOW}", self.window)));
        }
        Ok(())
    }
}

/// The signatures of all texts, one after another. Each has `scheme.permutations` elements.
///
/// In the signature of a text without tokens, all bits are 1.
///
/// # Errors
/// `Invalid` for an invalid scheme; otherwise the errors of `per_text::fill`.
pub fn signatures(texts: &[&str], scheme: Scheme, threads: usize) -> Result<Vec<u32>> {
    scheme.check()?;
    let (factors, terms) = permutations(scheme.permutations);
    let arch = Arch::new();
    fill(texts, scheme.permutations, u32::MAX, threads, Shingles::default, |shingles, text, row| {
        shingles.read(text, scheme);
        // Compiled once for each instruction set: eight elements at a time where the processor has AVX2.
        arch.dispatch(Minima { hashes: &shingles.hashes, factors: &factors, terms: &terms, row });
    })
}

/// One key for each band of each signature. Two keys are equal if all elements of their bands are equal. Elements
/// outside the bands are ignored.
///
/// # Errors
/// `Invalid` if the bands do not fit into a signature.
pub fn band_keys(signatures: &[u32], permutations: usize, bands: usize, rows: usize) -> Result<Vec<u64>> {
    let fits = bands.checked_mul(rows).is_some_and(|size| (1..=permutations).contains(&size));
    if !fits {
        return Err(Error::invalid(format!(
            "{bands} bands of {rows} elements do not fit a signature of {permutations}"
        )));
    }
    let mut bytes = Vec::with_capacity(rows * 4);
    let mut keys = Vec::with_capacity(signatures.len() / permutations * bands);
    for signature in signatures.chunks_exact(permutations) {
        for band in signature.chunks_exact(rows).take(bands) {
            bytes.clear();
            band.iter().for_each(|element| bytes.extend_from_slice(&element.to_le_bytes()));
            keys.push(XxHash3_64::oneshot(&bytes));
        }
    }
    Ok(keys)
}

/// The number of permutations whose minima are kept in registers.
const AT_ONCE: usize = 32;

/// For each permutation, the smallest value that it gives to any of the hashes.
struct Minima<'a> {
    hashes: &'a [u32],
    factors: &'a [u32],
    terms: &'a [u32],
    row: &'a mut [u32],
}

// Not a closure: this is certain to be inlined, and so is compiled for the instruction set.
impl pulp::NullaryFnOnce for Minima<'_> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // the compiler does not vectorize zipped arrays
    fn call(self) {
        let parts = self.factors.chunks(AT_ONCE).zip(self.terms.chunks(AT_ONCE));
        for (row, (factors, terms)) in self.row.chunks_mut(AT_ONCE).zip(parts) {
            let whole = (<&[u32; AT_ONCE]>::try_from(factors), <&[u32; AT_ONCE]>::try_from(terms));
            if let (Ok(row), (Ok(factors), Ok(terms))) = (<&mut [u32; AT_ONCE]>::try_from(&mut *row), whole) {
                let mut least = [u32::MAX; AT_ONCE];
                for &hash in self.hashes {
                    for at in 0..AT_ONCE {
                        least[at] = least[at].min(hash.wrapping_mul(factors[at]).wrapping_add(terms[at]));
                    }
                }
                *row = least;
                continue;
            }
            for ((least, &factor), &term) in row.iter_mut().zip(factors).zip(terms) {
                let values = self.hashes.iter().map(|hash| hash.wrapping_mul(factor).wrapping_add(term));
                *least = values.min().unwrap_or(u32::MAX);
            }
        }
    }
}

/// The factors (odd) and terms of the permutations `x -> factor * x + term` of 32-bit numbers. They are the same on
/// every machine.
fn permutations(count: usize) -> (Vec<u32>, Vec<u32>) {
    let mut state = 42_u64;
    let mut next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        high(mixed ^ (mixed >> 31))
    };
    (0..count).map(|_| (next() | 1, next())).unzip()
}

#[allow(clippy::cast_possible_truncation)] // the upper half fits into 32 bits
fn high(number: u64) -> u32 {
    (number >> 32) as u32
}

/// The hashes of the shingles of one text.
#[derive(Default)]
pub(crate) struct Shingles {
    tokens: Vec<u64>,
    hashes: Vec<u32>,
}

impl Shingles {
    fn read(&mut self, text: &str, scheme: Scheme) {
        let mut hashes = std::mem::take(&mut self.hashes);
        hashes.clear();
        self.for_each(text, scheme, |shingle| hashes.push(high(shingle)));
        self.hashes = hashes;
    }

    /// Calls `each` with the hash of every shingle, in order.
    pub(crate) fn for_each(&mut self, text: &str, scheme: Scheme, mut each: impl FnMut(u64)) {
        self.tokens.clear();
        let tokens = &mut self.tokens;
        let hash = |token: &str| {
            if scheme.lowercase { hash_lowercase(token) } else { XxHash3_64::oneshot(token.as_bytes()) }
        };
        match scheme.tokens {
            Tokens::Space => tokens.extend(text.split_whitespace().map(hash)),
            Tokens::Punctuation => {
                let is_between = |character: char| character.is_whitespace() || is_punctuation(character);
                tokens.extend(text.split(is_between).filter(|token| !token.is_empty()).map(hash));
            }
            Tokens::Character => {
                let mut buffer = [0; 4];
                tokens.extend(text.chars().map(|character| hash(character.encode_utf8(&mut buffer))));
            }
        }
        if tokens.is_empty() {
            return;
        }
        for window in tokens.windows(scheme.window.min(tokens.len())) {
            let mixed = window
                .iter()
                .fold(0_u64, |mixed, &token| (mixed.rotate_left(23) ^ token).wrapping_mul(COMBINE));
            each(mixed ^ (mixed >> 29).wrapping_mul(COMBINE));
        }
    }
}

fn is_punctuation(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_punctuation();
    }
    !character.is_alphanumeric() && !character.is_control()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation)]
mod tests {
    use super::*;

    const SCHEME: Scheme = Scheme { tokens: Tokens::Space, window: 5, lowercase: true, permutations: 256 };

    fn text(words: impl Iterator<Item = usize>) -> String {
        words.map(|word| format!("w{word} ")).collect()
    }

    fn agreement(a: &[u32], b: &[u32]) -> f64 {
        let equal = a.iter().zip(b).filter(|(a, b)| a == b).count();
        f64::from(u32::try_from(equal).unwrap()) / f64::from(u32::try_from(a.len()).unwrap())
    }

    #[test]
    fn agreement_estimates_the_jaccard_similarity() {
        let scheme = Scheme { window: 1, permutations: 1024, ..SCHEME };
        let mut errors = Vec::new();
        for (at, shared) in (0..200_usize).step_by(10).enumerate() {
            let base = at * 1000;
            let one = text(base..base + 200);
            let other = text(base + 200 - shared..base + 400 - shared);
            let rows = signatures(&[&one, &other], scheme, 1).unwrap();
            let wanted =
                f64::from(u32::try_from(shared).unwrap()) / f64::from(u32::try_from(400 - shared).unwrap());
            errors.push(agreement(&rows[..1024], &rows[1024..]) - wanted);
        }
        let mean = errors.iter().sum::<f64>() / 20.0;
        assert!(mean.abs() < 0.01, "bias {mean}");
        assert!(errors.iter().all(|error| error.abs() < 0.06), "{errors:?}");
    }

    #[test]
    fn instruction_sets_agree() {
        let owned = text(0..300);
        let mut shingles = Shingles::default();
        shingles.read(&owned, SCHEME);
        for count in [1, 31, 32, 100, 256] {
            let (factors, terms) = permutations(count);
            let least = |(&factor, &term): (&u32, &u32)| {
                let values = shingles.hashes.iter().map(|hash| hash.wrapping_mul(factor).wrapping_add(term));
                values.min().unwrap()
            };
            let plain: Vec<u32> = factors.iter().zip(&terms).map(least).collect();
            let scheme = Scheme { permutations: count, ..SCHEME };
            assert_eq!(signatures(&[&owned], scheme, 1).unwrap(), plain);
        }
    }

    #[test]
    fn short_texts_are_told_apart() {
        let rows = signatures(&["a b", "a c", "A  b", "", " "], SCHEME, 1).unwrap();
        let row = |at: usize| &rows[at * 256..(at + 1) * 256];
        assert_ne!(row(0), row(1));
        assert_eq!(row(0), row(2));
        assert_eq!(row(3), row(4));
        assert!(row(3).iter().all(|&element| element == u32::MAX));
    }

    #[test]
    fn tokens_of_each_kind() {
        let scheme = |tokens| Scheme { tokens, window: 2, ..SCHEME };
        let equal = |tokens, a: &str, b: &str| {
            let rows = signatures(&[a, b], scheme(tokens), 1).unwrap();
            rows[..256] == rows[256..]
        };
        assert!(!equal(Tokens::Space, "a, b", "a b"));
        assert!(equal(Tokens::Punctuation, "a,b。c", "a b c"));
        assert!(equal(Tokens::Character, "你好", "你好"));
        assert!(!equal(Tokens::Character, "ab", "a b"));
    }

    #[test]
    fn bands_are_equal_where_their_elements_are() {
        let keys = band_keys(&[1, 2, 3, 4, 9, 1, 2, 7, 4, 9], 5, 2, 2).unwrap();
        assert_eq!(keys.len(), 4);
        assert_eq!(keys[0], keys[2]);
        assert_ne!(keys[1], keys[3]);
        assert!(band_keys(&[1], 1, 2, 1).is_err());
    }

    #[test]
    fn schemes_that_cannot_be() {
        assert!(signatures(&[], Scheme { permutations: 0, ..SCHEME }, 1).is_err());
        assert!(signatures(&[], Scheme { window: 0, ..SCHEME }, 1).is_err());
        assert!(signatures(&[], Scheme { permutations: 1 << 40, ..SCHEME }, 1).is_err());
    }
}
