//! Infers the encoding of a column from its values.

use crate::encodings::names::Dtype;
use jinx_core::error::{Error, Result};
use jinx_core::npy;
use jinx_core::row_events::{Dtype as Suffix, Payload};
use jinx_core::value::Value;
use std::collections::BTreeMap;

/// The kind of the values of one column so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueType {
    Str,
    Int,
    BigInt,
    Float,
    Bytes,
    Scalar(Dtype),
    Array,
    /// Anything that JSON can represent.
    Json,
}

impl ValueType {
    fn name(self) -> &'static str {
        match self {
            Self::Str => "str",
            Self::Int => "int",
            Self::BigInt => "str_int",
            Self::Float => "float64",
            Self::Bytes => "bytes",
            Self::Scalar(dtype) => dtype.name(),
            Self::Array => "ndarray",
            Self::Json => "json",
        }
    }

    /// The kind that covers both.
    fn with(self, other: Self) -> Option<Self> {
        match (self, other) {
            (a, b) if a == b => Some(a),
            (Self::Int | Self::BigInt, Self::Int | Self::BigInt) => Some(Self::BigInt),
            (Self::Bytes | Self::Array | Self::Scalar(_), _)
            | (_, Self::Bytes | Self::Array | Self::Scalar(_)) => None,
            _ => Some(Self::Json),
        }
    }

    fn of(value: &Value) -> Result<Self> {
        Ok(match value {
            Value::Str(_) => Self::Str,
            Value::Int(_) => Self::Int,
            Value::BigInt(_) => Self::BigInt,
            Value::Float(_) | Value::Scalar(Suffix::Float64, _) => Self::Float,
            Value::Scalar(dtype, _) => Dtype::from_name(dtype.name())
                .map(Self::Scalar)
                .ok_or_else(|| Error::mismatch(format!("MDS has no {}", dtype.name())))?,
            Value::Blob { payload: Payload::Raw, .. } | Value::Range(_) => Self::Bytes,
            Value::Blob { payload: Payload::Npy, data, .. } => {
                let header = npy::parse_header(data)?;
                if Dtype::from_descr(&header.descr).is_none()
                    || header.shape.is_empty()
                    || header.shape.contains(&0)
                {
                    let what = "MDS holds no array of type '{}' and shape {}"
                        .replacen("{}", &header.descr, 1)
                        .replacen("{}", &format!("{:?}", header.shape), 1);
                    return Err(Error::mismatch(what));
                }
                Self::Array
            }
            Value::Blob { payload: Payload::Np, data, .. } => scalar_type(data)
                .map(Self::Scalar)
                .ok_or_else(|| Error::mismatch("MDS has no numpy scalar of this type"))?,
            Value::Blob { payload: Payload::Pt, .. } => {
                return Err(Error::mismatch("MDS has no torch tensors; convert them to numpy arrays first"));
            }
            Value::Null | Value::Bool(_) | Value::List(_) | Value::Dict(_) => {
                json_only(value)?;
                Self::Json
            }
        })
    }
}

/// The type of a numpy scalar's payload.
pub(crate) fn scalar_type(data: &[u8]) -> Option<Dtype> {
    let end = data.iter().position(|byte| *byte == 0)?;
    Dtype::from_descr(std::str::from_utf8(&data[..end]).ok()?)
}

fn json_only(value: &Value) -> Result<()> {
    match value {
        Value::Blob { .. } => {
            Err(Error::mismatch("bytes or an array inside a list or dict, which MDS cannot hold"))
        }
        Value::List(items) => items.iter().try_for_each(json_only),
        Value::Dict(members) => members.iter().try_for_each(|(_, value)| json_only(value)),
        _ => Ok(()),
    }
}

/// Infers encodings that fit all samples.
#[derive(Debug, Clone, Default)]
pub struct Inference {
    kinds: BTreeMap<String, ValueType>,
    rows: u64,
}

impl Inference {
    /// # Errors
    /// `Mismatch` naming a column that has no encoding, or no encoding that fits all samples so far.
    pub fn observe(&mut self, row: &Value) -> Result<()> {
        let Value::Dict(members) = row else { return Err(Error::invalid("a sample that is not a dict")) };
        for (name, value) in members {
            let kind = ValueType::of(value).map_err(|error| error.in_column(name))?;
            let before = match self.kinds.get(name) {
                None if self.rows > 0 => ValueType::Json,
                None => kind,
                Some(before) => *before,
            };
            self.kinds.insert(name.clone(), Self::join(name, before, kind)?);
        }
        for (name, kind) in &mut self.kinds {
            if !members.iter().any(|(member, _)| member == name) {
                *kind = Self::join(name, *kind, ValueType::Json)?;
            }
        }
        self.rows += 1;
        Ok(())
    }

    fn join(name: &str, before: ValueType, kind: ValueType) -> Result<ValueType> {
        before.with(kind).ok_or_else(|| {
            let what = format!(
                "{} in some samples and {} (or nothing) in others, for which MDS has no encoding",
                before.name(),
                kind.name()
            );
            Error::mismatch(what).in_column(name)
        })
    }

    /// Names and encodings.
    pub fn columns(&self) -> BTreeMap<String, String> {
        self.kinds.iter().map(|(name, kind)| (name.clone(), kind.name().to_owned())).collect()
    }
}
