//! Values as the bytes of a column.

use crate::encodings::names::{Dtype, Encoding};
use crate::encodings::python_json::push_value;
use crate::write::infer::scalar_type;
use jinx_core::checked_math::to_usize;
use jinx_core::error::{Error, Result};
use jinx_core::npy;
use jinx_core::row_events::{Number, Payload};
use jinx_core::value::Value;

/// The bytes of `value` with `encoding`, which [`crate::write::infer::Inference`] has found.
///
/// # Errors
/// `Mismatch` for a value that does not fit.
pub fn encode(encoding: &Encoding, value: Option<&Value>) -> Result<Vec<u8>> {
    let misfit = || Error::mismatch(format!("a value that does not fit {encoding:?}"));
    if *encoding == Encoding::Json {
        let mut text = Vec::new();
        push_value(&mut text, value.unwrap_or(&Value::Null))?;
        return Ok(text);
    }
    match (encoding, value.ok_or_else(misfit)?) {
        (Encoding::Bytes, Value::Blob { payload: Payload::Raw, data, .. }) => Ok(data.to_vec()),
        (Encoding::Str, Value::Str(text)) => Ok(text.as_bytes().to_vec()),
        (Encoding::Int, Value::Int(value)) => Ok(value.to_le_bytes().to_vec()),
        (Encoding::StrInt, Value::Int(value)) => Ok(value.to_string().into_bytes()),
        (Encoding::StrInt, Value::BigInt(digits)) => Ok(digits.as_bytes().to_vec()),
        (Encoding::Scalar(Dtype::Float64), Value::Float(value)) => Ok(value.to_le_bytes().to_vec()),
        (Encoding::Scalar(Dtype::Float64), Value::Scalar(_, Number::Float(value))) => {
            Ok(value.to_le_bytes().to_vec())
        }
        (Encoding::Scalar(dtype), Value::Scalar(_, number)) => {
            number_bytes(*dtype, *number).ok_or_else(misfit)
        }
        (Encoding::Scalar(dtype), Value::Blob { payload: Payload::Np, data, .. })
            if scalar_type(data) == Some(*dtype) =>
        {
            let start = data.iter().position(|byte| *byte == 0).map_or(data.len(), |at| at + 1);
            Ok(data[start..].to_vec())
        }
        (Encoding::NdArray(None, None), Value::Blob { payload: Payload::Npy, data, .. }) => array(data),
        _ => Err(misfit()),
    }
}

fn number_bytes(dtype: Dtype, number: Number) -> Option<Vec<u8>> {
    let signed = match number {
        Number::Int(value) => Some(value),
        Number::Uint(value) => i64::try_from(value).ok(),
        Number::Float(_) => None,
    };
    let unsigned = match number {
        Number::Uint(value) => Some(value),
        Number::Int(value) => u64::try_from(value).ok(),
        Number::Float(_) => None,
    };
    Some(match (dtype, number) {
        (Dtype::Int8, _) => i8::try_from(signed?).ok()?.to_le_bytes().to_vec(),
        (Dtype::Int16, _) => i16::try_from(signed?).ok()?.to_le_bytes().to_vec(),
        (Dtype::Int32, _) => i32::try_from(signed?).ok()?.to_le_bytes().to_vec(),
        (Dtype::Int64, _) => signed?.to_le_bytes().to_vec(),
        (Dtype::Uint8, _) => u8::try_from(unsigned?).ok()?.to_le_bytes().to_vec(),
        (Dtype::Uint16, _) => u16::try_from(unsigned?).ok()?.to_le_bytes().to_vec(),
        (Dtype::Uint32, _) => u32::try_from(unsigned?).ok()?.to_le_bytes().to_vec(),
        (Dtype::Uint64, _) => unsigned?.to_le_bytes().to_vec(),
        // Exact, because the float64 was made from a float32.
        #[allow(clippy::cast_possible_truncation)]
        (Dtype::Float32, Number::Float(value)) => (value as f32).to_le_bytes().to_vec(),
        _ => return None,
    })
}

/// An array of dynamic type and shape, from a `.npy` file.
fn array(file: &[u8]) -> Result<Vec<u8>> {
    let header = npy::parse_header(file)?;
    header.check_payload(jinx_core::checked_math::to_u64(file.len()))?;
    let dtype = Dtype::from_descr(&header.descr)
        .ok_or_else(|| Error::mismatch(format!("MDS holds no array of type '{}'", header.descr)))?;
    if header.fortran && header.shape.len() > 1 {
        return Err(Error::mismatch("an array in Fortran order; make it contiguous first"));
    }
    let largest = header.shape.iter().copied().max().unwrap_or_default();
    let width: u8 = match largest {
        0..=0xff => 0,
        0x100..=0xffff => 1,
        0x1_0000..=0xffff_ffff => 2,
        _ => 3,
    };
    let dimensions = u8::try_from(header.shape.len()).ok().filter(|count| *count < 64);
    let dimensions = dimensions.ok_or_else(|| Error::mismatch("an array of 64 dimensions"))?;
    let mut out = vec![dtype.code(), dimensions << 2 | width];
    for size in &header.shape {
        out.extend_from_slice(&size.to_le_bytes()[..1 << width]);
    }
    out.extend_from_slice(
        &file[to_usize(jinx_core::checked_math::to_u64(header.data_offset), "a header")?..],
    );
    Ok(out)
}
