//! The names of column encodings, and what their bytes mean.

use jinx_core::error::{Error, Result};

/// numpy types that MDS supports, with the code before an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dtype {
    Uint8,
    Int8,
    Uint16,
    Int16,
    Float16,
    Uint32,
    Int32,
    Float32,
    Uint64,
    Int64,
    Float64,
}

impl Dtype {
    pub const ALL: [Self; 11] = [
        Self::Uint8,
        Self::Int8,
        Self::Uint16,
        Self::Int16,
        Self::Float16,
        Self::Uint32,
        Self::Int32,
        Self::Float32,
        Self::Uint64,
        Self::Int64,
        Self::Float64,
    ];

    /// numpy's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uint8 => "uint8",
            Self::Int8 => "int8",
            Self::Uint16 => "uint16",
            Self::Int16 => "int16",
            Self::Float16 => "float16",
            Self::Uint32 => "uint32",
            Self::Int32 => "int32",
            Self::Float32 => "float32",
            Self::Uint64 => "uint64",
            Self::Int64 => "int64",
            Self::Float64 => "float64",
        }
    }

    /// numpy's `dtype.str`.
    pub fn descr(self) -> &'static str {
        match self {
            Self::Uint8 => "|u1",
            Self::Int8 => "|i1",
            Self::Uint16 => "<u2",
            Self::Int16 => "<i2",
            Self::Float16 => "<f2",
            Self::Uint32 => "<u4",
            Self::Int32 => "<i4",
            Self::Float32 => "<f4",
            Self::Uint64 => "<u8",
            Self::Int64 => "<i8",
            Self::Float64 => "<f8",
        }
    }

    /// The byte before an array of dynamic type.
    pub fn code(self) -> u8 {
        match self {
            Self::Uint8 => 8,
            Self::Int8 => 9,
            Self::Uint16 => 16,
            Self::Int16 => 17,
            Self::Float16 => 18,
            Self::Uint32 => 32,
            Self::Int32 => 33,
            Self::Float32 => 34,
            Self::Uint64 => 64,
            Self::Int64 => 65,
            Self::Float64 => 66,
        }
    }

    /// The size of one value in bytes.
    pub fn size(self) -> u64 {
        u64::from(self.code() / 8)
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.code() == code)
    }

    pub fn from_descr(descr: &str) -> Option<Self> {
        let plain = |text: &str| text.trim_start_matches(['<', '|', '=']).to_owned();
        Self::ALL.into_iter().find(|dtype| plain(dtype.descr()) == plain(descr) && !descr.starts_with('>'))
    }
}

/// The form of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Image {
    /// Width, height, mode and raw pixels.
    Pil,
    Jpeg,
    Png,
}

/// How the values of one column are stored.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Encoding {
    Bytes,
    Str,
    /// Eight bytes, a Python int.
    Int,
    Scalar(Dtype),
    /// The parts of the type that the column determines.
    NdArray(Option<Dtype>, Option<Vec<u64>>),
    StrInt,
    StrFloat,
    StrDecimal,
    Json,
    Image(Image),
    /// `jpeg_array`: a list of JPEG files, without the leading word of `list[jpeg]`.
    JpegArray,
    List(Image),
    Pickle,
}

impl Encoding {
    /// # Errors
    /// `Unsupported` for a name that is not known.
    pub fn parse(name: &str) -> Result<Self> {
        let encoding = match name {
            "bytes" => Self::Bytes,
            "str" => Self::Str,
            "int" => Self::Int,
            "str_int" => Self::StrInt,
            "str_float" => Self::StrFloat,
            "str_decimal" => Self::StrDecimal,
            "json" => Self::Json,
            "pil" => Self::Image(Image::Pil),
            "jpeg" => Self::Image(Image::Jpeg),
            "png" => Self::Image(Image::Png),
            "jpeg_array" | "jpegarray" => Self::JpegArray,
            "list[pil]" => Self::List(Image::Pil),
            "list[jpeg]" => Self::List(Image::Jpeg),
            "list[png]" => Self::List(Image::Png),
            "pkl" => Self::Pickle,
            "ndarray" => Self::NdArray(None, None),
            other => match (Dtype::from_name(other), other.strip_prefix("ndarray:")) {
                (Some(dtype), _) => Self::Scalar(dtype),
                (None, Some(rest)) => array_type(rest).ok_or_else(|| unknown(name))?,
                (None, None) => return Err(unknown(name)),
            },
        };
        Ok(encoding)
    }

    /// The number of bytes of each value, if the encoding determines it.
    pub fn fixed_size(&self) -> Option<u64> {
        match self {
            Self::Int => Some(8),
            Self::Scalar(dtype) => Some(dtype.size()),
            Self::NdArray(Some(dtype), Some(shape)) => {
                shape.iter().try_fold(dtype.size(), |size, dimension| size.checked_mul(*dimension))
            }
            _ => None,
        }
    }
}

fn unknown(name: &str) -> Error {
    let shown: String = name.chars().take(60).collect();
    Error::unsupported(format!("the encoding {shown:?} is not known"))
}

/// `DTYPE` or `DTYPE:d0,d1,...`, or nothing.
fn array_type(text: &str) -> Option<Encoding> {
    if text.is_empty() {
        return Some(Encoding::NdArray(None, None));
    }
    let (dtype, shape) = text.split_once(':').map_or((text, None), |(dtype, shape)| (dtype, Some(shape)));
    let dtype = Dtype::from_name(dtype)?;
    let shape = match shape {
        None => None,
        Some(shape) => {
            Some(shape.split(',').map(|size| size.trim().parse().ok()).collect::<Option<Vec<u64>>>()?)
        }
    };
    if shape.as_ref().is_some_and(|shape| shape.contains(&0)) {
        return None;
    }
    Some(Encoding::NdArray(Some(dtype), shape))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read() {
        assert_eq!(Encoding::parse("float16").unwrap(), Encoding::Scalar(Dtype::Float16));
        let fixed = Encoding::parse("ndarray:int16:3,4").unwrap();
        assert_eq!(fixed, Encoding::NdArray(Some(Dtype::Int16), Some(vec![3, 4])));
        assert_eq!(fixed.fixed_size(), Some(24));
        assert_eq!(Encoding::parse("ndarray:uint8").unwrap().fixed_size(), None);
        for evil in
            ["", "int128", "ndarray:", "ndarray:bool", "ndarray:int8:0", "ndarray:int8:-1", "list[pkl]"]
        {
            let parsed = Encoding::parse(evil);
            assert!(evil == "ndarray:" || parsed.is_err(), "{evil}");
        }
    }

    #[test]
    fn a_shape_beyond_64_bits_has_no_size() {
        let huge = format!("ndarray:int64:{0},{0},{0}", u32::MAX);
        assert_eq!(Encoding::parse(&huge).unwrap().fixed_size(), None);
    }
}
