//! Datasets of every kind, opened and read through the public surface.
#![allow(clippy::unwrap_used)]

mod sample;

use jinx_core::Result;
use jinx_core::error::{Cause, Error};
use jinx_core::value::Value;
use jinx_dataset::{Bases, Dataset, FileIdentity, Location, Options, open};
use jinx_format::read::shard::{OpenOptions, Verify};
use jinx_format::view_footer::BaseKind;
use sample::*;
use std::path::{Path, PathBuf};

const KINDS: [BaseKind; 4] = [BaseKind::Pair, BaseKind::Directory, BaseKind::Jsonl, BaseKind::Mds];

/// A directory for the files of a test, and the name in it of a dataset of each kind.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    /// Writes a dataset of ten samples, whose ids begin at `first`, in place of what is there.
    fn write(&self, kind: BaseKind, first: i64) -> PathBuf {
        let path = self.path(match kind {
            BaseKind::Pair => "base.jinx",
            BaseKind::Directory => "base",
            BaseKind::Jsonl => "base.jsonl",
            BaseKind::Mds => "base-mds",
        });
        match kind {
            BaseKind::Pair => write_pair(&path, first..first + 10),
            BaseKind::Directory => write_directory(&path, first..first + 10),
            BaseKind::Jsonl => write_lines(&path, first..first + 10),
            BaseKind::Mds => {
                if path.exists() {
                    std::fs::remove_dir_all(&path).unwrap();
                }
                // Another number of samples: the id of an index covers only sizes.
                let count = if first == 0 { 10 } else { 11 };
                write_mds(&path, first..first + count);
            }
        }
        path
    }
}

fn try_open(path: &Path, expected: Option<&[FileIdentity]>) -> Result<Dataset> {
    open(&Location::from(path), expected, &Options::default())
}

fn failure<T>(result: Result<T>) -> Error {
    result.err().unwrap()
}

fn numbers(all: impl IntoIterator<Item = i64>) -> Vec<i64> {
    all.into_iter().collect()
}

#[test]
fn every_kind_opens() {
    let place = Place::new();
    for kind in KINDS {
        let dataset = opened(&place.write(kind, 0));
        assert_eq!(ids(&dataset), numbers(0..10), "{kind:?}");
        assert_eq!(dataset.rows.column_names().unwrap()[0], "id");
    }
    assert!(opened(&place.path("base")).rows.files().paths.len() > 1);
    assert!(!opened(&old_file()).is_empty());
}

#[test]
fn a_directory_without_a_manifest_opens_in_natural_order() {
    let place = Place::new();
    let directory = place.path("bare");
    std::fs::create_dir(&directory).unwrap();
    write_pair(&directory.join("part-10.jinx"), 2..4);
    write_pair(&directory.join("part-9.jinx"), 0..2);
    assert_eq!(ids(&opened(&directory)), numbers(0..4));
}

#[test]
fn a_list_is_one_sequence_of_one_kind() {
    let place = Place::new();
    let [pair, directory] = [BaseKind::Pair, BaseKind::Directory].map(|kind| place.write(kind, 0));
    let both = Location::from(vec![pair.clone(), directory]);
    let dataset = open(&both, None, &Options::default()).unwrap();
    assert_eq!(ids(&dataset), numbers((0..10).chain(0..10)));
    let mixed = Location::from(vec![pair, place.write(BaseKind::Jsonl, 0)]);
    assert_eq!(failure(open(&mixed, None, &Options::default())).cause(), Cause::Invalid);
    let nothing = Location::from(Vec::new());
    assert_eq!(failure(open(&nothing, None, &Options::default())).cause(), Cause::Invalid);
}

#[test]
fn a_view_over_each_kind_shows_its_samples_and_its_own_column() {
    let place = Place::new();
    let view = place.path("view.jinx");
    for kind in KINDS {
        let base = place.write(kind, 0);
        save_view(&view, &base, kind, &[7, 2, 2], true);
        let dataset = opened(&view);
        assert_eq!(ids(&dataset), [7, 2, 2], "{kind:?}");
        assert_eq!(column(&dataset, "note"), [Value::Int(0), Value::Int(1), Value::Int(2)], "{kind:?}");
        assert!(dataset.rows.column_names().unwrap().contains(&"note".to_owned()));
    }
}

#[test]
fn a_view_over_a_file_of_1_0_shows_its_samples() {
    let place = Place::new();
    let (base, view) = (place.path("old.jinx"), place.path("view.jinx"));
    std::fs::copy(old_file(), &base).unwrap();
    let whole = opened(&base);
    save_view(&view, &base, BaseKind::Pair, &[1, 0], false);
    assert_eq!(opened(&view).len(), 2);
    let name = &whole.rows.column_names().unwrap()[0];
    let [first, second] = [0, 1].map(|i| column(&whole, name)[i].clone());
    assert_eq!(column(&opened(&view), name), [second, first]);
}

#[test]
fn views_of_views_and_concatenations_follow_positions() {
    let place = Place::new();
    let (base, view) = (place.write(BaseKind::Directory, 0), place.path("view.jinx"));
    save_view(&view, &base, BaseKind::Directory, &[9, 5, 1], true);
    let nested = opened(&view).select(&[2, 0]).unwrap();
    assert_eq!(ids(&nested), [1, 9]);
    let nested = Dataset::of(nested.in_order().unwrap()).select(&[1]).unwrap();
    assert_eq!(ids(&nested), [9]);
    assert_eq!(column(&nested, "note"), [Value::Int(0)]);
    let lines = opened(&place.write(BaseKind::Jsonl, 100)).select(&[3]).unwrap();
    let all = Dataset::of(Dataset::concat(&[nested, lines, opened(&view)]).unwrap());
    assert_eq!(ids(&all), [9, 103, 9, 5, 1]);
    let positions = std::sync::Arc::clone(&all.rows).roots(None).unwrap().positions.unwrap();
    assert_eq!(positions.len(), 5);
    assert_eq!(failure(all.select(&[5])).cause(), Cause::Invalid);
}

#[test]
fn a_base_that_was_replaced_is_one_mismatch() {
    let place = Place::new();
    let view = place.path("view.jinx");
    for kind in KINDS {
        let base = place.write(kind, 0);
        save_view(&view, &base, kind, &[7, 2], false);
        let before = opened(&view);
        place.write(kind, 50);
        let error = failure(try_open(&view, None));
        assert_eq!(error.cause(), Cause::Mismatch, "{kind:?}");
        let text = error.to_string();
        let expected = "is not the dataset that this view was saved over: expected id ";
        assert!(text.starts_with(&format!("{}: {} {expected}", view.display(), base.display())), "{text}");
        if kind == BaseKind::Pair {
            assert_eq!(ids(&before), [7, 2], "what was open stays readable");
        }
    }
}

#[test]
fn a_base_that_is_missing_is_named_and_found_at_another_place() {
    let place = Place::new();
    let (base, view) = (place.write(BaseKind::Pair, 0), place.path("view.jinx"));
    save_view(&view, &base, BaseKind::Pair, &[4], false);
    let moved = place.path("moved.jinx");
    std::fs::rename(&base, &moved).unwrap();
    let error = failure(try_open(&view, None));
    assert_eq!(error.cause(), Cause::Mismatch);
    let text = error.to_string();
    let looked = format!("the pair that this view shows is missing (looked for {})", base.display());
    assert!(text.contains(&looked), "{text}");
    let here = |places| Options { bases: places, ..Options::default() };
    let location = Location::from(&*view);
    assert_eq!(ids(&open(&location, None, &here(Bases::At(vec![moved.clone()]))).unwrap()), [4]);
    assert_eq!(failure(open(&location, None, &here(Bases::Refused))).cause(), Cause::Mismatch);
    let two = here(Bases::At(vec![moved.clone(), moved.clone()]));
    assert_eq!(failure(open(&location, None, &two)).cause(), Cause::Invalid);
    // The view moves together with its base: the hint leads nowhere, the relative path does.
    let elsewhere = place.path("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::rename(&moved, elsewhere.join("base.jinx")).unwrap();
    std::fs::rename(&view, elsewhere.join("view.jinx")).unwrap();
    assert_eq!(ids(&opened(&elsewhere.join("view.jinx"))), [4]);
}

#[test]
fn a_view_is_no_base() {
    let place = Place::new();
    let (base, view) = (place.write(BaseKind::Pair, 0), place.path("view.jinx"));
    save_view(&view, &base, BaseKind::Pair, &[4], false);
    std::fs::rename(&view, place.path("other.jinx")).unwrap();
    save_view(&view, &base, BaseKind::Pair, &[4], false);
    std::fs::rename(place.path("other.jinx"), &base).unwrap();
    let text = failure(try_open(&view, None)).to_string();
    assert!(text.contains("is a saved view itself"), "{text}");
}

#[test]
fn only_the_expected_files_open() {
    let place = Place::new();
    let mut paths: Vec<PathBuf> = KINDS.iter().map(|kind| place.write(*kind, 0)).collect();
    let view = place.path("view.jinx");
    save_view(&view, &paths[0], BaseKind::Pair, &[1], false);
    paths.push(view);
    let identities: Vec<_> = paths.iter().map(|path| opened(path).rows.identities().unwrap()).collect();
    for (path, expected) in paths.iter().zip(&identities) {
        assert!(try_open(path, Some(expected)).is_ok(), "{}", path.display());
    }
    for kind in KINDS {
        place.write(kind, 50);
    }
    for (path, expected) in paths.iter().zip(&identities) {
        let read = try_open(path, Some(expected)).and_then(|dataset| {
            (0..dataset.len())
                .try_for_each(|i| dataset.emit(i, &mut jinx_core::value::TreeBuilder::default()))
        });
        assert_eq!(failure(read).cause(), Cause::Mismatch, "{}", path.display());
    }
}

#[test]
fn a_directory_that_grew_shows_what_was_expected() {
    let place = Place::new();
    let directory = place.write(BaseKind::Directory, 0);
    let identities = opened(&directory).rows.identities().unwrap();
    let mut writer =
        jinx_format::write::dataset::DatasetWriter::append(&directory, Default::default()).unwrap();
    writer.write_values(&[row(10)]).unwrap();
    writer.close().unwrap();
    assert_eq!(ids(&opened(&directory)), numbers(0..11));
    assert_eq!(ids(&try_open(&directory, Some(&identities)).unwrap()), numbers(0..10));
}

#[test]
fn reopened_rows_are_the_same_or_a_mismatch() {
    let place = Place::new();
    let options = OpenOptions { verify: Verify::None, ..OpenOptions::default() };
    for kind in KINDS {
        let base = place.write(kind, 0);
        let view = place.path("view.jinx");
        save_view(&view, &base, kind, &[7, 2], true);
        for (path, expected) in [(&base, numbers(0..10)), (&view, vec![7, 2])] {
            let before = opened(path);
            let again = Dataset::of(before.rows.reopened(&options).unwrap());
            assert_eq!(ids(&again), expected, "{kind:?}");
        }
        let before = opened(&view);
        place.write(kind, 50);
        let read = before
            .rows
            .reopened(&options)
            .and_then(|rows| Dataset::of(rows).emit(0, &mut jinx_core::value::TreeBuilder::default()));
        assert_eq!(failure(read).cause(), Cause::Mismatch, "{kind:?}");
    }
}

#[test]
fn closed_files_are_closed_for_all_views() {
    let place = Place::new();
    let (base, view) = (place.write(BaseKind::Pair, 0), place.path("view.jinx"));
    save_view(&view, &base, BaseKind::Pair, &[4, 5], false);
    let dataset = opened(&view);
    let part = dataset.select(&[1]).unwrap();
    dataset.rows.close();
    let error = failure(part.emit(0, &mut jinx_core::value::TreeBuilder::default()));
    assert_eq!(error.cause(), Cause::Invalid);
}

#[test]
fn a_missing_file_is_an_error_of_the_system() {
    let error = failure(try_open(Path::new("/no/such/file.jinx"), None));
    assert_eq!(error.cause(), Cause::Io(std::io::ErrorKind::NotFound));
}
