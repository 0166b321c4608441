//! Rows of plain JSON Lines with markers in their values.

use crate::key::{Chain, Kind};
use jinx_core::json::markers;
use jinx_core::json::scan::Members;

/// The chain of a value in a row with markers, if it needs one.
pub fn marked(text: &[u8]) -> Option<Chain> {
    markers::may_hold(text).then(|| Chain::new(Kind::Marked, None, false))
}

/// A row with markers, in the form that all readers of a shard expect: first the header, then the columns without their
/// escape. Any other row is returned unchanged, unless all rows hold markers.
pub(crate) fn with_header(line: Vec<u8>, always: bool) -> Vec<u8> {
    let columns = match markers::header_end(&line) {
        Some(at) => line[at..].strip_prefix(b",").unwrap_or(&line[at..]),
        None if always => line.trim_ascii_start().strip_prefix(b"{").unwrap_or_default(),
        None => return line,
    };
    let whole = [b"{", columns].concat();
    let mut members = Members::new(&whole);
    let Ok(first) = members.next_member() else { return line };
    let is_escape = first.is_some_and(|span| {
        whole[span.key_range()] == *markers::DICT.as_bytes() && whole[span.value_range()].starts_with(b"{")
    }) && matches!(members.next_member(), Ok(None));
    let columns = match first.filter(|_| is_escape) {
        Some(span) => &whole[span.value_range()],
        None => &whole,
    };
    let columns = columns[1..].trim_ascii_start();
    let comma: &[u8] = if columns.starts_with(b"}") { b"" } else { b"," };
    let header = format!("{{\"{}\":{}", markers::HEADER, markers::VERSION);
    [header.as_bytes(), comma, columns].concat()
}
