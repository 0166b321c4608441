//! Shortens values for the `repr` of a sample.

/// Maximum number of characters shown for one value.
const MAX_CHARS: usize = 80;

/// The beginning of a text that is too long.
pub fn short(text: &str) -> String {
    if text.chars().count() <= MAX_CHARS {
        return text.to_owned();
    }
    text.chars().take(MAX_CHARS - 3).chain("...".chars()).collect()
}

/// Shows the size of a binary value, and its stored size if that differs.
pub fn blob(what: &str, bytes: u64, stored: Option<u64>) -> String {
    match stored {
        Some(stored) if stored != bytes => format!("<{what}, {bytes} bytes, {stored} stored>"),
        _ => format!("<{what}, {bytes} bytes>"),
    }
}
