//! Finds numbers that may be too large for a double, which a fast parser reads as infinity.

/// With fewer digits and an exponent of two, a number stays below 1e300.
const MAX_DIGITS: usize = 200;
/// Bytes that are searched before a closer look.
const WINDOW_BYTES: usize = 512;

/// Whether `text` may hold a number beyond every double; no means no.
///
/// Such a number has an exponent of three digits or a long run of digits. Both tests look at a few bytes only, or in a
/// loop that the compiler turns into vector instructions, so that they cost little beside parsing.
pub fn may_overflow(text: &[u8]) -> bool {
    has_large_exponent(text) || has_long_number(text)
}

/// Whether an exponent of three digits or more stands anywhere.
fn has_large_exponent(text: &[u8]) -> bool {
    (0..text.len()).step_by(WINDOW_BYTES).any(|start| {
        let window = &text[start..text.len().min(start + WINDOW_BYTES + 1)];
        has_exponent(window)
            && (0..window.len() - 1)
                .any(|at| is_exponent(window[at], window[at + 1]) && is_large(&text[start + at + 2..]))
    })
}

fn has_exponent(window: &[u8]) -> bool {
    let next = window.get(1..).unwrap_or_default();
    // No early exit: it would keep the compiler from using vectors.
    window.iter().zip(next).fold(false, |found, (digit, e)| found | is_exponent(*digit, *e))
}

/// Whether two bytes are a digit and the `e` of an exponent.
fn is_exponent(digit: u8, e: u8) -> bool {
    digit.is_ascii_digit() & (e | 0x20 == b'e')
}

fn is_large(exponent: &[u8]) -> bool {
    let digits = exponent.strip_prefix(b"+").unwrap_or(exponent);
    digits.iter().take(3).filter(|byte| byte.is_ascii_digit()).count() == 3
}

fn has_long_number(text: &[u8]) -> bool {
    // A run of digits longer than the step contains one of these places.
    (MAX_DIGITS..text.len()).step_by(MAX_DIGITS).any(|at| {
        let (before, after) = text.split_at(at);
        let digits = |byte: &&u8| byte.is_ascii_digit();
        let run = before.iter().rev().take_while(digits).count() + after.iter().take_while(digits).count();
        run > MAX_DIGITS
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_number_that_overflows() {
        for before in [0, 1, 509, 510, 511, 512, 513, 1023, 1024] {
            assert!(may_overflow(format!("{}1e309", " ".repeat(before)).as_bytes()), "{before}");
        }
        for text in
            ["1e309", "[1.5E+400]", "{\"a\":-1e0000400}", "123e999", &format!("{}e99", "9".repeat(250))]
        {
            assert!(may_overflow(text.as_bytes()), "{text}");
        }
        for length in [209, 309, 310, 616, 617, 1000] {
            for before in [0, 1, 199, 200, 201] {
                let text = format!("{}{}.0", " ".repeat(before), "9".repeat(length));
                assert!(may_overflow(text.as_bytes()), "{length} {before}");
            }
        }
    }

    #[test]
    fn leaves_ordinary_text_to_the_fast_parser() {
        for text in ["1e22", "1.5e-400", "\"the 3 ends 4e\"", "[1,2.5,-3E+08]", "", "e", "1"] {
            assert!(!may_overflow(text.as_bytes()), "{text}");
        }
        assert!(!may_overflow("9".repeat(200).as_bytes()));
    }
}
