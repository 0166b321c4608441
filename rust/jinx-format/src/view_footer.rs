//! The footer of a saved view: which datasets and samples it shows.

use crate::base_url;
use crate::footer::{ArrayRef, ColumnInfo};
use crate::own_columns;
use crate::write::own_column::OwnColumn;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::error::{Error, Result};
use jinx_core::io::plain_path;
use jinx_core::limits::MAX_SHARDS;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

/// The feature that a reader must know to read a view.
pub const FEATURE: &str = "view";

/// The kind of files of a base, which also determines the kind of its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BaseKind {
    /// A pair; the id is its own or, for JINX 1.0, a hash of its footer.
    Pair,
    /// A directory of shards; the id is a hash of the first `shards` entries in its manifest.
    Directory,
    /// Mosaic Data Shards; the id is a hash of the `index.json`.
    Mds,
    /// Plain JSON lines; the id is the size and the time of the last change.
    Jsonl,
}

/// A dataset whose samples a view shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// The path relative to the view's directory. There is a `hint` as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The absolute path from when the view was saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// A URL, if the base is also, or only, there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The ETag or revision of the object at the URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    pub kind: BaseKind,
    pub id: String,
    pub num_samples: u64,
    /// For a directory, the number of its first shards; it may have grown since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shards: Option<u64>,
    /// For plain JSON lines, the start of each line, and the end of the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<ArrayRef>,
    /// For plain JSON lines, xxh3-128 of the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// For plain JSON lines, whether every row contains markers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub markers: bool,
}

impl Base {
    /// The base's path relative to the directory of its view, and its absolute path.
    pub fn paths(&self) -> Option<(&str, &str)> {
        self.path.as_deref().zip(self.hint.as_deref())
    }

    fn check_places(&self) -> Result<()> {
        if let Some((path, hint)) = self.paths() {
            plain_path(path, "the path of a base")?;
            plain_path(hint, "the hint of a base")?;
            if Path::new(path).is_absolute() || !Path::new(hint).is_absolute() {
                return Err(Error::corrupt(
                    "a base of the view has an absolute 'path' or a 'hint' that is not absolute",
                ));
            }
        } else if self.path.is_some() || self.hint.is_some() || self.location.is_none() {
            return Err(Error::corrupt("a base of the view without 'path', 'hint' or 'location'"));
        }
        match (&self.location, &self.version) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err(Error::corrupt("a base of the view with a 'version' and no 'location'")),
            (Some(location), version) => {
                version.as_deref().map_or(Ok(()), base_url::check_version)?;
                let (scheme, ..) = base_url::parse(location)?;
                // An id from a server contains no time.
                if self.kind == BaseKind::Jsonl
                    && self.path.is_none()
                    && version.is_none()
                    && scheme != "file"
                {
                    return Err(Error::corrupt(
                        "a base of JSON lines with a 'location' alone and no 'version'",
                    ));
                }
                Ok(())
            }
        }
    }

    /// Checks the entry; `has_index` says that the array of line offsets exists or will exist.
    pub(crate) fn check(&self, has_index: bool) -> Result<()> {
        self.check_places()?;
        let is_lines = self.kind == BaseKind::Jsonl;
        if self.shards.is_some() != (self.kind == BaseKind::Directory)
            || [has_index, self.content.is_some()] != [is_lines, is_lines]
            || (self.markers && !is_lines)
        {
            return Err(Error::corrupt(
                "a base of the view lacks members of its kind, or has those of another",
            ));
        }
        let is_id = match self.kind {
            BaseKind::Pair | BaseKind::Directory => is_hex(&self.id, 32),
            BaseKind::Mds => is_hex(&self.id, 16),
            BaseKind::Jsonl => is_size_and_time(&self.id),
        };
        if !is_id || self.content.as_ref().is_some_and(|content| !is_hex(content, 32)) {
            return Err(Error::corrupt("the id or content of a base of the view is malformed"));
        }
        self.index.as_ref().map_or(Ok(()), |index| {
            check_length(index, self.num_samples.checked_add(1), "the line offsets of a base")
        })
    }
}

/// The entries in the footer of a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewInfo {
    /// The number of lines in the file: one per sample if the view has columns of its own, otherwise none.
    pub rows: u64,
    /// The bases, which form one sequence.
    pub bases: Vec<Base>,
    /// For each sample its position in that sequence; `None` if both are in the same order.
    pub positions: Option<ArrayRef>,
    /// Columns of the bases that the view hides.
    pub drop: Vec<String>,
    /// The number of samples of all bases.
    pub base_samples: u64,
    /// The view's own columns that are typed arrays, not members of the rows.
    pub own: Vec<ColumnInfo>,
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_size_and_time(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts = text.split_once('-');
    parts.is_some_and(|(size, time)| is_number(size) && is_number(time.strip_prefix('-').unwrap_or(time)))
}

/// An array of `count` 8-byte numbers.
fn check_length(place: &ArrayRef, count: Option<u64>, what: &str) -> Result<()> {
    let (ArrayRef::Inline { length, .. } | ArrayRef::Sidecar { length, .. }) = place;
    if count.and_then(|count| count.checked_mul(8)) == Some(*length) {
        return Ok(());
    }
    Err(Error::corrupt(format!("{what} have {length} bytes, which is another number of samples")))
}

fn check_unique(names: &[String]) -> Result<()> {
    let mut seen = HashSet::new();
    match names.iter().find(|name| !seen.insert(*name)) {
        Some(name) => Err(Error::corrupt(format!("the view drops the column '{name}' twice"))),
        None => Ok(()),
    }
}

fn check_count(bases: usize) -> Result<()> {
    match bases {
        0 => Err(Error::corrupt("a view without bases")),
        1..=MAX_SHARDS => Ok(()),
        _ => Err(Error::limit(format!("a view with {bases} bases"))),
    }
}

impl ViewInfo {
    /// Takes the entries of a view out of a footer.
    ///
    /// # Errors
    /// `Corrupt` for members that are missing or do not fit each other.
    pub(crate) fn take(map: &mut Map<String, Json>, num_samples: u64) -> Result<Self> {
        let mut member = |key: &str| map.get_mut(key).map(Json::take).unwrap_or_default();
        let damaged = |key: &str, error: serde_json::Error| {
            Error::corrupt(format!("the footer's '{key}' is damaged: {error}"))
        };
        let rows = member("rows").as_u64().ok_or_else(|| Error::corrupt("a view without 'rows'"))?;
        let bases: Vec<Base> =
            serde_json::from_value(member("base")).map_err(|error| damaged("base", error))?;
        let positions: Option<ArrayRef> =
            serde_json::from_value(member("positions")).map_err(|error| damaged("positions", error))?;
        let drop: Option<Vec<String>> =
            serde_json::from_value(member("drop")).map_err(|error| damaged("drop", error))?;
        let base_samples = count_samples(&bases)?;
        let info =
            Self { rows, bases, positions, drop: drop.unwrap_or_default(), base_samples, own: Vec::new() };
        info.check(num_samples)?;
        Ok(info)
    }

    fn check(&self, num_samples: u64) -> Result<()> {
        if self.rows != 0 && self.rows != num_samples {
            return Err(Error::corrupt(format!("a view of {num_samples} samples with {} rows", self.rows)));
        }
        check_count(self.bases.len())?;
        self.bases.iter().try_for_each(|base| base.check(base.index.is_some()))?;
        check_unique(&self.drop)?;
        let total = self.base_samples;
        match &self.positions {
            Some(positions) => check_length(positions, Some(num_samples), "the positions"),
            None if total == num_samples => Ok(()),
            None => {
                Err(Error::corrupt(format!("a view without positions of {num_samples} of {total} samples")))
            }
        }
    }

    /// The arrays of the view, in the order of the footer and of the sidecar.
    pub(crate) fn places(&self) -> impl Iterator<Item = &ArrayRef> {
        let own = self.own.iter().flat_map(ColumnInfo::arrays);
        self.bases.iter().filter_map(|base| base.index.as_ref()).chain(&self.positions).chain(own)
    }

    /// The arrays of `places`, with their names.
    pub(crate) fn arrays(&self) -> impl Iterator<Item = (String, &ArrayRef)> {
        let indexes = self.bases.iter().enumerate().filter_map(|(i, base)| {
            base.index.as_ref().map(|index| (format!("the line offsets of base {i}"), index))
        });
        let own = self.own.iter().flat_map(|column| {
            let name = format!("the column '{}'", own_columns::name_of(column));
            column.arrays().map(move |place| (name.clone(), place))
        });
        indexes
            .chain(self.positions.iter().map(|positions| ("the positions".to_owned(), positions)))
            .chain(own)
    }
}

pub(crate) fn count_samples<'b>(bases: impl IntoIterator<Item = &'b Base>) -> Result<u64> {
    let mut counts = bases.into_iter().map(|base| base.num_samples);
    counts
        .try_fold(0u64, |sum: u64, count| sum.checked_add(count))
        .ok_or_else(|| Error::corrupt("the bases have more samples than 64 bits count"))
}

/// The content of a view that will be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewView {
    pub bases: Vec<NewBase>,
    pub positions: Option<Vec<u64>>,
    pub drop: Vec<String>,
    pub num_samples: u64,
    /// Columns that the view adds, to be written as typed arrays.
    pub own: Vec<OwnColumn>,
}

/// A base, with the array that its entry will point to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBase {
    /// The base, without `index`.
    pub base: Base,
    /// For plain JSON lines.
    pub index: Option<Vec<u64>>,
}

impl NewView {
    /// Checks what a reader would check.
    ///
    /// # Errors
    /// `Invalid` for positions outside the bases, names that are dropped twice, another number of positions, and bases
    /// that a footer cannot hold.
    pub fn check(&self) -> Result<()> {
        let invalid = |error: Error| Error::invalid(error.what());
        check_count(self.bases.len()).map_err(invalid)?;
        check_unique(&self.drop).map_err(invalid)?;
        for new in &self.bases {
            new.base.check(new.index.is_some()).map_err(invalid)?;
        }
        let total = count_samples(self.bases.iter().map(|new| &new.base)).map_err(invalid)?;
        if let Some(positions) = &self.positions {
            if to_u64(positions.len()) != self.num_samples {
                let what = format!("{} positions for {} samples", positions.len(), self.num_samples);
                return Err(Error::invalid(what));
            }
            if let Some(outside) = positions.iter().find(|position| **position >= total) {
                return Err(Error::invalid(format!("position {outside} of {total} samples")));
            }
        } else if total != self.num_samples {
            return Err(Error::invalid(format!("{} samples of {total} without positions", self.num_samples)));
        }
        self.own.iter().try_for_each(|column| column.check(self.num_samples))
    }

    /// The number of bytes that each sample takes in addition to its row.
    pub(crate) fn sample_bytes(&self) -> u64 {
        self.own.iter().fold(8, |sum, column| sum.saturating_add(column.cell_bytes()))
    }

    /// A view of some of the samples, as one shard of a directory.
    ///
    /// # Errors
    /// `Invalid` for samples that the view does not have.
    pub fn part(&self, samples: &Range<u64>) -> Result<Self> {
        let positions = match &self.positions {
            Some(positions) => {
                let range = to_usize(samples.start, "a sample")?..to_usize(samples.end, "a sample")?;
                let part = positions.get(range).map(<[u64]>::to_vec);
                let outside = || Error::invalid(format!("samples {samples:?} of {}", positions.len()));
                Some(part.ok_or_else(outside)?)
            }
            None if *samples == (0..self.num_samples) => None,
            None => Some(samples.clone().collect()),
        };
        let num_samples = samples.end.saturating_sub(samples.start);
        let own = self.own.iter().map(|column| column.part(samples)).collect::<Result<_>>()?;
        Ok(Self { bases: self.bases.clone(), positions, drop: self.drop.clone(), num_samples, own })
    }

    /// What the id of a view covers in addition to its rows and values; equal for equal samples, wherever they are.
    pub fn canonical(&self) -> Vec<u8> {
        let bases = self.bases.iter().map(|new| &new.base);
        canonical(bases, &self.drop)
    }
}

impl ViewInfo {
    /// Like [`NewView::canonical`].
    pub fn canonical(&self) -> Vec<u8> {
        canonical(self.bases.iter(), &self.drop)
    }
}

fn canonical<'b>(bases: impl Iterator<Item = &'b Base>, drop: &[String]) -> Vec<u8> {
    let base = |base: &Base| match base.markers {
        true => json!({"kind": base.kind, "id": base.id, "num_samples": base.num_samples, "markers": true}),
        false => json!({"kind": base.kind, "id": base.id, "num_samples": base.num_samples}),
    };
    let bases: Vec<Json> = bases.map(base).collect();
    json!({"base": bases, "drop": drop}).to_string().into_bytes()
}
