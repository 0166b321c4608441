//! The settings with which the lengths of samples were counted, in a file's `meta`, and what is left of them when
//! counted columns are replaced.

use super::Meta;
use jinx_core::error::Result;
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};

/// The member in which `jinx annotate` stores how it counted the lengths of samples.
pub(super) const COUNTED: &str = "annotate";
/// The members of [`COUNTED`] that list columns: those that were read, those that were made, and those read that were
/// replaced since.
const LOOKED_AT: &str = "columns";
const MADE: &str = "counts";
const REPLACED: &str = "replaced";
/// If both of these columns are missing, nothing counted is left.
const LENGTHS: [&str; 2] = ["num_tokens", "input_ids"];

impl Meta {
    /// An object with only the settings of lengths, as returned by [`Meta::lengths`].
    ///
    /// # Errors
    /// The errors of [`Meta::parse`].
    pub fn of_lengths(text: &str) -> Result<Self> {
        Self::parse(&format!("{{\"{COUNTED}\":{text}}}"))
    }

    /// The settings of lengths as JSON text: one object, or a list of several; `None` if they are not stated.
    pub fn lengths(&self) -> Option<&str> {
        self.value(COUNTED).filter(|text| *text != "null")
    }

    /// Records that columns of the samples were replaced by others. Lengths that were counted from these columns no
    /// longer hold, which `replaced` records; the settings of lengths among the columns are unknown.
    pub fn replace_columns(&mut self, names: &[String]) {
        if self.lengths().is_none() {
            return;
        }
        let mut ways: Vec<String> = Vec::new();
        for entry in self.counted() {
            let way = way_after(&entry, names);
            if !ways.contains(&way) {
                ways.push(way);
            }
        }
        let others = self.names().zip(self.members()).filter(|(name, _)| *name != COUNTED);
        let mut kept: Vec<String> = others.map(|(_, member)| member.to_owned()).collect();
        match ways.as_slice() {
            [way] if way == "null" => {}
            [way] => kept.push(format!("\"{COUNTED}\":{way}")),
            several => kept.push(format!("\"{COUNTED}\":[{}]", several.join(","))),
        }
        self.text = format!("{{{}}}", kept.join(","));
    }

    /// The settings with which lengths were counted; `null` where none are stated.
    pub(super) fn counted(&self) -> Vec<String> {
        let text = self.value(COUNTED).unwrap_or("null");
        match serde_json::from_str::<Vec<&RawValue>>(text) {
            Ok(several) => several.into_iter().map(|entry| entry.get().to_owned()).collect(),
            Err(_) => vec![text.to_owned()],
        }
    }
}

/// The settings of lengths after columns were replaced; `null` if no lengths counted with them are left.
fn way_after(way: &str, replaced: &[String]) -> String {
    let Ok(mut known) = serde_json::from_str::<Map<String, Json>>(way) else { return way.to_owned() };
    let named = |member: &str| -> Vec<String> {
        let names = known.get(member).and_then(Json::as_array).into_iter().flatten();
        names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
    };
    let (mut made, mut stale) = (named(MADE), named(LOOKED_AT));
    if !made.iter().chain(&stale).any(|name| replaced.contains(name)) {
        return way.to_owned();
    }
    made.retain(|name| !replaced.contains(name));
    if !made.iter().any(|name| LENGTHS.contains(&name.as_str())) {
        return "null".to_owned();
    }
    stale.retain(|name| replaced.contains(name));
    stale.extend(named(REPLACED));
    stale.sort();
    stale.dedup();
    known.insert(MADE.to_owned(), made.into());
    if !stale.is_empty() {
        known.insert(REPLACED.to_owned(), stale.into());
    }
    Json::Object(known).to_string()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn lengths_do_not_outlive_what_they_were_counted_of() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let text =
            r#"{"annotate":{"rule":4,"columns":["text","image"],"counts":["num_tokens","input_ids"]},"a":1}"#;
        let after = |replaced: &[&str]| {
            let mut meta = Meta::parse(text).unwrap();
            meta.replace_columns(&names(replaced));
            meta
        };
        assert_eq!(
            after(&["score"]).as_str(),
            r#"{"a":1,"annotate":"#.to_owned() + after(&[]).lengths().unwrap() + "}"
        );
        let mut others = Meta::parse(r#"{"annotate":[{"rule":4},7,null]}"#).unwrap();
        others.replace_columns(&names(&["text", "num_tokens"]));
        assert_eq!(others.as_str(), r#"{"annotate":[{"rule":4},7,null]}"#);
        let stale = |counts: &str| {
            format!(
                r#"{{"a":1,"annotate":{{"rule":4,"columns":["text","image"],"counts":[{counts}],"replaced":["text"]}}}}"#
            )
        };
        assert_eq!(after(&["text"]).as_str(), stale(r#""num_tokens","input_ids""#));
        assert_eq!(after(&["text", "num_tokens"]).as_str(), stale(r#""input_ids""#));
        assert_eq!(after(&["input_ids", "num_tokens"]).as_str(), r#"{"a":1}"#);
        let mut both = after(&["text"]);
        both.replace_columns(&names(&["image"]));
        assert!(both.as_str().contains(r#""replaced":["image","text"]"#));
        both.keep_common(&after(&[]));
        both.replace_columns(&names(&["image", "text"]));
        assert!(both.lengths().is_some_and(|ways| ways.starts_with('{')));
    }
}
