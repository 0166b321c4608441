//! Lines that are on their way to a part of the output: a thread collects them from a part of the input.

use jinx_core::checked_math::{to_u64, to_usize, u64_at};
use jinx_core::error::{Error, Result};
use jinx_format::write::row_form::LineArrays;
use twox_hash::XxHash3_64;

/// Lines in the order of the input, with their places in a bucket.
pub struct Piece {
    pub places: Vec<u32>,
    pub lines: LineArrays,
}

/// In a file: the checksum of what follows, the number of lines, the bytes of all lines. Then the places, the length of
/// each line, the arrays except the checksums of lines, and the lines, each with `LINE_END` in place of its newline.
const HEAD_BYTES: usize = 24;
/// Bytes of a place and of a length.
const NUMBER_BYTES: usize = 4;
/// Pieces lie in a file that will be a dataset. `jinx repair` must not take their lines for those of the dataset if the
/// writer is killed.
const LINE_END: u8 = 0;

impl Piece {
    /// The bytes of the piece in a file.
    ///
    /// # Errors
    /// `Limit` for a line of more than 4 GB.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; 8];
        bytes.extend_from_slice(&to_u64(self.places.len()).to_le_bytes());
        bytes.extend_from_slice(&to_u64(self.lines.lines.len()).to_le_bytes());
        for place in &self.places {
            bytes.extend_from_slice(&place.to_le_bytes());
        }
        let mut start = 0;
        for end in &self.lines.ends {
            let length = u32::try_from(end - start).map_err(|_| Error::limit("a line of more than 4 GB"))?;
            bytes.extend_from_slice(&length.to_le_bytes());
            start = *end;
        }
        self.lines.arrays.iter().skip(1).for_each(|array| bytes.extend_from_slice(array));
        let first = bytes.len();
        bytes.extend_from_slice(&self.lines.lines);
        for end in &self.lines.ends {
            let last = (first + to_usize(*end, "a line")?).checked_sub(1).and_then(|at| bytes.get_mut(at));
            *last.filter(|last| **last == b'\n').ok_or_else(|| Error::corrupt("a line without its end"))? =
                LINE_END;
        }
        let hash = XxHash3_64::oneshot(&bytes[8..]);
        bytes[..8].copy_from_slice(&hash.to_le_bytes());
        Ok(bytes)
    }

    /// Reads the pieces in `bytes`. `array_bits` are the bits of one row in each array.
    ///
    /// # Errors
    /// `Corrupt` for bytes that are not those of pieces.
    pub fn decode_all(mut bytes: &[u8], array_bits: &[u64]) -> Result<Vec<Self>> {
        let mut pieces = Vec::new();
        while !bytes.is_empty() {
            let (piece, rest) = Self::decode(bytes, array_bits)?;
            pieces.push(piece);
            bytes = rest;
        }
        Ok(pieces)
    }

    fn decode<'b>(bytes: &'b [u8], array_bits: &[u64]) -> Result<(Self, &'b [u8])> {
        let head = |at| u64_at(bytes, at).ok_or_else(damaged);
        let (hash, rows, line_bytes) = (head(0)?, head(8)?, head(16)?);
        let mut sizes = vec![to_u64(NUMBER_BYTES).saturating_mul(rows); 2];
        sizes.extend(array_bits.iter().skip(1).map(|bits| rows.saturating_mul(*bits).div_ceil(8)));
        sizes.push(line_bytes);
        let length = sizes.iter().fold(0, |sum: u64, size| sum.saturating_add(*size));
        let rest = &bytes[HEAD_BYTES..];
        let length = to_usize(length, "the length of a piece")?;
        let (mut body, rest) = rest.split_at_checked(length).ok_or_else(damaged)?;
        if XxHash3_64::oneshot(&bytes[8..HEAD_BYTES + length]) != hash {
            return Err(damaged());
        }
        let mut parts = Vec::with_capacity(sizes.len());
        for size in sizes {
            let (part, next) = body.split_at(to_usize(size, "the length of an array")?);
            parts.push(part);
            body = next;
        }
        let numbers = |part: &[u8]| -> Vec<u32> {
            part.as_chunks().0.iter().map(|number| u32::from_le_bytes(*number)).collect()
        };
        let places = numbers(parts[0]);
        let mut end = 0;
        let ends = numbers(parts[1]).into_iter().map(|length| {
            end += u64::from(length);
            end
        });
        let ends: Vec<u64> = ends.collect();
        let mut lines = parts[parts.len() - 1].to_vec();
        if ends.last().copied().unwrap_or_default() != line_bytes {
            return Err(damaged());
        }
        let mut hashes = Vec::with_capacity(8 * ends.len());
        let mut start = 0;
        for end in &ends {
            let end = to_usize(*end, "a line")?;
            let line = lines.get_mut(start..end).ok_or_else(damaged)?;
            *line.last_mut().ok_or_else(damaged)? = b'\n';
            hashes.extend_from_slice(&XxHash3_64::oneshot(line).to_le_bytes());
            start = end;
        }
        let arrays =
            std::iter::once(hashes).chain(parts[2..parts.len() - 1].iter().map(|part| part.to_vec()));
        let arrays = arrays.collect();
        Ok((Self { places, lines: LineArrays { lines, ends, arrays } }, rest))
    }
}

/// The most bytes that `pieces` pieces with `rows` rows take, in addition to their lines.
pub fn most_bytes(rows: u64, pieces: u64, array_bits: &[u64]) -> u64 {
    let arrays = array_bits.get(1..).unwrap_or_default();
    let bits = arrays.iter().sum::<u64>() + 8 * 2 * to_u64(NUMBER_BYTES);
    // Each array of a piece begins with a byte of its own.
    rows.saturating_mul(bits).div_ceil(8) + pieces.saturating_mul(to_u64(HEAD_BYTES + arrays.len()))
}

fn damaged() -> Error {
    Error::corrupt("a temporary file with a part of the lines is damaged")
}

/// The lines of all pieces in the order of their places, which are the numbers below `rows`.
///
/// # Errors
/// `Corrupt` if a place is missing, or occurs twice.
pub fn arranged(pieces: &[Piece], rows: usize, array_bits: &[u64]) -> Result<LineArrays> {
    const NONE: u32 = u32::MAX;
    let mut order = vec![(NONE, 0u32); rows];
    for (number, piece) in (0u32..).zip(pieces) {
        for (row, place) in (0u32..).zip(&piece.places) {
            let place = usize::try_from(*place).ok().and_then(|place| order.get_mut(place));
            let place = place.filter(|place| place.0 == NONE).ok_or_else(damaged)?;
            *place = (number, row);
        }
    }
    let order: Vec<(usize, usize)> = order
        .into_iter()
        .map(|(number, row)| Some((usize::try_from(number).ok()?, usize::try_from(row).ok()?)))
        .map(|found| found.filter(|(number, _)| *number < pieces.len()).ok_or_else(damaged))
        .collect::<Result<_>>()?;
    let bytes = pieces.iter().map(|piece| piece.lines.lines.len()).sum();
    let (mut lines, mut ends) = (Vec::with_capacity(bytes), Vec::with_capacity(rows));
    for (number, row) in &order {
        let from = &pieces[*number].lines;
        let start = row.checked_sub(1).map_or(0, |before| from.ends[before]);
        let range = to_usize(start, "a line")?..to_usize(from.ends[*row], "a line")?;
        lines.extend_from_slice(from.lines.get(range).ok_or_else(damaged)?);
        ends.push(to_u64(lines.len()));
    }
    let arrays = array_bits.iter().enumerate().map(|(at, bits)| {
        let sources: Vec<&[u8]> = pieces.iter().map(|piece| piece.lines.arrays[at].as_slice()).collect();
        match bits {
            1 => arranged_bits(&sources, &order),
            8 => arranged_cells::<1>(&sources, &order),
            16 => arranged_cells::<2>(&sources, &order),
            32 => arranged_cells::<4>(&sources, &order),
            _ => arranged_cells::<8>(&sources, &order),
        }
    });
    Ok(LineArrays { lines, ends, arrays: arrays.collect() })
}

fn arranged_cells<const WIDTH: usize>(sources: &[&[u8]], order: &[(usize, usize)]) -> Vec<u8> {
    let sources: Vec<&[[u8; WIDTH]]> = sources.iter().map(|source| source.as_chunks().0).collect();
    order.iter().map(|(number, row)| sources[*number][*row]).collect::<Vec<_>>().into_flattened()
}

fn arranged_bits(sources: &[&[u8]], order: &[(usize, usize)]) -> Vec<u8> {
    let mut bits = vec![0; order.len().div_ceil(8)];
    for (i, (number, row)) in order.iter().enumerate() {
        bits[i / 8] |= (sources[*number][row / 8] >> (row % 8) & 1) << (i % 8);
    }
    bits
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const BITS: [u64; 4] = [64, 1, 16, 8];

    /// The rows `numbers` of a bucket, each a line of its number.
    fn piece(numbers: &[u32]) -> Piece {
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
        Piece { places: numbers.to_vec(), lines }
    }

    #[test]
    fn pieces_come_back_from_bytes_and_are_put_in_order() {
        let expected = piece(&(0..1000).collect::<Vec<_>>()).lines;
        let pieces = [piece(&(0..500).map(|i| 2 * i + 1).collect::<Vec<_>>()), piece(&[]), {
            piece(&(0..500).rev().map(|i| 2 * i).collect::<Vec<_>>())
        }];
        let bytes: Vec<u8> = pieces.iter().flat_map(|piece| piece.encode().unwrap()).collect();
        for pieces in [pieces.into(), Piece::decode_all(&bytes, &BITS).unwrap()] {
            let found = arranged(&pieces, 1000, &BITS).unwrap();
            assert_eq!((found.lines, found.ends), (expected.lines.clone(), expected.ends.clone()));
            assert_eq!(found.arrays, expected.arrays);
            assert!(arranged(&pieces[..1], 1000, &BITS).is_err());
            assert!(arranged(&pieces, 999, &BITS).is_err());
        }
    }

    #[test]
    fn pieces_take_no_more_than_their_most() {
        let numbers: Vec<u32> = (0..1000).collect();
        for rows in [1000, 300, 7, 1] {
            let pieces: Vec<Piece> = numbers.chunks(rows).map(piece).collect();
            let taken: usize = pieces.iter().map(|piece| piece.encode().unwrap().len()).sum();
            let lines: usize = pieces.iter().map(|piece| piece.lines.lines.len()).sum();
            assert!(to_u64(taken) <= to_u64(lines) + most_bytes(1000, to_u64(pieces.len()), &BITS));
        }
    }

    #[test]
    fn damaged_bytes_are_noticed() {
        let bytes = piece(&[3, 1, 2, 0]).encode().unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(Piece::decode_all(&changed, &BITS).is_err(), "{at}");
            assert!(at == 0 || Piece::decode_all(&bytes[..at], &BITS).is_err());
        }
    }
}
