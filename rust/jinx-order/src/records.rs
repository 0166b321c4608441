//! Lines that are moved to another part of the output, each with its place there and its cells.
//!
//! ```text
//! piece     checksum of what follows | bytes of the records | record | record | ...
//! record    place | checksum of the line | cells | bytes of the line | line
//! ```
//! Numbers are little-endian; the length of a line takes 7 bits of each byte, and the highest bit says whether another
//! byte follows. A line has [`LINE_END`] in place of its newline.

use jinx_core::checked_math::{to_u64, to_usize, u64_at};
use jinx_core::error::{Error, Result};
use jinx_format::write::common_row_form::LineArrays;
use twox_hash::XxHash3_64;

/// The size of a piece's checksum and of its number of bytes.
const HEAD_BYTES: usize = 16;
const PLACE_BYTES: usize = 4;
/// The maximum number of bytes of a length.
const LENGTH_BYTES: usize = 5;
/// A line end before each piece, because the pieces are stored in the file that becomes a dataset. `jinx repair` must
/// not take their lines for those of the dataset if the writer is killed.
const LINE_END: u8 = 0;

/// A cell of one of [`LineArrays::arrays`].
#[derive(Debug, Clone, Copy)]
enum Cell {
    Bit,
    Bytes1,
    Bytes2,
    Bytes4,
    Bytes8,
}

impl Cell {
    fn bytes(self) -> usize {
        match self {
            Self::Bit | Self::Bytes1 => 1,
            Self::Bytes2 => 2,
            Self::Bytes4 => 4,
            Self::Bytes8 => 8,
        }
    }
}

/// The common settings of all records.
#[derive(Debug)]
pub struct RecordForm {
    cells: Vec<Cell>,
    /// The size in bytes of the place and the cells.
    head: usize,
}

impl RecordForm {
    /// `array_bits` are the bits of one row in each array.
    pub fn new(array_bits: &[u64]) -> Self {
        let cell = |bits: &u64| match bits {
            1 => Cell::Bit,
            8 => Cell::Bytes1,
            16 => Cell::Bytes2,
            32 => Cell::Bytes4,
            _ => Cell::Bytes8,
        };
        let cells: Vec<Cell> = array_bits.iter().map(cell).collect();
        let head = PLACE_BYTES + cells.iter().map(|cell| cell.bytes()).sum::<usize>();
        Self { cells, head }
    }

    /// The maximum number of bytes of this number of records in this number of pieces.
    pub fn most_bytes(&self, records: u64, line_bytes: u64, pieces: u64) -> u64 {
        // A length takes one byte, plus one more from 128 bytes, one more from 128² bytes, and so on.
        let lengths = records.saturating_add(line_bytes / 64);
        let heads = records.saturating_mul(to_u64(self.head)).saturating_add(lengths);
        heads.saturating_add(line_bytes).saturating_add(pieces.saturating_mul(to_u64(HEAD_BYTES)))
    }

    /// Sorts the records of complete pieces by their places, which are the numbers below `rows`.
    ///
    /// # Errors
    /// `Corrupt` for bytes that are not those of pieces, and if a place is missing or occurs twice.
    pub fn arrange(&self, pieces: &[u8], rows: usize) -> Result<LineArrays> {
        let (offsets, line_bytes) = self.offsets(pieces, rows)?;
        let mut arrays: Vec<Vec<u8>> = self.cells.iter().map(|cell| array_of(*cell, rows)).collect();
        let (mut lines, mut ends) = (Vec::with_capacity(line_bytes), Vec::with_capacity(rows));
        for (row, offset) in offsets.into_iter().enumerate() {
            let record = pieces.get(to_usize(offset.into(), "a record")?..).ok_or_else(damaged)?;
            let (line, _) = self.line(record).ok_or_else(damaged)?;
            let mut cells = record.get(PLACE_BYTES..self.head).ok_or_else(damaged)?;
            for (array, cell) in arrays.iter_mut().zip(&self.cells) {
                let (value, rest) = cells.split_at(cell.bytes());
                match cell {
                    Cell::Bit => array[row / 8] |= value[0] << (row % 8),
                    Cell::Bytes1 => push_array::<1>(array, value),
                    Cell::Bytes2 => push_array::<2>(array, value),
                    Cell::Bytes4 => push_array::<4>(array, value),
                    Cell::Bytes8 => push_array::<8>(array, value),
                }
                cells = rest;
            }
            lines.extend_from_slice(line);
            lines.push(b'\n');
            ends.push(to_u64(lines.len()));
        }
        Ok(LineArrays { lines, ends, arrays })
    }

    /// The line of a record, without its end, and the number of bytes of the record.
    fn line<'r>(&self, record: &'r [u8]) -> Option<(&'r [u8], usize)> {
        let (length, length_bytes) = length_of(record.get(self.head..)?)?;
        let start = self.head + length_bytes;
        let bytes = start.checked_add(length)?;
        let (end, line) = record.get(start..bytes)?.split_last()?;
        (*end == LINE_END).then_some((line, bytes))
    }

    /// The start of the record for each place, and the total size of all lines in bytes.
    fn offsets(&self, pieces: &[u8], rows: usize) -> Result<(Vec<u32>, usize)> {
        const NONE: u32 = u32::MAX;
        let mut offsets = vec![NONE; rows];
        let (mut at, mut line_bytes) = (0, 0);
        while at < pieces.len() {
            let end = end_of_piece(pieces, at).ok_or_else(damaged)?;
            at += HEAD_BYTES;
            while at < end {
                let record = &pieces[at..end];
                let place = record.first_chunk().map(|place| u32::from_le_bytes(*place));
                let place = place.and_then(|place| usize::try_from(place).ok());
                let offset = place.and_then(|place| offsets.get_mut(place)).ok_or_else(damaged)?;
                let (line, record_bytes) = self.line(record).ok_or_else(damaged)?;
                if *offset != NONE {
                    return Err(damaged());
                }
                *offset =
                    u32::try_from(at).map_err(|_| Error::limit("a part of the output of more than 4 GB"))?;
                line_bytes += line.len() + 1;
                at += record_bytes;
            }
        }
        if offsets.contains(&NONE) {
            return Err(damaged());
        }
        Ok((offsets, line_bytes))
    }
}

/// The end of the piece at a position, if the piece is complete and undamaged.
fn end_of_piece(pieces: &[u8], at: usize) -> Option<usize> {
    let hash = u64_at(pieces, at)?;
    let length = usize::try_from(u64_at(pieces, at.checked_add(8)?)?).ok()?;
    let end = at.checked_add(HEAD_BYTES)?.checked_add(length)?;
    (XxHash3_64::oneshot(pieces.get(at + 8..end)?) == hash).then_some(end)
}

/// An empty array of cells; an array of bits already has its final length.
fn array_of(cell: Cell, rows: usize) -> Vec<u8> {
    match cell {
        Cell::Bit => vec![0; rows.div_ceil(8)],
        _ => Vec::with_capacity(rows * cell.bytes()),
    }
}

/// Appends `WIDTH` bytes, which is a constant for the compiler.
fn push_array<const WIDTH: usize>(array: &mut Vec<u8>, value: &[u8]) {
    if let Some(value) = value.first_chunk::<WIDTH>() {
        array.extend_from_slice(value);
    }
}

/// The length of a line, and the number of bytes that state it.
fn length_of(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut length = 0;
    for (i, byte) in bytes.iter().take(LENGTH_BYTES).enumerate() {
        length |= usize::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Some((length, i + 1));
        }
    }
    None
}

fn push_length(bytes: &mut Vec<u8>, mut length: u32) {
    while length >= 0x80 {
        bytes.push(length.to_le_bytes()[0] | 0x80);
        length >>= 7;
    }
    bytes.push(length.to_le_bytes()[0]);
}

/// Records that are not yet in a file.
#[derive(Debug, Default)]
pub struct Piece(Vec<u8>);

impl Piece {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The size of all records in bytes.
    pub fn record_bytes(&self) -> usize {
        self.0.len().saturating_sub(HEAD_BYTES)
    }

    /// Appends row `i` of `block`.
    ///
    /// # Errors
    /// `Limit` for a line of more than 4 GB; `Corrupt` for one without its newline.
    pub fn push(&mut self, form: &RecordForm, place: u32, block: &LineArrays, i: usize) -> Result<()> {
        let start = i.checked_sub(1).map_or(0, |before| block.ends[before]);
        let line = to_usize(start, "a line")?..to_usize(block.ends[i], "a line")?;
        let line = block.lines.get(line).and_then(|line| line.strip_suffix(b"\n"));
        let line = line.ok_or_else(|| Error::corrupt("a line without its end"))?;
        let length = u32::try_from(line.len() + 1).map_err(|_| Error::limit("a line of more than 4 GB"))?;
        let bytes = &mut self.0;
        if bytes.is_empty() {
            bytes.resize(HEAD_BYTES, 0);
        }
        bytes.extend_from_slice(&place.to_le_bytes());
        for (array, cell) in block.arrays.iter().zip(&form.cells) {
            match cell {
                Cell::Bit => bytes.push(array[i / 8] >> (i % 8) & 1),
                Cell::Bytes1 => push_array::<1>(bytes, &array[i..]),
                Cell::Bytes2 => push_array::<2>(bytes, &array[2 * i..]),
                Cell::Bytes4 => push_array::<4>(bytes, &array[4 * i..]),
                Cell::Bytes8 => push_array::<8>(bytes, &array[8 * i..]),
            }
        }
        push_length(bytes, length);
        bytes.extend_from_slice(line);
        bytes.push(LINE_END);
        Ok(())
    }

    /// The bytes of the complete piece, for a file.
    pub fn finished(&mut self) -> &[u8] {
        let bytes = &mut self.0;
        let length = to_u64(bytes.len().saturating_sub(HEAD_BYTES));
        if let Some(head) = bytes.first_chunk_mut::<HEAD_BYTES>() {
            head[8..].copy_from_slice(&length.to_le_bytes());
        }
        let hash = XxHash3_64::oneshot(bytes.get(8..).unwrap_or_default());
        if let Some(head) = bytes.first_chunk_mut::<8>() {
            *head = hash.to_le_bytes();
        }
        bytes
    }

    /// Removes all records, but keeps the memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

fn damaged() -> Error {
    Error::corrupt("a temporary file with a part of the lines is damaged")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const BITS: [u64; 4] = [64, 1, 16, 8];

    /// The rows `numbers` of a bucket; each line consists of the row's number.
    fn block(numbers: &[u32]) -> LineArrays {
        let mut lines = LineArrays { arrays: vec![Vec::new(); 4], ..LineArrays::default() };
        lines.arrays[1] = vec![0; numbers.len().div_ceil(8)];
        for (i, number) in numbers.iter().enumerate() {
            let line = format!("{number}\n");
            lines.lines.extend_from_slice(line.as_bytes());
            lines.ends.push(to_u64(lines.lines.len()));
            lines.arrays[0].extend_from_slice(&XxHash3_64::oneshot(line.as_bytes()).to_le_bytes());
            lines.arrays[1][i / 8] |= u8::from(number % 3 == 0) << (i % 8);
            lines.arrays[2].extend_from_slice(&u16::try_from(*number).unwrap().to_le_bytes());
            lines.arrays[3].push(u8::try_from(number % 256).unwrap());
        }
        lines
    }

    fn piece(numbers: &[u32]) -> Vec<u8> {
        let (form, mut piece, block) = (RecordForm::new(&BITS), Piece::default(), block(numbers));
        for (i, number) in numbers.iter().enumerate() {
            piece.push(&form, *number, &block, i).unwrap();
        }
        piece.finished().to_vec()
    }

    #[test]
    fn records_of_pieces_are_put_in_order() {
        let form = RecordForm::new(&BITS);
        let expected = block(&(0..1000).collect::<Vec<_>>());
        let pieces = [
            piece(&(0..500).map(|i| 2 * i + 1).collect::<Vec<_>>()),
            piece(&(0..500).rev().map(|i| 2 * i).collect::<Vec<_>>()),
        ];
        let all = pieces.concat();
        let arranged = form.arrange(&all, 1000).unwrap();
        assert_eq!((&arranged.lines, &arranged.ends), (&expected.lines, &expected.ends));
        assert_eq!(arranged.arrays, expected.arrays);
        assert!(form.arrange(&pieces[0], 1000).is_err());
        assert!(form.arrange(&all, 999).is_err());
        assert!(form.arrange(&[all.clone(), piece(&[7])].concat(), 1000).is_err());
        let most = form.most_bytes(1000, to_u64(arranged.lines.len()), 2);
        assert!((most - 100..=most).contains(&to_u64(all.len())), "{} of {most}", all.len());
    }

    #[test]
    fn lengths_of_any_size_come_back() {
        for length in [0, 1, 127, 128, 16_383, 16_384, 1 << 21, u32::MAX] {
            let mut bytes = Vec::new();
            push_length(&mut bytes, length);
            assert!(bytes.len() <= LENGTH_BYTES);
            assert_eq!(length_of(&bytes), Some((usize::try_from(length).unwrap(), bytes.len())));
            assert_eq!(length_of(&bytes[..bytes.len() - 1]), None);
        }
    }

    #[test]
    fn no_line_of_a_piece_looks_like_one_of_a_dataset() {
        // The bytes of place 10 begin with a newline.
        let bytes = piece(&[10, 10, 10]);
        assert!(!bytes.windows(3).any(|window| window == b"10\n"));
    }

    #[test]
    fn damaged_bytes_are_noticed() {
        let (form, bytes) = (RecordForm::new(&BITS), piece(&[3, 1, 2, 0]));
        assert!(form.arrange(&bytes, 4).is_ok());
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(form.arrange(&changed, 4).is_err(), "{at}");
            assert!(form.arrange(&bytes[..at], 4).is_err());
        }
    }
}
