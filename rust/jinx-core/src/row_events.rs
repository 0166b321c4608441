//! The common language of all formats: a row is a sequence of events.
//!
//! Every source (a JINX row, a JSON line, MessagePack, Arrow, a Python dict) emits events into a [`Sink`];
//! every target (JINX rows, JSON text, MessagePack, a [`crate::value::Value`] tree, Python objects) is a sink.
//! So N inputs and M outputs need N + M implementations, not N x M.

use crate::codec::Codec;
use crate::error::{Error, Result};
use crate::io::{Content, SourceRange};
use crate::json::scan::Span;
use crate::value_pool::Pooled;
use bytes::Bytes;

/// A binary value that a source passes to a sink.
#[derive(Debug, Clone)]
pub struct Blob<'a> {
    pub data: BlobData<'a>,
    /// A Hugging Face media value. Formats without media store it as `{"bytes", "path"}`.
    pub media: bool,
    /// The file name that Hugging Face's media columns store next to the bytes.
    pub path: Option<&'a str>,
}

#[derive(Debug, Clone)]
pub enum BlobData<'a> {
    Borrowed(&'a [u8]),
    /// Shared memory, so that a queue or a writer thread can keep it without a copy.
    Shared(Bytes),
}

impl<'a> Blob<'a> {
    pub fn borrowed(data: &'a [u8]) -> Self {
        Self { data: BlobData::Borrowed(data), media: false, path: None }
    }

    pub fn shared(data: Bytes) -> Self {
        Self { data: BlobData::Shared(data), media: false, path: None }
    }

    pub fn as_slice(&self) -> &[u8] {
        match &self.data {
            BlobData::Borrowed(data) => data,
            BlobData::Shared(data) => data,
        }
    }

    /// Marks the value as media with its file name.
    #[must_use]
    pub fn with_path(mut self, path: Option<&'a str>) -> Self {
        self.media = true;
        self.path = path;
        self
    }

    /// The data as shared memory; copies only what was borrowed.
    pub fn into_bytes(self) -> Bytes {
        match self.data {
            BlobData::Borrowed(data) => Bytes::copy_from_slice(data),
            BlobData::Shared(data) => data,
        }
    }
}

/// The meaning of a binary payload, beyond plain bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Payload {
    /// `bytes`.
    Raw,
    /// A complete `.npy` file of version 1-3: a numpy array.
    Npy,
    /// A torch tensor as `torch.save` writes it.
    Pt,
    /// A numpy scalar: dtype string in ASCII, a zero byte, the scalar's bytes.
    Np,
}

/// A value in the form stored in a JINX sidecar, which another sidecar can store without encoding it again.
#[derive(Debug)]
pub struct StoredValue<'a> {
    pub kind: StoredKind<'a>,
    /// The compression of `data`.
    pub codec: Option<Codec>,
    pub data: Content,
    /// xxh3-64 of `data`, if the source has it.
    pub checksum: Option<u64>,
    /// The length without the codec.
    pub decoded_bytes: u64,
    pub media: Option<StoredMedia<'a>>,
}

#[derive(Debug, Clone, Copy)]
pub enum StoredKind<'a> {
    /// A string, with its decoded text.
    Str(&'a str),
    Blob(Payload),
}

/// A value in a sidecar that has not been read.
#[derive(Debug, Clone, Copy)]
pub struct UnreadValue {
    /// `None` for a string.
    pub payload: Option<Payload>,
    pub codec: Option<Codec>,
    pub stored_bytes: u64,
    /// The length without the codec.
    pub decoded_bytes: u64,
    /// xxh3-64 of the stored bytes, if the source has it.
    pub checksum: Option<u64>,
}

/// What is known about a stored media value.
#[derive(Debug, Clone, Copy)]
pub struct StoredMedia<'a> {
    /// Like [`Blob::path`].
    pub path: Option<&'a str>,
    pub mime: Option<&'static str>,
}

/// numpy scalars that JSON can represent as a number, together with the name of the dtype.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dtype {
    Int8,
    Int16,
    Int32,
    Int64,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Float32,
    /// A Python float that JSON cannot represent: NaN and the infinities.
    Float64,
}

impl Dtype {
    pub const ALL: [Self; 10] = [
        Self::Int8,
        Self::Int16,
        Self::Int32,
        Self::Int64,
        Self::Uint8,
        Self::Uint16,
        Self::Uint32,
        Self::Uint64,
        Self::Float32,
        Self::Float64,
    ];

    /// numpy's name, which is also the key suffix.
    pub fn name(self) -> &'static str {
        match self {
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Uint8 => "uint8",
            Self::Uint16 => "uint16",
            Self::Uint32 => "uint32",
            Self::Uint64 => "uint64",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    pub fn is_float(self) -> bool {
        matches!(self, Self::Float32 | Self::Float64)
    }
}

/// The number inside a numpy scalar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    Int(i64),
    Uint(u64),
    Float(f64),
}

/// Receives one row as events. The outermost value of a row is a dict.
///
/// Order: `begin_dict (key value)* end_dict`, `begin_list value* end_list`; a sink may rely on it.
pub trait Sink {
    fn null(&mut self) -> Result<()>;
    fn bool(&mut self, value: bool) -> Result<()>;
    fn int(&mut self, value: i64) -> Result<()>;
    /// An integer outside i64, as exact decimal digits with an optional minus.
    fn big_int(&mut self, digits: &str) -> Result<()>;
    /// Any float, including NaN and the infinities.
    fn float(&mut self, value: f64) -> Result<()>;
    fn str(&mut self, value: &str) -> Result<()>;
    fn blob(&mut self, payload: Payload, blob: Blob<'_>) -> Result<()>;
    /// Plain bytes ([`Payload::Raw`]) in a file; a sink need not read them all at once.
    fn range(&mut self, range: &SourceRange) -> Result<()> {
        self.blob(Payload::Raw, Blob::shared(range.read()?))
    }
    /// Whether the sink needs the content of plain bytes ([`Payload::Raw`]). If not, a source may pass none, without
    /// reading them.
    fn reads_bytes(&self) -> bool {
        true
    }
    /// A numpy scalar of a dtype with its own suffix (`Float64` only from JINX 1.0 files).
    fn scalar(&mut self, dtype: Dtype, value: Number) -> Result<()>;
    /// A Hugging Face media value without bytes, which only has a file name.
    fn media_path(&mut self, path: &str) -> Result<()> {
        self.begin_dict(2)?;
        self.key("bytes")?;
        self.null()?;
        self.key("path")?;
        self.str(path)?;
        self.end_dict()
    }
    /// `len` is a hint.
    fn begin_list(&mut self, len: usize) -> Result<()>;
    fn end_list(&mut self) -> Result<()>;
    /// `len` is a hint.
    fn begin_dict(&mut self, len: usize) -> Result<()>;
    fn key(&mut self, name: &str) -> Result<()>;
    fn end_dict(&mut self) -> Result<()>;
    /// Accepts what is known about the next value before it is read; returns false if the content is needed after all.
    fn unread(&mut self, _value: UnreadValue) -> Result<bool> {
        Ok(false)
    }
    /// Whether [`Sink::stored`] accepts the next value in stored form, given that a sidecar stores it with `codec` and
    /// it has `decoded_bytes` without the codec; the sink would then store it in the same form.
    fn takes_stored(&self, _is_str: bool, _codec: Option<Codec>, _decoded_bytes: u64) -> bool {
        false
    }
    /// Memory for a stored value of `length` bytes, if the sink has some to reuse.
    fn stored_memory(&mut self, _length: usize) -> Option<Pooled> {
        None
    }
    fn stored(&mut self, _value: StoredValue<'_>) -> Result<()> {
        Err(Error::unsupported("this output takes no stored values"))
    }
    /// Whether a media value may be in the row by itself, without the dict that contains its file name.
    fn takes_bare_media(&self) -> bool {
        false
    }
    /// Whether [`Sink::json`] accepts the next value as text, if it is a list or dict of plain JSON.
    fn takes_json(&self) -> bool {
        false
    }
    /// A list or dict as JSON text without markers or chains, and its number of elements or members.
    fn json(&mut self, _text: &[u8], _elements: u64) -> Result<()> {
        Err(Error::unsupported("this output takes no JSON text"))
    }
    /// Whether [`Sink::row`] accepts the next row as text, if it is plain JSON of this many bytes.
    fn takes_row(&self, _bytes: usize) -> bool {
        false
    }
    /// A row without markers or chains, and without blanks between its members: its text, its members (each name once),
    /// and the xxh3-64 of the text with a newline, if the source has it.
    fn row(&mut self, _text: Vec<u8>, _members: &[Span], _hash: Option<u64>) -> Result<()> {
        Err(Error::unsupported("this output takes no JSON text"))
    }
}

/// Allows passing a `&mut dyn Sink` wherever a sink is expected.
impl<S: Sink + ?Sized> Sink for &mut S {
    fn null(&mut self) -> Result<()> {
        (**self).null()
    }
    fn bool(&mut self, value: bool) -> Result<()> {
        (**self).bool(value)
    }
    fn int(&mut self, value: i64) -> Result<()> {
        (**self).int(value)
    }
    fn big_int(&mut self, digits: &str) -> Result<()> {
        (**self).big_int(digits)
    }
    fn float(&mut self, value: f64) -> Result<()> {
        (**self).float(value)
    }
    fn str(&mut self, value: &str) -> Result<()> {
        (**self).str(value)
    }
    fn blob(&mut self, payload: Payload, blob: Blob<'_>) -> Result<()> {
        (**self).blob(payload, blob)
    }
    fn range(&mut self, range: &SourceRange) -> Result<()> {
        (**self).range(range)
    }
    fn reads_bytes(&self) -> bool {
        (**self).reads_bytes()
    }
    fn scalar(&mut self, dtype: Dtype, value: Number) -> Result<()> {
        (**self).scalar(dtype, value)
    }
    fn media_path(&mut self, path: &str) -> Result<()> {
        (**self).media_path(path)
    }
    fn begin_list(&mut self, len: usize) -> Result<()> {
        (**self).begin_list(len)
    }
    fn end_list(&mut self) -> Result<()> {
        (**self).end_list()
    }
    fn begin_dict(&mut self, len: usize) -> Result<()> {
        (**self).begin_dict(len)
    }
    fn key(&mut self, name: &str) -> Result<()> {
        (**self).key(name)
    }
    fn end_dict(&mut self) -> Result<()> {
        (**self).end_dict()
    }
    fn unread(&mut self, value: UnreadValue) -> Result<bool> {
        (**self).unread(value)
    }
    fn takes_stored(&self, is_str: bool, codec: Option<Codec>, decoded_bytes: u64) -> bool {
        (**self).takes_stored(is_str, codec, decoded_bytes)
    }
    fn stored_memory(&mut self, length: usize) -> Option<Pooled> {
        (**self).stored_memory(length)
    }
    fn stored(&mut self, value: StoredValue<'_>) -> Result<()> {
        (**self).stored(value)
    }
    fn takes_bare_media(&self) -> bool {
        (**self).takes_bare_media()
    }
    fn takes_json(&self) -> bool {
        (**self).takes_json()
    }
    fn json(&mut self, text: &[u8], elements: u64) -> Result<()> {
        (**self).json(text, elements)
    }
    fn takes_row(&self, bytes: usize) -> bool {
        (**self).takes_row(bytes)
    }
    fn row(&mut self, text: Vec<u8>, members: &[Span], hash: Option<u64>) -> Result<()> {
        (**self).row(text, members, hash)
    }
}

/// A sink that discards everything, to check what a source emits.
#[derive(Debug, Clone, Copy, Default)]
pub struct Discard;

impl Sink for Discard {
    fn null(&mut self) -> Result<()> {
        Ok(())
    }
    fn bool(&mut self, _value: bool) -> Result<()> {
        Ok(())
    }
    fn int(&mut self, _value: i64) -> Result<()> {
        Ok(())
    }
    fn big_int(&mut self, _digits: &str) -> Result<()> {
        Ok(())
    }
    fn float(&mut self, _value: f64) -> Result<()> {
        Ok(())
    }
    fn str(&mut self, _value: &str) -> Result<()> {
        Ok(())
    }
    fn blob(&mut self, _payload: Payload, _blob: Blob<'_>) -> Result<()> {
        Ok(())
    }
    fn scalar(&mut self, _dtype: Dtype, _value: Number) -> Result<()> {
        Ok(())
    }
    fn begin_list(&mut self, _len: usize) -> Result<()> {
        Ok(())
    }
    fn end_list(&mut self) -> Result<()> {
        Ok(())
    }
    fn begin_dict(&mut self, _len: usize) -> Result<()> {
        Ok(())
    }
    fn key(&mut self, _name: &str) -> Result<()> {
        Ok(())
    }
    fn end_dict(&mut self) -> Result<()> {
        Ok(())
    }
}
