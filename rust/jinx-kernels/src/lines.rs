//! Measures the lines of texts.

use crate::per_text::fill;
use jinx_core::Result;
use jinx_core::checked_math::to_u64;

/// Two numbers per text, one after the other: its number of lines, and the code points in its longest line.
///
/// A line ends at any line boundary of Unicode; `\r\n` is one boundary. No empty line follows a boundary at the end of
/// a text.
///
/// # Errors
/// The errors of `per_text::fill`.
pub fn measure(texts: &[&str], threads: usize) -> Result<Vec<u64>> {
    fill(
        texts,
        2,
        0,
        threads,
        || (),
        |(), text, row| {
            if let [count, longest] = row {
                (*count, *longest) = measured(text);
            }
        },
    )
}

fn measured(text: &str) -> (u64, u64) {
    let (mut count, mut longest, mut length) = (0, 0, 0_usize);
    let (mut is_open, mut is_after_return) = (false, false);
    for character in text.chars() {
        let joins = is_after_return && character == '\n';
        is_after_return = character == '\r';
        if joins {
            continue;
        }
        if ends_line(character) {
            count += 1;
            longest = longest.max(length);
            length = 0;
            is_open = false;
        } else {
            length += 1;
            is_open = true;
        }
    }
    (count + u64::from(is_open), to_u64(longest.max(length)))
}

fn ends_line(character: char) -> bool {
    matches!(character, '\n'..='\r' | '\u{1C}'..='\u{1E}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_the_longest() {
        let texts = ["", "a", "a\n", "a\r\nbcd\n\né", "\n\n", "a\u{2028}bc"];
        let wanted = [0, 0, 1, 1, 1, 1, 4, 3, 2, 0, 2, 2];
        assert_eq!(measure(&texts, 1).unwrap(), wanted);
    }
}
