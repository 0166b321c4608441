//! Changes where a saved view finds its bases, after they or the view moved.

use crate::content_hash::each_block;
use crate::copy_files::copy_file;
use crate::footer::Footer;
use crate::identity::JinxIdentity;
use crate::manifest::{self, Manifest};
use crate::metadata_digest::with_digest;
use crate::read::locate::read_footer;
use crate::view_footer::Base;
use jinx_core::error::{Cause, Error, Result};
use jinx_core::io::{Access, Contents, DirectoryWriter, FileOps, PairWriter, RealOps, Source, sidecar_path};
use jinx_core::json::scan::Members;
use jinx_core::json::text::unescape;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Another location for a base.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum NewPlace {
    /// The new `path` and `hint`.
    Paths(String, String),
    /// The new `location`. The `version` that the server had at the old location is forgotten.
    Location(String),
}

/// New locations of the bases; `None` for one that is unchanged.
pub type NewPlaces = Option<NewPlace>;

/// Replaces the locations of the bases of the saved view with this id. The id stays, so the sidecar does, too.
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
        write_with_places(view, id, places, writer.main_file())?;
        writer.commit()
    };
    rewrite().map_err(|error: Error| error.in_file(view))
}

/// The locations of the bases of a shard: its name, its id, and the locations.
pub type ShardPlaces = (String, String, Vec<NewPlaces>);

/// Like [`rewrite_bases`], for all shards of a directory in one step.
///
/// # Errors
/// The errors of [`rewrite_bases`]; `Mismatch` when the directory has other shards.
pub fn rewrite_bases_of_shards(directory: &Path, shards: &[ShardPlaces]) -> Result<()> {
    rewrite_bases_of_shards_on(Arc::new(RealOps), directory, shards)
}

/// Like [`rewrite_bases_of_shards`], through `ops`.
///
/// # Errors
/// The errors of [`rewrite_bases_of_shards`].
pub fn rewrite_bases_of_shards_on(
    ops: Arc<dyn FileOps>,
    directory: &Path,
    shards: &[ShardPlaces],
) -> Result<()> {
    let work = DirectoryWriter::begin_on(ops, directory, true, Contents::Jinx)?;
    let replaced = || Error::mismatch("the directory has changed meanwhile; try again").in_file(directory);
    let mut manifest = Manifest::read(directory)?.ok_or_else(replaced)?;
    if !manifest.shards.iter().map(|shard| &shard.name).eq(shards.iter().map(|(name, ..)| name)) {
        return Err(replaced());
    }
    for (shard, (name, id, places)) in manifest.shards.iter_mut().zip(shards) {
        let (old, new) = (directory.join(name), work.path().join(name));
        let failed = |error: std::io::Error| Error::io(&new, &error);
        let mut main = work.ops().create(&new).map_err(failed)?;
        write_with_places(&old, id, places, &mut main).map_err(|error| error.in_file(&old))?;
        shard.bytes = main.metadata().map_err(failed)?.len();
        if shard.sidecar_bytes > 0 {
            take_over(&work, &sidecar_path(&old), &sidecar_path(&new))?;
        }
    }
    manifest.generation += 1;
    let path = work.path().join(manifest::NAME);
    let written = work.ops().write(&path, manifest.to_text()?.as_bytes());
    written.map_err(|error| Error::io(&path, &error))?;
    work.commit()
}

/// Moves a file of the old directory to the new one: as a link, if the file system supports links.
fn take_over(work: &DirectoryWriter, old: &Path, new: &Path) -> Result<()> {
    if work.ops().link(old, new).is_ok() {
        return Ok(());
    }
    let mut copy = work.ops().create(new).map_err(|error| Error::io(new, &error))?;
    copy_file(old, &mut copy, new).map(drop)
}

/// Writes the main file of the view with this id to `main`, with other locations of its bases.
fn write_with_places(view: &Path, id: &str, places: &[NewPlaces], main: &mut File) -> Result<()> {
    let source = Source::open(view, Access::Pread)?;
    let (footer, offset) = read_footer(&source)?;
    if footer.id.as_deref() != Some(id) {
        return Err(Error::mismatch("another dataset has got this name meanwhile; try again"));
    }
    let moved = moved_bases(footer, places)?;
    let tail = source.read_vec(offset, source.len() - offset)?;
    let footer = with_other_bases(&tail, &moved)?;
    let failed = |error: std::io::Error| Error::io(view, &error);
    each_block(&source, 0, offset, |block| main.write_all(block).map_err(failed))?;
    main.write_all(format!("{footer}\n{offset}\n").as_bytes()).map_err(failed)
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
            Some(NewPlace::Paths(path, hint)) => Base { path: Some(path), hint: Some(hint), ..base },
            Some(NewPlace::Location(url)) => Base { location: Some(url), version: None, ..base },
            None => base,
        })
        .collect();
    let checked = moved.iter().try_for_each(|base| base.check(base.index.is_some()));
    checked.map(|()| moved).map_err(|error| match error.cause() {
        Cause::Corrupt => Error::invalid(error.what()),
        _ => error,
    })
}

/// The footer at the beginning of `tail`, with other bases.
fn with_other_bases(tail: &[u8], bases: &[Base]) -> Result<String> {
    let end = memchr::memrchr(b'\n', tail.trim_ascii_end()).unwrap_or(tail.len());
    let bad = |error: serde_json::Error| Error::corrupt(format!("the footer is not JSON: {error}"));
    // Keep the members as written, so that numbers in `meta` keep all their digits.
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
