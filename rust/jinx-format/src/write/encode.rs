//! Turns the events of one row into its line and the values for the sidecar.
//!
//! Encoding does not depend on the position: the writer fills in the sidecar offsets. So rows can be encoded on any
//! thread, and the file is the same for any number of threads.

use crate::fields::{Fact, Measure, in_path};
use crate::key::{self, Chain, Kind};
use crate::write::options::EncodeOptions;
use crate::write::path_cache::PathCache;
use crate::write::row_facts::kind_of;
use bytes::Bytes;
use jinx_core::checked_math::to_u64;
use jinx_core::codec::{self, Codec, Compressor};
use jinx_core::error::{Error, Result};
use jinx_core::io::{Content, SourceRange};
use jinx_core::json::scan::Span;
use jinx_core::json::text::{push_json_float, push_json_str};
use jinx_core::limits::{MAX_DEPTH, MAX_INT_DIGITS};
use jinx_core::npy;
use jinx_core::row_events::{Blob, Dtype, Number, Payload, Sink, StoredValue};
use jinx_core::value_pool::{Pooled, ValuePool};
use std::collections::HashSet;
use std::sync::Arc;
use twox_hash::XxHash3_64;

/// The maximum number of digits of a sidecar offset. A line's length is counted with all of them, so that a row that
/// fits in one file fits in any.
const OFFSET_DIGITS: usize = 20;
/// The maximum memory that is reserved for a line before it is written, according to the previous line's length.
const MAX_FIRST_BYTES: usize = 64 << 10;

/// A row that is ready for the writer.
#[derive(Debug, Default)]
pub struct EncodedRow {
    /// The line without its newline and without the digits of sidecar offsets.
    pub text: Vec<u8>,
    /// Values for the sidecar, in row order.
    pub values: Vec<SidecarValue>,
    pub facts: Vec<Fact>,
    /// xxh3-64 of the line with its newline, if it is known and no offset has to be filled in.
    pub hash: Option<u64>,
}

#[derive(Debug)]
pub struct SidecarValue {
    /// The position of the offset's digits in the text.
    pub at: usize,
    pub data: Content,
}

/// Encodes rows one after another; keeps its compression context and name tables between rows.
pub struct RowEncoder {
    pub(super) options: Arc<EncodeOptions>,
    compressor: Option<Compressor>,
    pub(super) row: EncodedRow,
    pub(super) frames: Vec<OpenContainer>,
    /// The names along the current path; each dict frame owns those from its `name_start` on.
    pub(super) names: String,
    seen: Vec<u64>,
    pub(super) paths: PathCache,
    pool: ValuePool,
    /// The bytes of values that were accepted in stored form.
    pub(super) copied_bytes: usize,
    /// The size of the last line.
    line_bytes: usize,
}

#[derive(Debug)]
pub(super) struct OpenContainer {
    pub(super) is_dict: bool,
    pub(super) name_start: usize,
    pub(super) name_end: usize,
    seen_start: usize,
    many: Option<HashSet<u64>>,
    elements: u64,
}

impl std::fmt::Debug for RowEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowEncoder").field("options", &self.options).finish_non_exhaustive()
    }
}

impl RowEncoder {
    /// # Errors
    /// `Invalid` for a compression level that zstd does not have.
    pub fn new(options: Arc<EncodeOptions>) -> Result<Self> {
        let compressor = options.compression.map(Compressor::zstd).transpose()?;
        Ok(Self {
            options,
            compressor,
            row: EncodedRow::default(),
            frames: Vec::new(),
            names: String::new(),
            seen: Vec::new(),
            paths: PathCache::default(),
            pool: ValuePool::default(),
            copied_bytes: 0,
            line_bytes: 0,
        })
    }

    /// Encodes the row that `emit` produces.
    ///
    /// # Errors
    /// `Invalid` when the row is not a dict or holds a value that the format cannot; `Limit` when it is too long.
    pub fn encode(&mut self, emit: impl FnOnce(&mut Self) -> Result<()>) -> Result<EncodedRow> {
        let text = Vec::with_capacity(self.line_bytes.min(MAX_FIRST_BYTES));
        self.row = EncodedRow { text, ..EncodedRow::default() };
        self.frames.clear();
        self.names.clear();
        self.seen.clear();
        self.paths.begin_row();
        emit(self).map_err(|error| self.locate(error))?;
        let row = std::mem::take(&mut self.row);
        self.line_bytes = row.text.len() + row.text.len() / 8;
        if row.text.first() != Some(&b'{') || !self.frames.is_empty() {
            return Err(Error::invalid("a sample must be a dict"));
        }
        let limit = self.options.max_row_bytes;
        let length = to_u64(row.text.len() + row.values.len() * OFFSET_DIGITS + 1);
        if length > limit {
            return Err(Error::limit(format!(
                "a line of {length} bytes is longer than {limit}; put big values into the sidecar"
            )));
        }
        Ok(row)
    }

    /// Adds the current column to an error, unless the source of the row already did.
    fn locate(&self, error: Error) -> Error {
        if error.column().is_some() {
            return error;
        }
        let names = self.frames.iter().rev().filter(|frame| frame.is_dict);
        names.fold(error, |error, frame| error.in_column(&self.names[frame.name_start..frame.name_end]))
    }

    /// Writes what comes before a value: comma and key, or the wrapper of a list element with a chain.
    pub(super) fn open_value(&mut self, chain: Option<&Chain>) -> Result<()> {
        let depth = self.frames.len();
        let text = &mut self.row.text;
        let Some(frame) = self.frames.last_mut() else {
            return if chain.is_none() { Ok(()) } else { Err(Error::invalid("a sample must be a dict")) };
        };
        // A pointer, and the wrapper of a list element, are also nested objects.
        let levels = chain.map_or(0, |chain| usize::from(!frame.is_dict) + usize::from(chain.bin));
        if depth + levels > MAX_DEPTH {
            return Err(too_deep());
        }
        frame.elements += 1;
        if !matches!(text.last(), Some(b'{' | b'[')) {
            text.push(b',');
        }
        if frame.is_dict {
            let name = &self.names[frame.name_start..frame.name_end];
            push_json_str(text, name)?;
            if chain.is_some() || key::needs_quotes(name) {
                text.pop();
                let plain = text.len();
                key::push_key(text, name, chain);
                // The name was already written, with its escapes.
                text.drain(plain..plain + name.len());
                text.push(b'"');
            }
            text.push(b':');
        } else if let Some(chain) = chain {
            text.extend_from_slice(b"{\"..");
            chain.push_text(text);
            text.extend_from_slice(b".\":");
        }
        Ok(())
    }

    pub(super) fn close_value(&mut self, chain: Option<&Chain>) {
        if chain.is_some() && self.frames.last().is_some_and(|frame| !frame.is_dict) {
            self.row.text.push(b'}');
        }
    }

    pub(super) fn at_top(&self) -> bool {
        self.frames.len() == 1
    }

    /// The top-level name of the next value.
    pub(super) fn top_name(&self) -> Option<&str> {
        self.frames.first().map(|frame| &self.names[frame.name_start..frame.name_end])
    }

    /// Whether the next value is a member of a dict.
    pub(super) fn in_dict(&self) -> bool {
        self.frames.last().is_some_and(|frame| frame.is_dict)
    }

    /// Writes a value without a chain, whose text is available.
    pub(super) fn plain(&mut self, kind: &'static str, measure: Measure, text: &[u8]) -> Result<()> {
        self.open_value(None)?;
        self.row.text.extend_from_slice(text);
        self.note(kind, measure);
        Ok(())
    }

    /// Writes a value with a chain from its JSON text.
    fn small(&mut self, chain: Chain, kind: &'static str, measure: Measure, text: &[u8]) -> Result<()> {
        self.open_value(Some(&chain))?;
        self.row.text.extend_from_slice(text);
        self.close_value(Some(&chain));
        let path = self.path();
        // Only binary values and strings have lengths.
        self.row.facts.push(Fact { path, kind, coded: Some((0, 0)), quoted: false, mime: None, measure });
        Ok(())
    }

    /// Writes bytes with a chain: compressed if that helps, then inline or in the sidecar.
    fn encode_blob(
        &mut self,
        kind: Kind,
        kind_name: &'static str,
        blob: Blob<'_>,
        measure: Measure,
    ) -> Result<()> {
        let decoded = to_u64(blob.as_slice().len());
        self.options.check_value(decoded).map_err(|error| in_path(error, &self.path()))?;
        let to_sidecar = self.options.sidecar && decoded > self.options.binary_threshold;
        let mime = if blob.media { codec::mime(blob.as_slice()) } else { None };
        let compressed = self.try_compress(blob.as_slice())?;
        let codec = compressed.is_some().then_some(Codec::Zstd);
        let chain = Chain::new(kind, codec, to_sidecar);
        let path = blob.path;
        self.open_value(Some(&chain))?;
        let stored = if to_sidecar {
            let media_path = path.map(str::to_owned);
            let data = compressed.map_or_else(|| blob.into_bytes(), Bytes::from);
            let checksum = XxHash3_64::oneshot(&data);
            self.push_pointer(data.into(), checksum, media_path.as_deref())?
        } else {
            let data = compressed.as_deref().unwrap_or(blob.as_slice());
            let text = &mut self.row.text;
            let start = text.len();
            text.push(b'"');
            codec::push_base64(text, data);
            text.push(b'"');
            to_u64(text.len() - start - 2)
        };
        self.close_value(Some(&chain));
        let path = self.path();
        self.row.facts.push(Fact {
            path,
            kind: kind_name,
            coded: Some((stored, decoded)),
            quoted: false,
            mime,
            measure,
        });
        Ok(())
    }

    fn try_compress(&mut self, data: &[u8]) -> Result<Option<Vec<u8>>> {
        let may_shrink = self.may_shrink(to_u64(data.len()), data);
        let options = &self.options;
        let Some(compressor) = self.compressor.as_mut().filter(|_| may_shrink) else { return Ok(None) };
        let compressed = compressor.compress(data)?;
        #[allow(clippy::cast_precision_loss)]
        let helps = compressed.len() as f64 <= options.compress_ratio * data.len() as f64;
        Ok((helps && to_u64(compressed.len()) <= options.max_value_bytes).then_some(compressed))
    }

    fn begin(&mut self, is_dict: bool, bracket: u8) -> Result<()> {
        self.open_value(None)?;
        if self.frames.len() >= MAX_DEPTH {
            return Err(too_deep());
        }
        self.row.text.push(bracket);
        self.frames.push(OpenContainer {
            is_dict,
            name_start: self.names.len(),
            name_end: self.names.len(),
            seen_start: self.seen.len(),
            many: None,
            elements: 0,
        });
        Ok(())
    }

    fn end(&mut self, bracket: u8, kind: &'static str) -> Result<()> {
        let frame = self.frames.pop().ok_or_else(|| Error::invalid("an end without a begin"))?;
        self.names.truncate(frame.name_start);
        self.seen.truncate(frame.seen_start);
        self.row.text.push(bracket);
        if !self.frames.is_empty() {
            let measure = if frame.is_dict { Measure::None } else { Measure::Length(frame.elements) };
            self.note(kind, measure);
        }
        Ok(())
    }
}

fn too_deep() -> Error {
    Error::limit(format!("lists and dicts nested deeper than {MAX_DEPTH}"))
}

impl Sink for RowEncoder {
    fn null(&mut self) -> Result<()> {
        self.plain("null", Measure::None, b"null")
    }

    fn bool(&mut self, value: bool) -> Result<()> {
        self.plain("bool", Measure::Bool(value), if value { b"true" } else { b"false" })
    }

    fn int(&mut self, value: i64) -> Result<()> {
        self.plain("int", Measure::Int(value), itoa::Buffer::new().format(value).as_bytes())
    }

    fn big_int(&mut self, digits: &str) -> Result<()> {
        if digits.trim_start_matches('-').len() > MAX_INT_DIGITS {
            return Err(Error::limit(format!("an integer of more than {MAX_INT_DIGITS} digits")));
        }
        self.plain("int", Measure::of_digits(digits), digits.as_bytes())
    }

    fn float(&mut self, value: f64) -> Result<()> {
        let measure = Measure::Float(value);
        if value.is_finite() {
            return self.plain("float", measure, zmij::Buffer::new().format_finite(value).as_bytes());
        }
        let chain = Chain::new(Kind::Scalar(Dtype::Float64), None, false);
        self.small(chain, "float64", measure, non_finite(value))
    }

    fn str(&mut self, value: &str) -> Result<()> {
        let measure = self.measure_str(value);
        if self.in_dict() && self.options.sidecar && to_u64(value.len()) > self.options.string_threshold {
            return self.encode_blob(Kind::Str, "str", Blob::borrowed(value.as_bytes()), measure);
        }
        self.open_value(None)?;
        push_json_str(&mut self.row.text, value)?;
        self.note("str", measure);
        Ok(())
    }

    fn blob(&mut self, payload: Payload, blob: Blob<'_>) -> Result<()> {
        npy::check_blob(payload, blob.as_slice()).map_err(|error| Error::invalid(error.what()))?;
        let decoded = to_u64(blob.as_slice().len());
        if blob.media && !(self.options.sidecar && decoded > self.options.binary_threshold) {
            // Keep the struct for media stored inline, because it contains their file name.
            let (data, path) = (Blob::borrowed(blob.as_slice()), blob.path);
            self.begin_dict(2)?;
            self.key("bytes")?;
            self.blob(payload, data)?;
            self.key("path")?;
            match path {
                Some(path) => self.str(path)?,
                None => self.null()?,
            }
            return self.end_dict();
        }
        self.encode_blob(Kind::Blob(payload), kind_of(payload), blob, Measure::None)
    }

    fn range(&mut self, range: &SourceRange) -> Result<()> {
        self.put_range(range)
    }

    fn scalar(&mut self, dtype: Dtype, value: Number) -> Result<()> {
        let chain = Chain::new(Kind::Scalar(dtype), None, false);
        let mut text = Vec::new();
        let measure = match value {
            Number::Int(value) => {
                text.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
                Measure::Int(value)
            }
            Number::Uint(value) => {
                text.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
                i64::try_from(value).map_or(Measure::Uint(value), Measure::Int)
            }
            Number::Float(value) if value.is_finite() => {
                push_json_float(&mut text, value);
                Measure::Float(value)
            }
            Number::Float(value) => {
                text.extend_from_slice(non_finite(value));
                Measure::Float(value)
            }
        };
        self.small(chain, dtype.name(), measure, &text)
    }

    fn begin_list(&mut self, _len: usize) -> Result<()> {
        self.begin(false, b'[')
    }

    fn end_list(&mut self) -> Result<()> {
        self.end(b']', "list")
    }

    fn begin_dict(&mut self, _len: usize) -> Result<()> {
        self.begin(true, b'{')
    }

    fn key(&mut self, name: &str) -> Result<()> {
        let frame = self.frames.last_mut().ok_or_else(|| Error::invalid("a key outside a dict"))?;
        self.names.truncate(frame.name_start);
        self.names.push_str(name);
        frame.name_end = self.names.len();
        let hash = XxHash3_64::oneshot(name.as_bytes());
        let seen = &self.seen[frame.seen_start..];
        let twice = match &mut frame.many {
            Some(many) => !many.insert(hash),
            None if seen.len() >= 32 => {
                let many = frame.many.insert(seen.iter().copied().collect());
                !many.insert(hash)
            }
            None => seen.contains(&hash),
        };
        if twice {
            return Err(Error::invalid(format!("the name '{name}' appears twice in one dict")));
        }
        if frame.many.is_none() {
            self.seen.push(hash);
        }
        Ok(())
    }

    fn end_dict(&mut self) -> Result<()> {
        self.end(b'}', "dict")
    }

    fn takes_stored(&self, is_str: bool, codec: Option<Codec>, decoded_bytes: u64) -> bool {
        self.keeps_stored(is_str, codec, decoded_bytes)
    }

    fn stored_memory(&mut self, length: usize) -> Option<Pooled> {
        self.pool.take(length)
    }

    fn stored(&mut self, value: StoredValue<'_>) -> Result<()> {
        self.put_stored(value)
    }

    fn takes_bare_media(&self) -> bool {
        true
    }

    fn takes_json(&self) -> bool {
        self.keeps_json()
    }

    fn json(&mut self, text: &[u8], elements: u64) -> Result<()> {
        self.put_json(text, elements)
    }

    fn takes_row(&self, bytes: usize) -> bool {
        self.keeps_row(bytes)
    }

    fn row(&mut self, text: Vec<u8>, members: &[Span], hash: Option<u64>) -> Result<()> {
        self.put_row(text, members, hash)
    }
}

/// The text of NaN and the infinities under a float suffix; JINX 1.0 can read these forms too.
fn non_finite(value: f64) -> &'static [u8] {
    if value.is_nan() {
        b"null"
    } else if value > 0.0 {
        b"\"+inf\""
    } else {
        b"\"-Infinity\""
    }
}
