//! JINX shards as one sequence of samples.

use jinx_core::io::{sidecar_path, url_of};
use jinx_core::{Error, Result};
use jinx_format::read::open::ShardRef;
use jinx_format::read::shard::{OpenOptions, Shard};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Open all shards of a directory if it has at most this many, so that replacing the directory does not affect its
/// readers. At URLs, this many are opened at the same time.
const OPENED_AT_ONCE: usize = 16;

/// Shards as one sequence. If there are many, shards whose size is in the manifest are opened on first access.
#[derive(Debug)]
pub struct Shards {
    entries: Vec<Arc<ShardEntry>>,
    /// The first sample of each shard, followed by the total.
    starts: Vec<u64>,
    has_far: bool,
}

#[derive(Debug)]
struct ShardEntry {
    path: PathBuf,
    /// Whether the path is a URL.
    is_far: bool,
    /// Whether the shard may have a sidecar.
    has_sidecar: bool,
    expected: Option<(u64, String)>,
    options: Arc<OpenOptions>,
    is_plain: bool,
    shard: OnceLock<Shard>,
    /// The identity, which is kept because for a file without an id it is computed from the file.
    identity: OnceLock<String>,
}

impl Shards {
    /// Opens the shards. With `expected` (samples and id of each), opens many shards only on first access.
    ///
    /// # Errors
    /// `Mismatch` if none of several shards belongs to the split. A single file of another split is empty, as in 1.0.
    pub fn open(
        shards: Vec<ShardRef>,
        expected: Option<Vec<(u64, String)>>,
        split: Option<&str>,
        options: OpenOptions,
        is_plain: bool,
    ) -> Result<Self> {
        let (mut expected, options) = (expected.map(Vec::into_iter), Arc::new(options));
        let entry = |shard: ShardRef| {
            let expected = expected.as_mut().and_then(Iterator::next);
            let has_sidecar = shard.has_sidecar && !is_plain;
            ShardEntry::new(shard.path, has_sidecar, expected, Arc::clone(&options), is_plain)
        };
        let entries: Vec<_> = shards.into_iter().map(entry).collect();
        let has_far = entries.iter().any(|entry| entry.is_far);
        let mut shards = Self { entries, starts: vec![0], has_far };
        let is_few = shards.count() <= OPENED_AT_ONCE;
        shards.expect_open((0..shards.count()).filter(|i| is_few || shards.entries[*i].expected.is_none()));
        let mut total = 0u64;
        let mut other_splits = BTreeSet::new();
        let mut is_found = split.is_none() || shards.entries.len() <= 1;
        for i in 0..shards.entries.len() {
            let samples = match &shards.entries[i].expected {
                Some((samples, _)) => *samples,
                None => {
                    let shard = shards.shard(i)?;
                    let own = shard.footer().split.as_deref();
                    let is_chosen = split.is_none() || own == split;
                    is_found |= is_chosen;
                    other_splits.extend(own.map(str::to_owned));
                    if is_chosen { shard.len() } else { 0 }
                }
            };
            total = total.checked_add(samples).ok_or_else(too_many)?;
            shards.starts.push(total);
        }
        if let Some(split) = split
            && !is_found
        {
            return Err(no_split(split, other_splits, &shards.entries[0].path));
        }
        shards.open_few();
        Ok(shards)
    }

    /// Begins to open shards at URLs, so that a caller who opens one after another does not wait for each.
    pub fn expect_open(&self, shards: impl Iterator<Item = usize>) {
        let closed =
            shards.map(|i| &self.entries[i]).filter(|entry| entry.is_far && entry.shard.get().is_none());
        let sidecar = |entry: &ShardEntry| entry.has_sidecar.then(|| sidecar_path(&entry.path));
        let files =
            |entry: &Arc<ShardEntry>| [Some(entry.path.clone()), sidecar(entry)].into_iter().flatten();
        let files: Vec<PathBuf> = closed.take(OPENED_AT_ONCE).flat_map(files).collect();
        let urls: Vec<&str> = files.iter().filter_map(|file| url_of(file)).collect();
        if !urls.is_empty()
            && let Some(store) = self.entries.first().and_then(|entry| entry.options.store.as_ref())
        {
            store.will_open(&urls);
        }
    }

    /// Shard `i`, for a caller that visits all of them in order.
    ///
    /// # Errors
    /// The errors of [`Self::shard`].
    pub fn next_shard(&self, i: usize) -> Result<&Shard> {
        if self.has_far && i.is_multiple_of(OPENED_AT_ONCE) {
            self.expect_open(i..self.count().min(i + OPENED_AT_ONCE));
        }
        self.shard(i)
    }

    /// Opens all shards, unless there are many. If one cannot be opened, access to its samples reports the error.
    fn open_few(&self) {
        let few = if self.count() <= OPENED_AT_ONCE { self.count() } else { 0 };
        for i in 0..few {
            let _ = self.shard(i);
        }
    }

    /// The shards of several lists as one, sharing their open files.
    ///
    /// # Errors
    /// `Corrupt` if the number of samples does not fit into 64 bits.
    pub fn joined(parts: &[Arc<Self>]) -> Result<Self> {
        let has_far = parts.iter().any(|part| part.has_far);
        let mut joined = Self { entries: Vec::new(), starts: vec![0], has_far };
        for part in parts {
            let before = joined.len();
            for end in part.starts.iter().skip(1) {
                joined.starts.push(before.checked_add(*end).ok_or_else(too_many)?);
            }
            joined.entries.extend(part.entries.iter().cloned());
        }
        Ok(joined)
    }

    /// Each shard separately, with its rows: a listed view without columns of its own has more samples than rows.
    ///
    /// # Errors
    /// Errors from opening the shards.
    pub fn one_by_one(&self) -> Result<Vec<Self>> {
        let alone = |i: usize| {
            let starts = vec![0, self.shard(i)?.len()];
            Ok(Self { entries: vec![Arc::clone(&self.entries[i])], starts, has_far: self.has_far })
        };
        (0..self.count()).map(alone).collect()
    }

    /// Opens all shards, which must be saved views.
    ///
    /// # Errors
    /// `Unsupported` for another shard; errors from opening the shards.
    pub fn require_views(&self) -> Result<()> {
        for (i, entry) in self.entries.iter().enumerate() {
            if self.shard(i)?.footer().view.is_none() {
                let what = "this shard of a directory of saved views is not one";
                return Err(Error::unsupported(what).in_file(&entry.path));
            }
        }
        Ok(())
    }

    /// Whether these are the listed shards of a view, opened without their bases.
    pub fn are_views(&self) -> bool {
        self.count() > 1 && self.entries.iter().all(|entry| entry.options.views)
    }

    /// The same shards with other options. Their files are opened again, many of them on first access, and must still be
    /// the same.
    ///
    /// # Errors
    /// Read errors.
    pub fn reopened(&self, options: &OpenOptions) -> Result<Self> {
        let reopened = |i: usize| {
            let entry = &self.entries[i];
            let (samples, id) = self.identity(i)?;
            // A shard of another split adds no samples here.
            let samples = entry.shard.get().map_or(samples, |shard| shard.footer().num_samples);
            let (base, views) = (entry.options.base.clone(), entry.options.views);
            let (markers, line_offsets) = (entry.options.markers, entry.options.line_offsets.clone());
            let store = entry.options.store.clone();
            let options = OpenOptions { base, views, markers, line_offsets, store, ..options.clone() };
            Ok(ShardEntry::new(
                entry.path.clone(),
                entry.has_sidecar,
                Some((samples, id)),
                Arc::new(options),
                entry.is_plain,
            ))
        };
        let entries = (0..self.count()).map(reopened).collect::<Result<_>>()?;
        let shards = Self { entries, starts: self.starts.clone(), has_far: self.has_far };
        shards.open_few();
        Ok(shards)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn len(&self) -> u64 {
        self.starts.last().copied().unwrap_or_default()
    }

    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// The number of samples of shard `i`; 0 for a shard of another split.
    pub fn samples(&self, i: usize) -> u64 {
        self.starts[i + 1] - self.starts[i]
    }

    pub fn shard(&self, i: usize) -> Result<&Shard> {
        let entry = &self.entries[i];
        if let Some(shard) = entry.shard.get() {
            return Ok(shard);
        }
        if entry.is_far {
            self.expect_open(std::iter::once(i));
        }
        let shard = if entry.is_plain {
            Shard::open_plain(&entry.path, &entry.options)?
        } else {
            Shard::open(&entry.path, &entry.options)?
        };
        if let Some((samples, id)) = &entry.expected
            && (shard.footer().num_samples != *samples || !has_identity(&shard, id)?)
        {
            let what = "the file is not the one that was opened or that the manifest lists: it was changed or \
                        replaced (other samples, id, or time of change)";
            return Err(Error::mismatch(what).in_file(&entry.path));
        }
        Ok(entry.shard.get_or_init(|| shard))
    }

    /// Returns the number of samples and the identity of shard `i`. Does not open the shard if both are already known.
    pub fn identity(&self, i: usize) -> Result<(u64, String)> {
        match &self.entries[i].expected {
            Some((samples, id)) if !id.is_empty() => Ok((*samples, id.clone())),
            _ => Ok((self.samples(i), self.found_identity(i)?)),
        }
    }

    fn found_identity(&self, i: usize) -> Result<String> {
        let found = &self.entries[i].identity;
        if let Some(identity) = found.get() {
            return Ok(identity.clone());
        }
        let identity = self.shard(i)?.identity()?;
        Ok(found.get_or_init(|| identity).clone())
    }

    /// Returns the number of samples of shard `i`, and the id with which a saved view refers to it as a base. Does not
    /// open the shard if both are already known.
    pub fn base_id(&self, i: usize) -> Result<(u64, String)> {
        match &self.entries[i].expected {
            Some((samples, id)) if is_of_format(id) => Ok((*samples, id.clone())),
            _ => Ok((self.samples(i), self.shard(i)?.base_id()?)),
        }
    }

    /// Returns the shard of sample `i`, and the index of the sample in that shard.
    pub fn locate(&self, i: u64) -> Result<(&Shard, u64)> {
        let at = self.place(i);
        Ok((self.shard(at)?, i - self.starts[at]))
    }

    /// Whether the shard with sample `i` is already open.
    pub fn is_open(&self, i: u64) -> bool {
        self.entries[self.place(i)].shard.get().is_some()
    }

    /// Returns the index of the shard that contains sample `i`.
    pub fn place(&self, i: u64) -> usize {
        if self.entries.len() == 1 { 0 } else { self.starts.partition_point(|start| *start <= i) - 1 }
    }

    /// Whether shard `i` is on another machine.
    pub fn is_far(&self, i: usize) -> bool {
        self.entries[i].is_far
    }

    /// Whether any shard is on another machine.
    pub fn has_far(&self) -> bool {
        self.has_far
    }

    /// Returns the positions of the samples of shard `i`.
    pub fn range(&self, i: usize) -> Range<u64> {
        self.starts[i]..self.starts[i + 1]
    }
}

impl ShardEntry {
    fn new(
        path: PathBuf,
        has_sidecar: bool,
        expected: Option<(u64, String)>,
        options: Arc<OpenOptions>,
        is_plain: bool,
    ) -> Arc<Self> {
        let (shard, identity) = (OnceLock::new(), OnceLock::new());
        let is_far = url_of(&path).is_some();
        Arc::new(Self { path, is_far, has_sidecar, expected, options, is_plain, shard, identity })
    }
}

fn too_many() -> Error {
    Error::corrupt("more samples than 64 bits count")
}

/// Whether an identity is an id of the format, and not a replacement for it.
fn is_of_format(id: &str) -> bool {
    !id.is_empty() && !id.contains('-')
}

/// Whether the shard is the expected one. For a file without an id, a manifest only has the number of samples.
fn has_identity(shard: &Shard, expected: &str) -> Result<bool> {
    if shard.footer().id.is_none() && expected.is_empty() {
        return Ok(true);
    }
    Ok(shard.identity()? == expected)
}

fn no_split(split: &str, splits: BTreeSet<String>, first: &Path) -> Error {
    let names: Vec<String> = splits.into_iter().collect();
    let what = if names.is_empty() {
        format!("no split {split:?} here: these samples belong to no split")
    } else {
        format!("no split {split:?} here; there are: {}", names.join(", "))
    };
    Error::mismatch(what).in_file(first)
}
