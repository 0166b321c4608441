//! Errors that show a place in an expression.

use jinx_core::error::Error;

/// Letters of the expression that a message shows.
const SHOWN: usize = 40;

/// What is wrong with `text` at its byte `start`.
pub fn at(text: &str, start: usize, what: &str) -> Error {
    // As editors do, columns count from 1.
    let column = text.get(..start).unwrap_or(text).chars().count() + 1;
    let rest = text.get(start..).unwrap_or_default().trim_end();
    let place = if rest.is_empty() { "its end".to_owned() } else { format!("'{}'", shortened(rest)) };
    Error::invalid(format!("column {column} of the expression, at {place}: {what}"))
}

/// The beginning of a text, on one line.
pub fn shortened(text: &str) -> String {
    let mut shown: String =
        text.chars().take(SHOWN).map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push_str("...");
    }
    shown
}
