//! The user's own object in footers and manifests.

mod counted_lengths;

use counted_lengths::COUNTED;
use jinx_core::error::{Error, Result};
use jinx_core::json;
use jinx_core::json::scan::Members;
use jinx_core::json::write::{Binary, JsonText};
use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};
use std::collections::HashSet;

/// A JSON object, kept as compact text because parsing would round floats and integers beyond 64 bits.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Box<RawValue>")]
pub struct Meta {
    text: String,
}

impl Meta {
    /// Parses the text of an object.
    ///
    /// # Errors
    /// `Invalid` for text that is not an object or that readers refuse inside a footer (`spec/limits.md`).
    pub fn parse(text: &str) -> Result<Self> {
        let invalid = |what: &str| Error::invalid(format!("meta: {what}"));
        let mut compact = JsonText::new(Binary::Summary);
        json::emit_unique(text.as_bytes(), 1, &mut compact).map_err(|error| invalid(error.what()))?;
        let text = String::from_utf8(compact.out).map_err(|_| invalid("not UTF-8"))?;
        if !text.starts_with('{') {
            return Err(invalid("not a JSON object"));
        }
        match serde_json::from_str::<Map<String, Json>>(&format!("{{\"meta\":{text}}}")) {
            Ok(_) => Ok(Self { text }),
            Err(error) => {
                let what = error.to_string();
                let what = what.split(" at line ").next().unwrap_or_default();
                Err(invalid(&format!(
                    "{what}; numbers must fit a float, lists and dicts nest at most 125 deep"
                )))
            }
        }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Drops the members that `other` lacks, or has with another value. The settings of lengths of both are kept as a
    /// list, with `null` for missing settings: lengths of two kinds must not look like lengths of an unknown kind.
    pub fn keep_common(&mut self, other: &Self) {
        let other_members: HashSet<&str> = other.members().collect();
        let mut kept: Vec<String> =
            self.members().filter(|member| other_members.contains(member)).map(str::to_owned).collect();
        if self.value(COUNTED) != other.value(COUNTED) {
            let mut counted: Vec<String> = Vec::new();
            for entry in self.counted().into_iter().chain(other.counted()) {
                if !counted.contains(&entry) {
                    counted.push(entry);
                }
            }
            kept.push(format!("\"{COUNTED}\":[{}]", counted.join(",")));
        }
        self.text = format!("{{{}}}", kept.join(","));
    }

    /// Adds the members of `other`, replacing those with the same name.
    pub fn add(&mut self, other: &Self) {
        let other_names: HashSet<&str> = other.names().collect();
        let kept = self.names().zip(self.members()).filter(|(name, _)| !other_names.contains(name));
        let all: Vec<&str> = kept.map(|(_, member)| member).chain(other.members()).collect();
        self.text = format!("{{{}}}", all.join(","));
    }

    /// The name of each member, as written.
    fn names(&self) -> impl Iterator<Item = &str> {
        let mut members = Members::new(self.text.as_bytes());
        std::iter::from_fn(move || self.text.get(members.next_member().ok()??.key_range()))
    }

    /// The text of the value of a member whose name needs no escapes.
    fn value(&self, name: &str) -> Option<&str> {
        let mut members = Members::new(self.text.as_bytes());
        while let Ok(Some(span)) = members.next_member() {
            if self.text.get(span.key_range()) == Some(name) {
                return self.text.get(span.value_range());
            }
        }
        None
    }

    /// The text of each member, including its name.
    fn members(&self) -> impl Iterator<Item = &str> {
        let mut members = Members::new(self.text.as_bytes());
        std::iter::from_fn(move || {
            let span = members.next_member().ok()??;
            self.text.get(span.key_range().start - 1..span.value_range().end)
        })
    }
}

impl Default for Meta {
    fn default() -> Self {
        Self { text: "{}".to_owned() }
    }
}

impl TryFrom<Box<RawValue>> for Meta {
    type Error = Error;

    fn try_from(text: Box<RawValue>) -> Result<Self> {
        Self::parse(text.get())
    }
}

impl Serialize for Meta {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serde_json::from_str::<&RawValue>(&self.text).map_err(S::Error::custom)?.serialize(serializer)
    }
}

/// An object whose last member is the [`Meta`].
#[derive(Debug, Serialize)]
pub struct WithMeta<'a> {
    #[serde(flatten)]
    pub members: &'a Map<String, Json>,
    pub meta: &'a Meta,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use jinx_core::error::Cause;

    #[test]
    fn numbers_and_names_stay_as_they_are() {
        let text =
            r#"{"f":[0.1,5e-324,-0.0,1.7976931348623157e+308],"i":123456789012345678901234567890,"é\n":{}}"#;
        let meta = Meta::parse(text).unwrap();
        assert_eq!(meta.as_str(), text);
        assert_eq!(serde_json::to_string(&meta).unwrap(), text);
        assert_eq!(serde_json::from_str::<Meta>(text).unwrap(), meta);
        assert_eq!(Meta::parse(" { \"a\" : [ 1 , \" x\" ] }\n").unwrap().as_str(), r#"{"a":[1," x"]}"#);
    }

    #[test]
    fn what_readers_refuse_is_refused() {
        let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert!(Meta::parse(&nested(125)).is_ok());
        let huge = format!("{{\"a\":{}}}", "1".repeat(400));
        for wrong in [
            "[]",
            "1",
            "",
            "{",
            "{}x",
            "{\"a\":NaN}",
            "{\"a\":1e400}",
            "{\"a\":1,\"a\":1}",
            &nested(126),
            &huge,
        ] {
            assert_eq!(Meta::parse(wrong).unwrap_err().cause(), Cause::Invalid, "{wrong}");
        }
    }

    #[test]
    fn common_members_have_name_and_value_in_common() {
        let mut meta = Meta::parse(r#"{"a":1,"b":[1,2],"c":{"d":0.1}}"#).unwrap();
        meta.keep_common(&Meta::parse(r#"{"c":{"d":0.1},"b":[1],"a":1}"#).unwrap());
        assert_eq!(meta.as_str(), r#"{"a":1,"c":{"d":0.1}}"#);
        meta.keep_common(&Meta::default());
        assert_eq!(meta, Meta::default());
    }

    #[test]
    fn ways_of_counting_lengths_that_differ_are_all_kept() {
        let meta = |text: &str| Meta::parse(text).unwrap();
        let mut all = meta(r#"{"annotate":{"rule":4},"a":1}"#);
        all.keep_common(&meta(r#"{"annotate":{"rule":4}}"#));
        assert_eq!(all.as_str(), r#"{"annotate":{"rule":4}}"#);
        all.keep_common(&meta(r#"{"annotate":{"rule":16}}"#));
        assert_eq!(all.as_str(), r#"{"annotate":[{"rule":4},{"rule":16}]}"#);
        all.keep_common(&meta(r#"{"annotate":[{"rule":16},null],"a":1}"#));
        assert_eq!(all.as_str(), r#"{"annotate":[{"rule":4},{"rule":16},null]}"#);
        let mut one = Meta::default();
        one.keep_common(&meta(r#"{"annotate":{"rule":4}}"#));
        assert_eq!(one.as_str(), r#"{"annotate":[null,{"rule":4}]}"#);
    }

    #[test]
    fn members_of_the_other_replace_those_of_the_same_name() {
        let mut meta = Meta::parse(r#"{"a":1,"b":[2],"c":3}"#).unwrap();
        meta.add(&Meta::parse(r#"{"b":{"x":0},"d":null}"#).unwrap());
        assert_eq!(meta.as_str(), r#"{"a":1,"c":3,"b":{"x":0},"d":null}"#);
        meta.add(&Meta::default());
        assert_eq!(meta.as_str(), r#"{"a":1,"c":3,"b":{"x":0},"d":null}"#);
    }
}
