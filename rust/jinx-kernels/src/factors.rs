//! Two non-negative factors of rank two whose product is close to a matrix.

use jinx_core::error::{Error, Result};
use jinx_core::interrupt;
use pulp::Arch;

/// Sums of products are kept in this many lanes on every machine, so results are the same on all machines.
const LANES: usize = 16;
/// The number of rows whose sums are made together, while they are in the cache.
const AT_ONCE: usize = 4;
/// The number of rows whose products are made together, so that the factors are loaded once for them.
const PAIR: usize = 2;

/// Improves two factors in place, by coordinate descent on the sum of squared differences.
///
/// The descent stops when what is left to gain is `tolerance` of what it was in the first step. A step reads the matrix
/// once: the sums that the right factor needs are made from a row of the matrix as soon as its left factor is known.
///
/// * `matrix`: rows after another, each of `columns` numbers that are not negative.
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
    let (left_first, left_second) = left.split_at_mut(rows);
    let (right_first, right_second) = right.split_at_mut(columns);
    let mut sums = vec![0.0; 2 * columns];
    let mut first = 0.0;
    for number in 0..iterations {
        interrupt::check()?;
        sums.fill(0.0);
        let mut change = arch.dispatch(Rows {
            matrix,
            columns,
            left: [&mut *left_first, &mut *left_second],
            right: [&*right_first, &*right_second],
            sums: &mut sums,
        });
        let gram = gram([&*left_first, &*left_second]);
        let (first_sums, second_sums) = sums.split_at(columns);
        for ((sum, other), (one, two)) in
            first_sums.iter().zip(second_sums).zip(right_first.iter_mut().zip(&mut *right_second))
        {
            change += improve(one, two, [*sum, *other], gram);
        }
        if number == 0 {
            first = change;
        }
        if change <= tolerance * first {
            break;
        }
    }
    Ok(())
}

/// One step for the left factor, and the products of the new left factor with the matrix.
struct Rows<'a> {
    matrix: &'a [f32],
    columns: usize,
    left: [&'a mut [f32]; 2],
    right: [&'a [f32]; 2],
    sums: &'a mut [f32],
}

// Not a closure: this is inlined for sure, and so compiled for the instruction set.
impl pulp::NullaryFnOnce for Rows<'_> {
    type Output = f64;

    #[inline(always)]
    fn call(self) -> f64 {
        let gram = gram(self.right);
        let [left_first, left_second] = self.left;
        let (first_sums, second_sums) = self.sums.split_at_mut(self.columns);
        let mut change = 0.0;
        let parts = left_first.chunks_mut(AT_ONCE).zip(left_second.chunks_mut(AT_ONCE));
        for (rows, (ones, twos)) in self.matrix.chunks(AT_ONCE * self.columns).zip(parts) {
            let pairs = ones.chunks_mut(PAIR).zip(twos.chunks_mut(PAIR));
            for (rows, (ones, twos)) in rows.chunks(PAIR * self.columns).zip(pairs) {
                let (row, next) = rows.split_at(self.columns);
                // If the number of rows is odd, the second products of the last row are not used.
                let products = products([row, if next.is_empty() { row } else { next }], self.right);
                for ((one, two), products) in ones.iter_mut().zip(twos).zip(products) {
                    change += improve(one, two, products, gram);
                }
            }
            if let (Ok(ones), Ok(twos)) =
                (<[f32; AT_ONCE]>::try_from(&*ones), <[f32; AT_ONCE]>::try_from(&*twos))
            {
                add(first_sums, second_sums, rows, ones, twos);
                continue;
            }
            for (row, (one, two)) in rows.chunks(self.columns).zip(ones.iter().zip(twos.iter())) {
                for ((value, sum), other) in row.iter().zip(&mut *first_sums).zip(&mut *second_sums) {
                    *sum += one * value;
                    *other += two * value;
                }
            }
        }
        change
    }
}

/// Adds multiples of rows to two rows.
#[inline(always)]
fn add(first: &mut [f32], second: &mut [f32], rows: &[f32], ones: [f32; AT_ONCE], twos: [f32; AT_ONCE]) {
    let columns = first.len();
    let (zero, rest) = rows.split_at(columns);
    let (one, rest) = rest.split_at(columns);
    let (two, three) = rest.split_at(columns);
    let values = zero.iter().zip(one).zip(two).zip(three);
    for ((((&a, &b), &c), &d), (sum, other)) in values.zip(first.iter_mut().zip(second)) {
        *sum += (ones[0] * a + ones[1] * b) + (ones[2] * c + ones[3] * d);
        *other += (twos[0] * a + twos[1] * b) + (twos[2] * c + twos[3] * d);
    }
}

/// Improves both numbers of a row or column, one after the other; returns how far off they were.
#[inline(always)]
fn improve(one: &mut f32, two: &mut f32, products: [f32; 2], gram: [f32; 3]) -> f64 {
    let [first, both, second] = gram;
    let off = towards(one, first * *one + both * *two - products[0], first);
    off + towards(two, both * *one + second * *two - products[1], second)
}

#[inline(always)]
fn towards(value: &mut f32, gradient: f32, square: f32) -> f64 {
    // Where a number is zero already, it cannot become smaller.
    let off = if *value == 0.0 { gradient.min(0.0) } else { gradient };
    if square != 0.0 {
        *value = (*value - gradient / square).max(0.0);
    }
    f64::from(off.abs())
}

/// The products of two vectors with themselves and with each other.
#[inline(always)]
fn gram([first, second]: [&[f32]; 2]) -> [f32; 3] {
    [dot(first, first), dot(first, second), dot(second, second)]
}

/// The products of two rows with two vectors: each as of [`dot`], whose order of sums they have.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // zipped arrays are not made vectors
fn products([one, other]: [&[f32]; 2], [first, second]: [&[f32]; 2]) -> [[f32; 2]; 2] {
    let ((a, a_rest), (b, b_rest)) = (one.as_chunks::<LANES>(), other.as_chunks::<LANES>());
    let ((c, c_rest), (d, d_rest)) = (first.as_chunks::<LANES>(), second.as_chunks::<LANES>());
    let mut sums = [[0.0_f32; LANES]; 4];
    for ((a, b), (c, d)) in a.iter().zip(b).zip(c.iter().zip(d)) {
        for at in 0..LANES {
            sums[0][at] += a[at] * c[at];
            sums[1][at] += a[at] * d[at];
            sums[2][at] += b[at] * c[at];
            sums[3][at] += b[at] * d[at];
        }
    }
    let tail = |row: &[f32], factors: &[f32]| -> f32 {
        row.iter().zip(factors).map(|(value, factor)| value * factor).sum()
    };
    let [ac, ad, bc, bd] = sums.map(|lanes| lanes.iter().sum::<f32>());
    [
        [ac + tail(a_rest, c_rest), ad + tail(a_rest, d_rest)],
        [bc + tail(b_rest, c_rest), bd + tail(b_rest, d_rest)],
    ]
}

/// The sum of the products of two vectors.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // zipped arrays are not made vectors
fn dot(one: &[f32], other: &[f32]) -> f32 {
    let (chunks, rest) = one.as_chunks::<LANES>();
    let (other_chunks, other_rest) = other.as_chunks::<LANES>();
    let mut sums = [0.0_f32; LANES];
    for (chunk, factors) in chunks.iter().zip(other_chunks) {
        for at in 0..LANES {
            sums[at] += chunk[at] * factors[at];
        }
    }
    let tail: f32 = rest.iter().zip(other_rest).map(|(value, factor)| value * factor).sum();
    sums.iter().sum::<f32>() + tail
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
    fn lengths_that_do_not_fit_are_refused() {
        assert!(descend(&[1.0; 6], 3, &mut [1.0; 4], &mut [1.0; 4], 1, 0.0).is_err());
        assert!(descend(&[], 0, &mut [], &mut [], 1, 0.0).is_ok());
    }
}
