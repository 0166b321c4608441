//! Copies a dataset of this machine to a URL. What names the other files goes last, so a reader sees the old dataset or
//! the new one.

use jinx_core::error::Cause;
use jinx_core::io::{Store, second_name, sidecar_path};
use jinx_core::{Error, Result};
use jinx_format::manifest::{self, Manifest};
use jinx_format::read::open::resolve;
use jinx_format::read::shard::{OpenOptions, Shard};
use std::io::ErrorKind;
use std::path::Path;

/// Digits of an id that tell the shards of a replaced directory from those before.
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

fn upload_pair(
    path: &Path,
    url: &str,
    overwrite: bool,
    store: &dyn Store,
    options: &OpenOptions,
) -> Result<()> {
    let shard = Shard::open(path, &OpenOptions { views: true, ..options.clone() })?;
    let there = store.exists(url)?;
    if there && !overwrite {
        let what = "there is a file at this URL; replace it with overwrite=True (--overwrite), or choose another name";
        return Err(Error::new(Cause::Io(ErrorKind::AlreadyExists), what).in_file(url));
    }
    if let Some(sidecar) = shard.sidecar() {
        let target = match there {
            // Readers of the old main file still need the old sidecar.
            true => second_name(Path::new(url), shard.footer().id.as_deref()),
            false => sidecar_path(Path::new(url)),
        };
        store.put_file(&target.to_string_lossy(), sidecar.path(), true)?;
    }
    store.put_file(url, path, overwrite)
}

fn upload_directory(
    path: &Path,
    url: &str,
    overwrite: bool,
    store: &dyn Store,
    options: &OpenOptions,
) -> Result<()> {
    let manifest_url = format!("{url}/{}", manifest::NAME);
    let there = store.exists(&manifest_url)?;
    if there && !overwrite {
        let what = "there is a dataset at this URL; replace it with overwrite=True (--overwrite), or choose another name";
        return Err(Error::new(Cause::Io(ErrorKind::AlreadyExists), what).in_file(url));
    }
    let mut manifest = Manifest::read(path)?;
    for (i, shard) in resolve(path)?.iter().enumerate() {
        let name = shard.path.file_name().unwrap_or_default().to_string_lossy();
        // Shards of the old dataset stay as they are for its readers.
        let name = match (&shard.id, there) {
            (Some(id), true) => {
                let tag = id.get(..ID_DIGITS).unwrap_or(id);
                format!("{}-{tag}.jinx", name.trim_end_matches(".jinx"))
            }
            _ => name.into_owned(),
        };
        let target = format!("{url}/{name}");
        if !is_uploaded(&target, shard.id.as_deref(), options) {
            upload_pair(&shard.path, &target, true, store, options)?;
        }
        if let Some(entry) = manifest.as_mut().and_then(|manifest| manifest.shards.get_mut(i)) {
            entry.name = name;
        }
    }
    match manifest {
        Some(manifest) => store.put_bytes(&manifest_url, manifest.to_text()?.into_bytes(), overwrite),
        None => Ok(()),
    }
}

/// Whether a shard with this id is at a URL, with its sidecar.
fn is_uploaded(url: &str, id: Option<&str>, options: &OpenOptions) -> bool {
    let opened = Shard::open(Path::new(url), options);
    id.is_some() && opened.is_ok_and(|shard| shard.footer().id.as_deref() == id)
}
