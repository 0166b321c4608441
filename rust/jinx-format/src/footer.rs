//! The trailer and the footer: the description of a dataset at the end of its main file.

use crate::chunk_checksums::check_members;
use crate::fields::FieldInfo;
use crate::key::FormatVersion;
use crate::meta::Meta;
use crate::metadata_digest::check_digest;
use crate::own_columns;
use crate::view_footer::{self, ViewInfo};
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::codec::{self, Codec, TextEncoding};
use jinx_core::error::{Error, Result};
use jinx_core::json::has_duplicates;
use jinx_core::limits::{MAX_CHAIN_CODECS, MAX_FOOTER_BYTES, MAX_INLINE_RATIO, MAX_TRAILER_BYTES};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use twox_hash::XxHash3_64;

/// The features that a file may require of its reader.
const KNOWN_FEATURES: [&str; 2] = [view_footer::FEATURE, own_columns::FEATURE];
/// The end of the index key of a view. A 1.0 reader takes it for a codec, so it does not read a view as rows.
pub(crate) const VIEW_MARK: &str = ".view";

/// The location of an array of numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ArrayRef {
    /// In the sidecar, not encoded.
    Sidecar {
        offset: u64,
        length: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        x: Option<String>,
        /// The size of each chunk in bytes, except the last, if there are several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chunk: Option<u64>,
        /// The checksums of the chunks, inline.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        xs: Option<Box<Self>>,
    },
    /// In the footer: base64 of a zstd frame.
    Inline { data: String, length: u64, x: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexRef {
    Sidecar(ArrayRef),
    /// Text in the footer and the codecs in order of encoding.
    Text(String, Vec<Codec>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SidecarInfo {
    pub name: String,
    pub length: u64,
}

/// One column as the footer describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnInfo {
    pub path: Vec<Option<String>>,
    /// The kind of the column: `value` or `length`.
    pub kind: String,
    pub dtype: String,
    pub rows: u64,
    /// For vectors in a view's own column: the number of elements of each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u64>,
    /// For a view's own column with `validity`: the number of samples without a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nulls: Option<u64>,
    /// For times in a view's own column that are instants: the name of a time zone, or an offset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// For a view's own column with `codes`: the number of strings to which the codes refer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validity: Option<ArrayRef>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offsets: Option<ArrayRef>,
    /// For strings in a view's own column: which of the strings each sample has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codes: Option<ArrayRef>,
    pub data: ArrayRef,
}

/// A parsed footer of any version.
#[derive(Debug, Clone)]
pub struct Footer {
    pub version: String,
    pub rules: FormatVersion,
    pub index: IndexRef,
    pub num_samples: u64,
    pub sep: String,
    /// Keys have `.` before the chain and another separator inside it, as the 1.0 writer writes them.
    pub mixed_sep: bool,
    /// `None` if the file does not state it; then the caller's choice applies, or the default (Ascii85).
    pub encoding: Option<TextEncoding>,
    pub split: Option<String>,
    pub id: Option<String>,
    pub sidecar: Option<SidecarInfo>,
    pub line_hash: Option<ArrayRef>,
    pub fields: Vec<FieldInfo>,
    pub columns: Vec<ColumnInfo>,
    pub arrow_schema: Option<String>,
    pub meta: Meta,
    pub writer: Option<String>,
    /// Information about a saved view.
    pub view: Option<ViewInfo>,
}

/// Finds the footer of a file of `total` bytes from its last bytes.
///
/// Returns the footer's offset and the length of the footer's text without its newline.
///
/// # Errors
/// `Corrupt` or `Truncated` naming what is wrong with the trailer.
pub fn footer_range(tail: &[u8], total: u64) -> Result<(u64, u64)> {
    let window = &tail[tail.len().saturating_sub(MAX_TRAILER_BYTES)..];
    let no_trailer = || {
        Error::truncated(
            "the file does not end with a footer offset: not a JINX file, or its writer was stopped",
        )
    };
    let end = window.iter().rposition(|byte| !byte.is_ascii_whitespace()).ok_or_else(no_trailer)? + 1;
    let start = window[..end].iter().rposition(|byte| *byte == b'\n').ok_or_else(no_trailer)? + 1;
    let digits = &window[start..end];
    if digits.len() > 20 || !digits.iter().all(u8::is_ascii_digit) {
        return Err(no_trailer());
    }
    let offset: u64 = std::str::from_utf8(digits)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| Error::corrupt("the footer offset does not fit 64 bits"))?;
    let footer_end = total - to_u64(window.len() - start) - 1;
    if offset >= footer_end {
        return Err(Error::corrupt(format!(
            "the footer offset {offset} points past the footer's end at {footer_end}"
        )));
    }
    Ok((offset, footer_end - offset))
}

impl Footer {
    /// A footer for a file that has none, with this many rows.
    pub(crate) fn bare(rules: FormatVersion, num_samples: u64) -> Self {
        Self {
            version: if rules == FormatVersion::V1_1 { "1.1" } else { "1.0" }.to_owned(),
            rules,
            index: IndexRef::Text(String::new(), Vec::new()),
            num_samples,
            sep: ".".to_owned(),
            mixed_sep: false,
            encoding: (rules != FormatVersion::V1_0).then_some(TextEncoding::Base64),
            split: None,
            id: None,
            sidecar: None,
            line_hash: None,
            fields: Vec::new(),
            columns: Vec::new(),
            arrow_schema: None,
            meta: Meta::default(),
            writer: None,
            view: None,
        }
    }

    /// The number of lines in the file, which is the number of samples unless it is a view.
    pub fn rows(&self) -> u64 {
        self.view.as_ref().map_or(self.num_samples, |view| view.rows)
    }

    /// Parses the footer's text (`{...}`, trailing blanks allowed in 1.0).
    ///
    /// # Errors
    /// `Corrupt` for text that is not a footer, `Unsupported` for a newer format, `Limit` for a footer
    /// larger than any writer makes.
    pub fn parse(text: &[u8]) -> Result<Self> {
        if text.first() != Some(&b'{') {
            return Err(Error::corrupt("the footer offset does not point to the footer"));
        }
        check_names(text, "footer")?;
        let mut map: Map<String, Json> = serde_json::from_slice(text)
            .map_err(|error| Error::corrupt(format!("the footer is not JSON: {error}")))?;
        let version = match map.get("version") {
            None => "1.0".to_owned(),
            Some(Json::String(version)) => version.clone(),
            Some(_) => return Err(Error::corrupt("the footer's 'version' is not a string")),
        };
        let rules = rules_of(&version).map_err(|error| match map.contains_key("digest") {
            // A damaged version number must not be mistaken for a newer one.
            true => check_digest(text, &map).err().unwrap_or(error),
            false => error,
        })?;
        if rules == FormatVersion::V1_1 {
            check_digest(text, &map)?;
            check_features(&map)?;
        } else if map.contains_key("digest") {
            check_digest(text, &map)?;
        }
        let sep = match map.get("ext_sep") {
            None | Some(Json::Null) => ".".to_owned(),
            Some(Json::String(sep))
                if sep != "." && (sep.contains('.') || rules == FormatVersion::V1_1) && !sep.is_empty() =>
            {
                return Err(Error::unsupported(format!("the separator '{sep}' in the footer")));
            }
            Some(Json::String(sep)) if !sep.is_empty() => sep.clone(),
            Some(_) => return Err(Error::corrupt("the footer's 'ext_sep' is not a string")),
        };
        let own_sep =
            map.keys().find(|key| key.starts_with("index.")).is_some_and(|key| key[6..].contains(&sep));
        let mixed_sep = sep != "." && !own_sep;
        let is_view = rules == FormatVersion::V1_1 && requires(&map, view_footer::FEATURE);
        let index = take_index(&mut map, if mixed_sep { "." } else { &sep }, is_view)?;
        if matches!(index, IndexRef::Sidecar(_)) && to_u64(text.len()) > MAX_FOOTER_BYTES {
            return Err(Error::limit(format!("a footer of {} bytes", text.len())));
        }
        let num_samples = map
            .get("num_samples")
            .and_then(Json::as_u64)
            .ok_or_else(|| Error::corrupt("the footer has no valid 'num_samples'"))?;
        let encoding = match map.get("encoding") {
            None | Some(Json::Null) => None,
            Some(Json::String(name)) => Some(
                TextEncoding::from_name(name)
                    .ok_or_else(|| Error::unsupported(format!("text encoding '{name}' in the footer")))?,
            ),
            Some(_) => return Err(Error::corrupt("the footer's 'encoding' is not a string")),
        };
        if rules == FormatVersion::V1_1 {
            for key in ["id", "fields", "line_hash", "columns"] {
                if !map.contains_key(key) {
                    return Err(Error::corrupt(format!("the footer lacks '{key}'")));
                }
            }
        }
        let is_new = rules == FormatVersion::V1_1;
        let has_own = rules == FormatVersion::V1_1 && requires(&map, own_columns::FEATURE);
        if has_own && !is_view {
            return Err(Error::corrupt("own columns in a file that is not a view"));
        }
        let mut view = is_view.then(|| ViewInfo::take(&mut map, num_samples)).transpose()?;
        if let (Some(view), true) = (&mut view, has_own) {
            view.own = own_columns::take(&mut map, num_samples)?;
        } else if view.is_some() && map.contains_key("own") {
            return Err(Error::corrupt("own columns in a view that does not require their feature"));
        }
        let footer = Self {
            view,
            index,
            num_samples,
            sep,
            mixed_sep,
            encoding,
            split: text_member(&map, "split"),
            id: if is_new { text_member(&map, "id") } else { None },
            sidecar: if is_new { member(&mut map, "sidecar")? } else { None },
            line_hash: if is_new { member(&mut map, "line_hash")? } else { None },
            fields: if is_new { member(&mut map, "fields")?.unwrap_or_default() } else { Vec::new() },
            columns: if is_new { member(&mut map, "columns")?.unwrap_or_default() } else { Vec::new() },
            arrow_schema: text_member(&map, "arrow_schema"),
            meta: if is_new { own_meta(text, &map)? } else { Meta::default() },
            writer: text_member(&map, "writer"),
            version,
            rules,
        };
        if let Some(view) = &footer.view {
            own_columns::check_names(&view.own, &footer.fields)?;
        }
        if is_new {
            footer.arrays().try_for_each(ArrayRef::check)?;
        }
        Ok(footer)
    }

    /// All arrays, in the order of the footer.
    fn arrays(&self) -> impl Iterator<Item = &ArrayRef> {
        let index = match &self.index {
            IndexRef::Sidecar(place) => Some(place),
            IndexRef::Text(..) => None,
        };
        let of_view = self.view.iter().flat_map(|view| view.places());
        index
            .into_iter()
            .chain(&self.line_hash)
            .chain(of_view)
            .chain(self.columns.iter().flat_map(ColumnInfo::arrays))
    }
}

impl ColumnInfo {
    /// The arrays of the column, in the order of the footer and of the sidecar.
    pub fn arrays(&self) -> impl Iterator<Item = &ArrayRef> {
        let Self { validity, data, offsets, codes, .. } = self;
        [validity.as_ref(), Some(data), offsets.as_ref(), codes.as_ref()].into_iter().flatten()
    }
}

fn rules_of(version: &str) -> Result<FormatVersion> {
    let parsed = version
        .split_once('.')
        .and_then(|(major, minor)| Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?)));
    match parsed {
        Some((1, 0)) => Ok(FormatVersion::V1_0),
        Some((1, _)) => Ok(FormatVersion::V1_1),
        Some(_) => Err(Error::unsupported(format!("JINX version {version}; this build reads 1.x"))),
        None => Err(Error::corrupt(format!("the footer's 'version' is '{version}', which is not a version"))),
    }
}

/// Refuses objects with duplicate names, at any depth; `what` names the text.
pub fn check_names(text: &[u8], what: &str) -> Result<()> {
    match has_duplicates(text, 0) {
        Ok(false) => Ok(()),
        Ok(true) => Err(Error::corrupt(format!("a name appears twice in one object of the {what}"))),
        Err(error) => Err(Error::corrupt(format!("the {what} is damaged: {}", error.what()))),
    }
}

/// The user's object, from the text of the footer, because numbers in `map` may be rounded.
fn own_meta(text: &[u8], map: &Map<String, Json>) -> Result<Meta> {
    #[derive(Deserialize)]
    struct Own {
        meta: Meta,
    }
    let is_default = |meta: &Json| meta.is_null() || meta.as_object().is_some_and(Map::is_empty);
    if map.get("meta").is_none_or(is_default) {
        return Ok(Meta::default());
    }
    let own: Own = serde_json::from_slice(text)
        .map_err(|error| Error::corrupt(format!("the footer's 'meta' is damaged: {error}")))?;
    Ok(own.meta)
}

pub fn check_features(map: &Map<String, Json>) -> Result<()> {
    let Some(required) = map.get("features_required") else { return Ok(()) };
    let required: Vec<String> = serde_json::from_value(required.clone())
        .map_err(|_| Error::corrupt("'features_required' is not a list of names"))?;
    match required.iter().find(|name| !KNOWN_FEATURES.contains(&name.as_str())) {
        Some(name) => {
            Err(Error::unsupported(format!("the file requires the feature '{name}'; use a newer jinx")))
        }
        None => Ok(()),
    }
}

/// Whether the file requires a feature; the footer's features were already checked.
fn requires(map: &Map<String, Json>, feature: &str) -> bool {
    let required = map.get("features_required").and_then(Json::as_array);
    required.is_some_and(|required| required.iter().any(|name| name == feature))
}

fn text_member(map: &Map<String, Json>, key: &str) -> Option<String> {
    map.get(key).and_then(Json::as_str).map(str::to_owned)
}

fn member<T: serde::de::DeserializeOwned>(map: &mut Map<String, Json>, key: &str) -> Result<Option<T>> {
    match map.get_mut(key).map(Json::take) {
        None | Some(Json::Null) => Ok(None),
        Some(value) => serde_json::from_value(value)
            .map(Some)
            .map_err(|error| Error::corrupt(format!("the footer's '{key}' is damaged: {error}"))),
    }
}

fn take_index(map: &mut Map<String, Json>, sep: &str, is_view: bool) -> Result<IndexRef> {
    let key = map
        .keys()
        .find(|key| key.starts_with("index."))
        .cloned()
        .ok_or_else(|| Error::corrupt("the footer has no index"))?;
    let value = map.get_mut(&key).map(Json::take).unwrap_or_default();
    let mut chain = &key["index.".len()..];
    if is_view {
        let of_view = chain.strip_suffix(VIEW_MARK);
        let missing = || Error::corrupt(format!("the index of a view under the name '{key}'"));
        chain = of_view.ok_or_else(missing)?;
    }
    let mut parts = chain.split(sep).filter(|part| !part.is_empty());
    if parts.next() != Some("npy") {
        return Err(Error::unsupported(format!("index form '{key}'")));
    }
    let mut codecs = Vec::new();
    for part in parts {
        match Codec::from_ext(part) {
            Some(codec) if codecs.len() < MAX_CHAIN_CODECS => codecs.push(codec),
            None if part == "bin" && chain.ends_with("bin") && codecs.is_empty() => {
                let array: ArrayRef = serde_json::from_value(value)
                    .map_err(|_| Error::corrupt("the index in the footer is not a pointer"))?;
                return match array {
                    ArrayRef::Sidecar { .. } => Ok(IndexRef::Sidecar(array)),
                    ArrayRef::Inline { .. } => {
                        Err(Error::corrupt("the index in the footer is not a pointer"))
                    }
                };
            }
            _ => return Err(Error::unsupported(format!("index form '{key}'"))),
        }
    }
    match value {
        Json::String(text) => Ok(IndexRef::Text(text, codecs)),
        _ => Err(Error::corrupt("the index in the footer is not a string")),
    }
}

impl IndexRef {
    /// The bytes of an index in the footer.
    ///
    /// # Errors
    /// `Corrupt` for text that does not decode, `Limit` for more than `max` bytes.
    pub fn decode_text(text: &str, codecs: &[Codec], encoding: TextEncoding, max: u64) -> Result<Vec<u8>> {
        let mut bytes = encoding.decode(text.as_bytes(), max)?;
        for codec in codecs.iter().rev() {
            bytes = codec::decode(*codec, &bytes, max)?;
        }
        Ok(bytes)
    }
}

impl ArrayRef {
    /// Checks that the members are consistent.
    fn check(&self) -> Result<()> {
        match self {
            Self::Sidecar { length, chunk, xs, .. } => check_members(*length, *chunk, xs.as_deref()),
            Self::Inline { .. } => Ok(()),
        }
    }

    /// The checked bytes of an array in the footer of a file of `file_bytes`.
    ///
    /// # Errors
    /// `Corrupt` when text, length or hash do not match, `Limit` for more bytes than the rows of such a file need.
    pub fn decode_inline(data: &str, length: u64, x: &str, file_bytes: u64) -> Result<Vec<u8>> {
        let limit = MAX_FOOTER_BYTES.max(file_bytes.saturating_mul(MAX_INLINE_RATIO));
        if length > limit {
            return Err(Error::limit(format!("an array of {length} bytes inside the footer")));
        }
        let frame = TextEncoding::Base64.decode(data.as_bytes(), limit)?;
        let bytes = codec::decode(Codec::Zstd, &frame, to_u64(to_usize(length, "array")?))?;
        if to_u64(bytes.len()) != length {
            return Err(Error::corrupt(format!("an array of {} bytes instead of {length}", bytes.len())));
        }
        check_x(&bytes, x)?;
        Ok(bytes)
    }
}

/// Compares bytes with a stored xxh3-64.
pub fn check_x(bytes: &[u8], x: &str) -> Result<()> {
    let computed = format!("{:016x}", XxHash3_64::oneshot(bytes));
    if computed == x {
        Ok(())
    } else {
        Err(Error::corrupt(format!("the checksum is {computed}, {x} was stored")))
    }
}
