//! Merges the parts that many writers wrote into one dataset, without copying samples.
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
use jinx_core::error::{Error, Result};
use jinx_core::io::ops::{FileOps, RealOps};
use jinx_core::io::{FolderAppend, publish_on, sidecar_path};
use jinx_core::num::to_u64;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The hidden folder of one part.
pub fn part_name(part: u32, parts: u32) -> String {
    format!(".part-{part:05}-of-{parts:05}")
}

/// The part and the number of parts in a folder's name.
fn part_of(name: &str) -> Option<(u32, u32)> {
    let (part, parts) = name.strip_prefix(".part-")?.split_once("-of-")?;
    Some((part.parse().ok()?, parts.parse().ok()?))
}

/// The parts in a folder, in order.
///
/// # Errors
/// `Io`.
pub fn parts_in(folder: &Path) -> Result<Vec<(u32, u32)>> {
    let failed = |error: std::io::Error| Error::io(folder, &error);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        found.extend(entry.map_err(failed)?.file_name().to_str().and_then(part_of));
    }
    found.sort_unstable();
    Ok(found)
}

/// Merges the parts in `folder`.
///
/// # Errors
/// `Invalid` when there are none; `Mismatch` when some are missing, belong to different numbers of parts or different
/// splits, or when the folder is a dataset already. Nothing is changed then.
pub fn merge(folder: &Path) -> Result<Summary> {
    merge_on(&(Arc::new(RealOps) as Arc<dyn FileOps>), folder)
}

/// As [`merge`], through `ops`.
///
/// # Errors
/// As [`merge`].
pub fn merge_on(ops: &Arc<dyn FileOps>, folder: &Path) -> Result<Summary> {
    let lock = FolderAppend::begin_on(Arc::clone(ops), folder, &JinxIdentity)?;
    let parts = parts_in(folder)?;
    check(&parts).map_err(|error| error.in_file(folder))?;
    let mut whole: Option<Manifest> = None;
    let mut moves: Vec<(PathBuf, ShardEntry)> = Vec::new();
    for &(part, parts) in &parts {
        let inner = folder.join(part_name(part, parts));
        let Some(found) = Manifest::read(&inner)? else {
            let what = format!("part {part} of {parts} was not finished; write it again");
            return Err(Error::mismatch(what).in_file(folder));
        };
        let whole = whole.get_or_insert_with(|| Manifest::new(found.split.clone(), found.meta.clone()));
        if whole.split != found.split {
            let what = format!("part {part} has another split than part 0; write it again");
            return Err(Error::mismatch(what).in_file(folder));
        }
        // A part without samples has one empty shard, which is left out.
        for shard in found.shards.into_iter().filter(|shard| shard.samples > 0) {
            let name = format!("shard-{:05}.jinx", whole.shards.len());
            moves.push((inner.join(&shard.name), ShardEntry { name, ..shard.clone() }));
            whole.push(ShardEntry { name: format!("shard-{:05}.jinx", whole.shards.len()), ..shard });
        }
    }
    let mut whole = whole.ok_or_else(|| Error::invalid("there are no parts here").in_file(folder))?;
    whole.generation = 1;
    match Manifest::read(folder)? {
        Some(there) if there.shards == whole.shards => {}
        Some(_) => {
            let what = "this is a dataset already; write the parts to a new directory";
            return Err(Error::mismatch(what).in_file(folder));
        }
        None => {
            moves.iter().try_for_each(|(from, shard)| check_shard(from, folder, shard))?;
            moves.iter().try_for_each(|(from, shard)| move_shard(&**ops, from, folder, shard))?;
            lock.sync()?;
            publish_on(ops, &folder.join(manifest::NAME), whole.to_text()?.as_bytes())?;
        }
    }
    for &(part, parts) in &parts {
        // The dataset is published; leftovers only cost a little space.
        let _ = ops.remove_tree(&folder.join(part_name(part, parts)));
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

/// The two files of a shard: where they come from, where they go, and their sizes.
fn files(from: &Path, folder: &Path, shard: &ShardEntry) -> [(PathBuf, PathBuf, u64); 2] {
    let to = folder.join(&shard.name);
    // The sidecar first: a main file without its sidecar would be damaged.
    [(sidecar_path(from), sidecar_path(&to), shard.sidecar_bytes), (from.to_owned(), to, shard.bytes)]
}

/// Each file must be in its part or, after an interrupted merge, at its destination, which must otherwise be free.
fn check_shard(from: &Path, folder: &Path, shard: &ShardEntry) -> Result<()> {
    for (from, to, bytes) in files(from, folder, shard) {
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

fn move_shard(ops: &dyn FileOps, from: &Path, folder: &Path, shard: &ShardEntry) -> Result<()> {
    for (from, to, bytes) in files(from, folder, shard) {
        if bytes > 0 && from.exists() {
            ops.rename(&from, &to).map_err(|error| Error::io(&to, &error))?;
        }
    }
    Ok(())
}
