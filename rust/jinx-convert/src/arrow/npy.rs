//! The elements of numpy arrays, read in place from their `.npy` payload.

use arrow_array::ArrowPrimitiveType;
use arrow_array::types::Float16Type;
use bytes::Bytes;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::error::{Error, Result};
use jinx_core::npy;
use jinx_core::row_events::{Dtype, Number};
use jinx_core::value::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    Bool,
    Int(usize),
    Uint(usize),
    Float(usize),
}

impl Element {
    fn bytes(self) -> usize {
        match self {
            Self::Bool => 1,
            Self::Int(bytes) | Self::Uint(bytes) | Self::Float(bytes) => bytes,
        }
    }

    fn parse(descr: &str) -> Result<Self> {
        let odd = || {
            Error::unsupported(format!("arrays of dtype '{descr}' have no Arrow form; convert them first"))
        };
        let (order, kind) = descr.split_at_checked(1).ok_or_else(odd)?;
        let element = match kind {
            "b1" => Self::Bool,
            "i1" | "i2" | "i4" | "i8" => Self::Int(width(kind)),
            "u1" | "u2" | "u4" | "u8" => Self::Uint(width(kind)),
            "f2" | "f4" | "f8" => Self::Float(width(kind)),
            _ => return Err(odd()),
        };
        match order {
            "<" => Ok(element),
            "|" | ">" if element.bytes() == 1 => Ok(element),
            _ => Err(odd()),
        }
    }
}

fn width(kind: &str) -> usize {
    kind.as_bytes().get(1).map_or(0, |digit| usize::from(digit.wrapping_sub(b'0')))
}

/// An array whose elements are read in place.
pub(crate) struct Npy {
    pub(crate) element: Element,
    /// For each dimension, the length and the distance between elements.
    pub(crate) dimensions: Vec<(usize, usize)>,
    body: Bytes,
}

impl Npy {
    /// # Errors
    /// `Corrupt` for a broken file, `Unsupported` for dtypes without an Arrow form.
    pub(crate) fn parse(file: &Bytes) -> Result<Self> {
        let header = npy::parse_header(file)?;
        let element = Element::parse(&header.descr)?;
        header.check_payload(to_u64(file.len()))?;
        let lengths = header.shape.iter().map(|length| to_usize(*length, "an array's dimension"));
        let dimensions = strides(&lengths.collect::<Result<Vec<_>>>()?, header.fortran);
        Ok(Self { element, dimensions, body: file.slice(header.data_offset..) })
    }

    /// A numpy scalar, which is stored as its dtype, a zero byte and its bytes: an array without dimensions.
    ///
    /// # Errors
    /// The errors of [`Self::parse`].
    pub(crate) fn scalar(data: &Bytes) -> Result<Self> {
        let broken = || Error::corrupt("the stored numpy scalar cannot be read");
        let end = data.iter().position(|byte| *byte == 0).ok_or_else(broken)?;
        let descr = data.get(..end).and_then(|descr| std::str::from_utf8(descr).ok()).ok_or_else(broken)?;
        let (element, body) = (Element::parse(descr)?, data.slice(end + 1..));
        if body.len() != element.bytes() {
            return Err(broken());
        }
        Ok(Self { element, dimensions: Vec::new(), body })
    }

    /// Element number `at` of the body, as a plain Python number if it fits into one.
    pub(crate) fn value(&self, at: usize) -> Value {
        let size = self.element.bytes();
        let bytes = at.checked_mul(size).and_then(|start| self.body.get(start..start.checked_add(size)?));
        let mut wide = [0; 8];
        let Some(bytes) = bytes else { return Value::Null };
        wide[..size].copy_from_slice(bytes);
        let bits = u64::from_le_bytes(wide);
        let shift = 64 - 8 * size;
        match self.element {
            Element::Bool => Value::Bool(bits != 0),
            // Shifting up and then down extends the sign.
            Element::Int(_) => Value::Int(i64::from_le_bytes((bits << shift).to_le_bytes()) >> shift),
            Element::Uint(_) => match i64::try_from(bits) {
                Ok(value) => Value::Int(value),
                Err(_) => Value::Scalar(Dtype::Uint64, Number::Uint(bits)),
            },
            Element::Float(2) => Value::Float(half(wide)),
            Element::Float(4) => {
                Value::Float(f32::from_le_bytes([wide[0], wide[1], wide[2], wide[3]]).into())
            }
            Element::Float(_) => Value::Float(f64::from_le_bytes(wide)),
        }
    }
}

fn half(wide: [u8; 8]) -> f64 {
    <Float16Type as ArrowPrimitiveType>::Native::from_le_bytes([wide[0], wide[1]]).to_f64()
}

fn strides(shape: &[usize], fortran: bool) -> Vec<(usize, usize)> {
    let mut dimensions: Vec<(usize, usize)> = shape.iter().map(|length| (*length, 0)).collect();
    let mut step = 1_usize;
    let mut set = |dimension: &mut (usize, usize)| {
        dimension.1 = step;
        // An empty array has no elements, so its strides are never used.
        step = step.saturating_mul(dimension.0);
    };
    if fortran {
        dimensions.iter_mut().for_each(&mut set);
    } else {
        dimensions.iter_mut().rev().for_each(&mut set);
    }
    dimensions
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn file(descr: &str, fortran: &str, shape: &str, body: &[u8]) -> Bytes {
        let header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY".to_vec();
        bytes.extend([1, 0]);
        bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(body);
        bytes.into()
    }

    #[test]
    fn elements_and_order() {
        let array =
            Npy::parse(&file("<i2", "True", "(2, 3)", &[1, 0, 2, 0, 3, 0, 4, 0, 255, 255, 6, 0])).unwrap();
        assert_eq!(array.dimensions, [(2, 1), (3, 2)]);
        assert_eq!(array.value(4), Value::Int(-1));
        let array = Npy::parse(&file("<f2", "False", "(1,)", &[0, 0x3c])).unwrap();
        assert_eq!(array.value(0), Value::Float(1.0));
        let array = Npy::parse(&file("|b1", "False", "()", &[1])).unwrap();
        assert_eq!((array.dimensions.len(), array.value(0)), (0, Value::Bool(true)));
        assert!(Npy::parse(&file("<u8", "False", "(0, 5)", &[])).is_ok());
    }

    #[test]
    fn broken_files_are_refused() {
        let whole = file("<f4", "False", "(2,)", &[0; 8]);
        for end in 0..whole.len() {
            assert!(Npy::parse(&whole.slice(..end)).is_err());
        }
        assert!(Npy::parse(&file("<f4", "False", "(18446744073709551615, 9)", &[0; 8])).is_err());
        assert!(Npy::parse(&file(">f4", "False", "(2,)", &[0; 8])).is_err());
        assert!(Npy::parse(&file("<c8", "False", "(1,)", &[0; 8])).is_err());
        assert!(Npy::parse(&file("|O", "False", "(1,)", &[0; 8])).is_err());
    }
}
