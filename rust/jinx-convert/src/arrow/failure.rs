//! Converts errors and panics of the Arrow crates, by cause.

use arrow_schema::ArrowError;
use jinx_core::error::{Error, Result};
use jinx_core::panics::message_of;
use parquet::errors::ParquetError;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// An error from decoding bytes of a file.
pub(crate) fn from_parquet(error: ParquetError) -> Error {
    match error {
        ParquetError::NYI(what) => {
            Error::unsupported(format!("this Parquet feature is not supported: {what}"))
        }
        ParquetError::EOF(what) => Error::truncated(format!("the Parquet data ends early: {what}")),
        ParquetError::NeedMoreData(_) | ParquetError::NeedMoreDataRange(_) => {
            Error::truncated("the Parquet data ends early")
        }
        ParquetError::External(source) => from_source(source, "Parquet"),
        ParquetError::General(what) | ParquetError::ArrowError(what) => {
            Error::corrupt(format!("the Parquet data is damaged: {what}"))
        }
        other => Error::corrupt(format!("the Parquet data is damaged: {other}")),
    }
}

/// An error from decoding or converting Arrow data.
pub(crate) fn from_arrow(error: ArrowError) -> Error {
    match error {
        ArrowError::NotYetImplemented(what) => Error::unsupported(format!("not supported: {what}")),
        ArrowError::IoError(_, source) => Error::from(source),
        ArrowError::ExternalError(source) => from_source(source, "Arrow"),
        ArrowError::MemoryError(what) => Error::limit(what),
        ArrowError::ParquetError(what) => Error::corrupt(format!("the Parquet data is damaged: {what}")),
        ArrowError::ParseError(what) | ArrowError::CDataInterface(what) if is_unknown_type(&what) => {
            unknown_type(&what)
        }
        ArrowError::CDataInterface(what) => Error::invalid(format!("the Arrow stream failed: {what}")),
        other => Error::corrupt(format!("the Arrow data is damaged: {other}")),
    }
}

/// Whether a message of the Arrow crates is about a type that they do not know, such as Polars' 128-bit integers.
fn is_unknown_type(what: &str) -> bool {
    what.contains("bit width of 128 ") || what.contains("still not supported")
}

fn unknown_type(what: &str) -> Error {
    Error::unsupported(format!("a column has a type that is not known here; cast the column first: {what}"))
}

/// Unpacks an error of this library, or of the system, that passed through another crate.
fn from_source(source: Box<dyn std::error::Error + Send + Sync>, format: &str) -> Error {
    match source.downcast::<Error>() {
        Ok(own) => *own,
        Err(source) => match source.downcast::<std::io::Error>() {
            Ok(io) if io.kind() == std::io::ErrorKind::UnexpectedEof => {
                Error::truncated(format!("the {format} data ends early"))
            }
            Ok(io) => Error::from(*io),
            Err(other) => match other.to_string() {
                what if is_unknown_type(&what) => unknown_type(&what),
                what => Error::corrupt(format!("the {format} data is damaged: {what}")),
            },
        },
    }
}

/// Runs a decoder from another crate. Bytes that make it panic are corrupt; they do not end the process.
pub(crate) fn guarded<T>(decode: impl FnOnce() -> Result<T>, what: &str) -> Result<T> {
    let damaged = |panic: Box<dyn Any + Send>| {
        Err(Error::corrupt(format!("{what} is damaged: {}", message_of(&*panic))))
    };
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(damaged)
}
