//! Encodes sort keys of any kind as bytes. Comparing the bytes of two samples compares their keys.

use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use std::borrow::Cow;
use std::cmp::Ordering;

/// One key of one sample.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyValue<'k> {
    /// Null, a missing column, or NaN. Comes last in both directions.
    Missing,
    /// An i64 or a u64.
    Int(i128),
    /// The digits of an integer that fits into neither.
    Huge(Cow<'k, str>),
    Float(f64),
    Text(Cow<'k, str>),
}

/// How one key is compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Direction {
    pub is_descending: bool,
    /// Whether numbers within strings are compared as numbers: `img9` comes before `img10`.
    pub is_natural: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Number,
    Text,
}

impl Class {
    fn name(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Text => "a string",
        }
    }
}

/// The class of a key's values, with a sample that has such a value.
type Seen = Option<(Class, u64)>;

/// Encodes the keys of one sample after another.
#[derive(Debug, Clone)]
pub struct KeyBytes {
    directions: Vec<Direction>,
    seen: Vec<Seen>,
    sample: u64,
    next: usize,
    is_missing: bool,
    pub(crate) bytes: Vec<u8>,
}

impl KeyBytes {
    pub(crate) fn new(directions: &[Direction]) -> Self {
        let seen = vec![None; directions.len()];
        let directions = directions.to_vec();
        Self { directions, seen, sample: 0, next: 0, is_missing: false, bytes: Vec::new() }
    }

    pub(crate) fn begin(&mut self, sample: u64) {
        self.sample = sample;
        self.next = 0;
        self.is_missing = false;
        self.bytes.clear();
    }

    /// Ends a sample; returns whether any of its keys is missing.
    ///
    /// # Errors
    /// `Invalid` if the sample has too few keys.
    pub(crate) fn end(&self) -> Result<bool> {
        if self.next == self.directions.len() {
            return Ok(self.is_missing);
        }
        let what = format!("{} keys instead of {}", self.next, self.directions.len());
        Err(Error::invalid(what).in_sample(self.sample))
    }

    /// Adds the next key of the sample.
    ///
    /// # Errors
    /// `Invalid` if a key is a string in one sample and a number in another, or if the sample has too many keys.
    pub fn push(&mut self, value: &KeyValue<'_>) -> Result<()> {
        let key = self.next;
        let Some(direction) = self.directions.get(key).copied() else {
            let what = format!("more than {} keys", self.directions.len());
            return Err(Error::invalid(what).in_sample(self.sample));
        };
        self.next += 1;
        let class = match value {
            KeyValue::Float(value) if value.is_nan() => None,
            KeyValue::Missing => None,
            KeyValue::Int(_) | KeyValue::Huge(_) | KeyValue::Float(_) => Some(Class::Number),
            KeyValue::Text(_) => Some(Class::Text),
        };
        let Some(class) = class else {
            self.is_missing = true;
            self.bytes.push(1);
            return Ok(());
        };
        agree(&mut self.seen[key], (class, self.sample), key)?;
        self.bytes.push(0);
        let start = self.bytes.len();
        match value {
            KeyValue::Int(value) => push_int(&mut self.bytes, *value),
            KeyValue::Huge(digits) => push_huge(&mut self.bytes, digits),
            KeyValue::Float(value) => push_number(&mut self.bytes, *value, 0),
            KeyValue::Text(text) if direction.is_natural => push_natural(&mut self.bytes, text),
            KeyValue::Text(text) => push_text(&mut self.bytes, text.as_bytes()),
            KeyValue::Missing => {}
        }
        if direction.is_descending {
            self.bytes[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
        Ok(())
    }

    /// Adds the classes of keys that `other` has seen.
    ///
    /// # Errors
    /// The errors of [`Self::push`].
    pub(crate) fn unite(&mut self, other: &Self) -> Result<()> {
        for (key, (seen, other)) in self.seen.iter_mut().zip(&other.seen).enumerate() {
            if let Some(other) = other {
                agree(seen, *other, key)?;
            }
        }
        Ok(())
    }
}

fn agree(seen: &mut Seen, new: (Class, u64), key: usize) -> Result<()> {
    match seen {
        None => *seen = Some(new),
        Some(old) if old.0 != new.0 => {
            let (first, second) = if old.1 < new.1 { (*old, new) } else { (new, *old) };
            let what = format!(
                "key {} is {} in sample {} and {} in sample {}; numbers and strings have no common order",
                key + 1,
                first.0.name(),
                first.1,
                second.0.name(),
                second.1
            );
            return Err(Error::invalid(what));
        }
        Some(old) => old.1 = old.1.min(new.1),
    }
    Ok(())
}

/// Writes the nearest float, then the difference between the integer and it. This gives integers and floats one exact
/// order.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
fn push_int(bytes: &mut Vec<u8>, value: i128) {
    let nearest = value as f64;
    // Integers have at most 65 bits, so the difference is below 2^12.
    let rest = (value - nearest as i128) as i16;
    push_number(bytes, nearest, rest);
}

/// Like [`push_int`]. All integers with the same nearest float and on the same side of it have the same sign,
/// so the digits are written instead of the difference.
fn push_huge(bytes: &mut Vec<u8>, digits: &str) {
    let nearest = digits.parse().unwrap_or(f64::NAN);
    let (is_negative, magnitude) = match digits.strip_prefix('-') {
        Some(magnitude) => (true, magnitude),
        None => (false, digits),
    };
    let order = if nearest.is_infinite() {
        Ordering::Less
    } else {
        let exact = format!("{:.0}", nearest.abs());
        (magnitude.len(), magnitude).cmp(&(exact.len(), &exact))
    };
    let rest = match if is_negative { order.reverse() } else { order } {
        Ordering::Less => i16::MIN,
        Ordering::Equal => return push_number(bytes, nearest, 0),
        Ordering::Greater => i16::MAX,
    };
    push_number(bytes, nearest, rest);
    let start = bytes.len();
    bytes.extend_from_slice(&to_u64(magnitude.len()).to_be_bytes());
    bytes.extend_from_slice(magnitude.as_bytes());
    if is_negative {
        bytes[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

fn push_number(bytes: &mut Vec<u8>, value: f64, rest: i16) {
    bytes.extend_from_slice(&ordered(value).to_be_bytes());
    bytes.extend_from_slice(&(rest.cast_unsigned() ^ 0x8000).to_be_bytes());
}

/// An integer that sorts like the number.
pub(crate) fn ordered(value: f64) -> u64 {
    // Negative zero and zero are equal.
    let bits = if value == 0.0 { 0 } else { value.to_bits() };
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// Writes the text and two zero bytes. A zero byte in the text is followed by 255.
fn push_text(bytes: &mut Vec<u8>, text: &[u8]) {
    for byte in text {
        bytes.push(*byte);
        if *byte == 0 {
            bytes.push(0xff);
        }
    }
    bytes.extend_from_slice(&[0, 0]);
}

/// Writes the string with each number replaced by `0`, its number of digits, and the digits. Then writes the string
/// itself, because `a01` and `a1` are different strings.
fn push_natural(bytes: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    while let Some(first) = rest.first() {
        if !first.is_ascii_digit() {
            bytes.push(*first);
            if *first == 0 {
                bytes.push(0xff);
            }
            rest = &rest[1..];
            continue;
        }
        let end = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        let digits = &rest[..end];
        let zeros = digits.iter().position(|digit| *digit != b'0').unwrap_or(digits.len());
        bytes.push(b'0');
        bytes.extend_from_slice(&to_u64(end - zeros).to_be_bytes());
        bytes.extend_from_slice(&digits[zeros..]);
        rest = &rest[end..];
    }
    bytes.extend_from_slice(&[0, 0]);
    push_text(bytes, text.as_bytes());
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn bytes(direction: Direction, value: &KeyValue<'_>) -> Vec<u8> {
        let mut keys = KeyBytes::new(&[direction]);
        keys.begin(0);
        keys.push(value).unwrap();
        keys.bytes
    }

    fn assert_ascending(values: &[KeyValue<'_>], is_natural: bool) {
        for is_descending in [false, true] {
            let direction = Direction { is_descending, is_natural };
            let keys: Vec<_> = values.iter().map(|value| bytes(direction, value)).collect();
            for (i, pair) in keys.windows(2).enumerate() {
                assert!((pair[0] < pair[1]) != is_descending, "{:?} {:?}", values[i], values[i + 1]);
            }
            assert!(keys.iter().all(|key| *key < bytes(direction, &KeyValue::Missing)));
        }
    }

    #[test]
    fn numbers_have_one_exact_order() {
        let big = 1i128 << 62;
        let nines = "9".repeat(309);
        let huge = |digits: &str| KeyValue::Huge(Cow::Owned(digits.to_owned()));
        assert_ascending(
            &[
                KeyValue::Float(f64::NEG_INFINITY),
                huge(&format!("-1{nines}")),
                huge(&format!("-{nines}")),
                KeyValue::Float(f64::MIN),
                huge("-9223372036854775811"),
                huge("-9223372036854775810"),
                huge("-9223372036854775809"),
                KeyValue::Int(i128::from(i64::MIN)),
                KeyValue::Int(-2),
                KeyValue::Float(-1.5),
                KeyValue::Int(0),
                KeyValue::Float(5e-324),
                KeyValue::Int(1),
                KeyValue::Int((1 << 53) - 1),
                KeyValue::Float(9_007_199_254_740_992.0),
                KeyValue::Int((1 << 53) + 1),
                KeyValue::Int(big - 1),
                KeyValue::Int(big),
                KeyValue::Int(big + 1),
                KeyValue::Int(i128::from(u64::MAX)),
                huge("18446744073709551616"),
                huge("18446744073709551617"),
                huge("18446744073709551618"),
                KeyValue::Float(1e23),
                huge("100000000000000000000000"),
                KeyValue::Float(1.000_000_000_000_000_1e23),
                huge(&nines[1..]),
                KeyValue::Float(f64::MAX),
                huge(&nines),
                huge(&format!("1{nines}")),
                KeyValue::Float(f64::INFINITY),
            ],
            false,
        );
        let none = Direction::default();
        assert_eq!(bytes(none, &KeyValue::Float(-0.0)), bytes(none, &KeyValue::Int(0)));
        assert_eq!(bytes(none, &huge("18446744073709551616")), bytes(none, &KeyValue::Float(2f64.powi(64))));
        assert_eq!(bytes(none, &KeyValue::Float(f64::NAN)), bytes(none, &KeyValue::Missing));
    }

    #[test]
    fn strings_are_compared_by_code_point_or_naturally() {
        let texts = |texts: &[&'static str]| -> Vec<KeyValue<'static>> {
            texts.iter().map(|text| KeyValue::Text(Cow::Borrowed(text))).collect()
        };
        assert_ascending(
            &texts(&["", "\0", "\0a", "a", "a\0", "a\0b", "a1", "a10", "a9", "b", "é", "😀"]),
            false,
        );
        assert_ascending(
            &texts(&[
                "", "0", "00", "01", "1", "2", "10", "a", "a0b", "a01", "a1", "a2", "a9b2", "a9b10", "a10",
            ]),
            true,
        );
    }

    #[test]
    fn several_keys_are_compared_one_after_the_other() {
        let key = |first: &'static str, second: i128| {
            let mut keys =
                KeyBytes::new(&[Direction::default(), Direction { is_descending: true, is_natural: false }]);
            keys.begin(0);
            keys.push(&KeyValue::Text(Cow::Borrowed(first))).unwrap();
            keys.push(&KeyValue::Int(second)).unwrap();
            assert!(!keys.end().unwrap());
            keys.bytes
        };
        assert!(key("a", 9) < key("a", 1));
        assert!(key("a", 1) < key("ab", 9));
        assert!(key("ab", 0) < key("b", 9));
    }

    #[test]
    fn mixed_kinds_name_two_samples() {
        let mut keys = KeyBytes::new(&[Direction::default()]);
        keys.begin(3);
        keys.push(&KeyValue::Int(1)).unwrap();
        assert!(keys.push(&KeyValue::Int(1)).is_err(), "one key too many");
        keys.begin(4);
        assert!(keys.end().is_err(), "a key too few");
        keys.push(&KeyValue::Missing).unwrap();
        assert!(keys.end().unwrap());
        keys.begin(7);
        let error = keys.push(&KeyValue::Text(Cow::Borrowed("a"))).unwrap_err().to_string();
        assert!(error.contains("a number in sample 3 and a string in sample 7"), "{error}");
    }
}
