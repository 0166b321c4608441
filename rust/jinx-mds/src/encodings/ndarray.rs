//! The three forms of arrays.

use crate::encodings::names::Dtype;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::error::{Error, Result};
use jinx_core::npy::data_len;

/// The header of an array's data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayHead {
    pub dtype: Dtype,
    pub shape: Vec<u64>,
    /// The start of the data.
    pub start: usize,
}

/// Reads what the column does not determine, and compares the shape with the number of bytes.
///
/// # Errors
/// `Corrupt` for an unknown type, a header that is cut off, or a shape that does not fit the data.
pub fn parse(dtype: Option<Dtype>, shape: Option<&[u64]>, data: &[u8]) -> Result<ArrayHead> {
    parse_head(dtype, shape, data, to_u64(data.len()))
}

/// Like [`parse`], using the beginning of a value of `total` bytes; 506 bytes are enough.
///
/// # Errors
/// The errors of [`parse`].
pub fn parse_head(dtype: Option<Dtype>, shape: Option<&[u64]>, data: &[u8], total: u64) -> Result<ArrayHead> {
    let cut = || Error::corrupt("an array that ends inside its header");
    let mut start = 0;
    let dtype = match dtype {
        Some(dtype) => dtype,
        None => {
            let code = *data.get(start).ok_or_else(cut)?;
            start += 1;
            Dtype::from_code(code)
                .ok_or_else(|| Error::corrupt(format!("an array of the type code {code}")))?
        }
    };
    let shape = match shape {
        Some(shape) => shape.to_vec(),
        None => {
            let byte = *data.get(start).ok_or_else(cut)?;
            start += 1;
            let (dimensions, width) = (usize::from(byte >> 2), 1usize << (byte & 3));
            let end = start + dimensions * width;
            let sizes = data.get(start..end).ok_or_else(cut)?;
            start = end;
            sizes.chunks_exact(width).map(little_endian).collect()
        }
    };
    let held = total.saturating_sub(to_u64(start));
    if data_len(&shape, dtype.size())? != held {
        let what = format!("an array of shape {shape:?} and type {} with {held} bytes of data", dtype.name());
        return Err(Error::corrupt(what));
    }
    Ok(ArrayHead { dtype, shape, start })
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// The array as a `.npy` file of version 1.
///
/// # Errors
/// `Limit` when memory runs out.
pub fn npy_file(head: &ArrayHead, data: &[u8]) -> Result<Vec<u8>> {
    let sizes: Vec<String> = head.shape.iter().map(u64::to_string).collect();
    let comma = if sizes.len() == 1 { "," } else { "" };
    let descr = head.dtype.descr();
    let text =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}{comma}), }}", sizes.join(", "));
    // numpy pads the header with blanks, so that the data begins at a multiple of 64.
    let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
    let total = 10 + length + (data.len() - head.start);
    let mut file = Vec::new();
    file.try_reserve_exact(total).map_err(|_| Error::limit(format!("no memory for {total} bytes")))?;
    file.extend_from_slice(b"\x93NUMPY\x01\x00");
    let short = u16::try_from(length).map_err(|_| Error::corrupt("an array with too many dimensions"))?;
    file.extend_from_slice(&short.to_le_bytes());
    file.extend_from_slice(text.as_bytes());
    file.resize(to_usize(to_u64(10 + length - 1), "a header")?, b' ');
    file.push(b'\n');
    file.extend_from_slice(&data[head.start..]);
    Ok(file)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use jinx_core::npy::parse_header;
    use proptest::prelude::*;

    #[test]
    fn three_forms() {
        let dynamic = [17, 2 << 2, 1, 2, 1, 0, 2, 0];
        let head = parse(None, None, &dynamic).unwrap();
        assert_eq!((head.dtype, head.shape, head.start), (Dtype::Int16, vec![1, 2], 4));
        assert_eq!(parse(Some(Dtype::Int16), None, &dynamic[1..]).unwrap().start, 3);
        assert_eq!(parse(Some(Dtype::Int16), Some(&[2]), &dynamic[4..]).unwrap().start, 0);
        assert!(parse(Some(Dtype::Int16), Some(&[3]), &dynamic[4..]).is_err());
    }

    #[test]
    fn a_shape_that_overflows_is_corrupt() {
        let mut data = vec![66, 3 << 2 | 3];
        data.extend_from_slice(&[0xff; 24]);
        assert!(parse(None, None, &data).is_err());
        // numpy also refuses an array with these dimensions, although one of them is 0.
        data[2..10].fill(0);
        assert!(parse(None, None, &data).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_array_or_refused(data in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(head) = parse(None, None, &data) {
                let file = npy_file(&head, &data).unwrap();
                let header = parse_header(&file).unwrap();
                prop_assert_eq!(&header.shape, &head.shape);
                prop_assert!(header.check_payload(to_u64(file.len())).is_ok());
                prop_assert_eq!(header.data_offset % 64, 0);
            }
        }
    }
}
