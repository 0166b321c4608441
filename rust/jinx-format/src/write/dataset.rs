//! Writes a dataset: one pair, or a directory of pairs with a manifest.

use crate::identity::JinxIdentity;
use crate::manifest::{self, Manifest};
use crate::view_footer;
use crate::write::directory_target::{DirectoryTarget, Publish};
use crate::write::encode::{EncodedRow, RowEncoder};
use crate::write::footer_text::room_for_names;
use crate::write::inherit::{Inherited, Sources};
use crate::write::journal::Journal;
use crate::write::line_block::{Division, LineBlock, make_blocks};
use crate::write::options::WriteOptions;
use crate::write::pair::{PairBuilder, PairSummary};
use crate::write::pair_target::AtomicPair;
use crate::write::parallel::{EmitRow, EncodedPart, Rows, encode_rows};
use crate::write::plain_lines::PlainLines;
use jinx_core::checked_math::to_u64;
use jinx_core::cores::usable_cores;
use jinx_core::error::{Cause, Error, Result};
use jinx_core::io::{Contents, DirectoryAppend, DirectoryWriter, FileOps, PairWriter, RealOps, publish_on};
use jinx_core::limits::{MAX_ROW_BYTES, MAX_SHARDS};
use jinx_core::value::Value;
use std::path::Path;
use std::sync::Arc;

mod permuted;
mod with_form;

/// The sizes of a finished dataset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    pub samples: u64,
    pub shards: u64,
    /// The size of all files in bytes.
    pub bytes: u64,
    pub sidecar_bytes: u64,
}

impl Summary {
    pub(super) fn add(&mut self, pair: &PairSummary) {
        self.samples += pair.samples;
        self.shards += 1;
        self.bytes += pair.bytes + pair.sidecar_bytes;
        self.sidecar_bytes += pair.sidecar_bytes;
    }
}

/// A dataset being written. Nothing is visible under the target's name until `close`.
pub struct DatasetWriter {
    /// The caller's options; `options` also contains facts from the sources of copies.
    given: Arc<WriteOptions>,
    options: Arc<WriteOptions>,
    sources: Sources,
    target: Target,
    encoders: Vec<RowEncoder>,
    rows: u64,
    /// The number of rows that an interrupted run finished.
    resumed: u64,
    /// How many of these are still to come.
    skip: u64,
    /// Whether a write failed halfway; nothing may succeed after that.
    is_broken: bool,
    written: Summary,
}

enum Target {
    Pair(Box<PairBuilder>),
    Directory(Box<DirectoryTarget>),
}

/// Whether an output name stands for a single pair: it ends in `.jinx`.
pub fn is_pair_name(path: &Path) -> bool {
    path.extension().is_some_and(|ext| ext == "jinx")
}

/// Refuses options that no reader accepts, before anything is changed. Returns what [`room_for_names`] does.
fn require_readable(options: &WriteOptions) -> Result<u64> {
    let lines = options.encode.max_row_bytes;
    if lines > MAX_ROW_BYTES {
        let what = format!("max_row_bytes is {lines}; readers accept lines of at most {MAX_ROW_BYTES}");
        return Err(Error::invalid(what));
    }
    let room = room_for_names(options)?;
    Manifest::new(options.split.clone(), options.meta.clone()).to_text()?;
    Ok(room)
}

/// Refuses a suffix such as that of `OUT.JINX`, which would become a directory that nobody wants.
fn require_usual_suffix(path: &Path) -> Result<()> {
    let is_meant = path.extension().is_some_and(|ext| ext.eq_ignore_ascii_case("jinx"));
    if is_meant && !is_pair_name(path) {
        let what = format!("write the suffix in lower case: {}", path.with_extension("jinx").display());
        return Err(Error::invalid(what).in_file(path));
    }
    Ok(())
}

impl DatasetWriter {
    /// Starts a dataset at `path`: a pair if the name ends in `.jinx`, otherwise a directory.
    ///
    /// # Errors
    /// `Invalid` when the target exists and is not to be overwritten, or another writer is at it.
    pub fn create(path: &Path, options: WriteOptions) -> Result<Self> {
        Self::create_on(Arc::new(RealOps), path, options)
    }

    /// Like [`DatasetWriter::create`], through `ops`.
    ///
    /// # Errors
    /// The errors of [`DatasetWriter::create`].
    pub fn create_on(ops: Arc<dyn FileOps>, path: &Path, options: WriteOptions) -> Result<Self> {
        require_usual_suffix(path)?;
        let room = require_readable(&options).map_err(|error| error.in_file(path))?;
        let options = Arc::new(options);
        let target = if is_pair_name(path) {
            if options.shard_bytes.is_some() {
                return Err(Error::invalid(
                    "a shard size needs a directory: give an output name that does not end in .jinx",
                )
                .in_file(path));
            }
            let files = PairWriter::begin_on(ops, path, options.overwrite, Box::new(JinxIdentity))?;
            Target::Pair(Box::new(PairBuilder::with_room(path, Box::new(AtomicPair(files)), &options, room)))
        } else {
            let mut work = match &options.resume {
                Some(resume) if resume.proceed => DirectoryWriter::resume_on(ops, path, options.overwrite)?,
                _ => DirectoryWriter::begin_on(ops, path, options.overwrite, Contents::Jinx)?,
            };
            let mut manifest = Manifest::new(options.split.clone(), options.meta.clone());
            manifest
                .features_required
                .extend(options.view.is_some().then(|| view_footer::FEATURE.to_owned()));
            let (journal, refused) = match &options.resume {
                Some(resume) => {
                    let (journal, refused) = Journal::begin(&mut work, resume, &mut manifest)?;
                    (Some(journal), refused)
                }
                None => (None, Vec::new()),
            };
            Target::Directory(Box::new(DirectoryTarget {
                directory: work.path().to_owned(),
                publish: Publish::Directory(work),
                current: None,
                next_shard: to_u64(manifest.shards.len()),
                manifest,
                journal,
                refused,
                is_complete: false,
            }))
        };
        Self::new(options, target)
    }

    /// The number of rows that an interrupted run finished: those it wrote and those it left out.
    pub fn resumed(&self) -> u64 {
        self.resumed
    }

    /// Skips the next rows, which an interrupted run has finished: they are not written again. A row that it left out
    /// is refused again.
    pub fn skip_resumed(&mut self) {
        self.skip = self.resumed;
    }

    /// Starts new shards in the directory `path`; they count once the manifest is published.
    ///
    /// # Errors
    /// `Invalid` for a single pair or a directory without a manifest.
    pub fn append(path: &Path, options: WriteOptions) -> Result<Self> {
        if is_pair_name(path) || path.is_file() {
            return Err(Error::invalid(
                "a single pair cannot grow; write a directory (a name that does not end in .jinx) to append to it",
            )
            .in_file(path));
        }
        require_readable(&options).map_err(|error| error.in_file(path))?;
        // Lock before reading the manifest, so that nobody else can publish another one.
        let append = DirectoryAppend::begin(path, &JinxIdentity)?;
        let manifest = Manifest::read(path)?.ok_or_else(|| {
            Error::invalid("there is no jinx.json here; only a directory that jinx wrote can grow")
                .in_file(path)
        })?;
        if manifest.is_of_views() {
            let what = "the shards of this directory are saved views; save another view next to it";
            return Err(Error::invalid(what).in_file(path));
        }
        if manifest.shards.len() >= MAX_SHARDS {
            let what = format!("there are {MAX_SHARDS} shards already; convert them to larger ones");
            return Err(Error::limit(what).in_file(path));
        }
        let next_shard = manifest
            .shards
            .iter()
            .filter_map(|shard| shard.name.strip_prefix("shard-")?.strip_suffix(".jinx")?.parse::<u64>().ok())
            .max()
            .map_or(0, |last| last + 1);
        let target = Target::Directory(Box::new(DirectoryTarget {
            directory: append.directory().to_owned(),
            publish: Publish::Append(append),
            manifest,
            current: None,
            next_shard,
            journal: None,
            refused: Vec::new(),
            is_complete: false,
        }));
        Self::new(Arc::new(options), target)
    }

    fn new(options: Arc<WriteOptions>, target: Target) -> Result<Self> {
        let threads = match options.threads {
            0 => usable_cores(),
            threads => threads,
        };
        let encode = Arc::new(options.encode.clone());
        let encoders = (0..threads).map(|_| RowEncoder::new(Arc::clone(&encode))).collect::<Result<_>>()?;
        let written = Summary::default();
        let mut writer = Self {
            given: Arc::clone(&options),
            options,
            sources: Sources::default(),
            target,
            encoders,
            rows: 0,
            resumed: 0,
            skip: 0,
            is_broken: false,
            written,
        };
        if let Target::Directory(directory) = &writer.target
            && directory.journal.is_some()
        {
            writer.rows = directory.manifest.num_samples;
            writer.resumed = writer.rows + to_u64(directory.refused.len());
            for shard in &directory.manifest.shards {
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

    /// The number of rows written so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The number of bytes written so far, in finished shards and the current one.
    pub fn bytes(&self) -> u64 {
        let current = match &self.target {
            Target::Pair(pair) => pair.bytes(),
            Target::Directory(directory) => directory.current.as_ref().map_or(0, |pair| pair.bytes()),
        };
        self.written.bytes + current
    }

    /// Whether an error has broken this writer: it accepts no more rows and publishes nothing.
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// # Errors
    /// `Invalid` after a write that failed.
    pub fn require_whole(&self) -> Result<()> {
        if !self.is_broken {
            return Ok(());
        }
        Err(Error::invalid("an earlier write failed; nothing more can be written, and nothing is published"))
    }

    /// Takes over what a source's footers say about the samples that will be copied from it, where the options say
    /// nothing. Returns whether the Arrow schema is lost, because the sources so far do not agree on it.
    ///
    /// # Errors
    /// `Limit` when the footer has no room for it; nothing has changed then.
    pub fn inherit(&mut self, source: Inherited) -> Result<bool> {
        let mut sources = self.sources.clone();
        let loses_schema = sources.add(source);
        let options = Arc::new(sources.complete(&self.given));
        match &mut self.target {
            Target::Pair(pair) => pair.set_options(&options)?,
            Target::Directory(directory) => directory.set_options(&options)?,
        }
        self.sources = sources;
        self.options = options;
        Ok(loses_schema)
    }

    /// Encodes rows on all threads and writes them in order; keeps none of the memory.
    ///
    /// # Errors
    /// The errors of [`Self::write_rows`].
    pub fn write_values(&mut self, rows: &[Value]) -> Result<()> {
        self.write_rows(rows.len(), &|i, encoder| rows[i].emit(encoder))
    }

    /// Encodes the rows 0 to `count`, which `emit` produces, on all threads, and writes them in order. Of what is
    /// encoded and not yet written, each thread holds about a megabyte and one row at most.
    ///
    /// # Errors
    /// The first row that is refused, by its number: the rows before it are written, it and those behind it are not,
    /// and the writer continues. After any other error the writer is broken.
    pub fn write_rows(&mut self, count: usize, emit: &EmitRow<'_>) -> Result<()> {
        self.write_all(Rows { count, first: self.rows, in_order: false }, emit)
    }

    /// Like [`Self::write_rows`], for rows that `emit` reads from ascending positions in their files.
    ///
    /// # Errors
    /// The errors of [`Self::write_rows`].
    pub fn write_rows_in_order(&mut self, count: usize, emit: &EmitRow<'_>) -> Result<()> {
        self.write_all(Rows { count, first: self.rows, in_order: true }, emit)
    }

    fn write_all(&mut self, rows: Rows, emit: &EmitRow<'_>) -> Result<()> {
        self.require_whole()?;
        let mut encoders = std::mem::take(&mut self.encoders);
        let written = encode_rows(&mut encoders, rows, emit, |part| self.write_part(part));
        self.encoders = encoders;
        written?;
        self.is_broken = true;
        let flushed = match &mut self.target {
            Target::Pair(pair) => pair.flush_values(),
            Target::Directory(directory) => {
                directory.current.as_mut().map_or(Ok(()), |pair| pair.flush_values())
            }
        };
        self.is_broken = flushed.is_err();
        flushed
    }

    /// Writes rows; lines that stay the same in the output are copied.
    ///
    /// # Errors
    /// The errors of [`Self::write_rows`]; of rows that are refused, none of the same block is written.
    pub fn write_lines(&mut self, lines: &PlainLines<'_>, rows: &[u64]) -> Result<()> {
        self.require_whole()?;
        let emit = |rows: &[u64], writer: &mut Self| {
            writer.write_rows(rows.len(), &|i, encoder| lines.emit(rows[i], encoder))
        };
        if self.skip > 0 || matches!(self.target, Target::Directory(_)) {
            return emit(rows, self);
        }
        let division = Division { rows, block: lines.block_rows(), threads: self.encoders.len() };
        make_blocks(division, &|rows| lines.block(rows), |block, rows| match block {
            Some(block) if self.knows(&block) => self.write_block(&block),
            _ => emit(rows, self),
        })
    }

    fn knows(&self, block: &LineBlock) -> bool {
        matches!(&self.target, Target::Pair(pair) if pair.knows(block))
    }

    fn write_block(&mut self, block: &LineBlock) -> Result<()> {
        let Target::Pair(pair) = &mut self.target else {
            return Err(Error::invalid("blocks of rows are written to one pair"));
        };
        pair.admit_block(block)?;
        // If an I/O error or a panic follows, the writer stays broken.
        self.is_broken = true;
        pair.write_block(block)?;
        self.rows += to_u64(block.ends.len());
        self.is_broken = false;
        Ok(())
    }

    fn write_part(&mut self, part: EncodedPart) -> Result<()> {
        part.rows.into_iter().try_for_each(|row| self.write_encoded(row))?;
        match part.refused {
            None => Ok(()),
            Some(error) => {
                // The writer is broken only if a thread has panicked.
                self.is_broken = error.cause() == Cause::Internal;
                Err(error)
            }
        }
    }

    /// Writes one encoded row.
    ///
    /// # Errors
    /// `Limit` when readers would not accept the dataset with this row: the row is left out, and the writer can still
    /// be used. After any other error the writer is broken.
    pub fn write_encoded(&mut self, row: EncodedRow) -> Result<()> {
        if self.skip > 0 {
            let given = self.resumed - self.skip;
            self.skip -= 1;
            return match &self.target {
                Target::Directory(directory) => directory.refusal(given).map_or(Ok(()), Err),
                Target::Pair(_) => Ok(()),
            };
        }
        self.require_whole()?;
        // If an I/O error or a panic follows, the writer stays broken.
        self.is_broken = true;
        let pair = match &mut self.target {
            Target::Pair(pair) => pair,
            Target::Directory(directory) => directory.shard_for(&row, &self.options, &mut self.written)?,
        };
        let admitted = pair.admit(&row);
        if admitted.is_ok() {
            pair.write(row)?;
            self.rows += 1;
        } else if let (Err(error), Target::Directory(directory)) = (&admitted, &mut self.target) {
            directory.note_refused(self.rows, error);
        }
        self.is_broken = false;
        admitted.map_err(|error| error.in_sample(self.rows))
    }

    /// Finishes, syncs and publishes the dataset.
    ///
    /// # Errors
    /// I/O errors, and an earlier write that failed; the target is then as it was before.
    pub fn close(mut self) -> Result<Summary> {
        self.require_whole()?;
        if let Some(view) = &self.options.view
            && ![0, view.num_samples].contains(&self.rows)
        {
            let what = format!("a view of {} samples with {} rows", view.num_samples, self.rows);
            return Err(Error::invalid(what));
        }
        match self.target {
            Target::Pair(pair) => {
                let (summary, files) = pair.finish(-1)?;
                self.written.add(&summary);
                files.publish()?;
            }
            Target::Directory(mut directory) => {
                directory.finish_shards(&self.options, &mut self.written)?;
                directory.manifest.generation += 1;
                let text = directory.manifest.to_text()?;
                let path = directory.directory.join(manifest::NAME);
                match directory.publish {
                    Publish::Directory(work) => {
                        if let Some(journal) = &directory.journal {
                            journal.remove()?;
                        }
                        let written = work.ops().write(&path, text.as_bytes());
                        written.map_err(|error| Error::io(&path, &error))?;
                        work.commit()?;
                    }
                    Publish::Append(append) => {
                        append.sync()?;
                        let published = publish_on(append.ops(), &path, text.as_bytes());
                        // The last sync may have failed after the manifest was published, so keep the shards if in
                        // doubt.
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
