//! Images with raw pixels, and lists of images.

use crate::encodings::names::{Dtype, Image};
use crate::encodings::ndarray::ArrayHead;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::error::{Error, Result};
use std::ops::Range;

/// The width, height and mode of a `pil` value, and where its pixels begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pixels {
    pub width: u32,
    pub height: u32,
    /// Pillow's name, for instance `RGB`.
    pub mode: String,
    pub start: usize,
}

/// More than enough: the longest name of a Pillow mode has eight letters.
const MAX_MODE_BYTES: u32 = 16;

impl Pixels {
    /// # Errors
    /// `Corrupt` for an image that is cut off or has no mode.
    pub fn parse(data: &[u8]) -> Result<Self> {
        let cut = || Error::corrupt("an image that ends inside its header");
        let word = |at: usize| word_at(data, at).ok_or_else(cut);
        let (width, height, length) = (word(0)?, word(4)?, word(8)?);
        if length > MAX_MODE_BYTES {
            return Err(Error::corrupt(format!("an image mode of {length} bytes")));
        }
        let start = 12 + to_usize(length.into(), "a mode")?;
        let mode = data.get(12..start).ok_or_else(cut)?;
        let mode = std::str::from_utf8(mode).map_err(|_| Error::corrupt("an image mode that is not text"))?;
        let pixels = Self { width, height, mode: mode.to_owned(), start };
        if let Some(needed) = pixels.data_len()
            && to_u64(data.len() - start) != needed
        {
            let what =
                format!("an image of {width}x{height} {mode} pixels with {} bytes", data.len() - start);
            return Err(Error::corrupt(what));
        }
        Ok(pixels)
    }

    /// The type and number of values per pixel; `None` for modes that are not plain numbers.
    fn kind(&self) -> Option<(Dtype, u64)> {
        Some(match self.mode.as_str() {
            "L" | "P" => (Dtype::Uint8, 1),
            "LA" | "La" | "PA" => (Dtype::Uint8, 2),
            "RGB" | "YCbCr" | "LAB" | "HSV" => (Dtype::Uint8, 3),
            "RGBA" | "RGBa" | "RGBX" | "CMYK" => (Dtype::Uint8, 4),
            "I;16" | "I;16L" | "I;16N" => (Dtype::Uint16, 1),
            "I" => (Dtype::Int32, 1),
            "F" => (Dtype::Float32, 1),
            _ => return None,
        })
    }

    fn data_len(&self) -> Option<u64> {
        let (dtype, channels) = self.kind()?;
        u64::from(self.width).checked_mul(u64::from(self.height))?.checked_mul(channels * dtype.size())
    }

    /// The pixels as an array of height, width and, if there are several, channels.
    pub fn array(&self) -> Option<ArrayHead> {
        let (dtype, channels) = self.kind()?;
        let mut shape = vec![u64::from(self.height), u64::from(self.width)];
        if channels > 1 {
            shape.push(channels);
        }
        Some(ArrayHead { dtype, shape, start: self.start })
    }
}

/// The ranges of the elements of a list. `Jpeg` arrays begin with their count, other lists with a zero word.
///
/// # Errors
/// `Corrupt` when the sizes do not add up to the value.
pub fn elements(is_array: bool, data: &[u8]) -> Result<Vec<Range<usize>>> {
    let cut = || Error::corrupt("a list of images that ends inside its header");
    let first = if is_array { 0 } else { 4 };
    let count = to_usize(word_at(data, first).ok_or_else(cut)?.into(), "a list")?;
    let sizes_at = first + 4;
    let start = count.checked_mul(4).and_then(|bytes| bytes.checked_add(sizes_at)).ok_or_else(cut)?;
    let sizes = data.get(sizes_at..start).ok_or_else(cut)?;
    let mut at = start;
    let mut ranges = Vec::with_capacity(count);
    for word in sizes.chunks_exact(4) {
        let size = word_at(word, 0).ok_or_else(cut)?;
        let end = at.checked_add(to_usize(size.into(), "an image")?).filter(|end| *end <= data.len());
        let end = end.ok_or_else(|| Error::corrupt("an image that ends after its list"))?;
        ranges.push(at..end);
        at = end;
    }
    if at != data.len() {
        return Err(Error::corrupt(format!("{} bytes follow a list of images", data.len() - at)));
    }
    Ok(ranges)
}

fn word_at(data: &[u8], at: usize) -> Option<u32> {
    let bytes = data.get(at..at.checked_add(4)?)?;
    bytes.try_into().ok().map(u32::from_le_bytes)
}

/// For messages.
pub fn name(image: Image) -> &'static str {
    match image {
        Image::Pil => "pil",
        Image::Jpeg => "jpeg",
        Image::Png => "png",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pixels_are_an_array() {
        let mut data = Vec::new();
        for word in [2u32, 1, 3] {
            data.extend_from_slice(&word.to_le_bytes());
        }
        data.extend_from_slice(b"RGB");
        data.extend_from_slice(&[1; 6]);
        let pixels = Pixels::parse(&data).unwrap();
        assert_eq!(pixels.array().unwrap().shape, [1, 2, 3]);
        data.pop();
        assert!(Pixels::parse(&data).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_split_or_refused(data in prop::collection::vec(any::<u8>(), 0..60), is_array: bool) {
            if let Ok(found) = elements(is_array, &data) {
                prop_assert!(found.iter().all(|range| range.end <= data.len()));
            }
            let _ = Pixels::parse(&data);
        }
    }
}
