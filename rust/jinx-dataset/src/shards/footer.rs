//! Information from the footers of shards.

use crate::shards::shard_list::Shards;
use jinx_convert::arrow::decode_schema;
use jinx_core::json::text::unescape;
use jinx_core::{Error, Result};
use jinx_format::fields::{FieldInfo, merge};
use jinx_format::meta::WithMeta;
use jinx_format::own_columns::{field_of, name_of};
use serde_json::{Map, Value as Json, json};
use std::collections::HashSet;

/// The number of rows to scan for column names.
const SCANNED_FOR_NAMES: u64 = 1000;

/// The footer of shard `i` as JSON text.
pub fn footer(shards: &Shards, i: usize) -> Result<String> {
    if i >= shards.count() {
        return Err(Error::invalid(format!("shard {i} of {}", shards.count())));
    }
    let shard = shards.shard(i)?;
    let footer = shard.footer();
    let mut object = Map::new();
    object.insert("version".into(), json!(footer.version));
    object.insert("num_samples".into(), json!(footer.num_samples));
    object.insert("samples_bytes".into(), json!(shard.footer_offset()));
    object.insert("bytes".into(), json!(shard.main().len()));
    object.insert("sidecar_bytes".into(), json!(shard.sidecar().map_or(0, jinx_core::io::Source::len)));
    object.insert("encoding".into(), json!(shard.encoding().name()));
    object.insert("id".into(), json!(footer.id));
    object.insert("split".into(), json!(footer.split));
    object.insert("writer".into(), json!(footer.writer));
    object.insert("line_hash".into(), json!(footer.line_hash.is_some()));
    object.insert("fields".into(), json!(footer.fields));
    let all = footer.columns.iter().chain(shard.own_columns());
    let columns: Vec<Json> =
        all.map(|column| json!({"path": column.path, "kind": column.kind, "dtype": column.dtype})).collect();
    object.insert("columns".into(), json!(columns));
    object.insert("has_arrow_schema".into(), json!(footer.arrow_schema.is_some()));
    serde_json::to_string(&WithMeta { members: &object, meta: &footer.meta })
        .map_err(|error| Error::invalid(error.to_string()))
}

/// The `fields` entries of all footers, and those of the typed columns of views, summed.
pub fn statistics(shards: &Shards) -> Result<Vec<FieldInfo>> {
    let mut sum = Vec::new();
    for i in 0..shards.count() {
        let shard = shards.next_shard(i)?;
        merge(&mut sum, shard.footer().fields.clone());
        merge(&mut sum, shard.own_columns().iter().map(field_of).collect());
    }
    Ok(sum)
}

/// Returns the names of the columns in all footers, in order of first appearance. If footers do not list the names
/// (1.0, plain JSON lines), takes them from the first rows; without samples, from the Arrow schema.
pub fn column_names(shards: &Shards) -> Result<Vec<String>> {
    let (mut names, mut seen) = (Vec::new(), HashSet::new());
    for i in 0..shards.count() {
        let shard = shards.next_shard(i)?;
        for field in &shard.footer().fields {
            if let [Some(name)] = &field.path[..]
                && seen.insert(name.clone())
            {
                names.push(name.clone());
            }
        }
        let own = shard.own_columns().iter().map(name_of).filter(|name| seen.insert((*name).to_owned()));
        names.extend(own.map(str::to_owned).collect::<Vec<_>>());
    }
    // Without samples, only the schemas contain column names.
    let empty = if names.is_empty() && shards.is_empty() { shards.count() } else { 0 };
    for i in 0..empty {
        if let Some(schema) = &shards.shard(i)?.footer().arrow_schema {
            let arrow_schema = decode_schema(schema)?;
            let new = arrow_schema.fields().iter().filter(|field| seen.insert(field.name().clone()));
            names.extend(new.map(|field| field.name().clone()));
        }
    }
    let rows = if names.is_empty() { shards.len().min(SCANNED_FOR_NAMES) } else { 0 };
    for position in 0..rows {
        let (shard, i) = shards.locate(position)?;
        // The footer of a view lists its own columns; a view without any has no rows.
        if shard.footer().view.is_some() {
            continue;
        }
        let line = shard.line(i)?;
        let mut scan = || -> Result<()> {
            let (mut members, _) = shard.members(&line)?;
            while let Some(span) = members.next_member()? {
                let key = unescape(&line[span.key_range()])?;
                let (name, _) = shard.footer().split_key(key, &line[span.value_range()])?;
                if seen.insert(name.clone().into_owned()) {
                    names.push(name.into_owned());
                }
            }
            Ok(())
        };
        scan().map_err(|error| shard.here(error, i))?;
    }
    Ok(names)
}
