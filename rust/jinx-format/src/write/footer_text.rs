//! The footer's text of a pair that is being written.

use crate::fields::{FieldInfo, FieldNode, FieldStats};
use crate::footer::{ArrayRef, Footer, SidecarInfo, VIEW_MARK};
use crate::meta::WithMeta;
use crate::metadata_digest::with_digest;
use crate::own_columns;
use crate::view_footer::{self, ViewInfo};
use crate::write::options::WriteOptions;
use crate::write::sidecar_writer::inline_array;
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use jinx_core::io::{plain_component, sidecar_path};
use jinx_core::limits::MAX_NAMED_BYTES;
use serde_json::{Map, Value as Json, json};
use std::path::Path;

/// Reports the errors that a reader would find in a footer, before the file is published.
pub(super) fn check_footer(text: &str) -> Result<()> {
    Footer::parse(text.as_bytes()).and_then(|footer| FieldNode::build(&footer.fields)).map(drop).map_err(
        |error| Error::new(error.cause(), format!("the footer could not be read again: {}", error.what())),
    )
}

/// The number of bytes left in the footer for column names.
///
/// # Errors
/// `Limit` when `meta` and what else the options put into the footer leave none, `Invalid` when no reader takes it.
pub fn room_for_names(options: &WriteOptions) -> Result<u64> {
    let none = || inline_array(&[]);
    let footer = footer_text(&FooterParts {
        options,
        path: Path::new("a.jinx"),
        rows: 0,
        shard_id: -1,
        id: "",
        sidecar_bytes: 0,
        index: none()?,
        line_hash: none()?,
        fields: &FieldStats::new(&options.media, u64::MAX).finish(),
        columns: json!([]),
        view: None,
    })?;
    let bytes = to_u64(footer.len());
    let room = MAX_NAMED_BYTES.checked_sub(bytes).ok_or_else(|| {
        Error::limit(format!(
            "meta and schema take {bytes} bytes of the footer; at most {MAX_NAMED_BYTES} fit"
        ))
    })?;
    check_footer(&footer).map_err(|error| {
        Error::invalid(format!("meta or schema cannot be kept in the footer: {}", error.what()))
    })?;
    Ok(room)
}

pub(super) struct FooterParts<'a> {
    pub(super) options: &'a WriteOptions,
    pub(super) path: &'a Path,
    pub(super) rows: u64,
    pub(super) shard_id: i64,
    pub(super) id: &'a str,
    pub(super) sidecar_bytes: u64,
    pub(super) index: ArrayRef,
    pub(super) line_hash: ArrayRef,
    pub(super) fields: &'a [FieldInfo],
    pub(super) columns: Json,
    pub(super) view: Option<(u64, ViewInfo)>,
}

/// The footer's text. JINX 1.0 readers need the first eleven members, the index first of all.
pub(super) fn footer_text(parts: &FooterParts<'_>) -> Result<String> {
    let options = parts.options;
    let mut footer = Map::new();
    let mut put = |key: &str, value: Json| footer.insert(key.to_owned(), value);
    let mark = if parts.view.is_some() { VIEW_MARK } else { "" };
    match &parts.index {
        ArrayRef::Inline { data, .. } => put(&format!("index.npy.zst{mark}"), json!(data)),
        pointer => put(&format!("index.npy.bin{mark}"), json!(pointer)),
    };
    let compression = options.encode.compression.map(|_| "zst");
    put("num_samples", json!(parts.view.as_ref().map_or(parts.rows, |(samples, _)| *samples)));
    put("shard_id", json!(parts.shard_id));
    put("version", json!("1.1"));
    put("encoding", json!("b64"));
    put("binary_threshold", json!(options.encode.sidecar.then_some(options.encode.binary_threshold)));
    put("compression", json!(compression));
    put("index_compression", json!("zst"));
    put("compress_threshold", json!(options.encode.compress_threshold));
    put("compress_ratio", json!(options.encode.compress_ratio));
    put("ext_sep", json!("."));
    if let Some(split) = &options.split {
        put("split", json!(split));
    }
    let mut features = Vec::new();
    if let Some((_, view)) = &parts.view {
        features.push(view_footer::FEATURE);
        features.extend((!view.own.is_empty()).then_some(own_columns::FEATURE));
    }
    put("features_required", json!(features));
    put("writer", json!(concat!("jinx-data ", env!("CARGO_PKG_VERSION"))));
    put("id", json!(parts.id));
    let sidecar = (parts.sidecar_bytes > 0)
        .then(|| SidecarInfo { name: sidecar_name(parts.path), length: parts.sidecar_bytes });
    put("sidecar", json!(sidecar));
    put("line_hash", json!(parts.line_hash));
    if let Some((_, view)) = &parts.view {
        put("rows", json!(view.rows));
        put("base", json!(view.bases));
        if let Some(positions) = &view.positions {
            put("positions", json!(positions));
        }
        if !view.drop.is_empty() {
            put("drop", json!(view.drop));
        }
        if !view.own.is_empty() {
            put("own", json!(view.own));
        }
    }
    put("fields", json!(parts.fields));
    if let Some(schema) = &options.arrow_schema {
        put("arrow_schema", json!(schema));
    }
    put("columns", parts.columns.clone());
    with_digest(&WithMeta { members: &footer, meta: &options.meta })
}

/// The name of the sidecar as stored in the footer. Readers look next to the main file first; where the user's own name
/// is none that a file may give (it has a control character, or is not UTF-8), another one is written.
fn sidecar_name(main: &Path) -> String {
    let sidecar = sidecar_path(main);
    let name = sidecar.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if plain_component(&name, "the sidecar's name").is_ok() { name } else { "sidecar.binx".to_owned() }
}
