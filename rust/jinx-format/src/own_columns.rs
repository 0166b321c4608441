//! Columns that a saved view adds, as typed arrays: numbers, bools, vectors and strings, without a JSON line per
//! sample.

use crate::fields::FieldInfo;
use crate::footer::{ArrayRef, ColumnInfo};
use crate::read::columns::{ColumnKind, ColumnType};
use crate::read::shard::Shard;
use jinx_core::error::{Error, Result};
use jinx_core::limits::MAX_VECTOR_NUMBERS;
use serde_json::{Map, Value as Json, json};
use std::collections::HashSet;

/// The feature that a reader must know to read a view with such columns.
pub const FEATURE: &str = "own_columns";

impl Shard {
    /// The footer's descriptions of those added columns that are typed arrays.
    pub fn own_columns(&self) -> &[ColumnInfo] {
        self.footer().view.as_ref().map_or(&[], |view| &view.own)
    }
}

/// The name of an added column.
pub fn name_of(info: &ColumnInfo) -> &str {
    info.path.first().and_then(Option::as_deref).unwrap_or_default()
}

/// The column as an entry of `fields`.
pub fn field_of(info: &ColumnInfo) -> FieldInfo {
    let nulls = info.nulls.unwrap_or_default();
    let counts = [("null", nulls), (kind_of(info), info.rows.saturating_sub(nulls))];
    let counts = counts.into_iter().filter(|(_, count)| *count > 0);
    let kinds = counts.map(|(kind, count)| (kind.to_owned(), json!(count))).collect();
    FieldInfo { path: info.path.clone(), kinds, ..FieldInfo::default() }
}

/// The kind of the values, as named in `fields`.
pub fn kind_of(info: &ColumnInfo) -> &'static str {
    match ColumnType::from_name(&info.dtype) {
        _ if info.width.is_some() => "ndarray",
        Some(ColumnType::Bool) => "bool",
        Some(ColumnType::Utf8 | ColumnType::Time(_)) => "str",
        Some(dtype) if dtype.is_float() => "float",
        _ => "int",
    }
}

/// Takes the descriptions out of the footer of a view of `num_samples`.
///
/// # Errors
/// `Corrupt` for descriptions that are missing or do not fit.
pub(crate) fn take(map: &mut Map<String, Json>, num_samples: u64) -> Result<Vec<ColumnInfo>> {
    let value = map.get_mut("own").map(Json::take).unwrap_or_default();
    let own: Vec<ColumnInfo> = serde_json::from_value(value)
        .map_err(|error| Error::corrupt(format!("the footer's 'own' is damaged: {error}")))?;
    if own.is_empty() {
        return Err(Error::corrupt("the footer's 'own' lists no columns"));
    }
    for info in &own {
        check(info, num_samples).map_err(|error| {
            Error::new(error.cause(), format!("the column '{}': {}", name_of(info), error.what()))
        })?;
    }
    Ok(own)
}

/// Checks that no added column has the name of another one, or of a member of the rows.
pub(crate) fn check_names(own: &[ColumnInfo], fields: &[FieldInfo]) -> Result<()> {
    let members = fields.iter().filter(|field| field.path.len() == 1);
    let mut seen: HashSet<&str> = match own.is_empty() {
        true => return Ok(()),
        false => members.filter_map(|field| field.path[0].as_deref()).collect(),
    };
    match own.iter().find(|info| !seen.insert(name_of(info))) {
        Some(info) => Err(Error::corrupt(format!("the view has the column '{}' twice", name_of(info)))),
        None => Ok(()),
    }
}

/// Checks that a description is consistent, and matches a view of `samples`.
pub(crate) fn check(info: &ColumnInfo, samples: u64) -> Result<()> {
    if !matches!(&info.path[..], [Some(_)]) || info.kind != ColumnKind::Value.name() {
        return Err(Error::corrupt("an own column is the value at one name"));
    }
    let dtype = ColumnType::from_name(&info.dtype)
        .ok_or_else(|| Error::corrupt(format!("unknown type '{}'", info.dtype)))?;
    if info.rows != samples || samples == 0 {
        return Err(Error::corrupt(format!("{} rows, the view has {samples}", info.rows)));
    }
    check_width(dtype, info.width).map_err(Error::corrupt)?;
    let has_nulls = info.nulls.is_some_and(|nulls| (1..=samples).contains(&nulls));
    if has_nulls != info.validity.is_some() || has_nulls != info.nulls.is_some() {
        return Err(Error::corrupt("'nulls' does not fit 'validity'"));
    }
    check_zone(dtype, info.zone.as_deref()).map_err(Error::corrupt)?;
    let code = match (dtype, info.entries, &info.codes) {
        (_, None, None) => 0,
        (ColumnType::Utf8, Some(entries @ 1..=MAX_ENTRIES), Some(_)) => {
            code_type(entries).width().unwrap_or(1)
        }
        _ => return Err(Error::corrupt("'entries' does not fit 'codes'")),
    };
    let strings = info.entries.unwrap_or(samples);
    let lengths = [
        (info.validity.as_ref(), Some(samples.div_ceil(8)), "validity"),
        (Some(&info.data), cell_bytes(dtype, info.width).and_then(|cell| cell.checked_mul(samples)), "data"),
        (info.offsets.as_ref(), strings.checked_add(1).and_then(|count| count.checked_mul(8)), "offsets"),
        (info.codes.as_ref(), samples.checked_mul(code), "codes"),
    ];
    for (place, expected, what) in lengths {
        let Some(place) = place else { continue };
        let (ArrayRef::Inline { length, .. } | ArrayRef::Sidecar { length, .. }) = place;
        let is_text = what == "data" && dtype == ColumnType::Utf8;
        if !is_text && expected != Some(*length) {
            return Err(Error::corrupt(format!("{what} of {length} bytes for {samples} samples")));
        }
        checksum(place)?;
    }
    match info.offsets.is_some() == (dtype == ColumnType::Utf8) {
        true => Ok(()),
        false => Err(Error::corrupt("offsets belong to strings")),
    }
}

/// The maximum number of strings of a column with codes: as many as 32-bit codes can number.
pub(crate) const MAX_ENTRIES: u64 = 1 << 31;
const MAX_ZONE_BYTES: usize = 64;

/// The type of the codes for this many strings: the narrowest signed type, as Arrow and pandas use it.
pub fn code_type(entries: u64) -> ColumnType {
    match entries {
        0..=0x80 => ColumnType::Int8,
        0x81..=0x8000 => ColumnType::Int16,
        _ => ColumnType::Int32,
    }
}

pub(crate) fn check_zone(dtype: ColumnType, zone: Option<&str>) -> std::result::Result<(), String> {
    let Some(zone) = zone else { return Ok(()) };
    if !matches!(dtype, ColumnType::Time(_)) {
        return Err(format!("a time zone of the type '{}'", dtype.name()));
    }
    match (1..=MAX_ZONE_BYTES).contains(&zone.len()) && zone.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(()),
        false => Err("a time zone that is not 1 to 64 visible characters".to_owned()),
    }
}

/// Checks that every code is the number of a string.
pub(crate) fn check_codes(codes: &[u8], entries: u64) -> Result<()> {
    let is_outside = |code: i64| u64::try_from(code).map_or(true, |code| code >= entries);
    let outside = match code_type(entries) {
        ColumnType::Int8 => codes.iter().any(|byte| is_outside(i8::from_le_bytes([*byte]).into())),
        ColumnType::Int16 => {
            codes.as_chunks().0.iter().any(|code| is_outside(i16::from_le_bytes(*code).into()))
        }
        _ => codes.as_chunks().0.iter().any(|code| is_outside(i32::from_le_bytes(*code).into())),
    };
    match outside {
        false => Ok(()),
        true => Err(Error::corrupt(format!("a code that is none of {entries} strings"))),
    }
}

pub(crate) fn check_width(dtype: ColumnType, width: Option<u64>) -> std::result::Result<(), String> {
    match width {
        None => Ok(()),
        Some(_) if matches!(dtype, ColumnType::Bool | ColumnType::Utf8 | ColumnType::Time(_)) => {
            Err(format!("vectors of the type '{}'", dtype.name()))
        }
        Some(1..=MAX_VECTOR_NUMBERS) => Ok(()),
        Some(width) => Err(format!("vectors of {width} numbers; they have 1 to {MAX_VECTOR_NUMBERS}")),
    }
}

/// The size of one cell in bytes; `None` for strings.
pub(crate) fn cell_bytes(dtype: ColumnType, width: Option<u64>) -> Option<u64> {
    dtype.width()?.checked_mul(width.unwrap_or(1))
}

fn checksum(place: &ArrayRef) -> Result<&str> {
    let x = match place {
        ArrayRef::Inline { x, .. } => Some(x.as_str()),
        ArrayRef::Sidecar { x, .. } => x.as_deref(),
    };
    x.ok_or_else(|| Error::corrupt("an array without a checksum"))
}

/// The data about added columns that the id of a view covers; empty without such columns.
///
/// # Errors
/// `Corrupt` for an array without a checksum.
pub(crate) fn canonical(own: &[ColumnInfo]) -> Result<Vec<u8>> {
    if own.is_empty() {
        return Ok(Vec::new());
    }
    let columns = own.iter().map(|info| {
        let sums = info.arrays().map(checksum).collect::<Result<Vec<_>>>()?;
        let mut column =
            json!({"name": name_of(info), "dtype": info.dtype, "width": info.width.unwrap_or(0), "x": sums});
        if let (Some(zone), Json::Object(members)) = (&info.zone, &mut column) {
            members.insert("zone".to_owned(), json!(zone));
        }
        Ok(column)
    });
    Ok(json!({"own": columns.collect::<Result<Vec<_>>>()?}).to_string().into_bytes())
}

/// Checks that the bitmap has as many missing values as the footer states.
pub(crate) fn check_nulls(info: &ColumnInfo, bits: &[u8]) -> Result<()> {
    let present: u64 = bits.iter().map(|byte| u64::from(byte.count_ones())).sum();
    match present.checked_add(info.nulls.unwrap_or_default()) {
        Some(rows) if rows == info.rows => Ok(()),
        _ => Err(Error::corrupt(format!("{present} of {} values are valid", info.rows))),
    }
}
