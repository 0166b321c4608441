//! Copies a local dataset to a URL. What names the other files goes last, so a reader sees the old dataset or the new
//! one.

use jinx_core::error::Cause;
use jinx_core::io::{Condition, Source, Store, second_name, sidecar_path};
use jinx_core::{Error, Result};
use jinx_format::manifest::{self, Manifest};
use jinx_format::read::open::resolve;
use jinx_format::read::shard::{OpenOptions, Shard};
use jinx_format::sidecar::HEADER_BYTES;
use std::io::ErrorKind;
use std::path::Path;

/// The number of digits of an id that distinguish new shards from those of the replaced directory.
const ID_DIGITS: usize = 12;

/// Copies a `.jinx` file with its sidecar, or a directory of shards, to `url`. Files that are there already from an
/// interrupted upload of the same dataset are not sent again.
///
/// # Errors
/// `Io(AlreadyExists)` unless it may be overwritten; the errors of opening the dataset; errors of the store.
pub fn upload(path: &Path, url: &str, overwrite: bool, options: &OpenOptions) -> Result<()> {
    let store = options.store(url)?;
    if path.is_dir() {
        return upload_directory(path, url.trim_end_matches('/'), overwrite, store, options);
    }
    upload_pair(path, url, overwrite, store, options)
}

/// The condition for replacing the object that has this tag now.
fn replacing(tag: Option<String>) -> Condition {
    tag.map_or(Condition::Absent, Condition::Matches)
}

/// The condition for writing the file that names all others: that nothing is there, or only what is there now and may
/// be replaced.
fn condition_at(url: &str, overwrite: bool, store: &dyn Store) -> Result<Condition> {
    let condition = replacing(store.tag(url)?);
    if condition == Condition::Absent || overwrite {
        return Ok(condition);
    }
    let what = "there is a dataset at this URL; replace it with overwrite=True (--overwrite), or choose another name";
    Err(Error::new(Cause::Io(ErrorKind::AlreadyExists), what).in_file(url))
}

fn upload_pair(
    path: &Path,
    url: &str,
    overwrite: bool,
    store: &dyn Store,
    options: &OpenOptions,
) -> Result<()> {
    let shard = Shard::open(path, &OpenOptions { views: true, ..options.clone() })?;
    let condition = condition_at(url, overwrite, store)?;
    if let Some(sidecar) = shard.sidecar() {
        let usual = sidecar_path(Path::new(url));
        // Readers of the old main file still need the old sidecar.
        let is_free = condition == Condition::Absent && upload_sidecar(sidecar, &usual, store)?;
        if !is_free {
            let other = second_name(Path::new(url), shard.footer().id.as_deref());
            store.put_file(&other.to_string_lossy(), sidecar.path(), &Condition::Always)?;
        }
    }
    store.put_file(url, path, &condition)
}

/// Copies a sidecar to its usual name; `false` if another one is there, for example from an upload in progress.
fn upload_sidecar(sidecar: &Source, target: &Path, store: &dyn Store) -> Result<bool> {
    let url = target.to_string_lossy();
    match store.put_file(&url, sidecar.path(), &Condition::Absent) {
        Ok(()) => Ok(true),
        Err(error) if is_taken(&error) => {
            let there = Source::of(store.open(&url)?, target);
            // An interrupted upload may have sent the sidecar; its header identifies the content.
            let length = HEADER_BYTES.min(sidecar.len());
            let is_same =
                there.len() == sidecar.len() && there.read(0, length)? == sidecar.read(0, length)?;
            Ok(is_same)
        }
        Err(error) => Err(error),
    }
}

fn is_taken(error: &Error) -> bool {
    error.cause() == Cause::Io(ErrorKind::AlreadyExists)
}

fn upload_directory(
    path: &Path,
    url: &str,
    overwrite: bool,
    store: &dyn Store,
    options: &OpenOptions,
) -> Result<()> {
    let manifest_url = format!("{url}/{}", manifest::NAME);
    let condition = condition_at(&manifest_url, overwrite, store)?;
    let mut manifest = Manifest::read(path)?;
    for (i, shard) in resolve(path)?.iter().enumerate() {
        let name = shard.path.file_name().unwrap_or_default().to_string_lossy();
        let id = shard.id.as_deref();
        let send = |name: &str, overwrite| {
            let target = format!("{url}/{name}");
            // An interrupted upload may have sent the shard.
            match id.is_some_and(|id| is_shard_at(&target, id, options)) {
                true => Ok(()),
                false => upload_pair(&shard.path, &target, overwrite, store, options),
            }
        };
        // Other shards with this name stay, because readers of the old dataset need them.
        let name = match (id, send(&name, false)) {
            (Some(id), Err(error)) if is_taken(&error) => {
                let stem = name.trim_end_matches(".jinx");
                let other = format!("{stem}-{}.jinx", id.get(..ID_DIGITS).unwrap_or(id));
                send(&other, true).map(|()| other)?
            }
            (_, sent) => sent.map(|()| name.into_owned())?,
        };
        if let Some(entry) = manifest.as_mut().and_then(|manifest| manifest.shards.get_mut(i)) {
            entry.name = name;
        }
    }
    match manifest {
        Some(manifest) => store.put_bytes(&manifest_url, manifest.to_text()?.into_bytes(), &condition),
        None => Ok(()),
    }
}

/// Whether a shard with this id, with its sidecar, is at a URL.
fn is_shard_at(url: &str, id: &str, options: &OpenOptions) -> bool {
    Shard::open(Path::new(url), options).is_ok_and(|shard| shard.footer().id.as_deref() == Some(id))
}
