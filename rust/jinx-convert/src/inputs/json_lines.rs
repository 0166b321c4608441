//! Rows of JSON Lines: split on the reading thread, parsed on the workers.

use crate::inputs::Input;
use crate::{RowChunk, RowSource};
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use jinx_core::json::markers::{self, Markers};
use jinx_core::limits::MAX_ROW_BYTES;
use jinx_core::row_events::Sink;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

const CHUNK_BYTES: usize = 1 << 20;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One JSON object per line; blank lines are not counted.
pub struct JsonLines {
    input: Input,
    name: Arc<Path>,
    /// Bytes that were read after the last complete line.
    rest: Vec<u8>,
    /// The number of lines so far.
    lines: u64,
    at_start: bool,
    max_row_bytes: u64,
    markers: bool,
}

impl JsonLines {
    pub fn new(input: Input) -> Self {
        let name = Arc::from(input.name());
        Self {
            input,
            name,
            rest: Vec::new(),
            lines: 0,
            at_start: true,
            max_row_bytes: MAX_ROW_BYTES,
            markers: false,
        }
    }

    /// Whether every row contains markers, even if it does not declare them.
    #[must_use]
    pub fn markers(self, markers: bool) -> Self {
        Self { markers, ..self }
    }

    /// # Errors
    /// The errors of [`Input::open`].
    pub fn open(path: &Path) -> Result<Self> {
        Input::open(path).map(Self::new)
    }

    /// Complete lines, about a chunk of them; `None` at the end.
    fn next_lines(&mut self) -> Result<Option<Vec<u8>>> {
        let mut text = std::mem::take(&mut self.rest);
        let end = loop {
            let wanted = if text.len() < CHUNK_BYTES { CHUNK_BYTES - text.len() } else { CHUNK_BYTES };
            let searched = text.len();
            let got = (&mut self.input).take(to_u64(wanted)).read_to_end(&mut text)?;
            if got < wanted {
                break text.len();
            }
            if let Some(at) = memchr::memrchr(b'\n', &text[searched..]) {
                break searched + at + 1;
            }
            if to_u64(text.len()) > self.max_row_bytes {
                let what = format!("a line of more than {} bytes", self.max_row_bytes);
                return Err(Error::limit(what).in_line(self.lines + 1));
            }
        };
        self.rest = text[end..].to_vec();
        text.truncate(end);
        Ok((!text.is_empty()).then_some(text))
    }

    fn cut(&mut self, text: Vec<u8>) -> Result<JsonChunk> {
        let mut start = 0;
        if std::mem::take(&mut self.at_start) {
            if text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff") {
                return Err(Error::unsupported("this is UTF-16; JSON Lines are UTF-8"));
            }
            if text.starts_with(BYTE_ORDER_MARK) {
                start = BYTE_ORDER_MARK.len();
            }
        }
        let mut rows = Vec::new();
        while start < text.len() {
            let end = memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |at| start + at);
            self.lines += 1;
            if !text[start..end].trim_ascii().is_empty() {
                rows.push((start..end, self.lines));
            }
            start = end + 1;
        }
        Ok(JsonChunk {
            text,
            rows,
            name: Arc::clone(&self.name),
            numbers: Numbers::Lines,
            markers: self.markers,
        })
    }
}

impl RowSource for JsonLines {
    fn next_chunk(&mut self) -> Result<Option<Box<dyn RowChunk>>> {
        loop {
            let lines = self.next_lines().map_err(|error| error.in_file(&self.name))?;
            let Some(text) = lines else { return Ok(None) };
            let chunk = self.cut(text).map_err(|error| error.in_file(&self.name))?;
            if !chunk.rows.is_empty() {
                return Ok(Some(Box::new(chunk)));
            }
        }
    }

    fn bytes_read(&self) -> u64 {
        self.input.bytes_read()
    }

    fn total_bytes(&self) -> Option<u64> {
        self.input.total_bytes()
    }
}

/// What row numbers mean.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Numbers {
    /// Lines, from 1.
    Lines,
    /// Elements of an array, from 0.
    Elements,
}

pub(crate) struct JsonChunk {
    pub(crate) text: Vec<u8>,
    /// The position and the number of each row.
    pub(crate) rows: Vec<(Range<usize>, u64)>,
    pub(crate) name: Arc<Path>,
    pub(crate) numbers: Numbers,
    pub(crate) markers: bool,
}

impl RowChunk for JsonChunk {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn bytes(&self) -> u64 {
        to_u64(self.text.len())
    }

    fn emit(&self, i: usize, mut sink: &mut dyn Sink) -> Result<()> {
        let (range, _) = self.rows.get(i).ok_or_else(|| Error::invalid("no such row"))?;
        let text = self.text[range.clone()].trim_ascii();
        let markers = Markers { always: self.markers, files: None };
        if self.numbers == Numbers::Elements && text.first() != Some(&b'{') {
            return Err(self.locate(i, Error::corrupt("an element that is not a JSON object")));
        }
        markers::emit_line(text, markers, &mut sink).map_err(|error| self.locate(i, error))
    }

    fn locate(&self, i: usize, error: Error) -> Error {
        let number = self.rows.get(i).map_or(0, |(_, number)| *number);
        let placed = match self.numbers {
            Numbers::Lines => error.in_line(number),
            Numbers::Elements => error.in_sample(number),
        };
        placed.in_file(&self.name)
    }
}
