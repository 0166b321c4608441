//! Samples of WebDataset tars: consecutive files whose names are equal up to the first dot.
//!
//! ```text
//! 000017.jpg 000017.json 000017.txt  ->  {"__key__": "000017", "jpg": bytes, "json": {..}, "txt": "..."}
//! ```
//! A `.json` that declares markers is the whole sample, and names the other files where they belong.

use crate::inputs::Input;
use crate::tar_names::{KEY, Kind, SAMPLE, split};
use crate::{RowChunk, RowSource};
use bytes::Bytes;
use crossbeam_channel::{Receiver, Sender, bounded};
use jinx_core::checked_math::to_u64;
use jinx_core::codec;
use jinx_core::error::{Cause, Error, Result};
use jinx_core::json::markers::{self, Markers};
use jinx_core::limits::MAX_VALUE_BYTES;
use jinx_core::npy;
use jinx_core::panics::caught;
use jinx_core::row_events::{Blob, Payload, Sink};
use jinx_core::threads;
use jinx_core::value::{TreeBuilder, Value};
use std::cell::RefCell;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const CHUNK_BYTES: u64 = 1 << 20;
const MAX_CHUNK_SAMPLES: usize = 1024;
/// Padding is read in pieces of this size.
const PADDING_BYTES: usize = 64 << 10;
/// The maximum number of chunks that wait for a worker.
const CHUNKS_AHEAD: usize = 2;
struct Sample {
    key: String,
    /// Suffixes and contents, in the order of the tar.
    files: Vec<(String, Bytes)>,
}

/// The samples of one tar, which may be compressed, or come from a pipe.
pub struct TarSamples {
    markers: bool,
    chunks: Receiver<Result<TarChunk>>,
    read: Arc<AtomicU64>,
    total: Option<u64>,
}

impl TarSamples {
    /// # Errors
    /// `Io` when no thread can be started.
    pub fn new(input: Input) -> Result<Self> {
        let name: Arc<Path> = Arc::from(input.name());
        let (total, read) = (input.total_bytes(), input.counter());
        let (sender, chunks) = bounded(CHUNKS_AHEAD);
        // Walk on a separate thread, because the archive's iterator borrows the archive.
        threads::background("jinx-tar", move || {
            if let Err(error) = caught(|| walk(input, &name, &sender), "the reading thread") {
                let _ = sender.send(Err(error.in_file(&name)));
            }
        })?;
        Ok(Self { markers: false, chunks, read, total })
    }

    /// Whether every JSON file contains markers, even if it does not declare them.
    #[must_use]
    pub fn markers(self, markers: bool) -> Self {
        Self { markers, ..self }
    }

    /// # Errors
    /// The errors of [`Input::open`].
    pub fn open(path: &Path) -> Result<Self> {
        Self::new(Input::open(path)?)
    }

    /// The columns of the first sample that contain media files, and their kind: `Image`, `Audio` or `Video`.
    ///
    /// # Errors
    /// Errors of the tar up to the end of that sample.
    pub fn media(path: &Path) -> Result<Vec<(String, &'static str)>> {
        let first = Self::open(path)?.chunks.recv();
        let Ok(chunk) = first else { return Ok(Vec::new()) };
        let Some(sample) = chunk?.samples.into_iter().next() else { return Ok(Vec::new()) };
        let files: Vec<(String, String)> = match sample.described() {
            Some(text) => named_files(text)?,
            None => sample.files.into_iter().map(|(suffix, _)| (suffix.clone(), suffix)).collect(),
        };
        Ok(files
            .into_iter()
            .filter_map(|(name, suffix)| match Kind::of(&suffix) {
                Kind::Media(kind) => Some((name, kind)),
                _ => None,
            })
            .collect())
    }
}

impl RowSource for TarSamples {
    fn next_chunk(&mut self) -> Result<Option<Box<dyn RowChunk>>> {
        match self.chunks.recv() {
            Ok(chunk) => Ok(Some(Box::new(TarChunk { markers: self.markers, ..chunk? }))),
            // The receiver has stopped.
            Err(_) => Ok(None),
        }
    }

    fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    fn total_bytes(&self) -> Option<u64> {
        self.total
    }
}

/// Sends the samples, and checks that the tar is complete.
fn walk(input: Input, name: &Arc<Path>, out: &Sender<Result<TarChunk>>) -> Result<()> {
    let mut archive = tar::Archive::new(input);
    let sent = send_samples(&mut archive, name, out);
    let mut input = archive.into_inner();
    match sent {
        Ok(Sent::Enough) => Ok(()),
        Ok(Sent::All) if input.at_end() => {
            Err(Error::truncated("the tar ends without its end mark: the file is incomplete"))
        }
        // Read on: the checksum of a compressed file follows the end mark, and so may another tar.
        Ok(Sent::All) => only_padding(&mut input),
        // An error of the archive reader itself: the archive is incomplete or damaged.
        Err(error) if matches!(error.cause(), Cause::Io(_)) && error.errno().is_none() => {
            let cause = if input.at_end() { Cause::Truncated } else { Cause::Corrupt };
            Err(Error::new(cause, error.what()))
        }
        Err(error) => Err(error),
    }
}

/// Fails if anything but zeros is left.
fn only_padding(input: &mut Input) -> Result<()> {
    let mut buffer = vec![0; PADDING_BYTES];
    loop {
        match input.read(&mut buffer)? {
            0 => return Ok(()),
            got if buffer.iter().take(got).all(|byte| *byte == 0) => {}
            _ => {
                return Err(Error::corrupt(
                    "other bytes follow the end mark of the tar; tars that were joined with cat must be named one by \
                     one",
                ));
            }
        }
    }
}

enum Sent {
    All,
    /// The receiver needs no more samples.
    Enough,
}

fn send_samples(
    archive: &mut tar::Archive<Input>,
    name: &Arc<Path>,
    out: &Sender<Result<TarChunk>>,
) -> Result<Sent> {
    let mut chunk = TarChunk::new(name, 0);
    for entry in archive.entries()? {
        let entry = entry.map_err(not_a_tar)?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = String::from_utf8(entry.path_bytes().into_owned())
            .map_err(|_| Error::corrupt("the tar holds a file whose name is not UTF-8"))?;
        let Some((key, suffix)) = split(&path) else { continue };
        let size = entry.size();
        if size > MAX_VALUE_BYTES {
            return Err(Error::limit(format!("{path} has {size} bytes; at most {MAX_VALUE_BYTES} are read")));
        }
        let mut data = Vec::new();
        let got = entry.take(size).read_to_end(&mut data).map_err(not_a_tar)?;
        if to_u64(got) < size {
            return Err(Error::truncated(format!("the tar ends inside {path}: the file is incomplete")));
        }
        let is_new = chunk.samples.last().is_none_or(|sample| sample.key != key);
        if is_new && (chunk.bytes >= CHUNK_BYTES || chunk.samples.len() >= MAX_CHUNK_SAMPLES) {
            let next = TarChunk::new(name, chunk.first + to_u64(chunk.samples.len()));
            if out.send(Ok(std::mem::replace(&mut chunk, next))).is_err() {
                return Ok(Sent::Enough);
            }
        }
        chunk
            .add(key, suffix, Bytes::from(data), is_new)
            .map_err(|error| error.in_sample(chunk.first + to_u64(chunk.samples.len().saturating_sub(1))))?;
    }
    if !chunk.samples.is_empty() {
        let _ = out.send(Ok(chunk));
    }
    Ok(Sent::All)
}

fn not_a_tar(error: io::Error) -> Error {
    match Error::from(error) {
        error if error.errno().is_some() => error,
        error => Error::new(error.cause(), format!("not a whole tar archive: {}", error.what())),
    }
}

struct TarChunk {
    samples: Vec<Sample>,
    /// The number of the first sample in its tar.
    first: u64,
    bytes: u64,
    name: Arc<Path>,
    markers: bool,
}

impl TarChunk {
    fn new(name: &Arc<Path>, first: u64) -> Self {
        Self { samples: Vec::new(), first, bytes: 0, name: Arc::clone(name), markers: false }
    }

    fn add(&mut self, key: &str, suffix: String, data: Bytes, is_new: bool) -> Result<()> {
        self.bytes += to_u64(data.len());
        if is_new {
            self.samples.push(Sample { key: key.to_owned(), files: Vec::new() });
        }
        let Some(sample) = self.samples.last_mut() else { return Ok(()) };
        if suffix == KEY || sample.files.iter().any(|(other, _)| *other == suffix) {
            return Err(Error::corrupt(format!(
                "the sample '{key}' has two files with the suffix .{suffix}"
            )));
        }
        sample.files.push((suffix, data));
        Ok(())
    }
}

impl RowChunk for TarChunk {
    fn len(&self) -> usize {
        self.samples.len()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn emit(&self, i: usize, mut sink: &mut dyn Sink) -> Result<()> {
        let sample = self.samples.get(i).ok_or_else(|| Error::invalid("no such row"))?;
        match sample.described() {
            Some(text) => sample.emit_described(text, &mut sink).map_err(|error| self.locate(i, error)),
            None => sample.emit_files(self.markers, &mut sink).map_err(|error| self.locate(i, error)),
        }
    }

    fn locate(&self, i: usize, error: Error) -> Error {
        error.in_sample(self.first + to_u64(i)).in_file(&self.name)
    }
}

impl Sample {
    fn file(&self, suffix: &str) -> Option<&Bytes> {
        self.files.iter().find(|(other, _)| other == suffix).map(|(_, data)| data)
    }

    /// The JSON file that declares that it describes the whole sample, if there is one.
    fn described(&self) -> Option<&Bytes> {
        self.file(SAMPLE).filter(|text| markers::is_marked(text))
    }

    /// Emits each file as a column.
    fn emit_files(&self, markers: bool, sink: &mut impl Sink) -> Result<()> {
        sink.begin_dict(self.files.len() + 1)?;
        sink.key(KEY)?;
        sink.str(&self.key)?;
        for (suffix, data) in &self.files {
            sink.key(suffix)?;
            emit_file(suffix, data, markers, sink).map_err(|error| error.in_column(suffix))?;
        }
        sink.end_dict()
    }

    /// Emits the sample as the JSON file describes it; a file that it does not mention becomes a separate column.
    fn emit_described(&self, text: &Bytes, sink: &mut impl Sink) -> Result<()> {
        let named = RefCell::new(vec![SAMPLE.to_owned()]);
        let files = |suffix: &str| {
            named.borrow_mut().push(suffix.to_owned());
            self.file(suffix).cloned()
        };
        let mut tree = TreeBuilder::default();
        markers::emit_value(text, 0, Markers { always: false, files: Some(&files) }, &mut tree)
            .map_err(|error| error.in_column(SAMPLE))?;
        let Value::Dict(members) = tree.take()? else { return Ok(()) };
        let named = named.into_inner();
        let added: Vec<_> = self.files.iter().filter(|(suffix, _)| !named.contains(suffix)).collect();
        sink.begin_dict(members.len() + added.len())?;
        for (name, value) in &members {
            sink.key(name)?;
            value.emit(sink)?;
        }
        for (suffix, data) in added {
            if members.iter().any(|(name, _)| name == suffix) {
                let what = format!("the sample has a column and a file of the name '{suffix}'");
                return Err(Error::corrupt(what));
            }
            sink.key(suffix)?;
            emit_file(suffix, data, false, sink).map_err(|error| error.in_column(suffix))?;
        }
        sink.end_dict()
    }
}

/// The columns of a described sample that are media files, with their suffixes.
fn named_files(text: &[u8]) -> Result<Vec<(String, String)>> {
    let mut tree = TreeBuilder::default();
    markers::emit_plain(text, &mut tree)?;
    // Only media have a path.
    let file_of =
        |value: &Value| match value.get("path").and(value.get(markers::BYTES))?.get(markers::FILE)? {
            Value::Str(suffix) => Some(suffix.clone()),
            _ => None,
        };
    let Value::Dict(members) = tree.take()? else { return Ok(Vec::new()) };
    Ok(members.into_iter().filter_map(|(name, value)| Some((name, file_of(&value)?))).collect())
}

fn emit_file(suffix: &str, data: &Bytes, markers: bool, sink: &mut impl Sink) -> Result<()> {
    let text = || std::str::from_utf8(data).map_err(|_| Error::corrupt("text that is not UTF-8"));
    let blob = || Blob::shared(data.clone());
    match Kind::of(suffix) {
        Kind::Text => sink.str(text()?),
        Kind::Number => match text()?.trim().parse() {
            Ok(number) => sink.int(number),
            Err(_) => Err(Error::corrupt("a file that should hold one whole number")),
        },
        Kind::Json => {
            markers::emit_value(data.trim_ascii(), 1, Markers { always: markers, files: None }, sink)
        }
        Kind::Npy if npy::check_blob(Payload::Npy, data).is_ok() => sink.blob(Payload::Npy, blob()),
        Kind::Media(_) if codec::mime(data).is_some() => sink.blob(Payload::Raw, blob().with_path(None)),
        _ => sink.blob(Payload::Raw, blob()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "tar_tests.rs"]
mod tests;
