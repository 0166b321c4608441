//! Formats that consist of rows one after another in one file: JSON Lines and MessagePack.

use crate::msgpack::RowWriter;
use crate::{ChunkEncoder, OnRefused, RowTarget, Summary};
use jinx_core::checked_math::to_u64;
use jinx_core::codec::{self, Codec};
use jinx_core::error::{Error, Result};
use jinx_core::io::StreamOut;
use jinx_core::json::write::{Binary, JsonText};
use jinx_core::row_events::Sink;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A sink that encodes rows as text or bytes.
pub trait RowText: Sink + Send {
    /// Makes a sink that already contains these rows.
    fn with(out: Vec<u8>) -> Self;

    fn len(&self) -> usize;

    /// Returns the bytes of all rows so far, and empties the sink.
    fn take(&mut self) -> Vec<u8>;

    /// Called after each row.
    fn end_row(&mut self) {}
}

impl RowText for JsonText {
    fn with(out: Vec<u8>) -> Self {
        let mut text = Self::new(Binary::Tagged);
        text.out = out;
        text
    }

    fn len(&self) -> usize {
        self.out.len()
    }

    fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    fn end_row(&mut self) {
        self.out.push(b'\n');
    }
}

impl RowText for RowWriter {
    fn with(out: Vec<u8>) -> Self {
        let mut rows = Self::default();
        rows.out = out;
        rows
    }

    fn len(&self) -> usize {
        self.out.len()
    }

    fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }
}

/// Writes rows to one file, compressed or not.
pub struct StreamTarget<S> {
    out: Out,
    path: PathBuf,
    rows: std::marker::PhantomData<S>,
}

/// An output file, compressed or not.
pub(crate) enum Out {
    Plain(StreamOut),
    Coded(codec::Writer<StreamOut>),
}

impl Out {
    /// # Errors
    /// `Invalid` for a codec that is not written, or a level that it does not have.
    pub(crate) fn new(out: StreamOut, codec: Option<Codec>, level: Option<i32>) -> Result<Self> {
        Ok(match codec {
            Some(codec) => Self::Coded(codec::writer(codec, level, out)?),
            None => Self::Plain(out),
        })
    }

    /// The file, ready to be published; `path` is for messages.
    ///
    /// # Errors
    /// I/O errors.
    pub(crate) fn finish(self, path: &Path) -> Result<StreamOut> {
        match self {
            Self::Plain(out) => Ok(out),
            Self::Coded(out) => out.finish().map_err(|error| Error::io(path, &error)),
        }
    }
}

impl Write for Out {
    fn write(&mut self, data: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Plain(out) => out.write(data),
            Self::Coded(out) => out.write(data),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            Self::Coded(out) => out.flush(),
        }
    }
}

/// JSON Lines into `out`; `codec` is zstd, gzip or none.
///
/// # Errors
/// `Invalid` for another codec or a level that it does not have.
pub fn json_lines(
    out: StreamOut,
    codec: Option<Codec>,
    level: Option<i32>,
) -> Result<StreamTarget<JsonText>> {
    StreamTarget::new(out, codec, level)
}

/// MessagePack into `out`; `codec` is zstd, gzip or none.
///
/// # Errors
/// The errors of [`json_lines`].
pub fn message_pack(
    out: StreamOut,
    codec: Option<Codec>,
    level: Option<i32>,
) -> Result<StreamTarget<RowWriter>> {
    StreamTarget::new(out, codec, level)
}

impl<S: RowText> StreamTarget<S> {
    fn new(out: StreamOut, codec: Option<Codec>, level: Option<i32>) -> Result<Self> {
        let path = out.path().to_owned();
        let out = Out::new(out, codec, level)?;
        Ok(Self { out, path, rows: std::marker::PhantomData })
    }
}

impl<S: RowText> RowTarget for StreamTarget<S> {
    type Part = Vec<u8>;
    type Encoder = TextEncoder<S>;

    fn encoder(&self) -> Result<TextEncoder<S>> {
        Ok(TextEncoder { text: S::with(Vec::new()), whole: 0 })
    }

    fn commit(&mut self, part: Vec<u8>, _refused: OnRefused<'_>) -> Result<()> {
        self.out.write_all(&part).map_err(|error| Error::io(&self.path, &error))
    }

    fn finish(self) -> Result<Summary> {
        let bytes = self.out.finish(&self.path)?.commit()?;
        Ok(Summary { bytes, files: 1, ..Summary::default() })
    }
}

pub struct TextEncoder<S> {
    text: S,
    /// The number of bytes of complete rows.
    whole: usize,
}

impl<S: RowText> ChunkEncoder for TextEncoder<S> {
    type Part = Vec<u8>;

    fn encode(&mut self, emit: &mut dyn FnMut(&mut dyn Sink) -> Result<()>) -> Result<()> {
        emit(&mut self.text)?;
        self.text.end_row();
        self.whole = self.text.len();
        Ok(())
    }

    fn undo(&mut self) -> Result<()> {
        let mut out = self.text.take();
        out.truncate(self.whole);
        self.text = S::with(out);
        Ok(())
    }

    fn bytes(&self) -> u64 {
        to_u64(self.text.len())
    }

    fn take(&mut self) -> Result<Vec<u8>> {
        self.whole = 0;
        Ok(self.text.take())
    }
}
