//! Columns of MDS directories: reads numbers directly from their bytes, and measures all other values one by one.

use crate::column_data::ColumnData;
use jinx_core::checked_math::to_u64;
use jinx_core::npy;
use jinx_core::row_events::{Number, Payload};
use jinx_core::value::{TreeBuilder, Value};
use jinx_core::{Error, Result};
use jinx_format::fields::{FieldInfo, Measure, Media};
use jinx_format::read::columns::ColumnKind;
use jinx_mds::encodings::images::elements;
use jinx_mds::encodings::names::{Dtype, Encoding, Image};
use jinx_mds::encodings::ndarray;
use jinx_mds::read::directory::Directory;
use jinx_mds::read::shard::Row;
use serde_json::{Value as Json, json};

/// Reads a column of numbers of one fixed type; `None` for other columns.
pub fn numbers(directory: &Directory, name: &str) -> Result<Option<ColumnData>> {
    let mut dtype = None;
    for shard in 0..directory.count() {
        let Some(info) = directory.info(shard) else { return Ok(None) };
        let column = info.columns.all.iter().find(|column| column.name == name);
        let this = match column.and_then(|column| column.encoding.as_ref()) {
            Some(Encoding::Int) => Dtype::Int64,
            Some(Encoding::Scalar(Dtype::Float16)) | None => return Ok(None),
            Some(Encoding::Scalar(dtype)) => *dtype,
            Some(_) => return Ok(None),
        };
        if *dtype.get_or_insert(this) != this {
            return Ok(None);
        }
    }
    let Some(dtype) = dtype else { return Ok(None) };
    let mut data = Vec::new();
    for at in 0..directory.count() {
        let shard = directory.shard(at)?;
        let Some(column) = shard.columns.position(name) else { return Ok(None) };
        for i in 0..shard.samples() {
            let row = shard.row(i)?;
            if row.len_of(column) != dtype.size() {
                let error = Error::corrupt(format!("a {} of {} bytes", dtype.name(), row.len_of(column)));
                return Err(row.here(error, column));
            }
            data.extend_from_slice(&row.slice(column).map_err(|error| row.here(error, column))?);
        }
    }
    Ok(Some(ColumnData::indexed(dtype.name(), data, None, None)))
}

/// Returns the value or length at a path in one sample; `None` if the sample has no value there.
pub fn measure(
    directory: &Directory,
    position: u64,
    path: &[&str],
    kind: ColumnKind,
) -> Result<Option<Measure>> {
    let Some((name, rest)) = path.split_first() else { return Ok(None) };
    let row = directory.row(position)?;
    let Some(column) = row.columns().position(name) else { return Ok(None) };
    let locate = |error| row.here(error, column);
    if rest.is_empty()
        && kind == ColumnKind::Length
        && let Some(length) = length(&row, column).map_err(locate)?
    {
        return Ok(Some(Measure::Length(length)));
    }
    let mut tree = TreeBuilder::default();
    row.emit_column(column, &mut tree)?;
    let whole = tree.take()?;
    let mut value = &whole;
    for name in rest {
        match value.get(name) {
            Some(inner) => value = inner,
            None => return Ok(None),
        }
    }
    let measured = match kind {
        ColumnKind::Value => value_of(value),
        ColumnKind::Length => length_of(value),
    };
    measured.map(Some).map_err(locate)
}

/// Counts the bytes of a binary value, the elements of a list, or the rows of an array. `None` if the value must be
/// decoded first.
///
/// # Errors
/// Read errors; `Corrupt` for a value that does not fit its encoding.
pub fn length(row: &Row, column: usize) -> Result<Option<u64>> {
    let stored = &row.columns().all[column];
    let Some(encoding) = &stored.encoding else { return Ok(None) };
    Ok(match encoding {
        Encoding::Bytes | Encoding::Image(Image::Jpeg | Image::Png) => Some(row.len_of(column)),
        Encoding::NdArray(dtype, shape) => {
            let head = ndarray::parse(*dtype, shape.as_deref(), &row.slice(column)?)?;
            head.shape.first().copied()
        }
        Encoding::JpegArray => Some(to_u64(elements(true, &row.slice(column)?)?.len())),
        Encoding::List(_) => Some(to_u64(elements(false, &row.slice(column)?)?.len())),
        _ => None,
    })
}

fn value_of(value: &Value) -> Result<Measure> {
    Ok(match value {
        Value::Null => Measure::None,
        Value::Bool(value) => Measure::Bool(*value),
        Value::Int(value) => Measure::Int(*value),
        Value::BigInt(digits) => Measure::of_digits(digits),
        Value::Float(value) => Measure::Float(*value),
        Value::Str(value) => Measure::Text(value.clone()),
        Value::Scalar(_, Number::Int(value)) => Measure::Int(*value),
        Value::Scalar(_, Number::Uint(value)) => Measure::Uint(*value),
        Value::Scalar(_, Number::Float(value)) => Measure::Float(*value),
        Value::Blob { .. } | Value::Range(_) | Value::List(_) | Value::Dict(_) => {
            return Err(Error::mismatch("a value that is not a number, bool or string"));
        }
    })
}

fn length_of(value: &Value) -> Result<Measure> {
    Ok(Measure::Length(match value {
        Value::Null => return Ok(Measure::None),
        Value::Str(text) => to_u64(text.chars().count()),
        Value::List(items) => to_u64(items.len()),
        Value::Dict(members) => to_u64(members.len()),
        Value::Blob { payload: Payload::Raw, data, .. } => to_u64(data.len()),
        Value::Blob { payload: Payload::Npy, data, .. } => {
            let header = npy::parse_header(data)?;
            *header.shape.first().ok_or_else(|| Error::mismatch("a value that has no length"))?
        }
        _ => return Err(Error::mismatch("a value that has no length")),
    }))
}

/// Describes the columns without opening a shard.
pub fn statistics(directory: &Directory) -> Vec<FieldInfo> {
    let mut fields: Vec<FieldInfo> = Vec::new();
    for info in (0..directory.count()).filter_map(|shard| directory.info(shard)) {
        for column in &info.columns.all {
            let path = vec![Some(column.name.clone())];
            let at = fields.iter().position(|field| field.path == path).unwrap_or_else(|| {
                fields.push(FieldInfo { path, ..FieldInfo::default() });
                fields.len() - 1
            });
            let (kind, mime) = kind_of(column.encoding.as_ref());
            let before = fields[at].kinds.get(kind).and_then(Json::as_u64).unwrap_or_default();
            fields[at].kinds.insert(kind.to_owned(), json!(before.saturating_add(info.samples)));
            if let (None, Some(mime)) = (&fields[at].media, mime) {
                fields[at].media = Some(Media { kind: "Image".to_owned(), mime: Some(mime.to_owned()) });
            }
        }
    }
    fields
}

fn kind_of(encoding: Option<&Encoding>) -> (&'static str, Option<&'static str>) {
    match encoding {
        Some(Encoding::Bytes) => ("bytes", None),
        Some(Encoding::Image(Image::Jpeg)) => ("bytes", Some("image/jpeg")),
        Some(Encoding::Image(Image::Png)) => ("bytes", Some("image/png")),
        Some(Encoding::Str | Encoding::StrDecimal) => ("str", None),
        Some(Encoding::Int | Encoding::StrInt) => ("int", None),
        Some(Encoding::StrFloat) => ("float", None),
        Some(Encoding::Scalar(dtype)) => (dtype.name(), None),
        Some(Encoding::NdArray(..)) => ("ndarray", None),
        Some(Encoding::Image(Image::Pil)) => ("image", None),
        Some(Encoding::JpegArray | Encoding::List(_)) => ("list", None),
        Some(Encoding::Json) => ("json", None),
        Some(Encoding::Pickle) => ("pickle", None),
        None => ("unknown", None),
    }
}
