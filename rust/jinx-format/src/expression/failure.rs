//! Errors that show a position in an expression.

use jinx_core::error::Error;

/// The maximum number of characters of the expression that a message shows.
const SHOWN: usize = 40;

/// An error at byte `start` of `text`.
pub fn at(text: &str, start: usize, what: &str) -> Error {
    // Columns count from 1, as in editors.
    let column = text.get(..start).unwrap_or(text).chars().count() + 1;
    let rest = text.get(start..).unwrap_or_default().trim_end();
    let place = if rest.is_empty() { "its end".to_owned() } else { format!("'{}'", shortened(rest)) };
    Error::invalid(format!("column {column} of the expression, at {place}: {what}"))
}

/// The start of a text, on one line.
pub fn shortened(text: &str) -> String {
    let mut shown: String =
        text.chars().take(SHOWN).map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push_str("...");
    }
    shown
}
