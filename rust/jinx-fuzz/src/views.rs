//! Targets for saved views: their footer members, their arrays, and new paths for their bases.

use super::footers::signed;
use super::place::Place;
use super::valid_datasets;
use super::whole_files::{MAX_ROWS, changed, read_shard};
use jinx_core::io::Access;
use jinx_format::base_url::local_path;
use jinx_format::footer::Footer;
use jinx_format::read::shard::{OpenOptions, Shard, Verify};
use jinx_format::rewrite_bases::{NewPlace, rewrite_bases};
use jinx_format::verify::verify;
use jinx_format::view_footer::ViewInfo;
use std::path::Path;

pub(super) fn saved_view(data: &[u8]) {
    for text in [data.to_vec(), signed(data)] {
        if let Some(view) = Footer::parse(&text).ok().and_then(|footer| footer.view) {
            check(&view);
        }
    }
    let Some((first, rest)) = data.split_first() else { return };
    let files = changed(*first, rest, valid_datasets::views());
    let Some(place) = Place::new() else { return };
    if place.put(&files).is_none() {
        return;
    }
    let path = place.path("a.jinx");
    read(&path);
    move_bases(&path);
}

fn check(view: &ViewInfo) {
    let counted = view.bases.iter().try_fold(0u64, |sum, base| sum.checked_add(base.num_samples));
    assert_eq!(counted, Some(view.base_samples));
    assert!(!view.bases.is_empty());
    for base in &view.bases {
        let places = [&base.path, &base.hint, &base.location].into_iter().flatten();
        assert!(!places.clone().any(|place| place.contains(char::is_control)));
        assert!(places.count() > 0 && base.path.is_some() == base.hint.is_some());
        if let Some((path, hint)) = base.paths() {
            assert!(!path.starts_with('/') && hint.starts_with('/'));
        }
        if let Some(location) = &base.location {
            assert!(location.contains("://") && !location.contains(['?', '#']));
            let local = local_path(location);
            assert_eq!(
                local.is_ok_and(|path| path.is_absolute()),
                location.starts_with("file://"),
                "{location}"
            );
        }
    }
}

fn read(path: &Path) {
    let problems = verify(path, &mut |_, _| Ok(()));
    let is_whole = problems.is_ok_and(|problems| problems.is_empty());
    for (access, level) in [(Access::Auto, Verify::None), (Access::Pread, Verify::Full)] {
        let options = OpenOptions { access, verify: level, views: true, ..OpenOptions::default() };
        let Ok(shard) = Shard::open(path, &options) else {
            assert!(!is_whole, "verify calls whole what does not open");
            return;
        };
        read_shard(&shard);
        let footer = shard.footer();
        let Some(view) = &footer.view else { return };
        check(view);
        assert!(shard.view_position(footer.num_samples).is_err());
        for i in 0..footer.num_samples.min(MAX_ROWS) {
            let position = shard.view_position(i);
            assert!(position.map_or(!is_whole, |position| position < view.base_samples));
        }
        for base in 0..view.bases.len() {
            let offsets = shard.base_line_offsets(base);
            assert!(offsets.is_ok() || !is_whole);
        }
    }
}

/// Replaces the paths of the bases. The rest of the view must stay the same.
fn move_bases(path: &Path) {
    let options = OpenOptions { views: true, ..OpenOptions::default() };
    let opened = || Shard::open(path, &options).ok().map(|shard| shard.footer().clone());
    let Some(before) = opened() else { return };
    let Some(view) = &before.view else { return };
    // Every third base stays where it is.
    let place = |i: usize| (i % 3 != 2).then(|| (format!("../{i}.jinx"), format!("/new/{i}.jinx")));
    let places: Vec<_> = (0..view.bases.len()).map(place).collect();
    let id = before.id.clone().unwrap_or_default();
    let paths =
        |place: &Option<(String, String)>| place.clone().map(|(path, hint)| NewPlace::Paths(path, hint));
    let new: Vec<_> = places.iter().map(paths).collect();
    assert!(rewrite_bases(path, &id, &new).is_ok());
    let after = opened();
    assert!(after.is_some_and(|after| {
        let same = after.view.as_ref().is_some_and(|now| {
            let moved = now.bases.iter().zip(&view.bases).zip(&places).all(|((now, before), place)| {
                let expected = place.as_ref().map(|(path, hint)| (&**path, &**hint)).or(before.paths());
                now.paths() == expected
                    && [&now.location, &now.version] == [&before.location, &before.version]
            });
            moved && now.canonical() == view.canonical() && now.positions == view.positions
        });
        same && after.id == before.id && after.meta == before.meta && after.fields == before.fields
    }));
}
