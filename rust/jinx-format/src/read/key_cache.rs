//! The parsed keys of one row: most rows of a dataset have the same keys in the same order.

use crate::footer::Footer;
use crate::key::{Chain, FormatVersion};
use jinx_core::json::scan::Members;
use jinx_core::json::text::unescape;

/// The maximum number of columns that are cached: rows with more are rare, and the memory should stay small.
const MAX_KEYS: usize = 32;

/// A physical key whose name has no escapes.
#[derive(Debug)]
pub struct KnownKey {
    /// The raw key between its quotes; it begins with the name.
    pub raw: Box<[u8]>,
    pub name: Box<str>,
    pub chain: Option<Chain>,
}

impl KnownKey {
    /// The keys of a line up to the first that is not simple. Only 1.1 keys mean the same whatever their values are.
    pub(crate) fn of_line(footer: &Footer, line: &[u8]) -> Box<[Self]> {
        let mut keys: Vec<Self> = Vec::new();
        if footer.rules != FormatVersion::V1_1 {
            return keys.into();
        }
        let mut members = Members::new(line);
        while let Ok(Some(span)) = members.next_member()
            && keys.len() < MAX_KEYS
        {
            let (raw, value) = (&line[span.key_range()], &line[span.value_range()]);
            let Ok((name, chain)) = unescape(raw).and_then(|key| footer.split_key(key, value)) else { break };
            if !raw.starts_with(name.as_bytes()) || keys.iter().any(|other| *other.name == *name) {
                break;
            }
            keys.push(Self { raw: raw.into(), name: name.into(), chain });
        }
        keys.into()
    }
}
