//! The bases of a saved view as files: what identifies them, and another place for them.

use crate::digest::with_digest;
use crate::read::locate::read_footer;
use crate::view::Base;
use jinx_core::error::{Error, Result};
use jinx_core::io::{Access, Source, publish_file};
use jinx_core::json::scan::Members;
use jinx_core::json::text::unescape;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::path::Path;
use twox_hash::XxHash3_128;

/// Bytes of a file that are hashed at a time.
const HASHED_BYTES: u64 = 4 << 20;

/// What stands for the id of a pair of JINX 1.0, which has none: a hash of its footer.
///
/// # Errors
/// Those of finding the footer.
pub fn stand_in_id(main: &Path) -> Result<String> {
    let source = Source::open(main, Access::Pread)?;
    let (_, offset) = read_footer(&source).map_err(|error| error.in_file(main))?;
    Ok(hash_bytes(&source.slice(offset, source.len() - offset)?))
}

/// xxh3-128 of bytes, as 32 hex digits.
pub fn hash_bytes(data: &[u8]) -> String {
    format!("{:032x}", XxHash3_128::oneshot(data))
}

/// xxh3-128 of a file, as 32 hex digits.
///
/// # Errors
/// I/O errors.
pub fn hash_file(path: &Path) -> Result<String> {
    let source = Source::open(path, Access::Pread)?;
    let (mut hash, mut at) = (XxHash3_128::new(), 0);
    while at < source.len() {
        hash.write(&source.slice(at, HASHED_BYTES.min(source.len() - at))?);
        at += HASHED_BYTES;
    }
    Ok(format!("{:032x}", hash.finish_128()))
}

/// Replaces the `path` and `hint` of each base of a saved view. Its id stays, so its sidecar does, too.
///
/// # Errors
/// `Invalid` for another number of places and for files that are not views; I/O errors.
pub fn rewrite_bases(view: &Path, places: &[(String, String)]) -> Result<()> {
    let rewrite = || {
        let source = Source::open(view, Access::Pread)?;
        let (footer, offset) = read_footer(&source)?;
        let bases =
            footer.view.map(|view| view.bases).ok_or_else(|| Error::invalid("this is not a saved view"))?;
        if bases.len() != places.len() {
            return Err(Error::invalid(format!("{} places for {} bases", places.len(), bases.len())));
        }
        let moved: Vec<Base> = bases
            .into_iter()
            .zip(places)
            .map(|(base, (path, hint))| Base { path: path.clone(), hint: hint.clone(), ..base })
            .collect();
        moved.iter().try_for_each(|base| base.check(base.index.is_some()))?;
        let tail = source.read_vec(offset, source.len() - offset)?;
        let end = memchr::memrchr(b'\n', tail.trim_ascii_end()).unwrap_or(tail.len());
        let bad = |error: serde_json::Error| Error::corrupt(format!("the footer is not JSON: {error}"));
        // Members stay as they are written, numbers of `meta` with all their digits.
        let mut members: Vec<(String, Box<RawValue>)> = Vec::new();
        let mut text = Members::new(&tail[..end]);
        while let Some(span) = text.next_member()? {
            let name = unescape(&tail[span.key_range()])?.into_owned();
            let value = std::str::from_utf8(&tail[span.value_range()]).unwrap_or_default();
            members.push((name, RawValue::from_string(value.to_owned()).map_err(bad)?));
        }
        members.retain(|(name, _)| name != "digest");
        for (name, value) in &mut members {
            if name == "base" {
                *value = serde_json::value::to_raw_value(&moved).map_err(bad)?;
            }
        }
        let footer = with_digest(&MemberList(&members))?;
        let mut main = source.read_vec(0, offset)?;
        main.extend_from_slice(format!("{footer}\n{offset}\n").as_bytes());
        publish_file(view, &main)
    };
    rewrite().map_err(|error: Error| error.in_file(view))
}

/// The members of an object, in order.
struct MemberList<'m>(&'m [(String, Box<RawValue>)]);

impl Serialize for MemberList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}
