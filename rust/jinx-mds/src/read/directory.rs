//! Directories with an index, as one sequence of samples; shards are opened on use.

use crate::encodings::names::Encoding;
use crate::index_json::{INDEX_NAME, ShardInfo, parse};
use crate::read::directory_path::DirectoryPath;
use crate::read::shard::{Row, Shard};
use crate::read::unpack;
use bytes::Bytes;
use jinx_core::error::{Cause, Error, Result};
use jinx_core::io::process_limits::{max_maps, max_open_files};
use jinx_core::io::{Access, FileOps, RealOps, Scratch, Source, Store, Version, base_of, joined, url_of};
use jinx_core::limits::{Limits, MAX_MANIFEST_BYTES};
use std::io::ErrorKind;
use std::path::{Path, PathBuf, absolute};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use twox_hash::XxHash3_64;

/// The maximum number of shards that are kept open, unless the system allows fewer.
const MAX_OPEN: usize = 4096;
/// The minimum number of shards that are kept open.
const MIN_OPEN: usize = 8;
/// The number of shards that are kept decoded in memory.
const MAX_IN_MEMORY: usize = 2;

/// Where shards that are compressed as files are decoded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Unpack {
    /// To a temporary directory that is removed with the dataset; see [`Scratch`].
    #[default]
    Private,
    /// To this directory, where they are kept.
    Cache(PathBuf),
    /// To memory, two at a time.
    Memory,
}

/// Which of the hashes in the index are checked. They are of whole files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hashes {
    None,
    /// The hashes of shards that are compressed as files, because these are read completely anyway.
    #[default]
    Packed,
    /// The hashes of all shards; each shard is read completely when it is opened.
    All,
}

#[derive(Debug, Clone, Default)]
pub struct Options {
    pub access: Access,
    pub hashes: Hashes,
    pub limits: Limits,
    pub unpack: Unpack,
    /// Opens directories at URLs.
    pub store: Option<Arc<dyn Store>>,
}

/// Directories opened as one sequence.
#[derive(Debug)]
pub struct Directory {
    paths: Vec<PathBuf>,
    base: PathBuf,
    slots: Vec<ShardSlot>,
    /// The first sample of each shard, and the total at the end.
    starts: Vec<u64>,
    /// The hash of each index's text.
    ids: Vec<(u64, String)>,
    /// The files from which the indexes were read.
    indexes: Vec<Index>,
    pub options: Options,
    clock: AtomicU64,
    open: AtomicUsize,
    capacity: usize,
    scratch: Scratch,
}

/// The file of an index.
#[derive(Debug)]
struct Index {
    version: Version,
    /// For an object in a store, its state.
    object: Option<Source>,
}

#[derive(Debug)]
struct ShardSlot {
    info: ShardInfo,
    /// Which of the directories it belongs to.
    directory: usize,
    shard: RwLock<Option<Arc<Shard>>>,
    used: AtomicU64,
}

impl Directory {
    /// Reads the indexes; no shard is opened. Relative paths count from the current working directory.
    ///
    /// # Errors
    /// `Io` when there is no index, `Corrupt` or `Unsupported` for an invalid one.
    pub fn open(paths: Vec<PathBuf>, options: Options) -> Result<Self> {
        let (mut slots, mut starts, mut ids, mut total) = (Vec::new(), vec![0], Vec::new(), 0u64);
        let mut indexes = Vec::new();
        for (directory, path) in paths.iter().enumerate() {
            let (shards, id, index) = read_index(path, options.store.as_deref())?;
            let before = total;
            for info in shards {
                total = total
                    .checked_add(info.samples)
                    .ok_or_else(|| Error::corrupt("more samples than 64 bits can count").in_file(path))?;
                starts.push(total);
                slots.push(ShardSlot { info, directory, shard: RwLock::default(), used: AtomicU64::new(0) });
            }
            ids.push((total - before, id));
            indexes.push(index);
        }
        let capacity = match options.unpack {
            Unpack::Memory => open_limit(),
            _ => open_limit().max(MIN_OPEN),
        };
        Ok(Self {
            base: base_of(&paths),
            paths,
            slots,
            starts,
            ids,
            indexes,
            options,
            clock: AtomicU64::new(1),
            open: AtomicUsize::new(0),
            capacity,
            scratch: Scratch::new(),
        })
    }

    pub fn len(&self) -> u64 {
        self.starts.last().copied().unwrap_or_default()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The directories as given.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// The directory from which relative paths start.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// The number of samples of each directory, and the hash of its index.
    pub fn ids(&self) -> &[(u64, String)] {
        &self.ids
    }

    /// The number of samples of each directory, and a hash of its index and of the index file's state, because the
    /// index itself only contains sizes, which another directory may share.
    pub fn identities(&self) -> Vec<(u64, String)> {
        let each = self.ids.iter().zip(&self.indexes);
        each.map(|((samples, id), index)| (*samples, format!("{id}-{}", index.version.portable()))).collect()
    }

    /// Fails if an index was changed or replaced since it was read.
    ///
    /// # Errors
    /// `Mismatch` naming the index; `Io` when it cannot be looked at.
    pub fn require_unchanged(&self) -> Result<()> {
        (0..self.paths.len()).try_for_each(|directory| self.require_unchanged_index(directory))
    }

    /// Fails if the index that lists a shard was changed or replaced since it was read: an open file may then be a
    /// shard of another directory, even with the same length.
    pub(crate) fn require_same_index(&self, shard: usize) -> Result<()> {
        self.slots.get(shard).map_or(Ok(()), |slot| self.require_unchanged_index(slot.directory))
    }

    fn require_unchanged_index(&self, directory: usize) -> Result<()> {
        if let Some(object) = &self.indexes[directory].object {
            return object.require_unchanged();
        }
        let path = self.base.join(&self.paths[directory]).join(INDEX_NAME);
        let metadata = path.metadata().map_err(|error| Error::io(&path, &error))?;
        if Version::from(&metadata) != self.indexes[directory].version {
            let what = "the directory was changed or replaced after it was opened; open the dataset again";
            return Err(Error::mismatch(what).in_file(path));
        }
        Ok(())
    }

    /// The number of shards in all directories.
    pub fn count(&self) -> usize {
        self.slots.len()
    }

    pub fn info(&self, shard: usize) -> Option<&ShardInfo> {
        self.slots.get(shard).map(|slot| &slot.info)
    }

    /// The directory in which a shard's files are.
    pub fn directory_of(&self, shard: usize) -> &Path {
        self.slots.get(shard).map_or(Path::new(""), |slot| &self.paths[slot.directory])
    }

    pub(crate) fn place_of(&self, shard: usize) -> DirectoryPath<'_> {
        DirectoryPath {
            base: &self.base,
            directory: self.directory_of(shard),
            store: self.options.store.as_deref(),
        }
    }

    /// The first sample of a shard.
    pub fn start(&self, shard: usize) -> u64 {
        self.starts.get(shard).copied().unwrap_or_default()
    }

    /// The columns of all shards, in the order in which they first occur, with the names of their encodings.
    pub fn columns(&self) -> Vec<(String, String)> {
        let mut list: Vec<(String, String)> = Vec::new();
        let mut before: Option<*const crate::columns::Columns> = None;
        for slot in &self.slots {
            let columns = Arc::as_ptr(&slot.info.columns);
            if before == Some(columns) {
                continue;
            }
            before = Some(columns);
            for column in &slot.info.columns.all {
                if !list.iter().any(|(name, _)| *name == column.name) {
                    list.push((column.name.clone(), column.encoding_name.clone()));
                }
            }
        }
        list
    }

    /// Whether any shard is compressed as a file.
    pub fn has_packed(&self) -> bool {
        self.slots.iter().any(|slot| unpack::algorithm(&slot.info).is_some())
    }

    /// Whether a column contains pickles in any shard.
    pub fn has_pickles(&self, name: &str) -> bool {
        self.slots.iter().any(|slot| {
            let column = slot.info.columns.all.iter().find(|column| column.name == name);
            column.is_some_and(|column| column.encoding == Some(Encoding::Pickle))
        })
    }

    /// The shard of sample `i`, and the sample's number in it.
    pub fn place(&self, i: u64) -> (usize, u64) {
        let shard = self.starts.partition_point(|start| *start <= i).saturating_sub(1);
        (shard, i - self.starts[shard])
    }

    /// Finds the columns of sample `i`.
    ///
    /// # Errors
    /// Errors of its shard or of the sample.
    pub fn row(&self, i: u64) -> Result<Row> {
        let (shard, i) = self.place(i);
        self.shard(shard)?.row(i)
    }

    /// A shard, if it is open.
    pub fn opened(&self, shard: usize) -> Option<Arc<Shard>> {
        let slot = self.slots.get(shard)?;
        slot.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        slot.shard.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A shard, which is opened if necessary.
    ///
    /// # Errors
    /// Errors of its entry in the index or of its file.
    pub fn shard(&self, shard: usize) -> Result<Arc<Shard>> {
        let slot = self.slots.get(shard).ok_or_else(|| Error::invalid(format!("shard {shard}")))?;
        if let Some(open) = self.opened(shard) {
            return Ok(open);
        }
        let opened = self.open_shard(shard, slot);
        // If the index has changed, a shard of another length is not damaged.
        self.require_same_index(shard)?;
        let opened = Arc::new(opened.map_err(|error| {
            let index = self.paths[slot.directory].join(INDEX_NAME);
            match error.path() {
                None => Error::new(error.cause(), format!("shard {shard}: {error}")).in_file(index),
                Some(_) => error,
            }
        })?);
        let mut held = slot.shard.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(other) = &*held {
            return Ok(Arc::clone(other));
        }
        *held = Some(Arc::clone(&opened));
        drop(held);
        let capacity = match (&self.options.unpack, unpack::algorithm(&slot.info)) {
            (Unpack::Memory, Some(_)) => MAX_IN_MEMORY,
            _ => self.capacity,
        };
        if self.open.fetch_add(1, Ordering::Relaxed) + 1 > capacity {
            self.close_oldest(capacity, shard);
        }
        Ok(opened)
    }

    fn open_shard(&self, shard: usize, slot: &ShardSlot) -> Result<Shard> {
        let info = &slot.info;
        info.check()?;
        let store = self.options.store.as_deref();
        let directory = DirectoryPath { base: &self.base, directory: &self.paths[slot.directory], store };
        let (options, limits) = (&self.options, self.options.limits);
        if unpack::algorithm(info).is_none() {
            let source = directory.open(&info.raw, options.access)?;
            if options.hashes == Hashes::All {
                unpack::check_hashes(&source, &info.raw.hashes)?;
            }
            return Shard::open(source, info, limits);
        }
        let verify = options.hashes != Hashes::None;
        let unpacked = |target: &Path| -> Result<Source> {
            // Check this before the decoded file gets its final name, under which others find it.
            let is_same = || self.require_same_index(shard);
            let is_new = unpack::to_file(&RealOps, info, directory, target, verify, &is_same)?;
            let source = Source::open(target, options.access)?;
            if options.hashes == Hashes::All && !is_new {
                unpack::check_hashes(&source, &info.raw.hashes)?;
            }
            Ok(source)
        };
        let source = match &options.unpack {
            Unpack::Memory => {
                let (bytes, path) = unpack::to_memory(info, directory, verify, limits.max_value_bytes)?;
                return Shard::in_memory(Bytes::from(bytes), path, info, limits);
            }
            Unpack::Cache(cache) => {
                let target = info.raw.path(&cache.join(self.cache_name(slot)))?;
                let parent = target.parent().unwrap_or(cache);
                RealOps.create_directories(parent).map_err(|error| Error::io(parent, &error))?;
                unpacked(&target)?
            }
            Unpack::Private => {
                let name = info.raw.path(Path::new(""))?.file_name().unwrap_or_default().to_owned();
                let name = format!("{shard}-{}", name.to_string_lossy());
                let unpacked = || unpacked(&self.scratch.directory()?.join(&name));
                match unpacked() {
                    // The parent process has removed the directory, so try again in a new one.
                    Err(error) if error.cause() == Cause::Io(ErrorKind::NotFound) => unpacked()?,
                    done => done?,
                }
            }
        };
        Shard::open(source, info, limits)
    }

    /// A name for the decoded shards of one directory, unique to the directory and its index. The index lists sizes,
    /// which the directory that replaces it may have, too.
    fn cache_name(&self, slot: &ShardSlot) -> String {
        let path = &joined(&self.base, &self.paths[slot.directory]);
        let whole = match url_of(path) {
            Some(_) => path.clone(),
            None => path.canonicalize().or_else(|_| absolute(path)).unwrap_or_else(|_| path.clone()),
        };
        let name = whole.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (id, state) = (&self.ids[slot.directory].1, self.indexes[slot.directory].version.portable());
        let text = format!("{}\n{id}\n{state}", whole.display());
        format!("{name}-{:016x}", XxHash3_64::oneshot(text.as_bytes()))
    }

    /// Closes an eighth of the open shards, except those with a located row ([`Row::found`]) that a caller still needs.
    fn close_oldest(&self, capacity: usize, newest: usize) {
        let mut open: Vec<(u64, usize)> = Vec::new();
        for (i, slot) in self.slots.iter().enumerate() {
            let held = slot.shard.read().unwrap_or_else(PoisonError::into_inner);
            if held.as_ref().is_some_and(|shard| Arc::weak_count(shard) == 0) && i != newest {
                open.push((slot.used.load(Ordering::Relaxed), i));
            }
        }
        open.sort_unstable();
        let surplus = (open.len() + 1).saturating_sub(capacity);
        for (_, i) in open.into_iter().take(surplus + capacity / 8) {
            let closed = self.slots[i].shard.write().unwrap_or_else(PoisonError::into_inner).take();
            if closed.is_some() {
                self.open.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// The number of shards that are open.
    pub fn open_count(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }
}

fn read_index(directory: &Path, store: Option<&dyn Store>) -> Result<(Vec<ShardInfo>, String, Index)> {
    let path = directory.join(INDEX_NAME);
    let source = Source::open_anywhere(store, Path::new(""), &path, Access::Pread)?;
    if source.len() > MAX_MANIFEST_BYTES {
        return Err(Error::limit(format!("an index of {} bytes", source.len())).in_file(&path));
    }
    let text = source.read_vec(0, source.len())?;
    let shards = parse(&text).map_err(|error| error.in_file(&path))?;
    let version = source.version();
    let object = source.is_remote().then_some(source);
    Ok((shards, format!("{:016x}", XxHash3_64::oneshot(&text)), Index { version, object }))
}

/// Half of the files and maps that the system allows a process to have.
fn open_limit() -> usize {
    let files = max_open_files().and_then(|files| usize::try_from(files).ok()).unwrap_or(MAX_OPEN);
    (max_maps() / 2).min(files / 2).clamp(MIN_OPEN, MAX_OPEN)
}
