//! Opens a dataset of any kind.

use crate::base_opener::BaseOpener;
use crate::concat::ConcatRows;
use crate::dataset::Dataset;
use crate::location::{Contents, Location};
use crate::mds;
use crate::rows::Rows;
use crate::saved_view::over_bases;
use crate::shards::ShardRows;
use jinx_core::error::Cause;
use jinx_core::io::Identity;
use jinx_core::{Error, Result};
use jinx_format::read::open::ShardRef;
use jinx_format::read::shard::{OpenOptions, Shard};
use jinx_format::view_footer::Base;
use std::path::PathBuf;
use std::sync::Arc;

/// The number of attempts to open a dataset that a writer keeps replacing.
const ATTEMPTS: usize = 20;

/// How a dataset is opened.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// How its files are read and checked.
    pub files: OpenOptions,
    /// Only the shards of this split, or the subdirectory of that name. A single file of another split is empty.
    pub split: Option<String>,
    /// Where the bases of a saved view are.
    pub bases: Bases,
}

/// Where the bases of a saved view are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Bases {
    /// At the paths in the view.
    #[default]
    AsSaved,
    /// Look for the bases at these paths, one for each base.
    At(Vec<PathBuf>),
    /// Refuse views, because a view may refer to any file that its reader can read.
    Refused,
}

/// The number of samples and the identity of a file; see [`Rows::identities`].
pub type FileIdentity = (u64, String);

/// Opens a dataset. With `expected`, its files must be those with these identities: if a directory only grew,
/// its new files are left out.
///
/// # Errors
/// Names the file and the problem. `Mismatch` if a file is another one than expected, if a base of a saved view is
/// missing or another one, or if the location keeps changing.
pub fn open(location: &Location, expected: Option<&[FileIdentity]>, options: &Options) -> Result<Dataset> {
    for _ in 0..ATTEMPTS {
        let rows = open_files(location, expected, options)?;
        let Some(file) = view_file(&rows) else { return checked(rows, expected) };
        match view_over_bases(&file, &options.bases) {
            // Another view replaced the file before its bases were opened: try again.
            Err(error) if error.cause() == Cause::Mismatch && is_replaced(&file)? => {}
            opened => return checked(opened?, expected),
        }
    }
    Err(unsteady(location))
}

/// Like [`open`], but for a saved view, opens only its own file, which shows the view's own columns.
///
/// # Errors
/// The errors of [`open`].
pub fn open_files(
    location: &Location,
    expected: Option<&[FileIdentity]>,
    options: &Options,
) -> Result<Arc<dyn Rows>> {
    for _ in 0..ATTEMPTS {
        let before = state(location);
        let opened = open_once(location, expected, options);
        // If a writer replaced the directory meanwhile, these may be shards of two datasets.
        if state(location) == before {
            return opened;
        }
    }
    Err(unsteady(location))
}

fn unsteady(location: &Location) -> Error {
    let error = Error::mismatch("this directory keeps changing while it is opened; try again");
    match location {
        Location::Path(path) => error.in_file(path),
        Location::List(_) => error,
    }
}

fn checked(rows: Arc<dyn Rows>, expected: Option<&[FileIdentity]>) -> Result<Dataset> {
    match expected {
        Some(expected) if rows.identities()? != expected => {
            Err(Error::mismatch("the files changed since they were first opened; open them again"))
        }
        _ => Ok(Dataset::of(rows)),
    }
}

/// A value that changes when a directory is replaced or grows.
fn state(location: &Location) -> Option<Identity> {
    location.manifest()?.metadata().ok().map(|metadata| Identity::from(&metadata))
}

fn open_once(
    location: &Location,
    expected: Option<&[FileIdentity]>,
    options: &Options,
) -> Result<Arc<dyn Rows>> {
    let (split, files) = (options.split.as_deref(), options.files.clone());
    Ok(match location.contents(split, &files)? {
        Contents::Mds(paths) => Arc::new(mds::open(paths, &files)?),
        Contents::JsonLines(paths) => {
            let shards = paths.into_iter().map(ShardRef::alone).collect();
            Arc::new(ShardRows::open(shards, None, split, files, true)?)
        }
        Contents::Shards(mut shards) => {
            let views = are_views(&shards)?;
            let files = OpenOptions { views, ..files };
            shards.truncate(expected.map_or(usize::MAX, <[_]>::len));
            // With a split, open each shard now to see whether it belongs to the split. For a view, the expected ids
            // include its bases.
            let expected = expected.filter(|_| !views);
            let known = if split.is_none() { listed(&shards, expected) } else { None };
            let rows = ShardRows::open(shards, known, split, files, false)?;
            if views {
                rows.shards.get()?.require_views()?;
            }
            Arc::new(rows)
        }
    })
}

/// Whether the shards are those of saved views.
fn are_views(shards: &[ShardRef]) -> Result<bool> {
    let views = shards.iter().filter(|shard| shard.is_view).count();
    if views > 0 && views < shards.len() {
        let what = "saved views and other files are not opened as one list; open each, then concatenate them";
        return Err(Error::invalid(what));
    }
    Ok(views > 0)
}

/// What is known about shards before they are opened, so that many shards are only opened on use.
fn listed(shards: &[ShardRef], expected: Option<&[FileIdentity]>) -> Option<Vec<FileIdentity>> {
    match expected {
        // A single file may be a view.
        Some(expected) if shards.len() > 1 => Some(expected.to_vec()),
        _ => shards.iter().map(|shard| Some((shard.samples?, shard.id.clone()?))).collect(),
    }
}

/// The file of a saved view, if the rows are one.
fn view_file(rows: &Arc<dyn Rows>) -> Option<Arc<ShardRows>> {
    let file = if rows.is_view_file() { Some(Arc::clone(rows)) } else { None };
    file?.into_any().downcast().ok()
}

/// Whether the file of a view was replaced since it was opened.
fn is_replaced(file: &ShardRows) -> Result<bool> {
    let shards = file.shards.get()?;
    let opened = shards.shard(0)?;
    let options =
        OpenOptions { views: true, store: opened.options().store.clone(), ..OpenOptions::default() };
    let now = Shard::open(&path_of(file), &options)?;
    Ok(now.footer().id != opened.footer().id)
}

fn path_of(file: &ShardRows) -> PathBuf {
    file.files.places().next().unwrap_or_default()
}

/// The samples of a saved view; for a directory, one view after another.
fn view_over_bases(file: &Arc<ShardRows>, bases: &Bases) -> Result<Arc<dyn Rows>> {
    let mut open = OpenBases::default();
    let shards = file.one_by_one()?.into_iter();
    let views = shards.map(|shard| shard_over_bases(&Arc::new(shard), bases, &mut open));
    one_sequence(views.collect::<Result<_>>()?)
}

/// Open bases, by their entries in the view, so that the shards of a directory share them.
type OpenBases = Vec<(Vec<Base>, Arc<dyn Rows>)>;

fn shard_over_bases(file: &Arc<ShardRows>, bases: &Bases, open: &mut OpenBases) -> Result<Arc<dyn Rows>> {
    let entries = entries_of(file)?;
    let known = open.iter().find(|(known, _)| *known == entries).map(|(_, rows)| Arc::clone(rows));
    let base = match known {
        Some(base) => base,
        None => {
            let base = open_bases(file, bases)?;
            open.push((entries, Arc::clone(&base)));
            base
        }
    };
    Ok(Arc::new(over_bases(Arc::clone(file), base)?))
}

/// The bases of a view, without the positions of line offsets in the view's own file.
fn entries_of(file: &ShardRows) -> Result<Vec<Base>> {
    let bases = file.view_info()?.map(|info| info.bases).unwrap_or_default();
    Ok(bases.into_iter().map(|base| Base { index: None, ..base }).collect())
}

fn open_bases(file: &Arc<ShardRows>, bases: &Bases) -> Result<Arc<dyn Rows>> {
    let path = path_of(file);
    let opener = BaseOpener::new(Arc::clone(file), path.clone());
    let count = opener.count()?;
    let parts = match bases {
        Bases::Refused => {
            let what = "this is a saved view, which reads other files; bases are refused here";
            return Err(Error::mismatch(what).in_file(path));
        }
        Bases::At(places) if places.len() != count => {
            let what = format!("this view has {count} bases; places for {} are given", places.len());
            return Err(Error::invalid(what).in_file(path));
        }
        Bases::At(places) => {
            let open = |(i, place)| opener.open(i, Some(std::slice::from_ref(place)));
            places.iter().enumerate().map(open).collect::<Result<Vec<_>>>()?
        }
        Bases::AsSaved => (0..count).map(|i| opener.open(i, None)).collect::<Result<Vec<_>>>()?,
    };
    one_sequence(parts)
}

fn one_sequence(parts: Vec<Arc<dyn Rows>>) -> Result<Arc<dyn Rows>> {
    match <[_; 1]>::try_from(parts) {
        Ok([only]) => Ok(only),
        Err(parts) => Ok(Arc::new(ConcatRows::new(parts)?)),
    }
}
