//! Selects and renames columns.

use crate::suggest::near;
use jinx_core::codec::Codec;
use jinx_core::error::{Error, Result};
use jinx_core::row_events::{Blob, Dtype, Number, Payload, Sink, StoredValue};
use jinx_core::value_pool::Pooled;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// The maximum number of names that are kept for the error about a missing name.
const MAX_NAMES: usize = 1000;

/// Which columns to keep, and their new names. Shared by all threads.
#[derive(Debug)]
pub struct Selection {
    keep: Option<HashSet<String>>,
    drop: HashSet<String>,
    rename: Vec<(String, String)>,
    /// Columns that are read but not kept.
    also_read: HashSet<String>,
    /// The requested names, and whether any row had them.
    given: HashMap<String, AtomicBool>,
    others: RwLock<BTreeSet<String>>,
}

impl Selection {
    /// The selection; `None` if all columns stay unchanged.
    ///
    /// # Errors
    /// `Invalid` when a column is renamed twice, or two get the same name.
    pub fn new(columns: Option<&[String]>, rename: &[(String, String)]) -> Result<Option<Self>> {
        Self::without(columns, &[], rename)
    }

    /// Like [`Selection::new`], with columns to leave out.
    ///
    /// # Errors
    /// The errors of [`Selection::new`]; `Invalid` when a column is both kept and left out.
    pub fn without(
        columns: Option<&[String]>,
        drop: &[String],
        rename: &[(String, String)],
    ) -> Result<Option<Self>> {
        if columns.is_none() && drop.is_empty() && rename.is_empty() {
            return Ok(None);
        }
        if let Some(name) = drop.iter().find(|name| columns.is_some_and(|columns| columns.contains(name))) {
            return Err(Error::invalid(format!("the column '{name}' is both kept and left out")));
        }
        let (mut old, mut new) = (HashSet::new(), HashSet::new());
        for (from, to) in rename {
            if !old.insert(from) {
                return Err(Error::invalid(format!("the column '{from}' is renamed twice")));
            }
            if !new.insert(to) {
                return Err(Error::invalid(format!("two columns are renamed to '{to}'")));
            }
        }
        let keep: Option<HashSet<String>> = columns.map(|columns| columns.iter().cloned().collect());
        if let Some(keep) = &keep
            && let Some((from, _)) = rename.iter().find(|(from, _)| !keep.contains(from))
        {
            let what = format!("the column '{from}' is renamed, but it is not among the columns to keep");
            return Err(Error::invalid(what));
        }
        let names = keep.iter().flatten().chain(drop).chain(rename.iter().map(|(from, _)| from));
        let given = names.map(|name| (name.clone(), AtomicBool::new(false))).collect();
        let drop = drop.iter().cloned().collect();
        let (rename, also_read, others) = (rename.to_vec(), HashSet::new(), RwLock::default());
        Ok(Some(Self { keep, drop, rename, also_read, given, others }))
    }

    /// The same selection, with columns that are read but not kept.
    #[must_use]
    pub fn also_reading<'a>(mut self, columns: impl IntoIterator<Item = &'a str>) -> Self {
        self.also_read.extend(columns.into_iter().map(str::to_owned));
        self
    }

    /// Whether a source must deliver the column.
    pub fn reads(&self, name: &str) -> bool {
        self.wants(name) || self.also_read.contains(name)
    }

    /// Whether the column is kept; also records that it exists.
    pub fn wants(&self, name: &str) -> bool {
        match self.given.get(name) {
            Some(seen) => seen.store(true, Ordering::Relaxed),
            None => self.note(name),
        }
        !self.drop.contains(name) && self.keep.as_ref().is_none_or(|keep| keep.contains(name))
    }

    fn note(&self, name: &str) {
        let others = self.others.read().unwrap_or_else(PoisonError::into_inner);
        let is_new = !others.contains(name) && others.len() < MAX_NAMES;
        drop(others);
        if is_new {
            self.others.write().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
        }
    }

    /// The new name of a column.
    pub fn new_name<'a>(&'a self, name: &'a str) -> &'a str {
        self.rename.iter().find(|(from, _)| from == name).map_or(name, |(_, to)| to)
    }

    /// Fails for a requested name that no row had; if there are no rows, every name is accepted.
    ///
    /// # Errors
    /// `Invalid`, with the nearest names.
    pub fn check(&self, rows: u64) -> Result<()> {
        let mut missing: Vec<&String> = self
            .given
            .iter()
            .filter(|(_, seen)| !seen.load(Ordering::Relaxed))
            .map(|(name, _)| name)
            .collect();
        missing.sort();
        let Some(name) = missing.first().filter(|_| rows > 0) else {
            return Ok(());
        };
        let others = self.others.read().unwrap_or_else(PoisonError::into_inner);
        let given =
            self.given.iter().filter(|(_, seen)| seen.load(Ordering::Relaxed)).map(|(name, _)| name.as_str());
        let listed =
            |names: &[&str]| names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
        let near = near(name, others.iter().map(String::as_str).chain(given));
        let some: Vec<&str> = others.iter().map(String::as_str).take(8).collect();
        let advice = match (near.is_empty(), some.is_empty()) {
            (false, _) => format!("; did you mean {}?", listed(&near)),
            (true, false) => format!("; there are {}", listed(&some)),
            (true, true) => String::new(),
        };
        Err(Error::invalid(format!("no row has a column '{name}'{advice}")))
    }
}

/// What happens to one column.
#[derive(Debug, Clone)]
struct Action {
    keep: bool,
    /// The new name.
    rename: Option<Arc<str>>,
    /// The number of the rename whose new name this column has, by itself or by renaming.
    slot: Option<usize>,
}

/// The filter of one thread.
#[derive(Debug)]
pub struct Select {
    selection: Arc<Selection>,
    actions: HashMap<String, Action>,
    /// The new names that the row already has.
    taken: Vec<bool>,
}

impl Select {
    pub fn new(selection: Arc<Selection>) -> Self {
        let taken = vec![false; selection.rename.len()];
        Self { selection, actions: HashMap::new(), taken }
    }

    /// A sink for one row, which forwards the selected columns to `inner`.
    pub fn around<'a>(&'a mut self, inner: &'a mut dyn Sink) -> impl Sink + 'a {
        self.taken.fill(false);
        Selecting { select: self, inner, depth: 0, dropping: false }
    }

    fn action(&mut self, name: &str) -> Action {
        if let Some(action) = self.actions.get(name) {
            return action.clone();
        }
        let keep = self.selection.wants(name);
        let new = self.selection.new_name(name);
        let slot = self.selection.rename.iter().position(|(_, to)| to == new);
        let rename = (new != name).then(|| Arc::from(new));
        let action = Action { keep, rename, slot };
        if self.actions.len() < MAX_NAMES {
            self.actions.insert(name.to_owned(), action.clone());
        }
        action
    }
}

struct Selecting<'a> {
    select: &'a mut Select,
    inner: &'a mut dyn Sink,
    /// The number of open containers.
    depth: usize,
    /// Whether the current column is left out.
    dropping: bool,
}

impl Selecting<'_> {
    fn begin(&mut self, begin: impl FnOnce(&mut dyn Sink) -> Result<()>) -> Result<()> {
        self.depth += 1;
        if self.dropping { Ok(()) } else { begin(self.inner) }
    }

    fn end(&mut self, end: impl FnOnce(&mut dyn Sink) -> Result<()>) -> Result<()> {
        self.depth = self.depth.saturating_sub(1);
        // The row itself is never left out.
        self.dropping &= self.depth > 0;
        if self.dropping { Ok(()) } else { end(self.inner) }
    }

    fn value(&mut self, value: impl FnOnce(&mut dyn Sink) -> Result<()>) -> Result<()> {
        if self.dropping { Ok(()) } else { value(self.inner) }
    }
}

impl Sink for Selecting<'_> {
    fn null(&mut self) -> Result<()> {
        self.value(|sink| sink.null())
    }
    fn bool(&mut self, value: bool) -> Result<()> {
        self.value(|sink| sink.bool(value))
    }
    fn int(&mut self, value: i64) -> Result<()> {
        self.value(|sink| sink.int(value))
    }
    fn big_int(&mut self, digits: &str) -> Result<()> {
        self.value(|sink| sink.big_int(digits))
    }
    fn float(&mut self, value: f64) -> Result<()> {
        self.value(|sink| sink.float(value))
    }
    fn str(&mut self, value: &str) -> Result<()> {
        self.value(|sink| sink.str(value))
    }
    fn blob(&mut self, payload: Payload, blob: Blob<'_>) -> Result<()> {
        self.value(|sink| sink.blob(payload, blob))
    }
    fn scalar(&mut self, dtype: Dtype, value: Number) -> Result<()> {
        self.value(|sink| sink.scalar(dtype, value))
    }
    fn media_path(&mut self, path: &str) -> Result<()> {
        self.value(|sink| sink.media_path(path))
    }
    fn begin_list(&mut self, len: usize) -> Result<()> {
        self.begin(|sink| sink.begin_list(len))
    }
    fn end_list(&mut self) -> Result<()> {
        self.end(|sink| sink.end_list())
    }
    fn begin_dict(&mut self, len: usize) -> Result<()> {
        self.begin(|sink| sink.begin_dict(len))
    }
    fn key(&mut self, name: &str) -> Result<()> {
        if self.depth != 1 {
            return self.value(|sink| sink.key(name));
        }
        let action = self.select.action(name);
        self.dropping = !action.keep;
        if self.dropping {
            return Ok(());
        }
        if let Some(taken) = action.slot.and_then(|slot| self.select.taken.get_mut(slot))
            && std::mem::replace(taken, true)
        {
            let new = action.rename.as_deref().unwrap_or(name);
            let what = format!("two columns would be called '{new}'; leave one out or choose another name");
            return Err(Error::invalid(what));
        }
        self.inner.key(action.rename.as_deref().unwrap_or(name))
    }
    fn end_dict(&mut self) -> Result<()> {
        self.end(|sink| sink.end_dict())
    }
    fn takes_stored(&self, is_str: bool, codec: Option<Codec>, decoded_bytes: u64) -> bool {
        !self.dropping && self.inner.takes_stored(is_str, codec, decoded_bytes)
    }
    fn stored_memory(&mut self, length: usize) -> Option<Pooled> {
        self.inner.stored_memory(length)
    }
    fn stored(&mut self, value: StoredValue<'_>) -> Result<()> {
        self.inner.stored(value)
    }
    fn takes_bare_media(&self) -> bool {
        self.inner.takes_bare_media()
    }
    fn takes_json(&self) -> bool {
        !self.dropping && self.inner.takes_json()
    }
    fn json(&mut self, text: &[u8], elements: u64) -> Result<()> {
        self.inner.json(text, elements)
    }
}
