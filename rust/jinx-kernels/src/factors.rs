//! Two non-negative factors of rank two whose product is close to a matrix.

use jinx_core::error::{Error, Result};
use jinx_core::interrupt;
use pulp::{Arch, Simd, WithSimd, bytemuck};

/// The number of lanes in which sums of products are kept on every machine, so that results are the same on all. For
/// the same reason a product is added with one rounding (`mul_add`): one instruction on processors of the last ten
/// years.
const LANES: usize = 16;
/// The number of rows whose sums are computed together while they are in the cache.
const AT_ONCE: usize = 4;
/// The number of rows that are multiplied with the right factor together, so that each of its numbers is loaded once
/// for all.
const DOTS_AT_ONCE: usize = 2;

/// Improves two factors in place, by coordinate descent on the sum of squared differences.
///
/// The descent stops when what is left to gain is `tolerance` of what it was in the first step. A step reads the matrix
/// once: the sums that the right factor needs are made from a row of the matrix as soon as its left factor is known.
///
/// * `matrix`: one row after another, each of `columns` numbers that are not negative.
/// * `left`: two numbers for each row; first all first ones.
/// * `right`: two numbers for each column; first all first ones.
///
/// # Errors
/// `Invalid` if the lengths do not fit; `Interrupted` after Ctrl-C.
pub fn descend(
    matrix: &[f32],
    columns: usize,
    left: &mut [f32],
    right: &mut [f32],
    iterations: u32,
    tolerance: f64,
) -> Result<()> {
    let rows = left.len() / 2;
    if right.len() != columns.saturating_mul(2)
        || !left.len().is_multiple_of(2)
        || matrix.len() != rows.saturating_mul(columns)
    {
        return Err(Error::invalid(format!(
            "a matrix of {} numbers has no factors of {} and {}",
            matrix.len(),
            left.len(),
            right.len()
        )));
    }
    if matrix.is_empty() {
        return Ok(());
    }
    let arch = Arch::new();
    let mut sums = vec![0.0; 2 * columns];
    let mut first = 0.0;
    for number in 0..iterations {
        interrupt::check()?;
        let change = arch.dispatch(Step {
            matrix,
            columns,
            left: left.split_at_mut(rows).into(),
            right: right.split_at_mut(columns).into(),
            sums: sums.split_at_mut(columns).into(),
        });
        if number == 0 {
            first = change;
        }
        if change <= tolerance * first {
            break;
        }
    }
    Ok(())
}

/// One step, for both factors.
struct Step<'a> {
    matrix: &'a [f32],
    columns: usize,
    left: [&'a mut [f32]; 2],
    right: [&'a mut [f32]; 2],
    /// The products of the new left factor with the matrix.
    sums: [&'a mut [f32]; 2],
}

impl WithSimd for Step<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let [left_first, left_second] = self.left;
        let [right_first, right_second] = self.right;
        let [first_sums, second_sums] = self.sums;
        first_sums.fill(0.0);
        second_sums.fill(0.0);
        let right_gram = gram(simd, [&*right_first, &*right_second]);
        let mut change = 0.0;
        let parts = left_first.chunks_mut(AT_ONCE).zip(left_second.chunks_mut(AT_ONCE));
        for (rows, (ones, twos)) in self.matrix.chunks(AT_ONCE * self.columns).zip(parts) {
            let pairs = ones.chunks_mut(DOTS_AT_ONCE).zip(twos.chunks_mut(DOTS_AT_ONCE));
            for (pair, (ones, twos)) in rows.chunks(DOTS_AT_ONCE * self.columns).zip(pairs) {
                let products = dots(simd, pair, [&*right_first, &*right_second]);
                for (product, (one, two)) in products.into_iter().zip(ones.iter_mut().zip(twos)) {
                    change += improve(one, two, product, right_gram);
                }
            }
            if let (Ok(ones), Ok(twos)) =
                (<[f32; AT_ONCE]>::try_from(&*ones), <[f32; AT_ONCE]>::try_from(&*twos))
            {
                add(simd, first_sums, second_sums, rows, ones, twos);
                continue;
            }
            for (row, (one, two)) in rows.chunks(self.columns).zip(ones.iter().zip(twos.iter())) {
                for ((value, sum), other) in row.iter().zip(&mut *first_sums).zip(&mut *second_sums) {
                    *sum = one.mul_add(*value, *sum);
                    *other = two.mul_add(*value, *other);
                }
            }
        }
        let left_gram = gram(simd, [&*left_first, &*left_second]);
        for ((sum, other), (one, two)) in
            first_sums.iter().zip(second_sums).zip(right_first.iter_mut().zip(right_second))
        {
            change += improve(one, two, [*sum, *other], left_gram);
        }
        change
    }
}

/// Adds multiples of some rows to two rows.
#[inline(always)]
fn add<S: Simd>(
    simd: S,
    first: &mut [f32],
    second: &mut [f32],
    rows: &[f32],
    ones: [f32; AT_ONCE],
    twos: [f32; AT_ONCE],
) {
    let columns = first.len();
    let (zero, rest) = rows.split_at(columns);
    let (one, rest) = rest.split_at(columns);
    let (two, three) = rest.split_at(columns);
    // Not closures, because these would not be compiled for the instruction set.
    let ((zeros, zero_rest), (units, one_rest)) = (S::as_simd_f32s(zero), S::as_simd_f32s(one));
    let ((pairs, two_rest), (threes, three_rest)) = (S::as_simd_f32s(two), S::as_simd_f32s(three));
    let ((sums, sums_rest), (others, others_rest)) =
        (S::as_mut_simd_f32s(first), S::as_mut_simd_f32s(second));
    let (one_factors, two_factors) = (splat(simd, ones), splat(simd, twos));
    let values = zeros.iter().zip(units).zip(pairs).zip(threes);
    for ((((&zero, &one), &two), &three), (sum, other)) in values.zip(sums.iter_mut().zip(others)) {
        *sum = multiples(simd, *sum, one_factors, [zero, one, two, three]);
        *other = multiples(simd, *other, two_factors, [zero, one, two, three]);
    }
    let rests = [zero_rest, one_rest, two_rest, three_rest];
    for (at, (sum, other)) in sums_rest.iter_mut().zip(others_rest).enumerate() {
        for ((row, one), two) in rests.iter().zip(ones).zip(twos) {
            *sum = one.mul_add(row[at], *sum);
            *other = two.mul_add(row[at], *other);
        }
    }
}

#[inline(always)]
fn splat<S: Simd>(simd: S, [zero, one, two, three]: [f32; AT_ONCE]) -> [S::f32s; AT_ONCE] {
    [simd.splat_f32s(zero), simd.splat_f32s(one), simd.splat_f32s(two), simd.splat_f32s(three)]
}

/// A sum plus multiples of four values, added one after another.
#[inline(always)]
fn multiples<S: Simd>(
    simd: S,
    sum: S::f32s,
    factors: [S::f32s; AT_ONCE],
    values: [S::f32s; AT_ONCE],
) -> S::f32s {
    let sum = simd.mul_add_f32s(factors[0], values[0], sum);
    let sum = simd.mul_add_f32s(factors[1], values[1], sum);
    let sum = simd.mul_add_f32s(factors[2], values[2], sum);
    simd.mul_add_f32s(factors[3], values[3], sum)
}

/// Improves both numbers of a row or column, one after the other; returns how large their error was.
#[inline(always)]
fn improve(one: &mut f32, two: &mut f32, products: [f32; 2], gram: [f32; 3]) -> f64 {
    let [first, both, second] = gram;
    let off = towards(one, first * *one + both * *two - products[0], first);
    off + towards(two, both * *one + second * *two - products[1], second)
}

#[inline(always)]
fn towards(value: &mut f32, gradient: f32, square: f32) -> f64 {
    // A number that is already zero cannot become smaller.
    let off = if *value == 0.0 { gradient.min(0.0) } else { gradient };
    if square != 0.0 {
        *value = (*value - gradient / square).max(0.0);
    }
    f64::from(off.abs())
}

/// The products of two vectors with themselves and with each other.
#[inline(always)]
fn gram<S: Simd>(simd: S, [first, second]: [&[f32]; 2]) -> [f32; 3] {
    [dot(simd, first, first), dot(simd, first, second), dot(simd, second, second)]
}

/// The products of one or two rows with two vectors.
#[inline(always)]
fn dots<S: Simd>(simd: S, rows: &[f32], [first, second]: [&[f32]; 2]) -> [[f32; 2]; DOTS_AT_ONCE] {
    let (row, next) = rows.split_at(first.len());
    if next.is_empty() {
        return [[dot(simd, row, first), dot(simd, row, second)], [0.0; 2]];
    }
    let ((ones, one_rest), (twos, two_rest)) = (row.as_chunks(), next.as_chunks());
    let ((firsts, first_rest), (seconds, second_rest)) = (first.as_chunks(), second.as_chunks());
    let mut sums = [Lanes::zero(simd); 4];
    for (((one, two), first), second) in ones.iter().zip(twos).zip(firsts).zip(seconds) {
        let (one, two) = (Lanes::load(simd, one), Lanes::load(simd, two));
        let (first, second) = (Lanes::load(simd, first), Lanes::load(simd, second));
        sums[0].add_product(simd, one, first);
        sums[1].add_product(simd, one, second);
        sums[2].add_product(simd, two, first);
        sums[3].add_product(simd, two, second);
    }
    let [one_first, one_second, two_first, two_second] = sums;
    [
        [one_first.total(one_rest, first_rest), one_second.total(one_rest, second_rest)],
        [two_first.total(two_rest, first_rest), two_second.total(two_rest, second_rest)],
    ]
}

/// The sum of the products of two vectors.
#[inline(always)]
fn dot<S: Simd>(simd: S, one: &[f32], other: &[f32]) -> f32 {
    let ((chunks, rest), (other_chunks, other_rest)) = (one.as_chunks(), other.as_chunks());
    let mut sums = Lanes::zero(simd);
    for (chunk, other) in chunks.iter().zip(other_chunks) {
        sums.add_product(simd, Lanes::load(simd, chunk), Lanes::load(simd, other));
    }
    sums.total(rest, other_rest)
}

/// `LANES` numbers, in as many registers as needed; other registers are not used.
#[derive(Clone, Copy)]
struct Lanes<S: Simd>([S::f32s; LANES]);

impl<S: Simd> Lanes<S> {
    const REGISTERS: usize = LANES / S::F32_LANES;

    #[inline(always)]
    fn zero(simd: S) -> Self {
        Self([simd.splat_f32s(0.0); LANES])
    }

    #[inline(always)]
    fn load(simd: S, values: &[f32; LANES]) -> Self {
        let mut loaded = Self::zero(simd);
        for (register, values) in loaded.0.iter_mut().zip(S::as_simd_f32s(values).0) {
            *register = *values;
        }
        loaded
    }

    #[inline(always)]
    fn add_product(&mut self, simd: S, one: Self, other: Self) {
        for ((sum, one), other) in self.0.iter_mut().zip(one.0).zip(other.0).take(Self::REGISTERS) {
            *sum = simd.mul_add_f32s(one, other, *sum);
        }
    }

    /// The sum of all lanes, plus the products of the rest of two vectors.
    #[inline(always)]
    fn total(self, one: &[f32], other: &[f32]) -> f32 {
        let lanes: &[f32] = bytemuck::cast_slice(&self.0[..Self::REGISTERS]);
        lanes.iter().sum::<f32>() + one.iter().zip(other).map(|(value, factor)| value * factor).sum::<f32>()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn product(left: &[f32], right: &[f32]) -> Vec<f32> {
        let (ones, twos) = left.split_at(left.len() / 2);
        let (first, second) = right.split_at(right.len() / 2);
        let rows = ones.iter().zip(twos);
        rows.flat_map(|(one, two)| first.iter().zip(second).map(move |(a, b)| one * a + two * b)).collect()
    }

    fn distance(matrix: &[f32], left: &[f32], right: &[f32]) -> f32 {
        matrix.iter().zip(product(left, right)).map(|(value, made)| (value - made).powi(2)).sum()
    }

    fn numbers(count: usize) -> impl Strategy<Value = Vec<f32>> {
        prop::collection::vec(0.01_f32..2.0, count)
    }

    proptest! {
        #[test]
        fn each_step_comes_closer(
            (matrix, left, right) in (1_usize..9, 1_usize..40)
                .prop_flat_map(|(rows, columns)| (numbers(rows * columns), numbers(2 * rows), numbers(2 * columns)))
        ) {
            let (mut left, mut right) = (left, right);
            let columns = right.len() / 2;
            let mut last = distance(&matrix, &left, &right);
            for _ in 0..5 {
                descend(&matrix, columns, &mut left, &mut right, 1, 0.0).unwrap();
                let now = distance(&matrix, &left, &right);
                prop_assert!(now <= last * 1.0001 + 1e-4, "{now} after {last}");
                last = now;
            }
            prop_assert!(left.iter().chain(&right).all(|value| *value >= 0.0));
        }
    }

    #[test]
    fn a_matrix_of_rank_two_is_found_again() {
        let (left, right) = ([1.0, 0.0, 2.0, 0.0, 3.0, 1.0], [1.0, 0.5, 0.0, 2.0, 0.0, 1.0, 1.0, 0.0]);
        let matrix = product(&left, &right);
        let (mut found, mut other) =
            (vec![0.3, 0.5, 0.7, 0.9, 0.2, 0.4], vec![0.8, 0.6, 0.4, 0.2, 0.1, 0.3, 0.5, 0.7]);
        descend(&matrix, 4, &mut found, &mut other, 2000, 0.0).unwrap();
        assert!(distance(&matrix, &found, &other) < 1e-4, "{found:?} {other:?}");
    }

    #[test]
    fn instructions_do_not_change_the_result() {
        fn step<'a>(matrix: &'a [f32], columns: usize, factors: &'a mut [Vec<f32>; 6]) -> Step<'a> {
            let [a, b, c, d, e, f] = factors;
            Step { matrix, columns, left: [a, b], right: [c, d], sums: [e, f] }
        }
        for (rows, columns) in [(1, 1), (3, 5), (7, 16), (9, 41), (12, 1025)] {
            let numbers =
                |count: usize, seed: f32| (0..count).map(|at| (at as f32 * seed).sin().abs() + 0.1).collect();
            let matrix: Vec<f32> = numbers(rows * columns, 0.7);
            let made = || {
                [(rows, 0.3), (rows, 0.5), (columns, 0.9), (columns, 1.1), (columns, 1.3), (columns, 1.7)]
                    .map(|(count, seed)| numbers(count, seed))
            };
            let (mut found, mut expected): ([Vec<f32>; 6], [Vec<f32>; 6]) = (made(), made());
            for _ in 0..3 {
                let change = Arch::new().dispatch(step(&matrix, columns, &mut found));
                assert_eq!(change, step(&matrix, columns, &mut expected).with_simd(pulp::Scalar::new()));
                assert_eq!(found, expected, "{rows} x {columns}");
            }
        }
    }

    #[test]
    fn lengths_that_do_not_fit_are_refused() {
        assert!(descend(&[1.0; 6], 3, &mut [1.0; 4], &mut [1.0; 4], 1, 0.0).is_err());
        assert!(descend(&[], 0, &mut [], &mut [], 1, 0.0).is_ok());
    }
}
