//! Finds and opens the bases of a saved view: the datasets that it shows.

use crate::mds;
use crate::remote::shards_at;
use crate::rows::Rows;
use crate::shards::ShardRows;
use jinx_core::checked_math::to_u64;
use jinx_core::error::Cause;
use jinx_core::io::{Identity, Version, url_of};
use jinx_core::{Error, Result};
use jinx_format::base_url::local_path;
use jinx_format::content_hash::hash_bytes;
use jinx_format::read::open::{ShardRef, resolve};
use jinx_format::read::shard::{OpenOptions, Shard};
use jinx_format::view_footer::{Base, BaseKind};
use jinx_mds::index_json::INDEX_NAME;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf, absolute};
use std::sync::Arc;

/// The maximum number of bases that a message numbers one by one.
const MAX_NAMED_BASES: usize = 4;

/// Opens the bases of a saved view, and refuses datasets other than those with which it was saved.
pub struct BaseOpener {
    /// The view's own file.
    file: Arc<ShardRows>,
    /// The path of the view, at which the search for its bases starts, and which messages contain.
    view: PathBuf,
}

impl BaseOpener {
    pub fn new(file: Arc<ShardRows>, view: PathBuf) -> Self {
        Self { file, view }
    }

    /// The number of bases.
    ///
    /// # Errors
    /// `Invalid` for the file of another dataset.
    pub fn count(&self) -> Result<usize> {
        self.with_file(|shard| Ok(bases_of(shard)?.len()))
    }

    /// Opens base `i` from the first of `places` that has it; without any, from the path in the view.
    ///
    /// # Errors
    /// `Mismatch` if no place has the base, or the first place that has a dataset has another one; read errors.
    pub fn open(&self, i: usize, places: Option<&[PathBuf]>) -> Result<Arc<dyn Rows>> {
        self.first_place(i, places, |base, shard, path| self.at(base, i, shard, path)).map(|(_, rows)| rows)
    }

    /// The path of base `i`. A damaged base is found too.
    ///
    /// # Errors
    /// The errors of [`BaseOpener::open`], except for damage.
    pub fn find(&self, i: usize) -> Result<PathBuf> {
        let look = |base: &Base, shard: &Shard, path: &Path| match self.at(base, i, shard, path) {
            Err(error) if !is_damage(&error) => Err(error),
            _ => Ok(()),
        };
        self.first_place(i, None, look).map(|(path, ())| path)
    }

    fn with_file<T>(&self, read: impl FnOnce(&Shard) -> Result<T>) -> Result<T> {
        read(self.file.shards.get()?.shard(0)?)
    }

    /// The first path at which a base exists, and the result of `take` for it.
    fn first_place<T>(
        &self,
        i: usize,
        places: Option<&[PathBuf]>,
        take: impl Fn(&Base, &Shard, &Path) -> Result<T>,
    ) -> Result<(PathBuf, T)> {
        self.with_file(|shard| {
            let bases = bases_of(shard)?;
            let no_base = || Error::invalid(format!("base {i} of a view that has {}", bases.len()));
            let base = bases.get(i).ok_or_else(no_base)?;
            let places = places.map_or_else(|| candidates(base, &self.view), <[_]>::to_vec);
            let mut wrong = None;
            for path in &places {
                // A dangling link is not a dataset either.
                let is_url = url_of(path).is_some();
                if !is_url && path.metadata().is_err() {
                    continue;
                }
                match take(base, shard, path) {
                    Ok(taken) => return Ok((path.clone(), taken)),
                    Err(error) if is_url && error.cause() == Cause::Io(ErrorKind::NotFound) => {}
                    Err(error) if error.cause() == Cause::Mismatch => wrong = wrong.or(Some(error)),
                    Err(error) => return Err(error),
                }
            }
            match wrong {
                Some(error) => return Err(error),
                None => require_readable(base, &self.view)?,
            }
            Err(missing(base, bases.len(), &self.view, &places))
        })
    }

    /// Opens the dataset at a path, which must be base `i`.
    fn at(&self, base: &Base, i: usize, view: &Shard, path: &Path) -> Result<Arc<dyn Rows>> {
        self.require_form(base, path)?;
        match base.kind {
            BaseKind::Jsonl => self.json_lines(base, i, view, path),
            BaseKind::Mds => {
                let rows = mds::open(vec![path.to_owned()], &self.options(view))?;
                self.require_own(base, path, &rows)?;
                Ok(Arc::new(rows))
            }
            BaseKind::Directory => self.directory(base, view, path),
            BaseKind::Pair => {
                let rows =
                    self.shards(vec![ShardRef::alone(path.to_owned())], None, self.options(view), false)?;
                if rows.is_view() {
                    let what = "is a saved view itself, and not the dataset that this view was saved over";
                    return Err(self.mismatch(format!("{} {what}", path.display())));
                }
                self.require_own(base, path, &rows)?;
                Ok(Arc::new(rows))
            }
        }
    }

    fn json_lines(&self, base: &Base, i: usize, view: &Shard, path: &Path) -> Result<Arc<dyn Rows>> {
        if url_of(path).is_none() {
            let metadata = path.metadata().map_err(|error| Error::io(path, &error))?;
            // Check before using the line offsets, because another file would have other offsets.
            let version = Version::File(Identity::from(&metadata)).portable();
            self.require(base, path, base.num_samples, &version)?;
        }
        let offsets = line_offsets(view, i)?;
        let line_offsets = Some(Arc::from(offsets));
        let options = OpenOptions { markers: base.markers, line_offsets, ..self.options(view) };
        let rows = self.shards(vec![ShardRef::alone(path.to_owned())], None, options, true)?;
        // Check again: the file may have been replaced before it was opened.
        self.require_own(base, path, &rows)?;
        Ok(Arc::new(rows))
    }

    fn directory(&self, base: &Base, view: &Shard, path: &Path) -> Result<Arc<dyn Rows>> {
        let count = base.shards.unwrap_or_default();
        let mut shards = match url_of(path) {
            Some(url) => shards_at(url, None, view.options())?,
            None => resolve(path)?,
        };
        shards.truncate(usize::try_from(count).unwrap_or(usize::MAX));
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let names: Vec<String> = shards.iter().map(|shard| name(&shard.path)).collect();
        let known = shards
            .iter()
            .map(|shard| (shard.samples.unwrap_or_default(), shard.id.clone().unwrap_or_default()));
        let expected: Vec<(u64, String)> = known.collect();
        if to_u64(shards.len()) < count {
            let found = format!("{} shards of {}", grouped(to_u64(shards.len())), grouped(count));
            return Err(self.other(base, path, &found));
        }
        let total = expected.iter().fold(0, |total: u64, (samples, _)| total.saturating_add(*samples));
        self.require(base, path, total, &directory_id(&names, &expected)?)?;
        Ok(Arc::new(self.shards(shards, Some(expected), self.options(view), false)?))
    }

    fn shards(
        &self,
        shards: Vec<ShardRef>,
        expected: Option<Vec<(u64, String)>>,
        options: OpenOptions,
        is_plain: bool,
    ) -> Result<ShardRows> {
        ShardRows::open(shards, expected, None, options, is_plain)
    }

    /// The options with which the view's file was opened, for other files.
    fn options(&self, view: &Shard) -> OpenOptions {
        let options = view.options().clone();
        OpenOptions { base: PathBuf::new(), line_offsets: None, markers: false, views: false, ..options }
    }

    /// Refuses anything that cannot be a dataset of the base's kind.
    fn require_form(&self, base: &Base, path: &Path) -> Result<()> {
        let is_directory = matches!(base.kind, BaseKind::Mds | BaseKind::Directory);
        if url_of(path).is_some() {
            // Opening the base reports this.
            return Ok(());
        }
        if path.is_dir() != is_directory {
            return Err(self.other(base, path, if is_directory { "a file" } else { "a directory" }));
        }
        if base.kind == BaseKind::Mds && !path.join(INDEX_NAME).is_file() {
            return Err(self.other(base, path, &format!("a directory without {INDEX_NAME}")));
        }
        Ok(())
    }

    fn require_own(&self, base: &Base, path: &Path, rows: &dyn Rows) -> Result<()> {
        let (samples, id) = rows.base_ids()?.into_iter().next().unwrap_or_default();
        self.require(base, path, samples, &id)
    }

    fn require(&self, base: &Base, path: &Path, samples: u64, id: &str) -> Result<()> {
        if samples == base.num_samples && id == base.id {
            return Ok(());
        }
        Err(self.other(base, path, &format!("id {id} with {} samples", grouped(samples))))
    }

    /// The error for a base that has become another dataset.
    fn other(&self, base: &Base, path: &Path, found: &str) -> Error {
        self.mismatch(format!(
            "{} is not the dataset that this view was saved over: expected id {} with {} samples, found {found}; open \
             the right one with jinx.open(view, base=PATH)",
            path.display(),
            base.id,
            grouped(base.num_samples)
        ))
    }

    fn mismatch(&self, what: String) -> Error {
        Error::mismatch(what).in_file(&self.view)
    }
}

/// Refuses a base at a URL that the user did not name.
///
/// # Errors
/// `Unsupported` for every scheme but `file://`.
fn require_readable(base: &Base, view: &Path) -> Result<()> {
    let Some(url) = &base.location else { return Ok(()) };
    if local_path(url).is_ok() {
        return Ok(());
    }
    let (kind, name) = (name_of(base.kind), view.display());
    let what = format!(
        "the {kind} that this view shows is at {url}; a view opens no URL that you do not name: open it with \
         jinx.open(view, base=URL), or copy the {kind} to this machine and run: jinx rebase {name} PATH"
    );
    Err(Error::unsupported(what).in_file(view))
}

fn name_of(kind: BaseKind) -> &'static str {
    match kind {
        BaseKind::Pair => "pair",
        BaseKind::Directory => "directory",
        BaseKind::Mds => "mds",
        BaseKind::Jsonl => "jsonl",
    }
}

/// The error for a base that has been moved or removed, one of `count`.
fn missing(base: &Base, count: usize, view: &Path, looked: &[PathBuf]) -> Error {
    let kind = name_of(base.kind);
    let looked: Vec<String> = looked.iter().map(|path| path.display().to_string()).collect();
    let (looked, name) = (looked.join(" and "), view.display());
    let new: Vec<String> = match count {
        0 | 1 => vec!["NEW".to_owned()],
        2..=MAX_NAMED_BASES => (1..=count).map(|i| format!("NEW{i}")).collect(),
        _ => vec!["NEW1".to_owned(), "...".to_owned(), format!("NEW{count}")],
    };
    let (list, paths) = (new.join(", "), new.join(" "));
    let base = if count > 1 { format!("[{list}]") } else { list };
    let note =
        if count > 1 { format!(", the paths of all {count} datasets in order") } else { String::new() };
    let what = format!(
        "the {kind} that this view shows is missing (looked for {looked}); if it moved, open it with jinx.open(view, \
         base={base}) or run: jinx rebase {name} {paths}{note}"
    );
    Error::mismatch(what).in_file(view)
}

/// Whether an error means that the dataset at a path is damaged, as opposed to being another one or out of reach.
fn is_damage(error: &Error) -> bool {
    matches!(error.cause(), Cause::Truncated | Cause::Corrupt | Cause::Limit | Cause::Unsupported)
}

fn bases_of(view: &Shard) -> Result<&[Base]> {
    let info = view.footer().view.as_ref();
    info.map(|info| &*info.bases).ok_or_else(|| Error::invalid("this is not a saved view"))
}

/// The start of each line of a view's base of plain JSON lines, and the end of the last line, as little-endian u64.
///
/// # Errors
/// `Invalid` for another kind of base; read errors.
pub fn line_offsets(view: &Shard, base: usize) -> Result<Vec<u8>> {
    let offsets = view.base_line_offsets(base).map_err(|error| error.in_file(view.path()))?;
    let missing = || Error::invalid("this base has no line offsets").in_file(view.path());
    offsets.map(Vec::from).ok_or_else(missing)
}

/// The possible paths of a base on this machine, in search order: relative to the directory in the view's name,
/// relative to its real directory, the absolute path from when the view was saved, and a `file://` location.
///
/// A view at a URL only finds bases in its own bucket: it may not name files of whoever reads it.
pub fn candidates(base: &Base, view: &Path) -> Vec<PathBuf> {
    if let Some(url) = url_of(view) {
        let beside = base.paths().and_then(|(path, _)| beside(url, path));
        return beside.map(PathBuf::from).into_iter().collect();
    }
    let view = normal(&absolute(view).unwrap_or_else(|_| view.to_owned()));
    let named = view.parent().unwrap_or(&view);
    let real = named.canonicalize().unwrap_or_else(|_| named.to_owned());
    let saved = base
        .paths()
        .map(|(path, hint)| [normal(&named.join(path)), normal(&real.join(path)), PathBuf::from(hint)]);
    let located = base.location.as_deref().and_then(|url| local_path(url).ok());
    let mut places: Vec<PathBuf> = Vec::new();
    for place in saved.into_iter().flatten().chain(located) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// The URL of a file at a path relative to the directory of the file at `url`; `None` for one outside its bucket.
fn beside(url: &str, path: &str) -> Option<String> {
    let (root, key) = url.split_at(url.find("://")? + 3);
    let mut parts: Vec<&str> = key.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            // The first part of the path is the bucket.
            ".." if parts.len() > 1 => drop(parts.pop()),
            ".." => return None,
            part => parts.push(part),
        }
    }
    Some(format!("{root}{}", parts.join("/")))
}

/// The id of a directory, made from its first shards; it does not change when shards are added.
///
/// # Errors
/// None: the text always has a form in JSON.
pub fn directory_id(names: &[String], identities: &[(u64, String)]) -> Result<String> {
    let shards: Vec<(&String, u64, &String)> =
        names.iter().zip(identities).map(|(name, (samples, id))| (name, *samples, id)).collect();
    let text = serde_json::to_vec(&shards).map_err(|error| Error::invalid(error.to_string()))?;
    Ok(hash_bytes(&text))
}

/// An absolute path without `.` and `..`, using only its text.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

/// A number with commas between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases_beside_a_url_stay_in_its_bucket() {
        let view = "s3://bucket/views/a.jinx";
        assert_eq!(beside(view, "../train.jinx").as_deref(), Some("s3://bucket/train.jinx"));
        assert_eq!(beside(view, "./b//c.jinx").as_deref(), Some("s3://bucket/views/b/c.jinx"));
        assert_eq!(beside(view, "../../other/train.jinx"), None);
    }
}
