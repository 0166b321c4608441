//! The bases of a saved view as files: what identifies them, and another place for them.

use crate::footer::Footer;
use crate::identity::JinxIdentity;
use crate::metadata_digest::with_digest;
use crate::read::locate::read_footer;
use crate::view::Base;
use jinx_core::error::{Error, Result};
use jinx_core::interrupt;
use jinx_core::io::{Access, FileOps, PairWriter, RealOps, Source};
use jinx_core::json::scan::Members;
use jinx_core::json::text::unescape;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use twox_hash::XxHash3_128;

/// Bytes of a file that are read at a time.
const BLOCK_BYTES: u64 = 4 << 20;

/// xxh3-128 of bytes, as 32 hex digits.
pub fn hash_bytes(data: &[u8]) -> String {
    format!("{:032x}", XxHash3_128::oneshot(data))
}

/// xxh3-128 of a file, as 32 hex digits.
///
/// # Errors
/// I/O errors.
pub fn hash_file(path: &Path) -> Result<String> {
    hash_source(&Source::open(path, Access::Pread)?, 0)
}

/// xxh3-128 of an open file from `start` on, as 32 hex digits.
///
/// # Errors
/// I/O errors.
pub fn hash_source(source: &Source, start: u64) -> Result<String> {
    let mut hash = XxHash3_128::new();
    each_block(source, start, source.len(), |block| {
        hash.write(block);
        Ok(())
    })?;
    Ok(format!("{:032x}", hash.finish_128()))
}

fn each_block(
    source: &Source,
    start: u64,
    end: u64,
    mut take: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut at = start;
    while at < end {
        interrupt::check()?;
        let length = BLOCK_BYTES.min(end - at);
        take(&source.read_vec(at, length)?)?;
        at += length;
    }
    Ok(())
}

/// The `path` and `hint` of a base; `None`: unchanged.
pub type NewPlaces = Option<(String, String)>;

/// Replaces the `path` and `hint` of bases of the saved view with this id. The id stays, so the sidecar does, too.
///
/// The view is read under the lock under which it is replaced, so no other writer's work is lost.
///
/// # Errors
/// `Mismatch` when another dataset has got the name of the view; `Invalid` for another number of places and for files
/// that are not views; I/O errors, also (`WouldBlock`) when another process is writing the view.
pub fn rewrite_bases(view: &Path, id: &str, places: &[NewPlaces]) -> Result<()> {
    rewrite_bases_on(Arc::new(RealOps), view, id, places)
}

/// Like [`rewrite_bases`], through `ops`.
///
/// # Errors
/// The errors of [`rewrite_bases`].
pub fn rewrite_bases_on(ops: Arc<dyn FileOps>, view: &Path, id: &str, places: &[NewPlaces]) -> Result<()> {
    let rewrite = || {
        let mut writer = PairWriter::change(ops, view, JinxIdentity)?;
        let source = Source::open(view, Access::Pread)?;
        let (footer, offset) = read_footer(&source)?;
        if footer.id.as_deref() != Some(id) {
            return Err(Error::mismatch("another dataset has got this name meanwhile; try again"));
        }
        let moved = moved_bases(footer, places)?;
        let tail = source.read_vec(offset, source.len() - offset)?;
        let footer = with_other_bases(&tail, &moved)?;
        let main = writer.main_file();
        let failed = |error: std::io::Error| Error::io(view, &error);
        each_block(&source, 0, offset, |block| main.write_all(block).map_err(failed))?;
        main.write_all(format!("{footer}\n{offset}\n").as_bytes()).map_err(failed)?;
        writer.commit()
    };
    rewrite().map_err(|error: Error| error.in_file(view))
}

fn moved_bases(footer: Footer, places: &[NewPlaces]) -> Result<Vec<Base>> {
    let bases =
        footer.view.map(|view| view.bases).ok_or_else(|| Error::invalid("this is not a saved view"))?;
    if bases.len() != places.len() {
        return Err(Error::invalid(format!("{} places for {} bases", places.len(), bases.len())));
    }
    let moved: Vec<Base> = bases
        .into_iter()
        .zip(places)
        .map(|(base, place)| match place.clone() {
            Some((path, hint)) => Base { path: Some(path), hint: Some(hint), ..base },
            None => base,
        })
        .collect();
    moved.iter().try_for_each(|base| base.check(base.index.is_some()))?;
    Ok(moved)
}

/// The footer that `tail` begins with, over other bases.
fn with_other_bases(tail: &[u8], bases: &[Base]) -> Result<String> {
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
            *value = serde_json::value::to_raw_value(bases).map_err(bad)?;
        }
    }
    with_digest(&MemberList(&members))
}

/// The members of an object, in order.
struct MemberList<'m>(&'m [(String, Box<RawValue>)]);

impl Serialize for MemberList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}
