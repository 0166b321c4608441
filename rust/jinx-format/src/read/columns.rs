//! Reads indexed columns: a small fact about each row, without reading rows.

use crate::expression::tree::NarrowFloat;
use crate::footer::{ArrayRef, ColumnInfo, check_x};
use crate::own_columns;
use crate::read::column_view::ColumnView;
use crate::read::shard::Shard;
use bytes::Bytes;
use jinx_core::checked_math::{to_u64, to_usize, u64_at};
use jinx_core::error::{Error, Result};

/// What an indexed column contains for each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnKind {
    /// The value itself.
    Value,
    /// Elements of a list, characters of a string.
    Length,
}

impl ColumnKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Length => "length",
        }
    }
}

/// The type of a column's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnType {
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Float16,
    Float32,
    Float64,
    /// 64-bit counts since 1970-01-01.
    Time(TimeUnit),
    Utf8,
}

/// The unit of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
}

impl ColumnType {
    const ALL: [Self; 17] = [
        Self::Bool,
        Self::Int8,
        Self::Int16,
        Self::Int32,
        Self::Int64,
        Self::Uint8,
        Self::Uint16,
        Self::Uint32,
        Self::Uint64,
        Self::Float16,
        Self::Float32,
        Self::Float64,
        Self::Time(TimeUnit::Second),
        Self::Time(TimeUnit::Millisecond),
        Self::Time(TimeUnit::Microsecond),
        Self::Time(TimeUnit::Nanosecond),
        Self::Utf8,
    ];

    /// The name in the footer, which is also numpy's where numpy has one.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Uint8 => "uint8",
            Self::Uint16 => "uint16",
            Self::Uint32 => "uint32",
            Self::Uint64 => "uint64",
            Self::Float16 => "float16",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
            Self::Time(TimeUnit::Second) => "datetime64[s]",
            Self::Time(TimeUnit::Millisecond) => "datetime64[ms]",
            Self::Time(TimeUnit::Microsecond) => "datetime64[us]",
            Self::Time(TimeUnit::Nanosecond) => "datetime64[ns]",
            Self::Utf8 => "utf8",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// Whether a column of this type can contain all values, or lengths, of a kind unchanged.
    pub(crate) fn is_of(self, kind: &str) -> bool {
        match kind {
            "bool" => self == Self::Bool,
            "float" => self == Self::Float64,
            _ => self.is_integer(),
        }
    }

    /// Whether an index may have it. The others are types of a view's own columns.
    pub(crate) fn is_indexed(self) -> bool {
        !matches!(self, Self::Float16 | Self::Float32 | Self::Time(_))
    }

    pub fn is_integer(self) -> bool {
        !matches!(self, Self::Bool | Self::Utf8 | Self::Time(_)) && !self.is_float()
    }

    pub fn is_float(self) -> bool {
        matches!(self, Self::Float16 | Self::Float32 | Self::Float64)
    }

    /// The type as expressions compare it; `None` for a type whose numbers expressions represent exactly.
    pub fn narrow_float(self) -> Option<NarrowFloat> {
        match self {
            Self::Float16 => Some(NarrowFloat::Float16),
            Self::Float32 => Some(NarrowFloat::Float32),
            _ => None,
        }
    }

    pub fn is_signed(self) -> bool {
        matches!(self, Self::Int8 | Self::Int16 | Self::Int32 | Self::Int64)
    }

    /// The size of one cell in bytes; `None` for strings.
    pub fn width(self) -> Option<u64> {
        match self {
            Self::Bool | Self::Int8 | Self::Uint8 => Some(1),
            Self::Int16 | Self::Uint16 | Self::Float16 => Some(2),
            Self::Int32 | Self::Uint32 | Self::Float32 => Some(4),
            Self::Int64 | Self::Uint64 | Self::Float64 | Self::Time(_) => Some(8),
            Self::Utf8 => None,
        }
    }

    /// The size of one number in bytes.
    pub(crate) fn number_bytes(self) -> usize {
        self.width().and_then(|width| usize::try_from(width).ok()).unwrap_or(size_of::<u64>())
    }
}

/// A checked column: every cell can be read without further checks.
#[derive(Debug, Clone)]
pub struct IndexedColumn {
    pub dtype: ColumnType,
    pub rows: u64,
    /// Numbers of each vector; `None` for single values.
    pub width: Option<u64>,
    /// One bit a row, lowest first, 1 = present; `None` when every row has a value.
    pub validity: Option<Bytes>,
    /// Strings only: little-endian u64 into `data`, one for each string and the end of the last.
    pub offsets: Option<Bytes>,
    /// Little-endian cells (a bool is one byte, 0 or 1), or the UTF-8 of all strings.
    pub data: Bytes,
    /// For strings that are not in row order: which one each row has, as little-endian integers of one width.
    pub codes: Option<Bytes>,
}

impl IndexedColumn {
    pub fn view(&self) -> ColumnView<'_> {
        ColumnView {
            dtype: self.dtype,
            rows: self.rows,
            width: self.width,
            validity: self.validity.as_deref(),
            offsets: self.offsets.as_deref(),
            data: &self.data,
            codes: self.codes.as_deref(),
        }
    }

    /// Whether row `i` has a value.
    pub fn is_valid(&self, i: u64) -> bool {
        self.view().is_valid(i).unwrap_or_default()
    }

    /// Whether its cells are plain values: neither vectors nor times, which are shown as strings.
    pub(crate) fn is_scalar(&self) -> bool {
        self.width.is_none() && !matches!(self.dtype, ColumnType::Time(_))
    }

    /// The bytes of cell `i`; empty past the end.
    pub fn cell(&self, i: u64) -> &[u8] {
        self.view().bytes(i).unwrap_or_default()
    }
}

/// Opens an array with a number of bytes, and this many bits per row; the text says what it contains.
type OpenArray<'f> = dyn FnMut(&ArrayRef, u64, u64, &str) -> Result<Bytes> + 'f;

impl Shard {
    /// The footer's description of the column `kind` at `path`, if there is one.
    pub fn column_info(&self, path: &[Option<String>], kind: ColumnKind) -> Option<&ColumnInfo> {
        let own = self.own_columns().iter();
        own.chain(&self.footer().columns).find(|info| info.path == path && info.kind == kind.name())
    }

    /// Reads the column `kind` at `path`; `None` when the file has no such column.
    ///
    /// # Errors
    /// `Corrupt` when lengths, checksums, offsets or strings are invalid, `Truncated` outside the sidecar.
    pub fn column(&self, path: &[Option<String>], kind: ColumnKind) -> Result<Option<IndexedColumn>> {
        let Some(info) = self.column_info(path, kind) else { return Ok(None) };
        self.read_column(info).map(Some).map_err(|error| self.in_column(error, info))
    }

    /// Adds the column and the file to an error.
    pub(crate) fn in_column(&self, error: Error, info: &ColumnInfo) -> Error {
        let name: Vec<&str> = info.path.iter().map(|part| part.as_deref().unwrap_or("[]")).collect();
        let what = format!("the column '{}': {}", name.join("."), error.what());
        Error::new(error.cause(), what).in_file(self.path())
    }

    /// Reads the column that `info` describes.
    ///
    /// # Errors
    /// The errors of [`Shard::column`].
    pub fn read_column(&self, info: &ColumnInfo) -> Result<IndexedColumn> {
        self.assemble_column(info, &mut |place, expected, _, what| {
            self.array_bytes(place, Some(expected), what)
        })
    }

    /// Like [`Shard::read_column`]; validity and numbers come from `open`.
    pub(super) fn assemble_column(
        &self,
        info: &ColumnInfo,
        open: &mut OpenArray<'_>,
    ) -> Result<IndexedColumn> {
        let dtype = ColumnType::from_name(&info.dtype)
            .ok_or_else(|| Error::corrupt(format!("unknown type '{}'", info.dtype)))?;
        let rows = info.rows;
        let is_own = self.own_columns().iter().any(|own| std::ptr::eq(own, info));
        if is_own {
            own_columns::check(info, self.footer().num_samples)?;
        } else if rows != self.len() {
            return Err(Error::corrupt(format!("{rows} rows, the file has {}", self.len())));
        } else if !dtype.is_indexed() || info.width.is_some() || info.nulls.is_some() || info.codes.is_some()
        {
            return Err(Error::corrupt(format!("an index of the type '{}', or of vectors", info.dtype)));
        }
        let validity = match &info.validity {
            Some(place) => {
                let bits = open(place, rows.div_ceil(8), 1, "validity")?;
                check_spare_bits(&bits, rows)?;
                if is_own {
                    own_columns::check_nulls(info, &bits)?;
                }
                Some(bits)
            }
            None => None,
        };
        let too_long = || Error::corrupt("the column is too long");
        let mut codes = None;
        let (offsets, data) = match (dtype.width(), &info.offsets) {
            (Some(width), None) => {
                let cell = width.checked_mul(info.width.unwrap_or(1)).ok_or_else(too_long)?;
                let expected = rows.checked_mul(cell).ok_or_else(too_long)?;
                if dtype != ColumnType::Bool {
                    return Ok(IndexedColumn {
                        dtype,
                        rows,
                        width: info.width,
                        validity,
                        offsets: None,
                        codes: None,
                        data: open(&info.data, expected, 8 * cell, "data")?,
                    });
                }
                let data = self.array_bytes(&info.data, Some(expected), "data")?;
                if data.iter().any(|byte| *byte > 1) {
                    return Err(Error::corrupt("a bool that is neither 0 nor 1"));
                }
                (None, data)
            }
            (None, Some(place)) => {
                let strings = info.entries.unwrap_or(rows);
                let expected =
                    strings.checked_add(1).and_then(|count| count.checked_mul(8)).ok_or_else(too_long)?;
                // Copy before checking: the bytes that were checked must be those that become strings.
                let offsets = Vec::from(self.array_bytes(place, Some(expected), "offsets")?);
                let data = Vec::from(self.array_bytes(&info.data, None, "data")?);
                check_texts(&offsets, &data)?;
                if let Some(place) = &info.codes {
                    let width = own_columns::code_type(strings).width().ok_or_else(too_long)?;
                    let expected = rows.checked_mul(width).ok_or_else(too_long)?;
                    let checked = Vec::from(self.array_bytes(place, Some(expected), "codes")?);
                    own_columns::check_codes(&checked, strings)?;
                    codes = Some(Bytes::from(checked));
                }
                (Some(Bytes::from(offsets)), Bytes::from(data))
            }
            (Some(_), Some(_)) => return Err(Error::corrupt("offsets in a column without strings")),
            (None, None) => return Err(Error::corrupt("strings without offsets")),
        };
        Ok(IndexedColumn { dtype, rows, width: None, validity, offsets, data, codes })
    }

    /// The checked bytes of an array, wherever it is.
    ///
    /// # Errors
    /// `Corrupt` for another length than `expected` or a wrong checksum, `Truncated` outside the sidecar.
    pub fn array_bytes(&self, place: &ArrayRef, expected: Option<u64>, what: &str) -> Result<Bytes> {
        let (ArrayRef::Inline { length, .. } | ArrayRef::Sidecar { length, .. }) = place;
        if let Some(expected) = expected.filter(|expected| expected != length) {
            return Err(Error::corrupt(format!("{what} has {length} bytes, {expected} are needed")));
        }
        match place {
            ArrayRef::Inline { data, length, x } => {
                ArrayRef::decode_inline(data, *length, x, self.main().len()).map(Bytes::from)
            }
            ArrayRef::Sidecar { offset, length, x, .. } => {
                let x = x.as_deref().ok_or_else(|| Error::corrupt(format!("{what} has no checksum")))?;
                let check = |bytes: &[u8]| check_x(bytes, x);
                let checked = self.side()?.read_checked(*offset, *length, check);
                checked.map_err(|error| self.with_damaged_chunks(error, place))
            }
        }
    }
}

fn check_spare_bits(bits: &[u8], rows: u64) -> Result<()> {
    match bits.last() {
        Some(last) if !rows.is_multiple_of(8) && last >> (rows % 8) != 0 => {
            Err(Error::corrupt("validity has bits after the last row"))
        }
        _ => Ok(()),
    }
}

fn check_texts(offsets: &[u8], data: &[u8]) -> Result<()> {
    let text = std::str::from_utf8(data).map_err(|_| Error::corrupt("a string that is not UTF-8"))?;
    let mut last = 0u64;
    for (i, chunk) in offsets.chunks_exact(8).enumerate() {
        let offset = u64_at(chunk, 0).unwrap_or_default();
        if offset < last || (i == 0 && offset != 0) {
            return Err(Error::corrupt(format!("offset {offset} of string {i} does not ascend from 0")));
        }
        let inside = offset <= to_u64(text.len()) && text.is_char_boundary(to_usize(offset, "offset")?);
        if !inside {
            return Err(Error::corrupt(format!(
                "offset {offset} of string {i} is not between two characters"
            )));
        }
        last = offset;
    }
    if last != to_u64(text.len()) {
        return Err(Error::corrupt(format!("the strings end at {last} of {} bytes", text.len())));
    }
    Ok(())
}
