//! Writes a dataset: one pair, or a folder of pairs with a manifest.

use super::encode::{EncodedRow, RowEncoder};
use super::identity::JinxIdentity;
use super::journal::Journal;
use super::manifest::{self, Manifest, ShardEntry};
use super::options::WriteOptions;
use super::pair_build::{PairBuilder, PairFiles, PairSummary};
use crate::error::{Error, Result};
use crate::io::{FolderAppend, FolderWriter, PairWriter, publish_file};
use crate::num::to_u64;
use crate::panics::error_of;
use crate::value::Value;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a finished dataset is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    pub samples: u64,
    pub shards: u64,
    /// Bytes of all files.
    pub bytes: u64,
    pub sidecar_bytes: u64,
}

/// A dataset being written. Nothing is visible under the target's name until `close`.
pub struct DatasetWriter {
    options: Arc<WriteOptions>,
    target: Target,
    encoders: Vec<RowEncoder>,
    rows: u64,
    /// Rows that are finished already and come again.
    skip: u64,
    written: Summary,
}

enum Target {
    Pair(Box<PairBuilder>),
    Folder(Box<FolderTarget>),
}

struct FolderTarget {
    /// Where shards are written: a work folder, or the dataset's own when appending.
    folder: PathBuf,
    publish: Publish,
    manifest: Manifest,
    current: Option<Box<PairBuilder>>,
    next_shard: u64,
    /// Tells a later run which shards are finished.
    journal: Option<Journal>,
}

enum Publish {
    Folder(FolderWriter),
    /// Shards that are removed again unless the manifest lists them.
    Append(FolderAppend),
}

/// Whether an output name means one pair: it ends in `.jinx`.
pub fn is_pair_name(path: &Path) -> bool {
    path.extension().is_some_and(|ext| ext == "jinx")
}

/// `OUT.JINX` would be a folder, which nobody means.
fn require_usual_suffix(path: &Path) -> Result<()> {
    let is_meant = path.extension().is_some_and(|ext| ext.eq_ignore_ascii_case("jinx"));
    if is_meant && !is_pair_name(path) {
        let what = format!("write the suffix in small letters: {}", path.with_extension("jinx").display());
        return Err(Error::invalid(what).in_file(path));
    }
    Ok(())
}

impl DatasetWriter {
    /// Starts a dataset at `path`: a pair when the name ends in `.jinx`, else a folder.
    ///
    /// # Errors
    /// `Invalid` when the target exists and is not to be overwritten, or another writer is at it.
    pub fn create(path: &Path, options: WriteOptions) -> Result<Self> {
        require_usual_suffix(path)?;
        let options = Arc::new(options);
        let target = if is_pair_name(path) {
            if options.shard_bytes.is_some() {
                return Err(Error::invalid(
                    "a shard size needs a folder: give an output name that does not end in .jinx",
                )
                .in_file(path));
            }
            let files = PairWriter::begin(path, options.overwrite, JinxIdentity)?;
            Target::Pair(Box::new(PairBuilder::new(path, Box::new(AtomicPair(files)), &options)))
        } else {
            let mut work = match &options.resume {
                Some(resume) if resume.proceed => FolderWriter::resume(path, options.overwrite)?,
                _ => FolderWriter::begin(path, options.overwrite)?,
            };
            let mut manifest = Manifest::new(options.split.clone(), options.meta.clone());
            let journal = match &options.resume {
                Some(resume) => Some(Journal::begin(&mut work, resume, &mut manifest)?),
                None => None,
            };
            Target::Folder(Box::new(FolderTarget {
                folder: work.path().to_owned(),
                publish: Publish::Folder(work),
                current: None,
                next_shard: to_u64(manifest.shards.len()),
                manifest,
                journal,
            }))
        };
        Self::new(options, target)
    }

    /// Rows that an interrupted run has finished.
    pub fn resumed(&self) -> u64 {
        match &self.target {
            Target::Folder(folder) if folder.journal.is_some() => folder.manifest.num_samples,
            _ => 0,
        }
    }

    /// Leaves out the next `rows` rows, which come again although they are finished.
    pub fn skip(&mut self, rows: u64) {
        self.skip = rows;
    }

    /// Starts new shards in the folder `path`; they count once the manifest is published.
    ///
    /// # Errors
    /// `Invalid` for a single pair or a folder without a manifest.
    pub fn append(path: &Path, options: WriteOptions) -> Result<Self> {
        if is_pair_name(path) || path.is_file() {
            return Err(Error::invalid(
                "a single pair cannot grow; write a folder (a name that does not end in .jinx) to append to it",
            )
            .in_file(path));
        }
        // Before the manifest is read: whoever publishes another one waits until this one is there.
        let append = FolderAppend::begin(path, &JinxIdentity)?;
        let manifest = Manifest::read(path)?.ok_or_else(|| {
            Error::invalid("there is no jinx.json here; only a folder that we wrote can grow").in_file(path)
        })?;
        let next_shard = manifest
            .shards
            .iter()
            .filter_map(|shard| shard.name.strip_prefix("shard-")?.strip_suffix(".jinx")?.parse::<u64>().ok())
            .max()
            .map_or(0, |last| last + 1);
        let target = Target::Folder(Box::new(FolderTarget {
            folder: append.folder().to_owned(),
            publish: Publish::Append(append),
            manifest,
            current: None,
            next_shard,
            journal: None,
        }));
        Self::new(Arc::new(options), target)
    }

    fn new(options: Arc<WriteOptions>, target: Target) -> Result<Self> {
        let threads = match options.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let encode = Arc::new(options.encode.clone());
        let encoders = (0..threads).map(|_| RowEncoder::new(Arc::clone(&encode))).collect::<Result<_>>()?;
        let mut writer = Self { options, target, encoders, rows: 0, skip: 0, written: Summary::default() };
        writer.rows = writer.resumed();
        if let (true, Target::Folder(folder)) = (writer.rows > 0, &writer.target) {
            for shard in &folder.manifest.shards {
                writer.written.samples += shard.samples;
                writer.written.shards += 1;
                writer.written.bytes += shard.bytes + shard.sidecar_bytes;
                writer.written.sidecar_bytes += shard.sidecar_bytes;
            }
        }
        Ok(writer)
    }

    pub fn options(&self) -> &WriteOptions {
        &self.options
    }

    /// Rows written so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes written so far, finished shards and the current one.
    pub fn bytes(&self) -> u64 {
        let current = match &self.target {
            Target::Pair(pair) => pair.bytes(),
            Target::Folder(folder) => folder.current.as_ref().map_or(0, |pair| pair.bytes()),
        };
        self.written.bytes + current
    }

    /// Encodes rows on all threads and writes them in order; keeps nothing of their memory.
    ///
    /// # Errors
    /// The first row that cannot be encoded, by its number; the rows before it are written.
    pub fn write_values(&mut self, rows: &[Value]) -> Result<()> {
        let threads = self.encoders.len().min(rows.len()).max(1);
        let share = rows.len().div_ceil(threads).max(1);
        let first = self.rows;
        let encoded: Vec<Result<Vec<EncodedRow>>> = if threads == 1 {
            vec![encode_all(&mut self.encoders[0], rows, first)]
        } else {
            std::thread::scope(|scope| {
                let workers: Vec<_> = rows
                    .chunks(share)
                    .zip(&mut self.encoders)
                    .enumerate()
                    .map(|(i, (rows, encoder))| {
                        scope.spawn(move || encode_all(encoder, rows, first + to_u64(i * share)))
                    })
                    .collect();
                workers
                    .into_iter()
                    .map(|worker| {
                        worker.join().unwrap_or_else(|panic| Err(error_of(&*panic, "an encoder thread")))
                    })
                    .collect()
            })
        };
        for rows in encoded {
            for row in rows? {
                self.write_encoded(row)?;
            }
        }
        match &mut self.target {
            Target::Pair(pair) => pair.flush_values(),
            Target::Folder(folder) => folder.current.as_mut().map_or(Ok(()), |pair| pair.flush_values()),
        }
    }

    /// Writes one row that some encoder has prepared.
    ///
    /// # Errors
    /// I/O errors; the writer is then unusable.
    pub fn write_encoded(&mut self, row: EncodedRow) -> Result<()> {
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(());
        }
        match &mut self.target {
            Target::Pair(pair) => pair.write(row)?,
            Target::Folder(folder) => {
                let size = to_u64(row.text.len())
                    + row.values.iter().map(|value| to_u64(value.data.len())).sum::<u64>();
                let full = match (&folder.current, self.options.shard_bytes) {
                    (Some(pair), Some(limit)) => pair.rows() > 0 && pair.bytes() + size > limit,
                    _ => false,
                };
                if full {
                    folder.finish_shard(&mut self.written)?;
                }
                folder.current(&self.options)?.write(row)?;
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// Finishes, syncs and publishes the dataset.
    ///
    /// # Errors
    /// I/O errors; the target is then as it was before.
    pub fn close(mut self) -> Result<Summary> {
        match self.target {
            Target::Pair(pair) => {
                let (summary, files) = pair.finish(-1)?;
                add(&mut self.written, &summary);
                files.publish()?;
            }
            Target::Folder(mut folder) => {
                if folder.current.is_some() || folder.manifest.shards.is_empty() {
                    folder.current(&self.options)?;
                    folder.finish_shard(&mut self.written)?;
                }
                folder.manifest.generation += 1;
                let text = folder.manifest.to_text()?;
                let path = folder.folder.join(manifest::NAME);
                match folder.publish {
                    Publish::Folder(work) => {
                        if let Some(journal) = &folder.journal {
                            journal.remove()?;
                        }
                        std::fs::write(&path, text).map_err(|error| Error::io(&path, &error))?;
                        work.commit()?;
                    }
                    Publish::Append(append) => {
                        append.sync()?;
                        let published = publish_file(&path, text.as_bytes());
                        // The last sync may fail when the manifest is there already. When in doubt, keep the shards.
                        let is_other = std::fs::read(&path).is_ok_and(|there| there != text.as_bytes());
                        if published.is_ok() || !is_other {
                            append.keep();
                        }
                        published?;
                    }
                }
            }
        }
        Ok(self.written)
    }
}

fn add(written: &mut Summary, pair: &PairSummary) {
    written.samples += pair.samples;
    written.shards += 1;
    written.bytes += pair.bytes + pair.sidecar_bytes;
    written.sidecar_bytes += pair.sidecar_bytes;
}

fn encode_all(encoder: &mut RowEncoder, rows: &[Value], first: u64) -> Result<Vec<EncodedRow>> {
    let encode = |(i, row): (usize, &Value)| {
        encoder.encode(|sink| row.emit(sink)).map_err(|error| error.in_sample(first + to_u64(i)))
    };
    rows.iter().enumerate().map(encode).collect()
}

fn shard_name(number: u64) -> String {
    format!("shard-{number:05}.jinx")
}

impl FolderTarget {
    /// The shard that rows go to, started if there is none.
    fn current(&mut self, options: &Arc<WriteOptions>) -> Result<&mut PairBuilder> {
        if self.current.is_none() {
            let name = shard_name(self.next_shard);
            if let Publish::Append(append) = &mut self.publish {
                append.add(&name)?;
            }
            let path = self.folder.join(name);
            let files = PlainPair::create(&path)?;
            self.current = Some(Box::new(PairBuilder::new(&path, Box::new(files), options)));
        }
        self.current.as_deref_mut().ok_or_else(|| Error::invalid("no shard is open"))
    }

    fn finish_shard(&mut self, written: &mut Summary) -> Result<()> {
        let Some(pair) = self.current.take() else { return Ok(()) };
        let number = self.next_shard;
        let (summary, files) = pair.finish(i64::try_from(number).unwrap_or(-1))?;
        files.publish()?;
        add(written, &summary);
        self.manifest.push(ShardEntry::new(shard_name(number), &summary));
        self.next_shard += 1;
        if let (Some(journal), Publish::Folder(work)) = (&self.journal, &mut self.publish) {
            journal.write(&self.manifest.shards)?;
            work.keep_work();
        }
        Ok(())
    }
}

/// A pair that is published by itself.
struct AtomicPair(PairWriter);

impl PairFiles for AtomicPair {
    fn main_file(&mut self) -> &mut File {
        self.0.main_file()
    }
    fn sidecar_file(&mut self) -> Result<&mut File> {
        self.0.sidecar_file()
    }
    fn publish(self: Box<Self>) -> Result<()> {
        self.0.commit()
    }
}

/// A pair inside a folder that is published as a whole.
struct PlainPair {
    path: PathBuf,
    main: File,
    side: Option<File>,
}

impl PlainPair {
    fn create(path: &Path) -> Result<Self> {
        Ok(Self { main: create_file(path)?, path: path.to_owned(), side: None })
    }
}

/// A new file; what lies there already is an unfinished shard that no manifest names.
fn create_file(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    match options.open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => std::fs::remove_file(path)
            .and_then(|()| options.open(path))
            .map_err(|error| Error::io(path, &error)),
        result => result.map_err(|error| Error::io(path, &error)),
    }
}

impl PairFiles for PlainPair {
    fn main_file(&mut self) -> &mut File {
        &mut self.main
    }
    fn sidecar_file(&mut self) -> Result<&mut File> {
        match &mut self.side {
            Some(side) => Ok(side),
            empty => Ok(empty.insert(create_file(&crate::io::sidecar_path(&self.path))?)),
        }
    }
    fn publish(self: Box<Self>) -> Result<()> {
        self.main.sync_all().map_err(|error| Error::io(&self.path, &error))?;
        match &self.side {
            Some(side) => {
                side.sync_all().map_err(|error| Error::io(crate::io::sidecar_path(&self.path), &error))
            }
            None => Ok(()),
        }
    }
}
