//! The footer's `fields`: the names in a dataset, the kinds of their values, and below which names chains occur.
//!
//! The reader needs it to know which paths are plain JSON; a person needs it to know what is in a file.

use crate::write::address_map::AddressMap;
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use jinx_core::limits::MAX_DEPTH;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// A path into a row: the name of a dict member, or `None` for every element of a list.
pub type Path = Vec<Option<String>>;

/// If there are more paths than this, deeper paths count for their column, so that dicts used as maps (with new names
/// in each row) do not inflate the footer.
const MAX_PATHS: usize = 4096;
/// The size of an entry in the footer's list without its path, and of one more kind in it, with the longest numbers.
const ENTRY_BYTES: u64 = 256;
const KIND_BYTES: u64 = 40;

/// The error with its path in a row.
pub fn in_path(error: Error, path: &[Option<String>]) -> Error {
    path.iter().rev().fold(error, |error, part| error.in_column(part.as_deref().unwrap_or("[]")))
}

/// The names in a dotted path such as `meta.width`. A name in double quotes may hold dots (`meta."a.b"`), and a quote
/// in it is doubled.
///
/// # Errors
/// `Invalid` for an unclosed quote.
pub fn parse_path(text: &str) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = text;
    loop {
        let (name, behind) = match rest.strip_prefix('"') {
            Some(quoted) => unquoted(quoted).ok_or_else(|| {
                let what = format!("the quotes in the path {text} do not close; for example: meta.\"a.b\"");
                Error::invalid(what)
            })?,
            None => {
                let (name, behind) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
                (name.to_owned(), behind)
            }
        };
        names.push(name);
        match behind.strip_prefix('.') {
            Some(next) => rest = next,
            None => return Ok(names),
        }
    }
}

/// The name after an opening quote, and the rest of the text: a dot and what follows it, or nothing.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let (part, behind) = rest.split_once('"')?;
        name.push_str(part);
        match behind.strip_prefix('"') {
            Some(next) => {
                name.push('"');
                rest = next;
            }
            None if behind.is_empty() || behind.starts_with('.') => return Some((name, behind)),
            None => return None,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FieldInfo {
    pub path: Path,
    /// The number of values by kind.
    #[serde(default)]
    pub kinds: Map<String, Json>,
    /// The number of values at exactly this path that have a chain.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub coded: u64,
    /// The number of names at exactly this path that had to be quoted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub quoted: u64,
    /// The number of stored bytes of the encoded values.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes: u64,
    /// The number of bytes of the same values, decoded.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub decoded: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<Media>,
    /// The source's own description of the path (a Hugging Face feature).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature: Option<Json>,
    /// Chains may occur anywhere below this path: too many paths to list.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
}

/// Adds the entries for other samples to those for some.
pub fn merge(sum: &mut Vec<FieldInfo>, added: Vec<FieldInfo>) {
    let mut places: HashMap<Path, usize> =
        sum.iter().enumerate().map(|(at, field)| (field.path.clone(), at)).collect();
    for field in added {
        match places.get(&field.path) {
            Some(at) => add(&mut sum[*at], &field),
            None => {
                places.insert(field.path.clone(), sum.len());
                sum.push(field);
            }
        }
    }
}

fn add(sum: &mut FieldInfo, field: &FieldInfo) {
    for (kind, count) in &field.kinds {
        let before = sum.kinds.get(kind).and_then(Json::as_u64).unwrap_or_default();
        sum.kinds.insert(kind.clone(), Json::from(before.saturating_add(count.as_u64().unwrap_or_default())));
    }
    sum.coded = sum.coded.saturating_add(field.coded);
    sum.quoted = sum.quoted.saturating_add(field.quoted);
    sum.bytes = sum.bytes.saturating_add(field.bytes);
    sum.decoded = sum.decoded.saturating_add(field.decoded);
    sum.open |= field.open;
    if sum.media.is_none() {
        sum.media.clone_from(&field.media);
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// `Image`, `Audio` or `Video`.
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime: Option<String>,
}

/// A media column declared by the source of the rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MediaField {
    pub path: Path,
    /// `Image`, `Audio` or `Video`.
    pub kind: String,
    pub feature: Json,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// One node of the tree that the reader walks along with a row.
#[derive(Debug, Default)]
pub struct FieldNode {
    names: BTreeMap<String, FieldNode>,
    any: Option<Box<FieldNode>>,
    /// Whether this value, or something below it, may have a chain or a quoted name.
    pub coded: bool,
    pub media: bool,
    /// The type of file that the footer states for a media value.
    pub mime: bool,
    /// Whether everything below may be encoded.
    pub open: bool,
}

impl FieldNode {
    /// A node below which chains may occur anywhere.
    pub fn anything() -> Self {
        Self { coded: true, open: true, ..Self::default() }
    }

    /// The node under `name`; below an open node, every node is open.
    pub fn member(&self, name: &str) -> Option<&Self> {
        if self.open { Some(self) } else { self.names.get(name) }
    }

    /// The node of the elements of a list.
    pub fn element(&self) -> Option<&Self> {
        if self.open { Some(self) } else { self.any.as_deref() }
    }

    /// Builds the tree of all paths where a row's text may not be plain JSON.
    ///
    /// # Errors
    /// `Limit` for paths deeper than a row may be.
    pub fn build(fields: &[FieldInfo]) -> Result<Self> {
        let mut root = Self::default();
        for field in fields {
            if field.coded == 0 && field.quoted == 0 && field.media.is_none() && !field.open {
                continue;
            }
            if field.path.len() > MAX_DEPTH {
                return Err(Error::limit(format!("a path of {} components in 'fields'", field.path.len())));
            }
            let mut node = &mut root;
            for component in &field.path {
                node.coded = true;
                node = match component {
                    Some(name) => node.names.entry(name.clone()).or_default(),
                    None => node.any.get_or_insert_default(),
                };
            }
            node.coded = true;
            node.media |= field.media.is_some();
            node.mime |= field.media.as_ref().is_some_and(|media| media.mime.is_some());
            node.open |= field.open;
        }
        Ok(root)
    }
}

/// A value that the encoder saw at one position of one row.
#[derive(Debug, Clone)]
pub struct Fact {
    pub path: Arc<Path>,
    pub kind: &'static str,
    /// The stored and the decoded length of a value with a chain.
    pub coded: Option<(u64, u64)>,
    pub quoted: bool,
    pub mime: Option<&'static str>,
    pub measure: Measure,
}

/// What a column stores for a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Measure {
    None,
    Bool(bool),
    Int(i64),
    Uint(u64),
    /// The digits of an integer that does not fit into any column type.
    Huge(String),
    Float(f64),
    /// The number of elements of a list, or of characters of a string.
    Length(u64),
    /// A string that the caller asked to be indexed.
    Text(String),
}

impl Measure {
    /// The measure of an integer that does not fit into i64.
    pub fn of_digits(digits: &str) -> Self {
        digits.parse().map_or_else(|_| Self::Huge(digits.to_owned()), Self::Uint)
    }
}

/// Collects facts in row order.
#[derive(Debug, Default)]
pub struct FieldStats {
    /// Paths that the source declared as media; they count even if no row has one.
    media: Vec<MediaField>,
    fields: Vec<FieldInfo>,
    /// For each path, the number of values of each kind.
    counts: Vec<Vec<(&'static str, u64)>>,
    by_path: HashMap<Path, usize>,
    /// Encoders share one allocation per path; keeping the `Arc` keeps its address unique.
    by_address: AddressMap<(usize, Arc<Path>)>,
    /// The number of bytes that the list may take in the footer, and an upper bound of those that it takes so far.
    room: u64,
    taken: u64,
}

/// The maximum number of bytes that a path takes as JSON, once in `fields` and again in `columns`.
fn path_bytes(path: &Path) -> u64 {
    let json = |name: &Option<String>| 5 + name.as_deref().map_or(0, json_bytes);
    2 * path.iter().map(json).sum::<u64>()
}

/// The number of bytes of a name between its quotes.
fn json_bytes(name: &str) -> u64 {
    name.bytes().map(|byte| if byte < b' ' { 6 } else { 1 + u64::from(matches!(byte, b'"' | b'\\')) }).sum()
}

fn names_take_more(room: u64) -> Error {
    Error::limit(format!(
        "the names of all columns and paths take more than {room} bytes of the footer; put names that differ \
         from sample to sample into values"
    ))
}

impl FieldStats {
    /// `media` are the paths that the source declared; the footer has `room` bytes for the list.
    pub fn new(media: &[MediaField], room: u64) -> Self {
        Self { media: media.to_vec(), room, ..Self::default() }
    }

    /// Sets the media like [`Self::new`], when there are already some rows.
    ///
    /// # Errors
    /// `Limit` when the names so far take more than `room`; nothing has changed then.
    pub fn set_media(&mut self, media: &[MediaField], room: u64) -> Result<()> {
        if self.taken > room {
            return Err(names_take_more(room));
        }
        self.room = room;
        self.media = media.to_vec();
        for announced in media {
            if let Some(&at) = self.by_path.get(&announced.path) {
                let field = &mut self.fields[at];
                field.media.get_or_insert_with(|| Media { kind: announced.kind.clone(), mime: None });
                field.feature.get_or_insert_with(|| announced.feature.clone());
            }
        }
        Ok(())
    }

    /// Whether this path gets no entry of its own, and counts for its column.
    fn is_folded(&self, path: &Path, entries: usize, taken: u64) -> bool {
        // Half of the room is reserved for top-level names, which are not recorded anywhere else.
        path.len() > 1 && (entries >= MAX_PATHS || taken >= self.room / 2)
    }

    /// Checks that the footer has room for these facts.
    ///
    /// # Errors
    /// `Limit` when there is no room.
    pub fn admit(&self, facts: &[Fact], text_bytes: u64) -> Result<()> {
        // All parts of a path occur in the row's text: `{"name":}` or `[]`.
        let bound = to_u64(facts.len()).saturating_mul(5 * text_bytes + ENTRY_BYTES + KIND_BYTES);
        if self.taken.saturating_add(bound) <= self.room {
            return Ok(());
        }
        let (mut taken, mut entries, mut seen) = (self.taken, self.fields.len(), HashSet::new());
        for fact in facts {
            let is_new =
                |path: &Path| !self.by_path.contains_key(path) && !seen.contains(&(path.clone(), ""));
            let folded = is_new(&fact.path) && self.is_folded(&fact.path, entries, taken);
            let path = if folded { fact.path[..1].to_vec() } else { (*fact.path).clone() };
            if is_new(&path) {
                (taken, entries) = (taken + ENTRY_BYTES + path_bytes(&path), entries + 1);
                seen.insert((path.clone(), ""));
            }
            let counts = self.by_path.get(&path).map(|&at| &self.counts[at]);
            if !counts.is_some_and(|counts| counts.iter().any(|(kind, _)| *kind == fact.kind))
                && seen.insert((path, fact.kind))
            {
                taken += KIND_BYTES;
            }
        }
        if taken <= self.room {
            return Ok(());
        }
        Err(names_take_more(self.room))
    }

    /// Whether any earlier row has this path.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.by_path.contains_key(path)
    }

    fn at(&mut self, path: &Path) -> usize {
        if let Some(&at) = self.by_path.get(path) {
            return at;
        }
        if self.is_folded(path, self.fields.len(), self.taken) {
            let at = self.at(&path[..1].to_vec());
            self.fields[at].open = true;
            return at;
        }
        let announced = self.media.iter().find(|field| field.path == *path);
        self.fields.push(FieldInfo {
            path: path.clone(),
            media: announced.map(|field| Media { kind: field.kind.clone(), mime: None }),
            feature: announced.map(|field| field.feature.clone()),
            ..FieldInfo::default()
        });
        self.taken += ENTRY_BYTES + path_bytes(path);
        self.counts.push(Vec::new());
        self.by_path.insert(path.clone(), self.fields.len() - 1);
        self.fields.len() - 1
    }

    pub fn add(&mut self, fact: &Fact) {
        self.add_many(fact, 1);
    }

    /// Adds a fact without a chain that holds for `rows` rows, or any fact that holds for one.
    pub(crate) fn add_many(&mut self, fact: &Fact, rows: u64) {
        let address = Arc::as_ptr(&fact.path).addr();
        let at = match self.by_address.get(&address) {
            Some((at, _)) => *at,
            None => {
                let at = self.at(&fact.path);
                // Names that differ between rows add a new path each time.
                if self.by_address.len() >= 4 * MAX_PATHS {
                    self.by_address.clear();
                }
                self.by_address.insert(address, (at, Arc::clone(&fact.path)));
                at
            }
        };
        let kinds = &mut self.counts[at];
        match kinds.iter_mut().find(|(kind, _)| *kind == fact.kind) {
            Some((_, count)) => *count += rows,
            None => {
                kinds.push((fact.kind, rows));
                self.taken += KIND_BYTES;
            }
        }
        let field = &mut self.fields[at];
        if let Some((stored, decoded)) = fact.coded {
            field.coded += 1;
            field.bytes += stored;
            field.decoded += decoded;
        }
        field.quoted += u64::from(fact.quoted);
        if let (Some(media), Some(mime)) = (&mut field.media, fact.mime) {
            media.mime.get_or_insert_with(|| mime.to_owned());
        }
    }

    /// The list for the footer, with kinds in alphabetical order.
    pub fn finish(mut self) -> Vec<FieldInfo> {
        for field in self.media.clone() {
            self.at(&field.path);
        }
        let mut fields = self.fields;
        for (field, counts) in fields.iter_mut().zip(self.counts) {
            let mut counts = counts;
            counts.sort_unstable();
            field.kinds = counts.into_iter().map(|(kind, count)| (kind.to_owned(), count.into())).collect();
        }
        fields
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_dots_together() {
        for (text, names) in [
            ("a", vec!["a"]),
            ("a.b.c", vec!["a", "b", "c"]),
            ("a..b", vec!["a", "", "b"]),
            ("", vec![""]),
            (r#"a."b.c".d"#, vec!["a", "b.c", "d"]),
            (r#""a.b""#, vec!["a.b"]),
            (r#"a."say ""no"".""#, vec!["a", r#"say "no"."#]),
            (r#"a.b"c"#, vec!["a", r#"b"c"#]),
            (r#"a."""#, vec!["a", ""]),
        ] {
            assert_eq!(parse_path(text).unwrap(), names, "{text}");
        }
        for text in [r#"a."b"#, r#"""#, r#"a."b"c"#, r#"a.""""#] {
            assert!(parse_path(text).unwrap_err().what().contains("do not close"), "{text}");
        }
    }
}
