//! The core's only error type: a cause, a place, and one clear line of text.

use std::any::Any;
use std::fmt::{self, Write};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why an operation failed. Python maps each cause to one exception class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The operating system refused or failed (missing file, no space, ...).
    Io(io::ErrorKind),
    /// A file ends too early.
    Truncated,
    /// Bytes that no writer of the format produces, or a checksum that does not match.
    Corrupt,
    /// A limit from [`crate::limits`] was exceeded.
    Limit,
    /// A legal file that needs something this build does not know.
    Unsupported,
    /// Two files that do not belong together, or a value that does not fit a schema.
    Mismatch,
    /// An argument or value from the caller that cannot be used.
    Invalid,
    /// The caller asked to stop.
    Interrupted,
    /// A panic: a bug of this library.
    Internal,
}

impl Cause {
    /// Whether the error is about data, as opposed to the machine or the caller.
    pub fn is_about_data(self) -> bool {
        matches!(self, Self::Corrupt | Self::Truncated | Self::Limit | Self::Unsupported | Self::Mismatch)
    }
}

/// An error with its place: file, sample, column and byte are filled in by the layers that know them.
#[derive(Debug, Clone)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    cause: Cause,
    what: String,
    path: Option<PathBuf>,
    line: Option<u64>,
    sample: Option<u64>,
    column: Option<String>,
    byte: Option<u64>,
    errno: Option<i32>,
    foreign: Option<ForeignError>,
}

/// An error from the caller's own code, passed through the core unchanged; it may cross threads.
#[derive(Clone)]
struct ForeignError(Arc<dyn Any + Send + Sync>);

impl fmt::Debug for ForeignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ForeignError")
    }
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub fn new(cause: Cause, what: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            cause,
            what: what.into(),
            path: None,
            line: None,
            sample: None,
            column: None,
            byte: None,
            errno: None,
            foreign: None,
        }))
    }

    pub fn truncated(what: impl Into<String>) -> Self {
        Self::new(Cause::Truncated, what)
    }

    pub fn corrupt(what: impl Into<String>) -> Self {
        Self::new(Cause::Corrupt, what)
    }

    pub fn limit(what: impl Into<String>) -> Self {
        Self::new(Cause::Limit, what)
    }

    pub fn unsupported(what: impl Into<String>) -> Self {
        Self::new(Cause::Unsupported, what)
    }

    pub fn mismatch(what: impl Into<String>) -> Self {
        Self::new(Cause::Mismatch, what)
    }

    pub fn invalid(what: impl Into<String>) -> Self {
        Self::new(Cause::Invalid, what)
    }

    /// The caller's code failed with an error that [`Error::foreign`] returns.
    pub fn of_caller(error: impl Any + Send + Sync) -> Self {
        let mut interrupted = Self::interrupted();
        interrupted.0.foreign = Some(ForeignError(Arc::new(error)));
        interrupted
    }

    /// The error that was passed to [`Error::of_caller`].
    pub fn foreign<E: Any>(&self) -> Option<&E> {
        self.0.foreign.as_ref()?.0.downcast_ref()
    }

    pub fn interrupted() -> Self {
        Self::new(Cause::Interrupted, "interrupted")
    }

    /// An I/O error on `path`.
    pub fn io(path: impl AsRef<Path>, source: &io::Error) -> Self {
        Self::from(source).in_file(path)
    }

    /// Adds the file, unless a deeper layer already has.
    #[must_use]
    pub fn in_file(mut self, path: impl AsRef<Path>) -> Self {
        self.0.path.get_or_insert_with(|| path.as_ref().to_owned());
        self
    }

    #[must_use]
    pub fn in_sample(mut self, sample: u64) -> Self {
        self.0.sample.get_or_insert(sample);
        self
    }

    /// Removes the sample number, for a caller with different numbering.
    #[must_use]
    pub fn without_sample(mut self) -> Self {
        self.0.sample = None;
        self
    }

    /// Adds the line of a text file, counted from 1 as in editors.
    #[must_use]
    pub fn in_line(mut self, line: u64) -> Self {
        self.0.line.get_or_insert(line);
        self
    }

    /// Adds the column, or a part of its path; called from the inside out, so that outer names come first (`a.b`).
    #[must_use]
    pub fn in_column(mut self, name: &str) -> Self {
        self.0.column = Some(match self.0.column.take() {
            Some(inner) if inner.starts_with('[') => format!("{name}{inner}"),
            Some(inner) => format!("{name}.{inner}"),
            None => name.to_owned(),
        });
        self
    }

    #[must_use]
    pub fn at_byte(mut self, byte: u64) -> Self {
        self.0.byte.get_or_insert(byte);
        self
    }

    pub fn cause(&self) -> Cause {
        self.0.cause
    }

    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    pub fn sample(&self) -> Option<u64> {
        self.0.sample
    }

    pub fn byte(&self) -> Option<u64> {
        self.0.byte
    }

    pub fn line(&self) -> Option<u64> {
        self.0.line
    }

    /// The column, or the dotted path inside it.
    pub fn column(&self) -> Option<&str> {
        self.0.column.as_deref()
    }

    /// The operating system's error number, for I/O errors that have one.
    pub fn errno(&self) -> Option<i32> {
        self.0.errno
    }

    /// The message without the place.
    pub fn what(&self) -> &str {
        &self.0.what
    }
}

impl From<&io::Error> for Error {
    /// Converts an error that passed through a reader; an error of this library keeps its cause.
    fn from(source: &io::Error) -> Self {
        if let Some(ours) = source.get_ref().and_then(|inner| inner.downcast_ref::<Self>()) {
            return ours.clone();
        }
        let mut error = Self::new(Cause::Io(source.kind()), source.to_string());
        error.0.errno = source.raw_os_error();
        error
    }
}

impl From<io::Error> for Error {
    fn from(source: io::Error) -> Self {
        Self::from(&source)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        if let Some(path) = &inner.path {
            for letter in path.display().to_string().chars() {
                // A message is one line, even if a file name contains line breaks.
                match letter {
                    letter if letter.is_control() => write!(f, "{}", letter.escape_default())?,
                    letter => f.write_char(letter)?,
                }
            }
            f.write_str(": ")?;
        }
        let mut places = Vec::new();
        if let Some(line) = inner.line {
            places.push(format!("line {line}"));
        }
        if let Some(sample) = inner.sample {
            places.push(format!("sample {sample}"));
        }
        if let Some(column) = &inner.column {
            places.push(format!("column '{column}'"));
        }
        if let Some(byte) = inner.byte {
            places.push(format!("byte {byte}"));
        }
        if !places.is_empty() {
            write!(f, "{}: ", places.join(", "))?;
        }
        f.write_str(&inner.what)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_names_file_sample_column_and_byte() {
        let error = Error::corrupt("bad text")
            .at_byte(7)
            .in_column("[3]")
            .in_column("images")
            .in_sample(42)
            .in_file("a.jinx");
        assert_eq!(error.to_string(), "a.jinx: sample 42, column 'images[3]', byte 7: bad text");
    }

    #[test]
    fn a_message_is_one_line_whatever_the_file_is_called() {
        assert_eq!(Error::corrupt("x").in_file("a\nb\u{7}ä.jinx").to_string(), "a\\nb\\u{7}ä.jinx: x");
    }

    #[test]
    fn an_error_of_ours_keeps_its_cause_on_its_way_through_a_reader() {
        let travelled = io::Error::other(Error::truncated("ends early").in_sample(3));
        let error = Error::io("a.gz", &travelled);
        assert_eq!(
            (error.cause(), error.to_string().as_str()),
            (Cause::Truncated, "a.gz: sample 3: ends early")
        );
        assert_eq!(Error::from(travelled).cause(), Cause::Truncated);
    }

    #[test]
    fn deeper_place_wins() {
        let error = Error::truncated("x").in_file("inner").in_file("outer");
        assert_eq!(error.path(), Some(Path::new("inner")));
    }
}
