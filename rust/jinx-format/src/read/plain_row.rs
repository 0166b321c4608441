//! Rows that consist entirely of plain JSON, for copying them as text.

use crate::key::{FormatVersion, needs_quotes};
use crate::read::shard::Shard;
use bytes::Bytes;
use jinx_core::error::{Error, Result};
use jinx_core::json::scan::{Members, Span};
use jinx_core::key_set::KeySet;

impl Shard {
    /// Whether the footer says that no value has a chain or marker.
    pub(crate) fn is_plain_json(&self) -> bool {
        self.rules() == FormatVersion::V1_1 && !self.tree().coded && !self.tree().open
    }

    /// Like [`Shard::line_offsets`], without a copy if the sidecar is mapped.
    pub(crate) fn index_bytes(&self) -> Result<Bytes> {
        self.index.bytes(self.sidecar())
    }

    /// The checksum of a line with its newline, if reading the line compares this.
    pub(crate) fn compared_line_hash(&self, i: u64) -> Option<u64> {
        if self.rules() == FormatVersion::V1_1 { self.stored_line_hash(i) } else { None }
    }
}

/// The members of a line as a writer would write them: without blanks, and with names that equal their keys. `None` for
/// other lines.
///
/// # Errors
/// `Corrupt` for text that is not an object, and for duplicate names.
pub(crate) fn plain_members(line: &[u8]) -> Result<Option<Vec<Span>>> {
    let mut members = Members::uncounted(line);
    let mut unique = KeySet::default();
    let mut spans = Vec::with_capacity(8);
    let mut end = 0;
    while let Some(span) = members.next_member()? {
        let (key, value) = (span.key_range(), span.value_range());
        let name = std::str::from_utf8(&line[key.clone()]).ok();
        let name =
            name.filter(|name| !needs_quotes(name) && name.bytes().all(|byte| byte >= b' ' && byte != b'\\'));
        let Some(name) = name.filter(|_| key.start == end + 2 && value.start == key.end + 2) else {
            return Ok(None);
        };
        if unique.insert(name).is_some() {
            return Err(Error::corrupt("the name appears twice").in_column(name));
        }
        end = value.end;
        spans.push(span);
    }
    Ok((end + 1 == line.len() && !spans.is_empty()).then_some(spans))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_in_the_form_of_a_writer_are_plain() {
        for line in [r#"{"a":1}"#, r#"{"a":1,"b":[1, 2],"é":"x"}"#] {
            assert!(plain_members(line.as_bytes()).unwrap().is_some(), "{line}");
        }
        for line in [
            "{}",
            r#"{ "a":1}"#,
            r#"{"a" :1}"#,
            r#"{"a": 1}"#,
            r#"{"a":1 }"#,
            r#"{"a":1, "b":2}"#,
            r#"{"a":1,"b":2} "#,
            r#"{"a.raw":1}"#,
            r#"{"\u0061":1}"#,
        ] {
            assert!(plain_members(line.as_bytes()).unwrap().is_none(), "{line}");
        }
        assert!(plain_members(br#"{"a":1,"a":2}"#).is_err());
    }
}
