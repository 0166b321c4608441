//! Formats rows that have only numbers, such as those of a view that adds a score or a length. Works column by column,
//! without an event for each value.

use crate::fields::Path;
use crate::key::needs_quotes;
use crate::read::columns::ColumnType;
use crate::write::columns::{BOOL, FLOAT, INT, IndexedType, MISSING, UINT};
use crate::write::line_block::{BlockColumn, Division, LineBlock, kind_fact};
use crate::write::options::EncodeOptions;
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use jinx_core::events::Sink;
use jinx_core::json::text::{push_json_float, push_json_str};
use std::sync::Arc;
use twox_hash::XxHash3_64;

/// Rows that a thread formats at once.
const BLOCK_ROWS: usize = 32 << 10;
/// The longest text of a number, including its comma.
const NUMBER_BYTES: u64 = 32;

/// A column of numbers, bools and nulls, in the form of an indexed column.
#[derive(Debug, Clone, Copy)]
pub struct NumberColumn<'c> {
    pub name: &'c str,
    /// Any type except [`ColumnType::Utf8`].
    pub dtype: ColumnType,
    /// Little-endian cells.
    pub data: &'c [u8],
    /// One bit per cell, lowest bit first; `None` if every cell has a value.
    pub validity: Option<&'c [u8]>,
}

impl NumberColumn<'_> {
    /// The tag and the bits of a cell.
    pub(super) fn cell(&self, row: u64) -> Result<(u8, u64)> {
        let past = || Error::invalid(format!("sample {row} is past the end of the column"));
        let at = usize::try_from(row).map_err(|_| past())?;
        if let Some(bits) = self.validity
            && bits.get(at / 8).ok_or_else(past)? >> (at % 8) & 1 == 0
        {
            return Ok((MISSING, 0));
        }
        macro_rules! number {
            ($kind:ty) => {
                self.data.as_chunks().0.get(at).map(|cell| <$kind>::from_le_bytes(*cell)).ok_or_else(past)?
            };
        }
        let int = |value: i64| (INT, value.cast_unsigned());
        Ok(match self.dtype {
            ColumnType::Bool => (BOOL, u64::from(number!(u8) != 0)),
            ColumnType::Int8 => int(number!(i8).into()),
            ColumnType::Int16 => int(number!(i16).into()),
            ColumnType::Int32 => int(number!(i32).into()),
            ColumnType::Int64 => int(number!(i64)),
            ColumnType::Uint8 => int(number!(u8).into()),
            ColumnType::Uint16 => int(number!(u16).into()),
            ColumnType::Uint32 => int(number!(u32).into()),
            ColumnType::Uint64 => {
                let value = number!(u64);
                (if i64::try_from(value).is_ok() { INT } else { UINT }, value)
            }
            ColumnType::Float64 => (FLOAT, number!(u64)),
            ColumnType::Utf8 => return Err(Error::invalid("strings are not numbers")),
        })
    }
}

/// Emits one row, like any other source.
///
/// # Errors
/// `Invalid` past the end of a column; errors of the sink.
pub(super) fn emit_row(columns: &[NumberColumn<'_>], row: u64, sink: &mut impl Sink) -> Result<()> {
    sink.begin_dict(columns.len())?;
    for column in columns {
        sink.key(column.name)?;
        let (tag, bits) = column.cell(row)?;
        match tag {
            BOOL => sink.bool(bits != 0)?,
            INT => sink.int(bits.cast_signed())?,
            UINT => sink.big_int(&bits.to_string())?,
            FLOAT => sink.float(f64::from_bits(bits))?,
            _ => sink.null()?,
        }
    }
    sink.end_dict()
}

/// The parts that are equal in all lines.
pub(super) struct NumberLines<'c> {
    columns: &'c [NumberColumn<'c>],
    /// The text before each value.
    before: Vec<Vec<u8>>,
    paths: Vec<Arc<Path>>,
}

impl<'c> NumberLines<'c> {
    /// `None` if the names or the options make the form of a row depend on more than its numbers.
    pub(super) fn of(columns: &'c [NumberColumn<'c>], options: &EncodeOptions) -> Option<Self> {
        let mut before = Vec::with_capacity(columns.len());
        let mut paths = Vec::with_capacity(columns.len());
        let mut bytes = 0;
        for (at, column) in columns.iter().enumerate() {
            if needs_quotes(column.name) || columns[..at].iter().any(|other| other.name == column.name) {
                return None;
            }
            let mut text = vec![if at == 0 { b'{' } else { b',' }];
            push_json_str(&mut text, column.name).ok()?;
            text.push(b':');
            bytes += to_u64(text.len()) + NUMBER_BYTES;
            before.push(text);
            paths.push(Arc::new(vec![Some(column.name.to_owned())]));
        }
        let is_plain = !columns.is_empty() && options.columns.is_empty() && options.sidecar;
        (is_plain && bytes <= options.max_row_bytes).then_some(Self { columns, before, paths })
    }

    /// Divides `rows` into blocks for `threads` threads.
    pub(super) fn division(rows: &[u64], threads: usize) -> Division<'_> {
        Division { rows, block: BLOCK_ROWS, threads }
    }

    /// Formats the lines of `rows`; `None` if a float is not finite.
    ///
    /// # Errors
    /// The errors of [`emit_row`].
    pub(super) fn block(&self, rows: &[u64]) -> Result<Option<LineBlock>> {
        let mut cells: Vec<Vec<(u8, u64)>> = Vec::with_capacity(self.columns.len());
        let mut kinds = Vec::new();
        for (column, path) in self.columns.iter().zip(&self.paths) {
            let column = rows.iter().map(|row| column.cell(*row)).collect::<Result<Vec<_>>>()?;
            let is_odd = |(tag, bits): &(u8, u64)| *tag == FLOAT && !f64::from_bits(*bits).is_finite();
            if column.iter().any(is_odd) {
                return Ok(None);
            }
            let count = |tags: [u8; 2]| to_u64(column.iter().filter(|(tag, _)| tags.contains(tag)).count());
            let all =
                [("null", [MISSING; 2]), ("bool", [BOOL; 2]), ("int", [INT, UINT]), ("float", [FLOAT; 2])];
            let counts = all.map(|(kind, tags)| (kind_fact(path, kind), count(tags)));
            kinds.extend(counts.into_iter().filter(|(_, count)| *count > 0));
            cells.push(column);
        }
        let mut lines = Vec::with_capacity(rows.len() * 32 * cells.len());
        let mut ends = Vec::with_capacity(rows.len());
        let mut hashes = Vec::with_capacity(rows.len() * 8);
        for row in 0..rows.len() {
            let start = lines.len();
            for (before, column) in self.before.iter().zip(&cells) {
                lines.extend_from_slice(before);
                let (tag, bits) = column[row];
                match tag {
                    BOOL => lines.extend_from_slice(if bits == 0 { b"false" } else { b"true" }),
                    INT => {
                        lines.extend_from_slice(itoa::Buffer::new().format(bits.cast_signed()).as_bytes());
                    }
                    UINT => lines.extend_from_slice(itoa::Buffer::new().format(bits).as_bytes()),
                    FLOAT => push_json_float(&mut lines, f64::from_bits(bits)),
                    _ => lines.extend_from_slice(b"null"),
                }
            }
            lines.extend_from_slice(b"}\n");
            ends.push(to_u64(lines.len()));
            hashes.extend_from_slice(&XxHash3_64::oneshot(&lines[start..]).to_le_bytes());
        }
        let columns = self.paths.iter().zip(cells);
        let columns = columns.map(|(path, cells)| BlockColumn {
            path: Arc::clone(path),
            kind: IndexedType::Value,
            cells,
        });
        Ok(Some(LineBlock { lines, ends, hashes, columns: columns.collect(), kinds }))
    }
}
