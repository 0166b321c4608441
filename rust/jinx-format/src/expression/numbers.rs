//! Compares numbers and computes with them as Python does. Comparing integers of any size with floats is exact.

use crate::expression::tree::{Cell, Comparison, Operator};
use jinx_core::error::{Error, Result};
use std::cmp::Ordering;

/// The smallest magnitude beyond `i128`. A float represents it exactly.
const BEYOND: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;

/// Floats represent every integer up to this one.
const EXACT: u128 = 1 << 53;

/// A quotient with more bits than this is rounded correctly if its last bit says whether anything follows.
const ROUNDED_BITS: u32 = 54;

impl Comparison {
    /// Whether the comparison is true for two values in this order. The order is `None` if one of them is NaN.
    pub fn holds(self, order: Option<Ordering>) -> bool {
        match self {
            Self::Equal => order == Some(Ordering::Equal),
            Self::NotEqual => order != Some(Ordering::Equal),
            Self::Less => order == Some(Ordering::Less),
            Self::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Self::Greater => order == Some(Ordering::Greater),
            Self::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        }
    }
}

/// The order of two numbers; `None` if one is NaN. Bools count as 0 and 1.
///
/// # Errors
/// `Invalid` for a value that is not a number.
pub fn order(left: &Cell<'_>, right: &Cell<'_>) -> Result<Option<Ordering>> {
    Ok(match (number(left)?, number(right)?) {
        (Number::Int(a), Number::Int(b)) => Some(a.cmp(&b)),
        (Number::Float(a), Number::Float(b)) => a.partial_cmp(&b),
        (Number::Int(a), Number::Float(b)) => int_to_float(a, b),
        (Number::Float(a), Number::Int(b)) => int_to_float(b, a).map(Ordering::reverse),
        (Number::Huge(a), Number::Float(b)) => huge_to_float(a, b),
        (Number::Float(a), Number::Huge(b)) => huge_to_float(b, a).map(Ordering::reverse),
        (Number::Huge(a), Number::Huge(b)) => Some(huge_order(a, b)),
        (Number::Huge(a), Number::Int(_)) => Some(sign(a)),
        (Number::Int(_), Number::Huge(b)) => Some(sign(b).reverse()),
    })
}

enum Number<'c> {
    Int(i128),
    Huge(&'c str),
    Float(f64),
}

fn number<'c>(cell: &'c Cell<'_>) -> Result<Number<'c>> {
    match cell {
        Cell::Bool(value) => Ok(Number::Int(i128::from(*value))),
        Cell::Int(value) => Ok(Number::Int(*value)),
        Cell::Huge(digits) => Ok(Number::Huge(digits)),
        Cell::Float(value) | Cell::Narrow(value, _) => Ok(Number::Float(*value)),
        other => Err(Error::invalid(format!("{} where a number is needed", other.what()))),
    }
}

fn int_to_float(int: i128, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    if float >= BEYOND {
        return Some(Ordering::Less);
    }
    if float < -BEYOND {
        return Some(Ordering::Greater);
    }
    // Exact: the value is in range and has no fraction.
    #[allow(clippy::cast_possible_truncation)]
    let whole = float.trunc() as i128;
    let fraction = float.fract();
    Some(int.cmp(&whole).then_with(|| 0.0.partial_cmp(&fraction).unwrap_or(Ordering::Equal)))
}

/// The order of an integer beyond `i128` and one within.
fn sign(digits: &str) -> Ordering {
    if digits.starts_with('-') { Ordering::Less } else { Ordering::Greater }
}

fn huge_order(a: &str, b: &str) -> Ordering {
    let (sign_a, sign_b) = (sign(a), sign(b));
    let magnitude = || a.len().cmp(&b.len()).then_with(|| a.cmp(b));
    sign_a
        .cmp(&sign_b)
        .then_with(|| if sign_a == Ordering::Less { magnitude().reverse() } else { magnitude() })
}

fn huge_to_float(digits: &str, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    if float.abs() < BEYOND {
        return Some(sign(digits));
    }
    if float.is_infinite() {
        return 0.0.partial_cmp(&float);
    }
    Some(huge_order(digits, &format!("{float:.0}")))
}

/// The result of an arithmetic operation. It is missing if a value is missing, or for a division by zero.
///
/// # Errors
/// `Invalid` for a value that is not a number, and for integers beyond 127 bits.
pub fn compute(left: &Cell<'_>, operator: Operator, right: &Cell<'_>) -> Result<Cell<'static>> {
    if matches!(left, Cell::Missing) || matches!(right, Cell::Missing) {
        return Ok(Cell::Missing);
    }
    Ok(match (number(left)?, number(right)?) {
        (Number::Int(a), Number::Int(b)) => match operator {
            Operator::Add => int(a.checked_add(b))?,
            Operator::Subtract => int(a.checked_sub(b))?,
            Operator::Multiply => int(a.checked_mul(b))?,
            _ if b == 0 => Cell::Missing,
            Operator::Divide => Cell::Float(true_division(a, b)),
            Operator::FloorDivide => int(floor_division(a, b).map(|(quotient, _)| quotient))?,
            Operator::Modulo => int(floor_division(a, b).map(|(_, rest)| rest))?,
        },
        (Number::Huge(_), _) | (_, Number::Huge(_)) => return Err(too_large()),
        (Number::Float(a), Number::Float(b)) => float_result(a, operator, b),
        (Number::Int(a), Number::Float(b)) => float_result(float(a), operator, b),
        (Number::Float(a), Number::Int(b)) => float_result(a, operator, float(b)),
    })
}

/// The number with the opposite sign.
///
/// # Errors
/// The errors of [`compute`].
pub fn negated(cell: &Cell<'_>) -> Result<Cell<'static>> {
    match cell {
        Cell::Float(value) => Ok(Cell::Float(-value)),
        Cell::Narrow(value, kind) => Ok(Cell::Narrow(-value, *kind)),
        other => compute(&Cell::Int(0), Operator::Subtract, other),
    }
}

fn too_large() -> Error {
    Error::invalid("an integer of more than 127 bits cannot be computed with")
}

fn int(result: Option<i128>) -> Result<Cell<'static>> {
    result.map(Cell::Int).ok_or_else(too_large)
}

fn floor_division(a: i128, b: i128) -> Option<(i128, i128)> {
    let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
    if rest != 0 && (rest < 0) != (b < 0) { Some((quotient - 1, rest + b)) } else { Some((quotient, rest)) }
}

/// The float nearest to the exact quotient, as Python divides integers. Rounding the integers first would differ.
#[allow(clippy::cast_precision_loss)]
fn true_division(a: i128, b: i128) -> f64 {
    let (dividend, divisor) = (a.unsigned_abs(), b.unsigned_abs());
    if dividend.max(divisor) <= EXACT {
        return float(a) / float(b);
    }
    let (mut quotient, mut rest) = (dividend / divisor, dividend % divisor);
    let mut unit = if (a < 0) == (b < 0) { 1.0 } else { -1.0 };
    // To round correctly, compute two bits more than a float has, and set the last one if anything follows.
    while dividend != 0 && quotient >> ROUNDED_BITS == 0 {
        rest <<= 1; // below 2^128: the remainder is below the divisor, which is at most 2^127
        quotient = (quotient << 1) | u128::from(rest >= divisor);
        rest %= divisor;
        unit /= 2.0;
    }
    (quotient | u128::from(rest != 0)) as f64 * unit
}

/// The nearest float, as when Python converts an integer.
#[allow(clippy::cast_precision_loss)]
fn float(value: i128) -> f64 {
    value as f64
}

fn float_result(a: f64, operator: Operator, b: f64) -> Cell<'static> {
    Cell::Float(match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        _ if b == 0.0 => return Cell::Missing,
        Operator::Divide => a / b,
        Operator::FloorDivide => float_floor_division(a, b).0,
        Operator::Modulo => float_floor_division(a, b).1,
    })
}

/// The quotient and the remainder, as in Python. The remainder has the sign of the divisor. The quotient is the
/// dividend minus the remainder, divided by the divisor and rounded to an integer.
fn float_floor_division(a: f64, b: f64) -> (f64, f64) {
    let mut rest = a % b;
    let mut quotient = (a - rest) / b;
    if rest == 0.0 {
        rest = 0.0_f64.copysign(b);
    } else if (b < 0.0) != (rest < 0.0) {
        rest += b;
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return (0.0_f64.copysign(a / b), rest);
    }
    let floor = quotient.floor();
    (if quotient - floor > 0.5 { floor + 1.0 } else { floor }, rest)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_floats_compare_exactly() {
        let big = 9_007_199_254_740_993_i128; // 2**53 + 1 is not a float
        for (int, float, expected) in [
            (big, 9_007_199_254_740_992.0, Ordering::Greater),
            (-big, -9_007_199_254_740_992.0, Ordering::Less),
            (1, 1.5, Ordering::Less),
            (-1, -1.5, Ordering::Greater),
            (-1, -0.5, Ordering::Less),
            (0, -0.5, Ordering::Greater),
            (0, -0.0, Ordering::Equal),
            (i128::MAX, BEYOND, Ordering::Less),
            (i128::MIN, -BEYOND, Ordering::Equal),
            (i128::MIN, f64::NEG_INFINITY, Ordering::Greater),
            (i128::from(u64::MAX), 18_446_744_073_709_551_616.0, Ordering::Less),
        ] {
            assert_eq!(order(&Cell::Int(int), &Cell::Float(float)).unwrap(), Some(expected), "{int} {float}");
            let reverse = order(&Cell::Float(float), &Cell::Int(int)).unwrap();
            assert_eq!(reverse, Some(expected.reverse()));
        }
        assert_eq!(order(&Cell::Int(1), &Cell::Float(f64::NAN)).unwrap(), None);
    }

    #[test]
    fn integers_of_any_size_compare_exactly() {
        let huge = |digits: &'static str| Cell::of_digits(digits);
        let two_to_127 = "170141183460469231731687303715884105728";
        let after = "170141183460469231731687303715884105729";
        for (one, other, expected) in [
            (huge(two_to_127), Cell::Float(BEYOND), Ordering::Equal),
            (huge(after), Cell::Float(BEYOND), Ordering::Greater),
            (huge(two_to_127), huge(after), Ordering::Less),
            (huge(two_to_127), Cell::Int(i128::MAX), Ordering::Greater),
            (huge("-170141183460469231731687303715884105729"), Cell::Int(i128::MIN), Ordering::Less),
            (huge("-170141183460469231731687303715884105729"), Cell::Float(-BEYOND), Ordering::Less),
            (huge(after), Cell::Float(f64::INFINITY), Ordering::Less),
            (huge(after), Cell::Float(f64::NEG_INFINITY), Ordering::Greater),
            (huge(after), Cell::Float(0.5), Ordering::Greater),
        ] {
            assert_eq!(order(&one, &other).unwrap(), Some(expected), "{one:?} {other:?}");
        }
        assert_eq!(huge("-170141183460469231731687303715884105728"), Cell::Int(i128::MIN));
    }

    #[test]
    fn division_is_that_of_python() {
        for (a, b, quotient, rest) in
            [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (6, -2, -3, 0)]
        {
            assert_eq!(
                compute(&Cell::Int(a), Operator::FloorDivide, &Cell::Int(b)).unwrap(),
                Cell::Int(quotient)
            );
            assert_eq!(compute(&Cell::Int(a), Operator::Modulo, &Cell::Int(b)).unwrap(), Cell::Int(rest));
        }
        for (a, b, quotient, rest) in [
            (7.5, 2.0, 3.0, 1.5),
            (-7.5, 2.0, -4.0, 0.5),
            (7.5, -2.0, -4.0, -0.5),
            (1.0, 0.1, 9.0, 0.099_999_999_999_999_95),
        ] {
            assert_eq!(float_floor_division(a, b), (quotient, rest));
        }
        for operator in [Operator::Divide, Operator::FloorDivide, Operator::Modulo] {
            assert_eq!(compute(&Cell::Int(1), operator, &Cell::Int(0)).unwrap(), Cell::Missing);
            assert_eq!(compute(&Cell::Float(1.0), operator, &Cell::Float(0.0)).unwrap(), Cell::Missing);
        }
        for (a, b, quotient) in [
            (i128::MIN, i128::MIN, 1.0),
            (0, i128::MAX, 0.0),
            (1, i128::MIN, -5.877_471_754_111_438e-39),
            (-9_007_199_254_740_993, 9_007_199_254_740_992, -1.0),
            (9_007_199_254_740_995, 3, 3_002_399_751_580_331.5),
            (i128::MAX, 3, 5.671_372_782_015_641e37),
        ] {
            assert_eq!(
                compute(&Cell::Int(a), Operator::Divide, &Cell::Int(b)).unwrap(),
                Cell::Float(quotient),
                "{a} / {b}"
            );
        }
        assert!(compute(&Cell::Int(i128::MAX), Operator::Add, &Cell::Int(1)).is_err());
        assert!(compute(&Cell::Int(i128::MIN), Operator::FloorDivide, &Cell::Int(-1)).is_err());
    }
}
