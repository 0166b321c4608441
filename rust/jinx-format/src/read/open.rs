//! The files for a path: a pair, or a directory of pairs.

use crate::file_kind::{FileKind, quoted, sniff};
use crate::manifest::{self, Manifest, ShardEntry};
use crate::read::shard::{OpenOptions, Shard};
use jinx_core::error::{Error, Result};
use std::cmp::Ordering;
use std::path::{Path, PathBuf};

/// The maximum depth of directories that are searched for files to convert: `hub/data/train` is the usual depth.
const MAX_SEARCH_DEPTH: usize = 2;

/// One shard, and its entry in the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardRef {
    pub path: PathBuf,
    pub samples: Option<u64>,
    pub id: Option<String>,
    /// False if the manifest says that there is no sidecar.
    pub has_sidecar: bool,
    /// Whether the manifest lists saved views.
    pub is_view: bool,
}

impl ShardRef {
    /// A file that is not in a manifest.
    pub fn alone(path: PathBuf) -> Self {
        Self { path, samples: None, id: None, has_sidecar: true, is_view: false }
    }

    /// A file that is in a manifest.
    pub fn listed(path: PathBuf, entry: &ShardEntry, is_view: bool) -> Self {
        let (samples, id) = (Some(entry.samples), Some(entry.id.clone()));
        Self { path, samples, id, has_sidecar: entry.sidecar_bytes > 0, is_view }
    }

    fn is_listed(&self) -> bool {
        self.samples.is_some()
    }

    /// Opens the shard and compares it with the manifest.
    ///
    /// # Errors
    /// The errors of [`Shard::open_any`]; `Mismatch` when the manifest lists another file.
    pub fn open(&self, options: &OpenOptions) -> Result<Shard> {
        let shard = Shard::open_any(&self.path, options)?;
        self.check(&shard)?;
        Ok(shard)
    }

    /// Compares an open shard with the manifest.
    ///
    /// # Errors
    /// `Mismatch` when the manifest lists another file.
    pub fn check(&self, shard: &Shard) -> Result<()> {
        let found = shard.footer().num_samples;
        if let Some(samples) = self.samples
            && samples != found
        {
            let what = format!("the shard has {found} samples, {} expects {samples}", manifest::NAME);
            return Err(Error::mismatch(what).in_file(&self.path));
        }
        if self.is_listed() && self.is_view != shard.footer().view.is_some() {
            let what = if self.is_view { "is not a saved view like the others" } else { "is a saved view" };
            return Err(Error::unsupported(format!("this shard of a directory {what}")).in_file(&self.path));
        }
        if self.id.is_some() && self.id != shard.footer().id {
            let what = format!("the shard is not the one that {} lists (another id)", manifest::NAME);
            return Err(Error::mismatch(what).in_file(&self.path));
        }
        Ok(())
    }
}

/// The shards at `path`, in the order of their samples. A file stands for itself.
///
/// # Errors
/// `Mismatch` for a directory without data, naming its splits if it has some, or for a shard that is missing.
pub fn resolve(path: &Path) -> Result<Vec<ShardRef>> {
    entries(path)?.into_iter().collect()
}

/// Like [`resolve`], with a separate error for each shard that is missing or differs in size from the
/// manifest.
///
/// # Errors
/// The errors of [`resolve`], for errors of the directory.
pub fn entries(path: &Path) -> Result<Vec<Result<ShardRef>>> {
    let metadata = std::fs::metadata(path).map_err(|error| Error::io(path, &error))?;
    if !metadata.is_dir() {
        return Ok(vec![Ok(ShardRef::alone(path.to_owned()))]);
    }
    if let Some(manifest) = Manifest::read(path)? {
        let is_view = manifest.is_of_views();
        return Ok(manifest.shards.iter().map(|entry| listed(path, entry, is_view)).collect());
    }
    let names = main_files_in(path)?;
    if names.is_empty() {
        return Err(nothing_in(path)?);
    }
    Ok(names.into_iter().map(|name| Ok(ShardRef::alone(path.join(name)))).collect())
}

fn listed(directory: &Path, entry: &ShardEntry, is_view: bool) -> Result<ShardRef> {
    let path = directory.join(&entry.name);
    let metadata = match std::fs::metadata(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let what =
                format!("the shard is missing; {} lists it with {} samples", manifest::NAME, entry.samples);
            return Err(Error::mismatch(what).in_file(&path));
        }
        result => result.map_err(|error| Error::io(&path, &error))?,
    };
    let what = format!("the shard has {} bytes, {} were written", metadata.len(), entry.bytes);
    match metadata.len().cmp(&entry.bytes) {
        Ordering::Less => Err(Error::truncated(what).in_file(&path)),
        Ordering::Greater => Err(Error::mismatch(what).in_file(&path)),
        Ordering::Equal => Ok(ShardRef::listed(path, entry, is_view)),
    }
}

/// The names of the main files of a dataset among `names`, in natural order: `shard-*.jinx`, or all if there is none.
pub fn main_files(mut names: Vec<String>) -> Vec<String> {
    if names.iter().any(|name| name.starts_with("shard-")) {
        names.retain(|name| name.starts_with("shard-"));
    }
    names.sort_by(|a, b| natural(a, b));
    names
}

/// The names of the main files in a directory, as defined by [`main_files`].
fn main_files_in(directory: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(|error| Error::io(directory, &error))? {
        let entry = entry.map_err(|error| Error::io(directory, &error))?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if !name.ends_with(".jinx") || name.starts_with('.') {
            continue;
        }
        match std::fs::metadata(entry.path()) {
            Ok(metadata) if metadata.is_file() => names.push(name),
            Ok(_) => {}
            // A broken link is skipped. But a file that exists and cannot be examined must not be left out silently.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io(entry.path(), &error)),
        }
    }
    Ok(main_files(names))
}

/// The error for a directory without main files.
fn nothing_in(directory: &Path) -> Result<Error> {
    let mut splits = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(|error| Error::io(directory, &error))? {
        let path = entry.map_err(|error| Error::io(directory, &error))?.path();
        let is_dataset = |path: &Path| {
            path.join(manifest::NAME).exists() || main_files_in(path).is_ok_and(|names| !names.is_empty())
        };
        // Hidden files belong to active writers.
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !is_hidden && path.is_dir() && is_dataset(&path) {
            splits.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    if !crate::merge::parts_in(directory)?.is_empty() {
        let what = format!("this directory holds parts of a dataset; run: jinx merge {}", quoted(directory));
        return Err(Error::mismatch(what).in_file(directory));
    }
    if let Some((part, parts)) = crate::merge::unfinished_part(directory)? {
        let what = format!("part {part} of {parts} is not finished; write it again, then run: jinx merge");
        return Err(Error::mismatch(format!("{what} {}", quoted(directory))).in_file(directory));
    }
    if splits.is_empty() {
        let advice = input_in(directory, 0).map(|kind| {
            let out = directory.file_name().map_or("out".into(), |name| name.to_string_lossy() + "-jinx");
            let out = quoted(Path::new(out.as_ref()));
            format!("; it holds {}; run: jinx convert {} {out}", kind.name(), quoted(directory))
        });
        let what = format!("there is no .jinx file in this directory{}", advice.unwrap_or_default());
        return Ok(Error::mismatch(what).in_file(directory));
    }
    splits.sort_by(|a, b| natural(a, b));
    let example = splits.first().map(|split| directory.join(split)).unwrap_or_default();
    let what = format!(
        "this directory holds the splits {}; open one of them: {}",
        splits.join(", "),
        example.display()
    );
    Ok(Error::mismatch(what).in_file(directory))
}

/// The data in a directory or its subdirectories that can be converted. A JSON object may be a note next to the data.
fn input_in(directory: &Path, depth: usize) -> Option<FileKind> {
    let mut note = None;
    for entry in std::fs::read_dir(directory).ok()?.flatten() {
        let path = entry.path();
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        let kind = match path.is_dir() {
            _ if is_hidden => None,
            true if depth < MAX_SEARCH_DEPTH => input_in(&path, depth + 1),
            true => None,
            false => sniff(&path).ok(),
        };
        match kind {
            Some(FileKind::Jsonl) => note = kind,
            Some(
                FileKind::MdsIndex
                | FileKind::Parquet
                | FileKind::Arrow
                | FileKind::Tar
                | FileKind::Msgpack
                | FileKind::JsonArray,
            ) => return kind,
            _ => {}
        }
    }
    note
}

/// Natural order: runs of digits compare as numbers; names that are equal in this respect compare as text.
pub fn natural(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.as_bytes(), b.as_bytes());
    while let (Some(&left_byte), Some(&right_byte)) = (left.first(), right.first()) {
        let order = if left_byte.is_ascii_digit() && right_byte.is_ascii_digit() {
            let (first, second) = (digits(&mut left), digits(&mut right));
            first.len().cmp(&second.len()).then_with(|| first.cmp(second))
        } else {
            left = &left[1..];
            right = &right[1..];
            left_byte.cmp(&right_byte)
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    left.len().cmp(&right.len()).then_with(|| a.cmp(b))
}

/// Removes a run of digits from `text`, ignoring leading zeros.
fn digits<'t>(text: &mut &'t [u8]) -> &'t [u8] {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (run, rest) = text.split_at(end);
    *text = rest;
    let zeros = run.iter().take_while(|byte| **byte == b'0').count();
    &run[zeros..]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "open_tests.rs"]
mod tests;
