//! Merges the parts written by many writers into one dataset, without copying samples.
//!
//! ```text
//! OUT/.part-00000-of-00002/shard-00000.jinx ..   each published by itself, and replaced when it is written again
//! OUT/.part-00001-of-00002/shard-00000.jinx ..
//!   merge: rename every shard to OUT/shard-NNNNN.jinx, then write OUT/jinx.json = COMMIT, then remove the parts
//! ```
//! An interrupted merge is finished by running it again.

use crate::identity::JinxIdentity;
use crate::manifest::{self, Manifest, ShardEntry};
use crate::write::dataset::Summary;
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use jinx_core::io::fs_calls::{FileOps, RealOps};
use jinx_core::io::{DirectoryAppend, publish_on, sidecar_path};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The hidden directory of one part.
pub fn part_name(part: u32, parts: u32) -> String {
    format!(".part-{part:05}-of-{parts:05}")
}

/// The part and the number of parts in a directory's name.
fn part_of(name: &str) -> Option<(u32, u32)> {
    let (part, parts) = name.strip_prefix(".part-")?.split_once("-of-")?;
    Some((part.parse().ok()?, parts.parse().ok()?))
}

/// The parts in a directory, in order.
///
/// # Errors
/// `Io`.
pub fn parts_in(directory: &Path) -> Result<Vec<(u32, u32)>> {
    let failed = |error: std::io::Error| Error::io(directory, &error);
    let mut parts = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        parts.extend(entry.map_err(failed)?.file_name().to_str().and_then(part_of));
    }
    parts.sort_unstable();
    Ok(parts)
}

/// A part that a writer has begun but not finished; the writer may have died.
///
/// # Errors
/// `Io`.
pub(crate) fn unfinished_part(directory: &Path) -> Result<Option<(u32, u32)>> {
    let failed = |error: std::io::Error| Error::io(directory, &error);
    for entry in fs::read_dir(directory).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let begun = name.to_str().and_then(|name| name.strip_prefix('.')?.strip_suffix(".tmp"));
        if let Some(part) = begun.and_then(part_of) {
            return Ok(Some(part));
        }
    }
    Ok(None)
}

/// Merges the parts in `directory`.
///
/// # Errors
/// `Invalid` when there are none; `Mismatch` when some are missing, belong to different numbers of parts or different
/// splits, or when the directory is a dataset already. Nothing is changed then.
pub fn merge(directory: &Path) -> Result<Summary> {
    merge_on(&(Arc::new(RealOps) as Arc<dyn FileOps>), directory)
}

/// Like [`merge`], through `ops`.
///
/// # Errors
/// The errors of [`merge`].
pub fn merge_on(ops: &Arc<dyn FileOps>, directory: &Path) -> Result<Summary> {
    let lock = DirectoryAppend::begin_on(Arc::clone(ops), directory, &JinxIdentity)?;
    let parts = parts_in(directory)?;
    check(&parts).map_err(|error| error.in_file(directory))?;
    let mut whole: Option<Manifest> = None;
    let mut moves: Vec<(PathBuf, ShardEntry)> = Vec::new();
    for &(part, parts) in &parts {
        let inner = directory.join(part_name(part, parts));
        let Some(found) = Manifest::read(&inner)? else {
            let what = format!("part {part} of {parts} was not finished; write it again");
            return Err(Error::mismatch(what).in_file(directory));
        };
        if found.is_of_views() {
            // Shards of views store the paths of their bases relative to the part's directory.
            return Err(Error::mismatch("saved views are not merged; open them together").in_file(inner));
        }
        let whole = whole.get_or_insert_with(|| Manifest::new(found.split.clone(), found.meta.clone()));
        if whole.split != found.split {
            let what = format!("part {part} has another split than part 0; write it again");
            return Err(Error::mismatch(what).in_file(directory));
        }
        // A part without samples has one empty shard, which is left out.
        for shard in found.shards.into_iter().filter(|shard| shard.samples > 0) {
            let name = format!("shard-{:05}.jinx", whole.shards.len());
            moves.push((inner.join(&shard.name), ShardEntry { name, ..shard.clone() }));
            whole.push(ShardEntry { name: format!("shard-{:05}.jinx", whole.shards.len()), ..shard });
        }
    }
    let mut whole = whole.ok_or_else(|| Error::invalid("there are no parts here").in_file(directory))?;
    whole.generation = 1;
    match Manifest::read(directory)? {
        Some(there) if there.shards == whole.shards => {}
        Some(_) => {
            let what = "this is a dataset already; write the parts to a new directory";
            return Err(Error::mismatch(what).in_file(directory));
        }
        None => {
            moves.iter().try_for_each(|(from, shard)| check_shard(from, directory, shard))?;
            moves.iter().try_for_each(|(from, shard)| move_shard(&**ops, from, directory, shard))?;
            lock.sync()?;
            publish_on(ops, &directory.join(manifest::NAME), whole.to_text()?.as_bytes())?;
        }
    }
    for &(part, parts) in &parts {
        // The dataset is published; leftovers only cost some space.
        let _ = ops.remove_tree(&directory.join(part_name(part, parts)));
    }
    Ok(Summary {
        samples: whole.num_samples,
        shards: to_u64(whole.shards.len()),
        bytes: whole.shards.iter().map(|shard| shard.bytes + shard.sidecar_bytes).sum(),
        sidecar_bytes: whole.shards.iter().map(|shard| shard.sidecar_bytes).sum(),
    })
}

fn check(parts: &[(u32, u32)]) -> Result<()> {
    let Some(&(_, count)) = parts.first() else {
        return Err(Error::invalid("there are no parts here; a part is written with --part I/N"));
    };
    if let Some((_, other)) = parts.iter().find(|(_, parts)| *parts != count) {
        let what = format!("there are parts of {count} and parts of {other}; remove the wrong ones");
        return Err(Error::mismatch(what));
    }
    let missing: Vec<String> = (0..count)
        .filter(|part| !parts.contains(&(*part, count)))
        .take(10)
        .map(|part| part.to_string())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let what = format!("parts {} of {count} are missing; write them, then merge again", missing.join(", "));
    Err(Error::mismatch(what))
}

/// The two files of a shard: their sources, destinations and sizes.
fn files(from: &Path, directory: &Path, shard: &ShardEntry) -> [(PathBuf, PathBuf, u64); 2] {
    let to = directory.join(&shard.name);
    // Move the sidecar first: a main file without its sidecar would be damaged.
    [(sidecar_path(from), sidecar_path(&to), shard.sidecar_bytes), (from.to_owned(), to, shard.bytes)]
}

/// Checks that each file is in its part or, after an interrupted merge, at its destination, which must otherwise be
/// free.
fn check_shard(from: &Path, directory: &Path, shard: &ShardEntry) -> Result<()> {
    for (from, to, bytes) in files(from, directory, shard) {
        let is = |path: &Path| path.metadata().is_ok_and(|metadata| metadata.len() == bytes);
        if bytes > 0 && !is(&from) && (from.exists() || !is(&to)) {
            return Err(Error::mismatch(
                "this file has changed since its part was written; write the part again",
            )
            .in_file(from));
        }
        if bytes > 0 && from.exists() && to.symlink_metadata().is_ok() {
            let what = "this file is in the way and belongs to no part; move it to another directory, then merge again";
            return Err(Error::mismatch(what).in_file(to));
        }
    }
    Ok(())
}

fn move_shard(ops: &dyn FileOps, from: &Path, directory: &Path, shard: &ShardEntry) -> Result<()> {
    for (from, to, bytes) in files(from, directory, shard) {
        if bytes > 0 && from.exists() {
            ops.rename(&from, &to).map_err(|error| Error::io(&to, &error))?;
        }
    }
    Ok(())
}
