//! The cells of a column, wherever its bytes are; only this module knows how cells are stored.

use crate::read::columns::ColumnType;
use half::f16;
use jinx_core::checked_math::u64_at;
use jinx_core::error::{Error, Result};

/// A number in a cell. It depends on the type of the column alone which of these it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CellNumber {
    Bool(bool),
    Int(i64),
    /// For [`ColumnType::Uint64`].
    Uint(u64),
    /// Narrower floats become wider ones, which is exact.
    Float(f64),
}

/// Runs `$each!` for the Rust type of a column's numbers, with the function that makes a [`CellNumber`] of one.
macro_rules! by_type {
    ($dtype:expr, $each:ident, $other:expr) => {
        match $dtype {
            ColumnType::Bool => $each!(u8, |value: u8| CellNumber::Bool(value != 0)),
            ColumnType::Int8 => $each!(i8, |value: i8| CellNumber::Int(value.into())),
            ColumnType::Int16 => $each!(i16, |value: i16| CellNumber::Int(value.into())),
            ColumnType::Int32 => $each!(i32, |value: i32| CellNumber::Int(value.into())),
            ColumnType::Int64 => $each!(i64, CellNumber::Int),
            ColumnType::Uint8 => $each!(u8, |value: u8| CellNumber::Int(value.into())),
            ColumnType::Uint16 => $each!(u16, |value: u16| CellNumber::Int(value.into())),
            ColumnType::Uint32 => $each!(u32, |value: u32| CellNumber::Int(value.into())),
            ColumnType::Uint64 => $each!(u64, CellNumber::Uint),
            ColumnType::Float16 => $each!(f16, |value: f16| CellNumber::Float(value.into())),
            ColumnType::Float32 => $each!(f32, |value: f32| CellNumber::Float(value.into())),
            ColumnType::Float64 => $each!(f64, CellNumber::Float),
            ColumnType::Time(_) | ColumnType::Utf8 => $other,
        }
    };
}

impl ColumnType {
    /// The number in a cell of this type; `None` for strings and times, and for bytes of the wrong length.
    pub fn number(self, cell: &[u8]) -> Option<CellNumber> {
        macro_rules! one {
            ($kind:ty, $number:expr) => {
                cell.try_into().ok().map(<$kind>::from_le_bytes).map($number)
            };
        }
        by_type!(self, one, None)
    }
}

/// A column in memory.
#[derive(Debug, Clone, Copy)]
pub struct ColumnView<'c> {
    pub dtype: ColumnType,
    pub rows: u64,
    /// Numbers of each vector; `None` for single values.
    pub width: Option<u64>,
    /// One bit per row, lowest first, 1 = present; `None` if every row has a value.
    pub validity: Option<&'c [u8]>,
    /// Only for strings: little-endian u64 offsets into `data`, one per string, plus the end of the last.
    pub offsets: Option<&'c [u8]>,
    /// Little-endian cells (a bool takes one byte), or the UTF-8 of all strings.
    pub data: &'c [u8],
    /// For strings that are not in row order: the string of each row, as little-endian integers of one width.
    pub codes: Option<&'c [u8]>,
}

impl<'c> ColumnView<'c> {
    /// Whether cell `i` has a value; `None` past the end.
    pub fn is_valid(&self, i: u64) -> Option<bool> {
        if i >= self.rows {
            return None;
        }
        let Some(bits) = self.validity else { return Some(true) };
        Some(bits.get(usize::try_from(i / 8).ok()?)? >> (i % 8) & 1 == 1)
    }

    /// The bytes of cell `i`, whether or not it has a value; `None` past the end.
    pub fn bytes(&self, i: u64) -> Option<&'c [u8]> {
        let at = usize::try_from(i).ok()?;
        if self.offsets.is_some() {
            return self.string(if self.codes.is_some() { self.code(i)? } else { at });
        }
        let bytes = usize::try_from(self.dtype.width()?.checked_mul(self.width.unwrap_or(1))?).ok()?;
        let start = at.checked_mul(bytes)?;
        self.data.get(start..start.checked_add(bytes)?)
    }

    /// String `at` of all strings.
    pub fn string(&self, at: usize) -> Option<&'c [u8]> {
        let offsets = self.offsets?;
        let bound = |at: usize| usize::try_from(u64_at(offsets, at.checked_mul(8)?)?).ok();
        self.data.get(bound(at)?..bound(at.checked_add(1)?)?)
    }

    /// The number of the string in row `i`; `None` without codes, and past the end.
    pub fn code(&self, i: u64) -> Option<usize> {
        let (codes, at) = (self.codes?, usize::try_from(i).ok()?);
        let width = codes.len().checked_div(usize::try_from(self.rows).ok()?)?;
        let start = at.checked_mul(width)?;
        let mut code = [0; 4];
        code.get_mut(..width)?.copy_from_slice(codes.get(start..start.checked_add(width)?)?);
        usize::try_from(u32::from_le_bytes(code)).ok()
    }

    /// The text of cell `i`, whether or not it has a value.
    ///
    /// # Errors
    /// `Corrupt` past the end, and for bytes that are not UTF-8.
    pub fn text(&self, i: u64) -> Result<&'c str> {
        let text = std::str::from_utf8(self.bytes(i).ok_or_else(|| past(i))?);
        text.map_err(|_| Error::corrupt("a string that is not UTF-8"))
    }

    /// The number in cell `i`; `None` if it has no value.
    ///
    /// # Errors
    /// `Corrupt` past the end; `Invalid` for strings, times and vectors.
    pub fn number(&self, i: u64) -> Result<Option<CellNumber>> {
        if !self.is_valid(i).ok_or_else(|| past(i))? {
            return Ok(None);
        }
        let cell = self.bytes(i).ok_or_else(|| past(i))?;
        self.dtype.number(cell).map(Some).ok_or_else(not_numbers)
    }

    /// Passes the numbers at `rows` to `see`, with `None` for a cell without a value.
    ///
    /// # Errors
    /// The errors of [`Self::number`].
    pub fn each_number(
        &self,
        rows: impl Iterator<Item = u64>,
        mut see: impl FnMut(Option<CellNumber>),
    ) -> Result<()> {
        macro_rules! each {
            ($kind:ty, $number:expr) => {{
                let (cells, _) = self.data.as_chunks();
                let number = $number;
                for row in rows {
                    let at = usize::try_from(row).unwrap_or(usize::MAX);
                    let cell = cells.get(at).ok_or_else(|| past(row))?;
                    let is_valid = match self.validity {
                        None => true,
                        Some(bits) => bits.get(at / 8).ok_or_else(|| past(row))? >> (at % 8) & 1 == 1,
                    };
                    see(is_valid.then(|| number(<$kind>::from_le_bytes(*cell))));
                }
            }};
        }
        if self.width.is_some() {
            return Err(not_numbers());
        }
        by_type!(self.dtype, each, return Err(not_numbers()));
        Ok(())
    }
}

fn not_numbers() -> Error {
    Error::invalid("strings, times and vectors are not numbers")
}

fn past(row: u64) -> Error {
    Error::corrupt(format!("sample {row} is past the end of its column"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn view(name: &str, data: &'static [u8]) -> ColumnView<'static> {
        ColumnView {
            dtype: ColumnType::from_name(name).unwrap(),
            rows: 3,
            width: None,
            validity: Some(&[0b0000_0101]),
            offsets: None,
            data,
            codes: None,
        }
    }

    #[test]
    fn cells_of_each_type_are_numbers() {
        let cases: [(&str, &'static [u8], CellNumber); 12] = [
            ("bool", &[0, 0, 1], CellNumber::Bool(true)),
            ("int8", &[0, 0, 0xfe], CellNumber::Int(-2)),
            ("int16", &[0, 0, 0, 0, 0xfe, 0xff], CellNumber::Int(-2)),
            ("int32", &[0, 0, 0, 0, 0, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff], CellNumber::Int(-2)),
            ("uint8", &[0, 0, 0xfe], CellNumber::Int(0xfe)),
            ("uint16", &[0, 0, 0, 0, 0xfe, 0xff], CellNumber::Int(0xfffe)),
            ("uint32", &[0, 0, 0, 0, 0, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff], CellNumber::Int(0xffff_fffe)),
            ("float16", &[0, 0, 0, 0, 0, 0x3e], CellNumber::Float(1.5)),
            ("float32", &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0x3f], CellNumber::Float(1.5)),
            ("int64", &[0xff; 24], CellNumber::Int(-1)),
            ("uint64", &[0xff; 24], CellNumber::Uint(u64::MAX)),
            ("float64", &[0; 24], CellNumber::Float(0.0)),
        ];
        for (name, data, number) in cases {
            let column = view(name, data);
            assert_eq!(column.number(2).unwrap(), Some(number), "{name}");
            assert_eq!(column.number(1).unwrap(), None);
            assert!(column.number(3).is_err() && column.number(u64::MAX).is_err());
            let mut seen = Vec::new();
            column.each_number([2, 1, 2].into_iter(), |number| seen.push(number)).unwrap();
            assert_eq!(seen, [Some(number), None, Some(number)], "{name}");
            assert!(column.each_number([3].into_iter(), |_| ()).is_err());
            assert!(ColumnView { width: Some(1), ..column }.each_number([0].into_iter(), |_| ()).is_err());
        }
        for name in ["utf8", "datetime64[s]"] {
            assert!(view(name, &[0; 24]).number(0).is_err());
            assert!(view(name, &[0; 24]).each_number([0].into_iter(), |_| ()).is_err());
        }
    }

    #[test]
    fn strings_lie_between_offsets_and_codes_choose_them() {
        let offsets: Vec<u8> = [0u64, 1, 3].iter().flat_map(|at| at.to_le_bytes()).collect();
        let plain = ColumnView { offsets: Some(&offsets), ..view("utf8", "aé".as_bytes()) };
        assert_eq!((plain.text(0).unwrap(), plain.text(1).unwrap()), ("a", "é"));
        assert!(plain.text(2).is_err() && plain.code(0).is_none());
        let coded = ColumnView { codes: Some(&[1, 0, 1]), ..plain };
        assert_eq!((coded.text(0).unwrap(), coded.text(1).unwrap(), coded.text(2).unwrap()), ("é", "a", "é"));
        assert!(coded.text(3).is_err());
        assert!(ColumnView { data: &[b'a', 0xff, 0xa9], ..plain }.text(1).is_err());
    }
}
