//! A schema and its media after leaving out and renaming columns.

use crate::arrow::features::{METADATA_KEY, MediaPath};
use crate::arrow::schema::{decode_schema, encode_schema};
use crate::arrow::unify::unify;
use crate::filters::condition::Condition;
use crate::suggest::no_such_column;
use crate::{ConvertOptions, Selection};
use arrow_schema::{DataType, Field, Schema};
use jinx_core::error::{Error, Result};
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// The key of pandas' metadata, which lists columns and so is invalid when columns change.
const PANDAS_KEY: &str = "pandas";

/// The schema of the rows after applying `options`, with Hugging Face's features.
pub(crate) fn schema(schema: &Schema, options: &ConvertOptions) -> Schema {
    if options.columns.is_none() && options.drop.is_empty() && options.rename.is_empty() {
        return schema.clone();
    }
    let fields = schema.fields().iter().filter_map(|field| {
        let name = new_name(field.name(), options)?;
        Some(Field::clone(field).with_name(name))
    });
    let mut metadata = schema.metadata().clone();
    metadata.remove(PANDAS_KEY);
    if let Some(changed) = metadata.get(METADATA_KEY).and_then(|text| features(text, options)) {
        metadata.insert(METADATA_KEY.to_owned(), changed);
    }
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), metadata)
}

/// A schema's text without the fields that `keep` rejects, and with the fields in `more`.
///
/// # Errors
/// The errors of [`decode_schema`].
pub fn schema_text(text: &str, keep: &dyn Fn(&str) -> bool, added: &[Field]) -> Result<String> {
    let whole = decode_schema(text)?;
    let names = whole.fields().iter().map(|field| field.name());
    let drop = names.filter(|name| !keep(name)).cloned().collect();
    let kept = schema(&whole, &ConvertOptions { drop, ..ConvertOptions::default() });
    let fields = kept.fields().iter().cloned().chain(added.iter().cloned().map(Arc::new));
    Ok(encode_schema(&Schema::new_with_metadata(fields.collect::<Vec<_>>(), kept.metadata().clone())))
}

/// The text of a schema that covers the rows of two others.
///
/// # Errors
/// The errors of [`decode_schema`]; `Mismatch` naming the column and what differs.
pub fn united_text(first: &str, second: &str) -> Result<String> {
    Ok(encode_schema(&unify(&decode_schema(first)?, &decode_schema(second)?)?))
}

/// The schema of the samples of two sources, in the form used in footers, if both have one.
///
/// None also if some column has two types that nothing has in common: types are inferred from the values then.
///
/// # Errors
/// `Mismatch` if nothing is in common and some column has durations: without its type, their unit is not known.
pub fn common_schema(one: Option<String>, other: Option<String>) -> Result<Option<String>> {
    let (Some(one), Some(other)) = (one, other) else { return Ok(None) };
    if one == other {
        return Ok(Some(one));
    }
    match united_text(&one, &other) {
        Ok(united) => Ok(Some(united)),
        Err(error) if has_durations(&one)? || has_durations(&other)? => Err(error),
        Err(_) => Ok(None),
    }
}

fn has_durations(schema: &str) -> Result<bool> {
    let schema = decode_schema(schema)?;
    Ok(schema.flattened_fields().iter().any(|field| matches!(field.data_type(), DataType::Duration(_))))
}

/// Fails for requested names that the rows cannot have, before any row is read.
///
/// # Errors
/// `Invalid`, with the nearest names.
pub(crate) fn check(names: Option<&[String]>, options: &ConvertOptions) -> Result<()> {
    let selection = Selection::without(options.columns.as_deref(), &options.drop, &options.rename)?;
    let condition = options.filter.as_deref().map(Condition::parse).transpose()?;
    if let (Some(condition), Some(names)) = (condition, names) {
        condition.check_names(names)?;
    }
    let (Some(selection), Some(names)) = (selection, names) else {
        return Ok(());
    };
    for name in names {
        selection.wants(name);
    }
    selection.check(1)
}

/// Fails for indexed columns that the rows cannot have, as [`check`] does for `options`.
///
/// # Errors
/// `Invalid`, with the nearest names.
pub(crate) fn check_columns(
    names: Option<&[String]>,
    columns: &[String],
    options: &ConvertOptions,
) -> Result<()> {
    let Some(names) = names else { return Ok(()) };
    let left: Vec<&str> = names.iter().filter_map(|name| new_name(name, options)).collect();
    let is_known = |column: &str| left.iter().any(|name| is_in_column(column, name));
    match columns.iter().find(|column| !is_known(column)) {
        Some(column) => Err(Error::invalid(no_such_column(column, left.iter().copied()))),
        None => Ok(()),
    }
}

/// Whether a column or path is the column `name`, or inside it.
pub(crate) fn is_in_column(column: &str, name: &str) -> bool {
    column.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// The media after applying `options`.
pub(crate) fn media(media: Vec<MediaPath>, options: &ConvertOptions) -> Vec<MediaPath> {
    let left = media.into_iter().filter_map(|(mut path, feature)| {
        let name = path.first()?.as_deref()?;
        let new = new_name(name, options)?.to_owned();
        path[0] = Some(new);
        Some((path, feature))
    });
    left.collect()
}

fn new_name<'a>(name: &'a str, options: &'a ConvertOptions) -> Option<&'a str> {
    let kept = options.columns.as_ref().is_none_or(|fields| fields.iter().any(|field| field == name))
        && options.drop.iter().all(|field| field != name);
    let renamed = options.rename.iter().find(|(old, _)| old == name);
    kept.then(|| renamed.map_or(name, |(_, new)| new))
}

/// `None` for text that `datasets` does not write; then it is kept unchanged.
fn features(text: &str, options: &ConvertOptions) -> Option<String> {
    let mut notes: Json = serde_json::from_str(text).ok()?;
    let features = notes.get_mut("info")?.get_mut("features")?.as_object_mut()?;
    let left: Map<String, Json> = std::mem::take(features)
        .into_iter()
        .filter_map(|(name, feature)| Some((new_name(&name, options)?.to_owned(), feature)))
        .collect();
    *features = left;
    Some(notes.to_string())
}
