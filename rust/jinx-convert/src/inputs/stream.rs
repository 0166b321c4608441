//! An input file as a stream of decoded bytes.

use jinx_core::codec::{self, Codec};
use jinx_core::error::{Error, Result};
use jinx_core::io::pipes;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The name that stands for standard input or output.
pub const STANDARD_STREAM: &str = "-";
/// Enough bytes to detect the magic of every codec.
const FIRST_BYTES: u64 = 16;
/// The maximum number of leading blanks that are skipped to distinguish an array from lines.
const MAX_BLANKS: usize = 1 << 16;

/// A stream of decoded bytes that counts the bytes it reads from its file.
pub struct Input {
    reader: Box<dyn Read + Send>,
    name: PathBuf,
    read: Arc<AtomicU64>,
    total: Option<u64>,
    at_end: bool,
}

impl Input {
    /// Opens a file, a pipe, or standard input (`-`). The codec follows from its first bytes or, for codecs without
    /// magic bytes (brotli and the old lzma), from its suffix.
    ///
    /// # Errors
    /// `Io`; `Invalid` for a directory.
    pub fn open(path: &Path) -> Result<Self> {
        if path == Path::new(STANDARD_STREAM) {
            return Self::new(io::stdin(), Path::new("<standard input>"), None);
        }
        let metadata = path.metadata().map_err(|error| Error::io(path, &error))?;
        if metadata.is_dir() {
            return Err(Error::invalid("this is a directory; a file is needed").in_file(path));
        }
        if !metadata.is_file() {
            return Self::new(pipes::open_to_read(path)?, path, None);
        }
        let file = File::open(path).map_err(|error| Error::io(path, &error))?;
        Self::new(file, path, Some(metadata.len()))
    }

    /// Reads from any source; `name` is for messages, and its suffix for the format.
    ///
    /// # Errors
    /// Errors of `source`.
    pub fn new(source: impl Read + Send + 'static, name: &Path, total: Option<u64>) -> Result<Self> {
        let read = Arc::new(AtomicU64::new(0));
        let mut counted = Counted { source, read: Arc::clone(&read) };
        let mut first = Vec::new();
        counted
            .by_ref()
            .take(FIRST_BYTES)
            .read_to_end(&mut first)
            .map_err(|error| Error::io(name, &error))?;
        let by_suffix = || name.extension().and_then(OsStr::to_str).and_then(Codec::from_ext);
        let codec = codec::sniff(&first).or_else(by_suffix);
        let whole = Cursor::new(first).chain(counted);
        let reader = match codec {
            Some(codec) => codec::reader(codec, whole).map_err(|error| error.in_file(name))?,
            None => Box::new(whole),
        };
        Ok(Self { reader, name: name.to_owned(), read, total, at_end: false })
    }

    /// Peeks at the first byte that is neither a blank nor part of a byte-order mark.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn first_sign(&mut self) -> io::Result<Option<u8>> {
        let mut taken = Vec::new();
        let mut sign = None;
        while sign.is_none() && taken.len() < MAX_BLANKS {
            let before = taken.len();
            if (&mut self.reader).take(64).read_to_end(&mut taken)? == 0 {
                break;
            }
            let is_mark = |byte: &u8| byte.is_ascii_whitespace() || b"\xef\xbb\xbf".contains(byte);
            sign = taken[before..].iter().copied().find(|byte| !is_mark(byte));
        }
        let rest = std::mem::replace(&mut self.reader, Box::new(io::empty()));
        self.reader = Box::new(Cursor::new(taken).chain(rest));
        Ok(sign)
    }

    /// Whether the end was reached.
    pub fn at_end(&self) -> bool {
        self.at_end
    }

    pub fn name(&self) -> &Path {
        &self.name
    }

    /// The number of bytes read from the file.
    pub fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// The counter behind [`Input::bytes_read`], for callers that pass the input on.
    pub fn counter(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.read)
    }

    /// The size of the file in bytes; unknown for pipes.
    pub fn total_bytes(&self) -> Option<u64> {
        self.total
    }
}

impl Read for Input {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buf)?;
        self.at_end |= count == 0 && !buf.is_empty();
        Ok(count)
    }
}

struct Counted<R> {
    source: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buf)?;
        self.read.fetch_add(jinx_core::checked_math::to_u64(count), Ordering::Relaxed);
        Ok(count)
    }
}
