//! The files at a URL.

use crate::location::{Contents, is_plain};
use crate::mds;
use jinx_core::error::Cause;
use jinx_core::io::{Source, Store};
use jinx_core::problem::Problem;
use jinx_core::{Error, Result};
use jinx_format::manifest::{self, Manifest};
use jinx_format::read::open::{ShardRef, main_files};
use jinx_format::read::shard::OpenOptions;
use jinx_format::verify::{OnProgress, verify_shards};
use jinx_mds::index_json::INDEX_NAME;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The files at a URL: a `.jinx` file, JSON lines, or a directory of shards. With `split`, a directory is replaced by its
/// subdirectory of that name, if that has a manifest.
///
/// # Errors
/// `Io(NotFound)` and `Mismatch` when there is nothing; errors of the store.
pub(crate) fn contents_at(url: &str, split: Option<&str>, options: &OpenOptions) -> Result<Contents> {
    let path = Path::new(url);
    if is_plain(path) {
        return Ok(Contents::JsonLines(vec![path.to_owned()]));
    }
    if path.extension().is_some_and(|extension| extension == "jinx") {
        return Ok(Contents::Shards(vec![ShardRef::alone(path.to_owned())]));
    }
    match shards_at(url, split, options) {
        Err(error) if matches!(error.cause(), Cause::Mismatch | Cause::Unsupported) => {
            let directory = mds_at(url, split, options.store(url)?)?.ok_or(error)?;
            Ok(Contents::Mds(vec![directory]))
        }
        shards => shards.map(Contents::Shards),
    }
}

/// The MDS directory that a URL names: itself, or its subdirectory of a split.
fn mds_at(url: &str, split: Option<&str>, store: &dyn Store) -> Result<Option<PathBuf>> {
    let directory = url.trim_end_matches('/');
    let directory = split.map_or_else(|| directory.to_owned(), |split| format!("{directory}/{split}"));
    let tag = store.tag(&format!("{directory}/{INDEX_NAME}")).map_err(|error| error.in_file(url))?;
    Ok(tag.map(|_| PathBuf::from(directory)))
}

/// Checks a dataset at a URL: all its files, with a separate error for each shard in the manifest that is missing.
///
/// # Errors
/// Errors of the store, and of a directory without data.
pub fn verify_at(url: &str, options: &OpenOptions, progress: &mut OnProgress<'_>) -> Result<Vec<Problem>> {
    match contents_at(url, None, options)? {
        Contents::Shards(shards) => verify_shards(Path::new(url), shards, options, progress),
        Contents::JsonLines(paths) => {
            let shards = paths.into_iter().map(ShardRef::alone).collect();
            verify_shards(Path::new(url), shards, options, progress)
        }
        Contents::Mds(paths) => {
            let directory = paths.into_iter().next().unwrap_or_default();
            jinx_mds::verify::verify_with(&directory, mds::options(options), progress)
        }
    }
}

/// The shards of a directory at a URL, in the order of their samples.
///
/// # Errors
/// The errors of [`contents_at`].
pub(crate) fn shards_at(url: &str, split: Option<&str>, options: &OpenOptions) -> Result<Vec<ShardRef>> {
    let store = options.store(url)?;
    let directory = url.trim_end_matches('/');
    let inner = split.map(|split| format!("{directory}/{split}"));
    for place in inner.iter().map(String::as_str).chain([directory]) {
        if let Some(manifest) = manifest_at(place, store)? {
            let is_view = manifest.is_of_views();
            let shard = |entry: &manifest::ShardEntry| {
                ShardRef::listed(PathBuf::from(format!("{place}/{}", entry.name)), entry, is_view)
            };
            return Ok(manifest.shards.iter().map(shard).collect());
        }
    }
    let mut names = store.list(directory).map_err(|error| error.in_file(url))?;
    names.retain(|name| name.ends_with(".jinx") && !name.starts_with('.'));
    if names.is_empty() {
        let what = "there is no .jinx file at this URL; name a .jinx file, or a directory of them";
        return Err(Error::mismatch(what).in_file(url));
    }
    let shard = |name| ShardRef::alone(PathBuf::from(format!("{directory}/{name}")));
    Ok(main_files(names).into_iter().map(shard).collect())
}

fn manifest_at(directory: &str, store: &dyn Store) -> Result<Option<Manifest>> {
    let url = format!("{directory}/{}", manifest::NAME);
    match store.open(&url) {
        Err(error) if error.cause() == Cause::Io(ErrorKind::NotFound) => Ok(None),
        Err(error) => Err(error.in_file(url)),
        Ok(blocks) => Manifest::read_source(&Source::of(blocks, url)).map(Some),
    }
}
