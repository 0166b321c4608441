//! Saved views that are directories: how they are divided, and that new places of their bases come at once or not.
#![allow(clippy::unwrap_used, clippy::panic)]

mod sample;

use jinx_core::error::Cause;
use jinx_core::io::fs_calls::Call;
use jinx_core::io::remove_leftovers;
use jinx_core::{Error, Result};
use jinx_format::identity::JinxIdentity;
use jinx_format::manifest::Manifest;
use jinx_format::merge::{merge, part_name};
use jinx_format::read::open::resolve;
use jinx_format::read::shard::{OpenOptions, Shard};
use jinx_format::rewrite_bases::{
    NewPlace, ShardPlaces, rewrite_bases_of_shards, rewrite_bases_of_shards_on,
};
use jinx_format::verify::verify;
use jinx_format::view_footer::{Base, BaseKind, NewBase, NewView};
use jinx_format::write::dataset::DatasetWriter;
use jinx_format::write::options::WriteOptions;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const BASE_SAMPLES: u64 = 7;

fn view(positions: Option<Vec<u64>>) -> NewView {
    let base = Base {
        path: Some("../base.jinx".to_owned()),
        hint: Some("/old/base.jinx".to_owned()),
        location: Some("s3://bucket/base.jinx".to_owned()),
        version: Some("1".to_owned()),
        kind: BaseKind::Pair,
        id: "0".repeat(32),
        num_samples: BASE_SAMPLES,
        shards: None,
        index: None,
        content: None,
        markers: false,
    };
    let num_samples = positions.as_ref().map_or(BASE_SAMPLES, |positions| positions.len() as u64);
    NewView {
        bases: vec![NewBase { base, index: None }],
        positions,
        drop: vec!["id".to_owned()],
        num_samples,
        own: Vec::new(),
    }
}

fn writer(path: &Path, view: NewView, shard_bytes: Option<u64>) -> DatasetWriter {
    let view = Some(Arc::new(view));
    let options = WriteOptions { view, shard_bytes, overwrite: true, ..WriteOptions::default() };
    DatasetWriter::create(path, options).unwrap()
}

/// Saves a view with columns of its own, in a shard for each row.
fn save(path: &Path, positions: Vec<u64>) {
    let rows: Vec<_> = (0..positions.len()).map(sample::row).collect();
    let mut writer = writer(path, view(Some(positions)), Some(1));
    writer.write_values(&rows).unwrap();
    let summary = writer.close().unwrap();
    assert_eq!((summary.samples, summary.shards), (rows.len() as u64, rows.len() as u64));
}

fn shards(path: &Path) -> Vec<Shard> {
    let options = OpenOptions { views: true, ..OpenOptions::default() };
    resolve(path).unwrap().iter().map(|shard| shard.open(&options).unwrap()).collect()
}

fn positions(path: &Path) -> Vec<Vec<u64>> {
    let all =
        |shard: &Shard| (0..shard.footer().num_samples).map(|i| shard.view_position(i).unwrap()).collect();
    shards(path).iter().map(all).collect()
}

#[test]
fn samples_are_divided_by_rows_or_by_positions() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("view");
    let chosen = vec![6, 0, 0, 3, 5];
    save(&path, chosen.clone());
    assert_eq!(positions(&path), [[6], [0], [0], [3], [5]]);
    for (shard_bytes, parts) in [
        (None, vec![chosen.clone()]),
        (Some(16), vec![vec![6, 0], vec![0, 3], vec![5]]),
        (Some(1), vec![vec![6], vec![0], vec![0], vec![3], vec![5]]),
    ] {
        writer(&path, view(Some(chosen.clone())), shard_bytes).close().unwrap();
        assert_eq!(positions(&path), parts);
        assert!(Manifest::read(&path).unwrap().unwrap().is_of_views());
        assert_eq!(verify(&path, &mut |_, _| Ok(())).unwrap(), []);
    }
    writer(&path, view(None), Some(24)).close().unwrap();
    assert_eq!(positions(&path), [vec![0, 1, 2], vec![3, 4, 5], vec![6]]);
    writer(&path, view(None), None).close().unwrap();
    assert!(shards(&path)[0].footer().view.as_ref().unwrap().positions.is_none());
    writer(&path, view(Some(Vec::new())), Some(1)).close().unwrap();
    assert_eq!(positions(&path), [[0u64; 0]]);
}

#[test]
fn what_is_no_whole_view_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("view");
    let mut short = writer(&path, view(Some(vec![1, 2, 3])), None);
    short.write_values(&[sample::row(0)]).unwrap();
    assert_eq!(short.close().unwrap_err().cause(), Cause::Invalid);
    assert!(!path.exists());
    save(&path, vec![1, 2]);
    let append = DatasetWriter::append(&path, WriteOptions::default()).map(drop);
    assert!(append.unwrap_err().what().contains("saved views"));
    let parts = place.path().join("parts");
    fs::create_dir(&parts).unwrap();
    save(&parts.join(part_name(0, 1)), vec![1, 2]);
    assert_eq!(merge(&parts).unwrap_err().cause(), Cause::Mismatch);
}

fn new_places(path: &Path) -> Vec<ShardPlaces> {
    let place = |shard: &Shard| {
        let name = shard.path().file_name().unwrap().to_str().unwrap().to_owned();
        let new = NewPlace::Paths("../new.jinx".to_owned(), "/new/new.jinx".to_owned());
        (name, shard.footer().id.clone().unwrap(), vec![Some(new)])
    };
    shards(path).iter().map(place).collect()
}

/// The hints of all shards, once each.
fn hints(path: &Path) -> Vec<String> {
    let hint = |shard: &Shard| shard.footer().view.as_ref().unwrap().bases[0].hint.clone().unwrap();
    let mut hints: Vec<_> = shards(path).iter().map(hint).collect();
    hints.dedup();
    hints
}

#[test]
fn new_places_come_at_once_whatever_call_fails() {
    for is_dead in [false, true] {
        for number in 0.. {
            let place = tempfile::tempdir().unwrap();
            let path = place.path().join("view");
            save(&path, vec![6, 0]);
            let (old, places) = (positions(&path), new_places(&path));
            let calls = Arc::new(AtomicUsize::new(0));
            let seen = Arc::clone(&calls);
            let ops = move |_: Call<'_>| match seen.fetch_add(1, Ordering::SeqCst) {
                at if at == number || (is_dead && at > number) => Err(io::Error::other("injected")),
                _ => Ok(()),
            };
            let done: Result<()> = rewrite_bases_of_shards_on(Arc::new(ops), &path, &places);
            let when = format!("at {number}: {:?}", done.as_ref().map_err(Error::to_string));
            let found = hints(&path);
            assert!(found == ["/new/new.jinx"] || (found == ["/old/base.jinx"] && done.is_err()), "{when}");
            assert_eq!(positions(&path), old, "{when}");
            remove_leftovers(place.path(), &JinxIdentity).unwrap();
            assert_eq!(verify(&path, &mut |_, _| Ok(())).unwrap(), [], "{when}");
            if calls.load(Ordering::SeqCst) <= number {
                assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
                assert!(number > 8, "only {number} calls");
                break;
            }
        }
    }
}

#[test]
fn new_places_are_for_the_shards_that_are_there() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("view");
    save(&path, vec![6, 0]);
    let mut places = new_places(&path);
    places[1].1 = "1".repeat(32);
    assert_eq!(rewrite_bases_of_shards(&path, &places).unwrap_err().cause(), Cause::Mismatch);
    places.pop();
    assert_eq!(rewrite_bases_of_shards(&path, &places).unwrap_err().cause(), Cause::Mismatch);
    let mut places = new_places(&path);
    let url = "hf://datasets/a/base.jinx";
    places[0].2 = vec![Some(NewPlace::Location(url.to_owned()))];
    places[1].2 = vec![None];
    rewrite_bases_of_shards(&path, &places).unwrap();
    let bases: Vec<_> =
        shards(&path).iter().map(|shard| shard.footer().view.as_ref().unwrap().bases[0].clone()).collect();
    assert_eq!((bases[0].location.as_deref(), bases[0].version.as_deref()), (Some(url), None));
    assert_eq!(bases[1].version.as_deref(), Some("1"));
    let secret = NewPlace::Location("https://me:secret@host/base.jinx".to_owned());
    places[0].2 = vec![Some(secret)];
    let error = rewrite_bases_of_shards(&path, &places).unwrap_err();
    assert_eq!(error.cause(), Cause::Invalid);
    assert!(!error.to_string().contains("me:"), "{error}");
}
