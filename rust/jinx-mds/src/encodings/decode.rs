//! Values as events, for conversion, tables and JSON text.

use crate::encodings::images::{Pixels, elements};
use crate::encodings::names::{Dtype, Encoding, Image};
use crate::encodings::ndarray;
use crate::read::shard::Row;
use bytes::Bytes;
use jinx_core::error::{Error, Result};
use jinx_core::json;
use jinx_core::limits::MAX_INT_DIGITS;
use jinx_core::row_events::{Blob, Dtype as Suffix, Number, Payload, Sink};

impl Row {
    /// Emits the columns that `is_projected` accepts as one dict.
    ///
    /// # Errors
    /// Errors of the sample, with their place, and those of the sink.
    pub fn emit(&self, is_projected: &dyn Fn(&str) -> bool, sink: &mut impl Sink) -> Result<()> {
        sink.begin_dict(self.columns().all.len())?;
        self.emit_members(is_projected, sink)?;
        sink.end_dict()
    }

    /// Like [`Row::emit`], without the dict around the columns, so that others can be added.
    ///
    /// # Errors
    /// The errors of [`Row::emit`].
    pub fn emit_members(&self, is_projected: &dyn Fn(&str) -> bool, sink: &mut impl Sink) -> Result<()> {
        for (i, column) in self.columns().all.iter().enumerate() {
            if is_projected(&column.name) {
                sink.key(&column.name)?;
                self.emit_column(i, sink)?;
            }
        }
        Ok(())
    }

    /// Emits the value of one column.
    ///
    /// # Errors
    /// The errors of [`Row::emit`].
    pub fn emit_column(&self, column: usize, sink: &mut impl Sink) -> Result<()> {
        let mut emit = || {
            let stored = self.columns().all.get(column).ok_or_else(|| Error::invalid("no such column"))?;
            let encoding = stored.encoding.as_ref().ok_or_else(|| unknown(&stored.encoding_name))?;
            if is_plain(encoding) && !sink.reads_bytes() {
                return sink.blob(Payload::Raw, Blob::borrowed(&[]));
            }
            // Copy before checking, because a mapped file may change.
            emit_value(encoding, self.slice(column)?.into_owned(), sink)
        };
        emit().map_err(|error| self.here(error, column))
    }
}

/// Whether a value consists only of its bytes.
fn is_plain(encoding: &Encoding) -> bool {
    matches!(encoding, Encoding::Bytes | Encoding::Image(Image::Jpeg | Image::Png))
}

/// The error for an unknown encoding.
pub fn unknown(name: &str) -> Error {
    let shown: String = name.chars().take(60).collect();
    Error::unsupported(format!("the encoding {shown:?} is not known"))
}

/// The error for a pickle.
pub fn pickled() -> Error {
    Error::unsupported(
        "a pickle, which may run any code when it is loaded; pass allow_unsafe_types=True if you trust the file",
    )
}

/// Emits one value.
///
/// # Errors
/// `Corrupt` for bytes that do not fit the encoding, `Unsupported` for pickles.
pub fn emit_value(encoding: &Encoding, data: Vec<u8>, sink: &mut impl Sink) -> Result<()> {
    match encoding {
        Encoding::Bytes | Encoding::Image(Image::Jpeg | Image::Png) => {
            sink.blob(Payload::Raw, Blob::shared(Bytes::from(data)))
        }
        Encoding::Str | Encoding::StrDecimal => sink.str(text(&data)?),
        Encoding::Int => sink.int(i64::from_le_bytes(exactly(&data)?)),
        Encoding::Scalar(dtype) => scalar(*dtype, &data, sink),
        Encoding::NdArray(dtype, shape) => {
            let head = ndarray::parse(*dtype, shape.as_deref(), &data)?;
            let file = ndarray::npy_file(&head, &data)?;
            sink.blob(Payload::Npy, Blob::shared(Bytes::from(file)))
        }
        Encoding::StrInt => integer(text(&data)?, sink),
        Encoding::StrFloat => sink.float(float(text(&data)?)?),
        Encoding::Json => json::emit_python(&data, 1, sink),
        Encoding::Image(Image::Pil) => pixels(&data, sink),
        Encoding::JpegArray => list(true, Image::Jpeg, &data, sink),
        Encoding::List(image) => list(false, *image, &data, sink),
        Encoding::Pickle => Err(pickled()),
    }
}

/// UTF-8 text.
///
/// # Errors
/// `Corrupt` for other bytes.
pub fn text(data: &[u8]) -> Result<&str> {
    std::str::from_utf8(data).map_err(|_| Error::corrupt("a string that is not UTF-8"))
}

/// A value with a fixed number of bytes.
///
/// # Errors
/// `Corrupt` for another number.
pub fn exactly<const N: usize>(data: &[u8]) -> Result<[u8; N]> {
    data.try_into().map_err(|_| Error::corrupt(format!("a number of {} bytes instead of {N}", data.len())))
}

fn scalar(dtype: Dtype, data: &[u8], sink: &mut impl Sink) -> Result<()> {
    match dtype {
        Dtype::Int8 => sink.scalar(Suffix::Int8, Number::Int(i8::from_le_bytes(exactly(data)?).into())),
        Dtype::Int16 => sink.scalar(Suffix::Int16, Number::Int(i16::from_le_bytes(exactly(data)?).into())),
        Dtype::Int32 => sink.scalar(Suffix::Int32, Number::Int(i32::from_le_bytes(exactly(data)?).into())),
        Dtype::Int64 => sink.scalar(Suffix::Int64, Number::Int(i64::from_le_bytes(exactly(data)?))),
        Dtype::Uint8 => sink.scalar(Suffix::Uint8, Number::Uint(u8::from_le_bytes(exactly(data)?).into())),
        Dtype::Uint16 => sink.scalar(Suffix::Uint16, Number::Uint(u16::from_le_bytes(exactly(data)?).into())),
        Dtype::Uint32 => sink.scalar(Suffix::Uint32, Number::Uint(u32::from_le_bytes(exactly(data)?).into())),
        Dtype::Uint64 => sink.scalar(Suffix::Uint64, Number::Uint(u64::from_le_bytes(exactly(data)?))),
        Dtype::Float32 => {
            sink.scalar(Suffix::Float32, Number::Float(f32::from_le_bytes(exactly(data)?).into()))
        }
        Dtype::Float16 | Dtype::Float64 => {
            if jinx_core::checked_math::to_u64(data.len()) != dtype.size() {
                return Err(Error::corrupt(format!("a {} of {} bytes", dtype.name(), data.len())));
            }
            let payload = [dtype.descr().as_bytes(), &[0], data].concat();
            sink.blob(Payload::Np, Blob::shared(Bytes::from(payload)))
        }
    }
}

/// Decimal digits, as accepted by Python's `int()`.
fn integer(text: &str, sink: &mut impl Sink) -> Result<()> {
    let trimmed = text.trim();
    if let Ok(value) = trimmed.parse::<i64>() {
        return sink.int(value);
    }
    let (sign, digits) = trimmed.strip_prefix('-').map_or(("", trimmed), |digits| ("-", digits));
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Error::corrupt("an invalid number"));
    }
    if digits.len() > MAX_INT_DIGITS {
        return Err(Error::limit(format!("an integer of more than {MAX_INT_DIGITS} digits")));
    }
    let digits = digits.trim_start_matches('0');
    let digits = if digits.is_empty() { "0" } else { digits };
    sink.big_int(&format!("{sign}{digits}"))
}

/// A float, as written by Python's `str()`.
fn float(text: &str) -> Result<f64> {
    text.trim().parse().map_err(|_| Error::corrupt("an invalid number"))
}

fn pixels(data: &[u8], sink: &mut impl Sink) -> Result<()> {
    let pixels = Pixels::parse(data)?;
    let head = pixels
        .array()
        .ok_or_else(|| Error::unsupported(format!("pixels of the mode {:?} as an array", pixels.mode)))?;
    sink.blob(Payload::Npy, Blob::shared(Bytes::from(ndarray::npy_file(&head, data)?)))
}

fn list(is_array: bool, image: Image, data: &[u8], sink: &mut impl Sink) -> Result<()> {
    let ranges = elements(is_array, data)?;
    sink.begin_list(ranges.len())?;
    for range in ranges {
        match image {
            Image::Pil => pixels(&data[range], sink)?,
            Image::Jpeg | Image::Png => sink.blob(Payload::Raw, Blob::borrowed(&data[range]))?,
        }
    }
    sink.end_list()
}
