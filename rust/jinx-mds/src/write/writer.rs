//! Writes MDS directories: the same bytes as Streaming's own writer, published as a whole.

use crate::compression::Compression;
use crate::encodings::names::Encoding;
use crate::encodings::python_json::dumps;
use crate::hash::{Hasher, Hashers};
use crate::index_json::INDEX_NAME;
use crate::write::compress::Packer;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::cores::usable_cores;
use jinx_core::error::{Error, Result};
use jinx_core::io::{Contents, DirectoryWriter, FileOps, RealOps};
use jinx_core::threads;
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// The default of Streaming's writer.
pub const DEFAULT_SIZE_LIMIT: u64 = 1 << 26;

#[derive(Debug, Clone)]
pub struct Settings {
    /// Names and encodings; samples contain the columns sorted by name.
    pub columns: BTreeMap<String, String>,
    /// The name of the compression in the index; see [`Compression::parse`].
    pub compression: Option<String>,
    /// Algorithms, sorted.
    pub hashes: Vec<String>,
    /// The number of bytes after which a shard ends; `None` puts all samples into one shard.
    pub size_limit: Option<u64>,
    pub overwrite: bool,
    /// The number of threads that compress and write; 0 means one per core.
    pub threads: usize,
}

/// Columns in the order of a sample.
#[derive(Debug, Clone)]
pub struct WrittenColumn {
    pub name: String,
    pub encoding: Encoding,
    pub size: Option<u64>,
}

/// Turns the encoded values of samples into samples.
pub struct SampleEncoder {
    columns: Arc<Vec<WrittenColumn>>,
    packer: Option<Packer>,
}

/// Writes samples in order.
pub struct Writer {
    // Declared before the directory, so that the directory is dropped after it.
    running: Running,
    directory: DirectoryWriter,
    columns: Arc<Vec<WrittenColumn>>,
    compression: Compression,
    settings: Settings,
    /// The common part of all shard entries.
    config: Map<String, Json>,
    config_text: Vec<u8>,
    ends: Vec<u64>,
    samples: Vec<u8>,
    shard_size: u64,
    started: usize,
    shards: Vec<Json>,
    written: u64,
    bytes: u64,
    /// Whether a shard could not be written, so that its samples are lost and nothing may be published.
    failed: bool,
}

/// Threads that write shards. Dropping it waits for them: their directory is removed next, and another writer may use
/// its name.
struct Running {
    shards: VecDeque<JoinHandle<Result<Json>>>,
    /// The process that started the threads: a forked child has the handles, but not the threads.
    pid: u32,
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.pid == process::id() {
            self.shards.drain(..).for_each(|shard| drop(shard.join()));
        }
    }
}

impl Writer {
    /// Starts a directory; an existing one is kept until [`Writer::finish`].
    ///
    /// # Errors
    /// `Invalid` for unknown options or an existing target, `Unsupported` for an unknown encoding.
    pub fn create(target: &Path, settings: Settings) -> Result<Self> {
        Self::create_on(Arc::new(RealOps), target, settings)
    }

    /// Like [`Writer::create`], through `ops`.
    ///
    /// # Errors
    /// The errors of [`Writer::create`].
    pub fn create_on(ops: Arc<dyn FileOps>, target: &Path, settings: Settings) -> Result<Self> {
        let mut columns = Vec::new();
        for (name, encoding) in &settings.columns {
            let parsed = Encoding::parse(encoding).map_err(|error| error.in_column(name))?;
            let size = parsed.fixed_size();
            columns.push(WrittenColumn { name: name.clone(), encoding: parsed, size });
        }
        let compression = Compression::parse(settings.compression.as_deref())
            .map_err(|error| Error::invalid(error.what().to_owned()))?;
        for name in &settings.hashes {
            if Hasher::new(name).is_none() {
                return Err(Error::invalid(format!("the hash {name:?} is not known")));
            }
        }
        if !settings.hashes.is_sorted_by(|a, b| a < b) {
            return Err(Error::invalid("hashes must be unique and in sorted order"));
        }
        if let Some(limit) = settings.size_limit.filter(|limit| u32::try_from(*limit).is_err()) {
            return Err(Error::invalid(format!("a size_limit of {limit}; it must be less than 2**32")));
        }
        let mut config = Map::new();
        config.insert("column_encodings".into(), json!(settings.columns.values().collect::<Vec<_>>()));
        config.insert("column_names".into(), json!(settings.columns.keys().collect::<Vec<_>>()));
        config.insert("column_sizes".into(), json!(columns.iter().map(|c| c.size).collect::<Vec<_>>()));
        config.insert("compression".into(), json!(settings.compression));
        config.insert("format".into(), json!("mds"));
        config.insert("hashes".into(), json!(settings.hashes));
        config.insert("size_limit".into(), json!(settings.size_limit));
        config.insert("version".into(), json!(2));
        let config_text = dumps(&config).map_err(|error| Error::invalid(error.to_string()))?;
        let directory = DirectoryWriter::begin_on(ops, target, settings.overwrite, Contents::Mds)?;
        let mut writer = Self {
            running: Running { shards: VecDeque::new(), pid: process::id() },
            directory,
            columns: Arc::new(columns),
            compression,
            settings,
            config,
            config_text,
            ends: Vec::new(),
            samples: Vec::new(),
            shard_size: 0,
            started: 0,
            shards: Vec::new(),
            written: 0,
            bytes: 0,
            failed: false,
        };
        writer.reset();
        Ok(writer)
    }

    fn reset(&mut self) {
        self.ends.clear();
        self.samples = Vec::new();
        self.shard_size = 8 + to_u64(self.config_text.len());
    }

    pub fn columns(&self) -> &Arc<Vec<WrittenColumn>> {
        &self.columns
    }

    /// An encoder of samples, for any thread.
    ///
    /// # Errors
    /// `Limit` without memory.
    pub fn encoder(&self) -> Result<SampleEncoder> {
        let packer = match self.compression {
            Compression::Sample(setting) => Some(Packer::new(setting)?),
            _ => None,
        };
        Ok(SampleEncoder { columns: Arc::clone(&self.columns), packer })
    }

    /// Adds a sample from an encoder of this writer.
    ///
    /// # Errors
    /// `Limit` for a sample that fits into no shard, which is left out; I/O errors of earlier shards, after which every
    /// further sample is `Invalid`.
    pub fn push(&mut self, sample: &[u8]) -> Result<()> {
        self.require_all_shards()?;
        let size = to_u64(sample.len()) + 4;
        if let Some(limit) = self.settings.size_limit.filter(|limit| *limit > 0)
            && limit < self.shard_size + size
            && !self.ends.is_empty()
        {
            self.flush()?;
        }
        if u32::try_from(self.shard_size + size).is_err() {
            let what = format!("a sample of {} bytes would make its shard larger than 4 GiB", sample.len());
            return Err(Error::limit(what).in_sample(self.written));
        }
        self.samples
            .try_reserve(sample.len())
            .map_err(|_| Error::limit(format!("no memory for a sample of {} bytes", sample.len())))?;
        self.samples.extend_from_slice(sample);
        self.ends.push(to_u64(self.samples.len()));
        self.shard_size += size;
        self.written += 1;
        self.bytes += size;
        Ok(())
    }

    /// The number of samples written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The total number of bytes of the samples written so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn require_all_shards(&self) -> Result<()> {
        if self.failed {
            let what =
                "an earlier shard could not be written, so nothing is published; write the dataset again";
            return Err(Error::invalid(what).in_file(self.directory.target()));
        }
        Ok(())
    }

    /// Ends the shard. If that fails or panics, the shard is lost, and with it the dataset.
    fn flush(&mut self) -> Result<()> {
        self.failed = true;
        self.start_shard()?;
        self.failed = false;
        Ok(())
    }

    fn start_shard(&mut self) -> Result<()> {
        let name = format!("shard.{:05}.mds", self.started);
        self.started += 1;
        let job = ShardJob {
            ends: std::mem::take(&mut self.ends),
            samples: std::mem::take(&mut self.samples),
            config: self.config.clone(),
            config_text: self.config_text.clone(),
            hashes: self.settings.hashes.clone(),
            compression: self.compression,
            ops: Arc::clone(self.directory.ops()),
            directory: self.directory.path().to_owned(),
            name,
        };
        self.reset();
        // Copying bytes is not worth a thread, but compressing or hashing is.
        let is_heavy = matches!(self.compression, Compression::File(_)) || !self.settings.hashes.is_empty();
        let threads = match self.settings.threads {
            0 => usable_cores(),
            threads => threads.min(64),
        };
        if !is_heavy || threads == 1 {
            self.shards.push(job.write()?);
            return Ok(());
        }
        while self.running.shards.len() >= threads {
            self.join_one()?;
        }
        let job = Arc::new(Mutex::new(Some(job)));
        let take = |job: &Mutex<Option<ShardJob>>| job.lock().unwrap_or_else(PoisonError::into_inner).take();
        let for_thread = Arc::clone(&job);
        let write = move || {
            take(&for_thread).map_or_else(|| Err(Error::invalid("a shard was lost")), ShardJob::write)
        };
        match threads::background("jinx-mds", write) {
            Ok(handle) => self.running.shards.push_back(handle),
            // The system refuses another thread, so this one does the work after the earlier shards.
            Err(_) => {
                while !self.running.shards.is_empty() {
                    self.join_one()?;
                }
                self.shards.extend(take(&job).map(ShardJob::write).transpose()?);
            }
        }
        Ok(())
    }

    fn join_one(&mut self) -> Result<()> {
        if let Some(handle) = self.running.shards.pop_front() {
            let died = |_| Err(Error::invalid("a writing thread panicked"));
            self.shards.push(handle.join().unwrap_or_else(died)?);
        }
        Ok(())
    }

    /// Writes the index and publishes the directory.
    ///
    /// # Errors
    /// I/O errors, and `Invalid` after one of [`Writer::push`]; what was there before stays.
    pub fn finish(mut self) -> Result<Written> {
        self.require_all_shards()?;
        if !self.ends.is_empty() {
            self.flush()?;
        }
        while !self.running.shards.is_empty() {
            self.join_one()?;
        }
        let shards = std::mem::take(&mut self.shards);
        let file_bytes = |shard: &Json| {
            let file = if shard["zip_data"].is_null() { &shard["raw_data"] } else { &shard["zip_data"] };
            file["bytes"].as_u64().unwrap_or_default()
        };
        let bytes = shards.iter().map(file_bytes).sum();
        let count = to_u64(shards.len());
        let index = json!({"shards": shards, "version": 2});
        let text = dumps(&index).map_err(|error| Error::invalid(error.to_string()))?;
        let path = self.directory.path().join(INDEX_NAME);
        self.directory.ops().write(&path, &text).map_err(|error| Error::io(&path, &error))?;
        let samples = self.written;
        self.directory.commit()?;
        Ok(Written { samples, bytes, shards: count })
    }
}

/// The result of writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    pub samples: u64,
    /// The size of the shard files in bytes.
    pub bytes: u64,
    pub shards: u64,
}

impl SampleEncoder {
    pub fn columns(&self) -> &[WrittenColumn] {
        &self.columns
    }

    /// The bytes of a sample, made from those of its values in the order of the columns.
    ///
    /// # Errors
    /// `Mismatch` for a value whose size is not the column's.
    pub fn encode(&mut self, values: &[impl AsRef<[u8]>]) -> Result<Vec<u8>> {
        if values.len() != self.columns.len() {
            return Err(Error::invalid(format!(
                "{} values for {} columns",
                values.len(),
                self.columns.len()
            )));
        }
        let mut sample = Vec::with_capacity(values.iter().map(|value| value.as_ref().len() + 4).sum());
        for (column, value) in self.columns.iter().zip(values) {
            let length = to_u64(value.as_ref().len());
            match column.size {
                None => {
                    let short = u32::try_from(length).map_err(|_| {
                        Error::limit(format!("a value of {length} bytes")).in_column(&column.name)
                    })?;
                    sample.extend_from_slice(&short.to_le_bytes());
                }
                Some(size) if size != length => {
                    let what = format!("{length} bytes in a column whose values have {size}");
                    return Err(Error::mismatch(what).in_column(&column.name));
                }
                Some(_) => {}
            }
        }
        for value in values {
            sample.extend_from_slice(value.as_ref());
        }
        match &mut self.packer {
            Some(packer) => packer.compress(&sample),
            None => Ok(sample),
        }
    }
}

/// Everything needed to write one shard.
struct ShardJob {
    ends: Vec<u64>,
    samples: Vec<u8>,
    config: Map<String, Json>,
    config_text: Vec<u8>,
    hashes: Vec<String>,
    compression: Compression,
    ops: Arc<dyn FileOps>,
    directory: PathBuf,
    name: String,
}

impl ShardJob {
    fn write(self) -> Result<Json> {
        let count = to_u64(self.ends.len());
        let start = 4 + 4 * (count + 1) + to_u64(self.config_text.len());
        let total = start + to_u64(self.samples.len());
        let too_large = || Error::limit(format!("a shard of {total} bytes; 4 GiB is the most"));
        let word = |value: u64| u32::try_from(value).map(u32::to_le_bytes).map_err(|_| too_large());
        let mut head = Vec::with_capacity(to_usize(start, "a head")?);
        head.extend_from_slice(&word(count)?);
        head.extend_from_slice(&word(start)?);
        for end in &self.ends {
            head.extend_from_slice(&word(start + end)?);
        }
        head.extend_from_slice(&self.config_text);
        let raw = self.info(&self.name, &[&head, &self.samples]);
        let zip = match self.compression {
            Compression::File(setting) => {
                let whole = [&head[..], &self.samples[..]].concat();
                let packed = Packer::new(setting)?.compress(&whole)?;
                let name = format!("{}.{}", self.name, setting.algorithm.name());
                self.put(&name, &[&packed])?;
                self.info(&name, &[&packed])
            }
            _ => {
                self.put(&self.name, &[&head, &self.samples])?;
                Json::Null
            }
        };
        let mut entry: BTreeMap<String, Json> = self.config.into_iter().collect();
        entry.insert("raw_data".into(), raw);
        entry.insert("samples".into(), json!(count));
        entry.insert("zip_data".into(), zip);
        Ok(Json::Object(entry.into_iter().collect()))
    }

    fn put(&self, name: &str, parts: &[&[u8]]) -> Result<()> {
        use std::io::Write;
        let path = self.directory.join(name);
        let written = self
            .ops
            .create(&path)
            .and_then(|mut file| parts.iter().try_for_each(|part| file.write_all(part)));
        written.map_err(|error| Error::io(&path, &error))
    }

    fn info(&self, name: &str, parts: &[&[u8]]) -> Json {
        let mut hashers = Hashers::of(self.hashes.iter().map(String::as_str));
        parts.iter().for_each(|part| hashers.update(part));
        let bytes: u64 = parts.iter().map(|part| to_u64(part.len())).sum();
        json!({"basename": name, "bytes": bytes, "hashes": hashers.finish()})
    }
}
