//! Decimals as plain digits (`-12.30`, `1200`), and back to the unscaled integer without rounding.

use crate::arrow::iso_string::IsoText;

/// `unscaled * 10^-scale`, from the digits of `unscaled`; trailing zeros are kept, so the text determines the scale.
pub(crate) fn write(text: &mut IsoText, unscaled: &str, scale: i8) {
    let (sign, digits) = match unscaled.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", unscaled),
    };
    text.bytes(sign.as_bytes());
    let scale_digits = usize::from(scale.unsigned_abs());
    if scale <= 0 {
        text.bytes(digits.as_bytes());
        if digits != "0" {
            (0..scale_digits).for_each(|_| text.byte(b'0'));
        }
        return;
    }
    match digits.len().checked_sub(scale_digits) {
        Some(whole) if whole > 0 => {
            text.bytes(&digits.as_bytes()[..whole]);
            text.byte(b'.');
            text.bytes(&digits.as_bytes()[whole..]);
        }
        _ => {
            text.bytes(b"0.");
            (digits.len()..scale_digits).for_each(|_| text.byte(b'0'));
            text.bytes(digits.as_bytes());
        }
    }
}

/// The digits of the unscaled integer for `scale`, with an optional minus; `None` if the text is not a decimal, or has
/// more digits than the scale allows.
pub(crate) fn parse(text: &str, scale: i8) -> Option<String> {
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let mut digits = format!("{whole}{fraction}").trim_start_matches('0').to_owned();
    if digits.is_empty() {
        return Some("0".to_owned());
    }
    let fraction_len = i32::try_from(fraction.len()).ok()?;
    let shift = i32::from(scale).checked_add(exponent)?.checked_sub(fraction_len)?;
    let count = usize::try_from(shift.unsigned_abs()).ok()?;
    if shift < 0 {
        let kept = digits.len().checked_sub(count)?;
        if digits.bytes().skip(kept).any(|byte| byte != b'0') {
            return None;
        }
        digits.truncate(kept);
    } else if count > 200 {
        // No decimal type has that many digits, so a large exponent must not allocate them.
        return None;
    } else {
        digits.extend(std::iter::repeat_n('0', count));
    }
    Some(format!("{sign}{digits}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn text(unscaled: &str, scale: i8) -> String {
        let mut buffer = IsoText::new();
        write(&mut buffer, unscaled, scale);
        buffer.as_str().to_owned()
    }

    #[test]
    fn forms_come_back() {
        for (unscaled, scale, expected) in [
            ("0", 2, "0.00"),
            ("12345", 2, "123.45"),
            ("-5", 3, "-0.005"),
            ("-123", 3, "-0.123"),
            ("12", 0, "12"),
            ("12", -3, "12000"),
            ("0", -3, "0"),
        ] {
            assert_eq!(text(unscaled, scale), expected);
            assert_eq!(parse(expected, scale).unwrap(), unscaled);
        }
    }

    #[test]
    fn digits_that_do_not_fit_are_refused() {
        assert_eq!(parse("1.239", 2), None);
        assert_eq!(parse("1.230", 2).unwrap(), "123");
        assert_eq!(parse("1250", -2), None);
        assert_eq!(parse("1e3", 0).unwrap(), "1000");
        assert_eq!(parse("1e999999999", 0), None);
        assert_eq!(parse("1e-999999999", 0), None);
        assert_eq!(parse("", 0), None);
        assert_eq!(parse(".", 0), None);
        assert_eq!(parse("--1", 0), None);
    }
}
