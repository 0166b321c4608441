//! Finds the footer of a damaged file, and tells rows from what is left of a footer.

use crate::footer::Footer;
use crate::read::locate::read_footer;
use jinx_core::checked_math::to_u64;
use jinx_core::io::Source;
use jinx_core::limits::{MAX_FOOTER_BYTES, MAX_TRAILER_BYTES};
use jinx_core::value::Value;
use memchr::memmem;

/// The beginning of every footer.
const START: &[u8] = b"{\"index.npy";
/// The maximum number of places where a footer may begin that are examined.
const MAX_STARTS: usize = 8;
/// The number of lines at the end of a file that may be pieces of a footer and its trailer.
const MAX_PIECES: u64 = 4;
/// Members of which a footer has all and a sample has at most one, whatever its columns are named.
const MEMBERS: [&[u8]; 4] =
    [START, b"\"line_hash\":{", b"\"fields\":[{\"path\":", b"\"columns\":[{\"path\":"];
/// The last member of a footer.
const DIGEST: &[u8] = b",\"digest\":\"";
/// The number of bytes of that member and the end of the footer.
const END_BYTES: usize = 29;

/// The footer and its offset, also if it is not where the last line of the file says.
pub(super) fn find_footer(main: &Source) -> Option<(Footer, u64)> {
    if let Ok(found) = read_footer(main) {
        return Some(found);
    }
    let length = main.len().min(MAX_FOOTER_BYTES + to_u64(MAX_TRAILER_BYTES));
    let first = main.len() - length;
    let tail = main.slice(first, length).ok()?;
    let mut starts: Vec<usize> = memmem::rfind_iter(&tail, START).take(MAX_STARTS).collect();
    // A footer after a lost newline is found too, but one that begins a line comes first.
    let is_inside = |start: usize| start > 0 && tail.get(start - 1) != Some(&b'\n');
    starts.sort_by_key(|start| is_inside(*start));
    starts.into_iter().find_map(|start| {
        let line = &tail[start..];
        let line = &line[..memchr::memchr(b'\n', line).unwrap_or(line.len())];
        // The newline before the trailer may be lost.
        let end = memchr::memrchr(b'}', line)? + 1;
        let footer = Footer::parse(&line[..end]).ok()?;
        Some((footer, first + to_u64(start)))
    })
}

/// Whether a line, one of `lines`, is a piece of a footer or a trailer.
pub(super) fn is_remains(text: &[u8], line: u64, lines: u64) -> bool {
    if line + MAX_PIECES < lines {
        return false;
    }
    if MEMBERS.iter().filter(|member| memmem::find(text, member).is_some()).count() > 1 {
        return true;
    }
    // A whole object may be a sample.
    match (text.starts_with(b"{"), text.ends_with(b"}")) {
        (true, true) => false,
        (true, false) => text.starts_with(START),
        (false, _) => {
            let end = &text[text.len().saturating_sub(END_BYTES)..];
            memmem::find(&text[..text.len().min(START.len() + 1)], &START[1..]).is_some()
                || memmem::find(end, DIGEST).is_some()
                || (text.len() <= 20 && text.iter().all(u8::is_ascii_digit))
        }
    }
}

/// Whether a value holds a pointer into the sidecar as if it were a sample's own value, because its name is damaged.
pub(super) fn has_bare_pointer(value: &Value) -> bool {
    match value {
        Value::List(items) => items.iter().any(has_bare_pointer),
        Value::Dict(members) => {
            is_pointer(members) || members.iter().any(|(_, value)| has_bare_pointer(value))
        }
        _ => false,
    }
}

/// Whether these are members of a pointer, its checksum among them.
fn is_pointer<N: AsRef<str>>(members: &[(N, Value)]) -> bool {
    let is_checksum = |text: &str| text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    members.len() > 1
        && members.iter().any(|(name, _)| name.as_ref() == "x")
        && members.iter().all(|(name, value)| match (name.as_ref(), value) {
            ("offset" | "length", Value::Int(_)) => true,
            ("x", Value::Str(text)) => is_checksum(text),
            _ => false,
        })
}
