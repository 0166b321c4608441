//! One open shard: the positions of its samples, and how their bytes are read.

use crate::columns::{Columns, Span};
use crate::compression::{Algorithm, Compression};
use crate::index_json::ShardInfo;
use bytes::Bytes;
use jinx_core::checked_math::{range_within, to_u64, to_usize};
use jinx_core::error::{Error, Result};
use jinx_core::io::{Source, UninitSlice};
use jinx_core::limits::Limits;
use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The source of a shard's bytes.
#[derive(Debug)]
enum ShardData {
    File(Source),
    /// A file-compressed shard that was decoded.
    Memory(Bytes),
    /// Consecutive samples of a shard: where each ends, and the number of the first.
    Part {
        bytes: Bytes,
        ends: Vec<u32>,
        first: u64,
    },
}

/// A shard whose samples can be read.
#[derive(Debug)]
pub struct Shard {
    data: ShardData,
    path: PathBuf,
    pub columns: Arc<Columns>,
    samples: u64,
    codec: Option<Algorithm>,
    limits: Limits,
}

/// The columns of one sample, located but not yet decoded.
#[derive(Debug)]
pub struct Row {
    shard: Arc<Shard>,
    spans: Arc<ColumnSpans>,
}

/// The positions of the columns of one sample in its shard.
#[derive(Debug)]
pub struct ColumnSpans {
    /// The number of the sample in the shard.
    index: u64,
    start: u64,
    spans: Box<[Span]>,
    /// The decoded sample, if samples are compressed.
    whole: Option<Bytes>,
}

impl Shard {
    /// An uncompressed or sample-compressed shard in a file.
    ///
    /// # Errors
    /// `Truncated` or `Corrupt` when the file does not match the index.
    pub fn open(source: Source, info: &ShardInfo, limits: Limits) -> Result<Self> {
        let path = source.path().to_owned();
        Self::check_size(source.len(), info).map_err(|error| error.in_file(&path))?;
        Self::checked(ShardData::File(source), path, info, limits)
    }

    /// A shard that was decoded into memory; `path` is the compressed file.
    ///
    /// # Errors
    /// The errors of [`Shard::open`].
    pub fn in_memory(bytes: Bytes, path: PathBuf, info: &ShardInfo, limits: Limits) -> Result<Self> {
        Self::check_size(to_u64(bytes.len()), info).map_err(|error| error.in_file(&path))?;
        Self::checked(ShardData::Memory(bytes), path, info, limits)
    }

    /// Samples of a shard, from number `first` on, which end at `ends` in `bytes`.
    pub(crate) fn part(
        bytes: Bytes,
        ends: Vec<u32>,
        first: u64,
        path: PathBuf,
        info: &ShardInfo,
        limits: Limits,
    ) -> Self {
        let data = ShardData::Part { bytes, ends, first };
        Self { data, path, columns: Arc::clone(&info.columns), samples: info.samples, codec: None, limits }
    }

    fn check_size(actual: u64, info: &ShardInfo) -> Result<()> {
        let listed = info.raw.bytes;
        let what = || format!("{actual} bytes, the index says {listed}");
        match actual {
            actual if actual < listed => Err(Error::truncated(what())),
            actual if actual > listed => Err(Error::corrupt(what())),
            _ => Ok(()),
        }
    }

    fn checked(data: ShardData, path: PathBuf, info: &ShardInfo, limits: Limits) -> Result<Self> {
        let codec = match info.compression {
            Compression::Sample(setting) => Some(setting.algorithm),
            _ => None,
        };
        let columns = Arc::clone(&info.columns);
        let shard = Self { data, path, columns, samples: info.samples, codec, limits };
        shard.check_head().map_err(|error| error.in_file(&shard.path))?;
        Ok(shard)
    }

    fn check_head(&self) -> Result<()> {
        let count = self.word(0).map_err(|_| Error::truncated("a shard without a header"))?;
        if u64::from(count) != self.samples {
            return Err(Error::corrupt(format!("{count} samples, the index says {}", self.samples)));
        }
        range_within(0, self.head_len(), self.len(), "the offsets").map(drop)
    }

    /// The number of bytes for the number of samples and the offsets.
    fn head_len(&self) -> u64 {
        4 + 4 * (self.samples + 1)
    }

    /// The size of the shard in bytes, without file compression.
    pub fn len(&self) -> u64 {
        match &self.data {
            ShardData::File(source) => source.len(),
            ShardData::Memory(bytes) | ShardData::Part { bytes, .. } => to_u64(bytes.len()),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// The file that contains the shard.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file, if the shard is not in memory.
    pub fn source(&self) -> Option<&Source> {
        match &self.data {
            ShardData::File(source) => Some(source),
            _ => None,
        }
    }

    /// Adds the position of an error in sample `i`.
    pub fn here(&self, error: Error, i: u64) -> Error {
        error.in_sample(i).in_file(&self.path)
    }

    fn word(&self, at: u64) -> Result<u32> {
        let bytes = self.slice(at, 4)?;
        bytes.as_ref().try_into().map(u32::from_le_bytes).map_err(|_| Error::truncated("the offsets"))
    }

    fn slice(&self, offset: u64, length: u64) -> Result<Cow<'_, [u8]>> {
        match &self.data {
            ShardData::File(source) => source.slice(offset, length),
            ShardData::Memory(bytes) | ShardData::Part { bytes, .. } => {
                let range = range_within(offset, length, to_u64(bytes.len()), "a range")?;
                let (start, end) = (to_usize(range.start, "an offset")?, to_usize(range.end, "an offset")?);
                Ok(Cow::Borrowed(&bytes[start..end]))
            }
        }
    }

    /// The position of sample `i`, as stored.
    ///
    /// # Errors
    /// `Corrupt` when its offsets are not ascending inside the shard.
    pub fn extent(&self, i: u64) -> Result<Range<u64>> {
        if let ShardData::Part { ends, first, .. } = &self.data {
            let at = i.checked_sub(*first).and_then(|at| usize::try_from(at).ok());
            let end = at.and_then(|at| ends.get(at));
            let (Some(at), Some(end)) = (at, end) else {
                return Err(Error::invalid("a sample of another part"));
            };
            let start = at.checked_sub(1).map_or(0, |before| ends[before]);
            return Ok(u64::from(start)..u64::from(*end));
        }
        if i >= self.samples {
            return Err(Error::invalid(format!("sample {i} of a shard of {}", self.samples)));
        }
        let pair = self.slice(4 + 4 * i, 8)?;
        let word = |at: usize| {
            pair.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes)
        };
        let (start, end) = (u64::from(word(0)), u64::from(word(4)));
        if start < self.head_len() || end < start || end > self.len() {
            let what = format!("offsets {start} and {end} in a shard of {} bytes", self.len());
            return Err(Error::corrupt(what).at_byte(4 + 4 * i));
        }
        Ok(start..end)
    }

    /// The number of bytes of sample `i` after decompression, if the stored form states it.
    ///
    /// # Errors
    /// The errors of [`Shard::extent`].
    pub fn announced_len(&self, i: u64) -> Result<Option<u64>> {
        let extent = self.extent(i)?;
        match self.codec {
            None => Ok(Some(extent.end - extent.start)),
            Some(codec) => Ok(codec.declared_len(&self.slice(extent.start, extent.end - extent.start)?)),
        }
    }

    /// Sample `i` as a whole, decompressed.
    ///
    /// # Errors
    /// `Corrupt`, `Truncated` or `Limit`, with the place.
    pub fn sample(&self, i: u64) -> Result<Vec<u8>> {
        let read = || {
            let extent = self.extent(i)?;
            let length = extent.end - extent.start;
            match (self.codec, &self.data) {
                (None, ShardData::File(source)) => source.read_vec(extent.start, length),
                (None, _) => self.slice(extent.start, length).map(Cow::into_owned),
                (Some(codec), _) => {
                    codec.decode(&self.slice(extent.start, length)?, self.limits.max_value_bytes)
                }
            }
        };
        read().map_err(|error| self.here(error, i))
    }

    /// Whether each sample is compressed separately.
    pub fn is_sample_compressed(&self) -> bool {
        self.codec.is_some()
    }

    /// Finds the columns of sample `i`.
    ///
    /// # Errors
    /// `Corrupt` when its sizes do not add up; errors of reading.
    pub fn row(self: &Arc<Self>, i: u64) -> Result<Row> {
        let find = || {
            if self.codec.is_some() {
                return self.row_of(i, Bytes::from(self.sample(i)?));
            }
            let extent = self.extent(i)?;
            let total = extent.end - extent.start;
            let head = self.slice(extent.start, total.min(to_u64(self.columns.head_len())))?;
            let spans = self.columns.spans(&head, total)?;
            Ok(Row::new(self, ColumnSpans { index: i, start: extent.start, spans, whole: None }))
        };
        find().map_err(|error| self.here(error, i))
    }

    /// Finds the columns of sample `i`, which was already read.
    ///
    /// # Errors
    /// The errors of [`Shard::row`].
    pub fn row_of(self: &Arc<Self>, i: u64, whole: Bytes) -> Result<Row> {
        let spans = self.columns.split(&whole).map_err(|error| self.here(error, i))?;
        Ok(Row::new(self, ColumnSpans { index: i, start: 0, spans, whole: Some(whole) }))
    }
}

impl ColumnSpans {
    /// The sample, if it had to be decompressed as a whole.
    pub fn whole(&self) -> Option<&Bytes> {
        self.whole.as_ref()
    }
}

impl Row {
    fn new(shard: &Arc<Shard>, spans: ColumnSpans) -> Self {
        Self { shard: Arc::clone(shard), spans: Arc::new(spans) }
    }

    /// A row from its parts, for a caller that only kept the spans.
    pub fn from_parts(shard: Arc<Shard>, spans: Arc<ColumnSpans>) -> Self {
        Self { shard, spans }
    }

    /// The row without its shard, for callers that must not hold the shard open.
    pub fn spans(&self) -> &Arc<ColumnSpans> {
        &self.spans
    }

    /// The index of the sample in its shard.
    pub fn index(&self) -> u64 {
        self.spans.index
    }

    pub fn shard(&self) -> &Arc<Shard> {
        &self.shard
    }

    pub fn columns(&self) -> &Columns {
        &self.shard.columns
    }

    /// The size of a column's value in bytes.
    pub fn len_of(&self, column: usize) -> u64 {
        self.spans.spans.get(column).map_or(0, |(start, end)| u64::from(end - start))
    }

    /// The decoded sample, if it was decompressed as a whole.
    pub fn whole(&self) -> Option<&Bytes> {
        self.spans.whole()
    }

    /// A column's bytes, borrowed if they are in memory.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn slice(&self, column: usize) -> Result<Cow<'_, [u8]>> {
        let span = self.span(column)?;
        match &self.spans.whole {
            Some(whole) => crate::columns::part(whole, span).map(Cow::Borrowed),
            None => self.shard.slice(self.spans.start + u64::from(span.0), u64::from(span.1 - span.0)),
        }
    }

    /// Reads a column's bytes into `out`, which must have the same length.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn read_into<'o>(&self, column: usize, out: UninitSlice<'o>) -> Result<&'o mut [u8]> {
        let span = self.span(column)?;
        match (&self.spans.whole, &self.shard.data) {
            (None, ShardData::File(source)) => source.read_at(self.spans.start + u64::from(span.0), out),
            _ => {
                let bytes = self.slice(column)?;
                out.copied(&bytes)
                    .ok_or_else(|| Error::invalid("a buffer of a different length than the value"))
            }
        }
    }

    fn span(&self, column: usize) -> Result<Span> {
        self.spans.spans.get(column).copied().ok_or_else(|| Error::invalid("no such column"))
    }

    /// Adds the position of an error in a column.
    pub fn here(&self, error: Error, column: usize) -> Error {
        let name = self.columns().all.get(column).map_or("", |column| column.name.as_str());
        self.shard.here(error.in_column(name), self.index())
    }
}
