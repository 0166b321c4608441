//! Checks a whole MDS directory, continuing after problems.

use crate::encodings::names::Encoding;
use crate::read::directory::{Directory, Hashes, Options, Unpack};
use jinx_core::error::{Error, Result};
use jinx_core::problem::Problem;
use jinx_core::row_events::Discard;
use std::path::Path;

/// After this many problems in one shard, its other samples are not checked.
const MAX_PER_SHARD: usize = 100;

/// Reads every shard and checks its size, hashes and offsets, and that every value fits its encoding (pickles are not
/// loaded). `progress` receives the bytes checked so far and the total, and may stop the check.
///
/// # Errors
/// `Io` for an index that cannot be read; errors of `progress`.
pub fn verify(path: &Path, progress: &mut dyn FnMut(u64, u64) -> Result<()>) -> Result<Vec<Problem>> {
    verify_with(path, Options::default(), progress)
}

/// Like [`verify`], with the caller's options, for example for a directory at a URL.
///
/// # Errors
/// The errors of [`verify`]; errors of the store.
pub fn verify_with(
    path: &Path,
    options: Options,
    progress: &mut dyn FnMut(u64, u64) -> Result<()>,
) -> Result<Vec<Problem>> {
    let options = Options { hashes: Hashes::All, unpack: Unpack::Memory, ..options };
    let directory = match Directory::open(vec![path.to_owned()], options) {
        Ok(directory) => directory,
        Err(error) if error.cause().is_about_data() => return Ok(vec![Problem::of(&error, path)]),
        Err(error) => return Err(error),
    };
    let bytes_of = |shard: usize| directory.info(shard).map_or(0, |info| info.raw.bytes);
    let total = (0..directory.count()).map(bytes_of).sum();
    let (mut problems, mut done) = (Vec::new(), 0);
    for shard in 0..directory.count() {
        check_shard(&directory, shard, path, &mut problems);
        done += bytes_of(shard);
        progress(done, total)?;
    }
    Ok(problems)
}

fn check_shard(directory: &Directory, shard: usize, path: &Path, problems: &mut Vec<Problem>) {
    let mut note = |error: &Error| problems.push(Problem::of(error, path));
    let opened = match directory.shard(shard) {
        Ok(opened) => opened,
        Err(error) => return note(&error),
    };
    let mut count = 0;
    for column in &opened.columns.all {
        if column.encoding.is_none() {
            let error = crate::encodings::decode::unknown(&column.encoding_name).in_column(&column.name);
            note(&error.in_file(opened.path()));
        }
    }
    for i in 0..opened.samples() {
        let row = match opened.row(i) {
            Ok(row) => row,
            Err(error) => {
                note(&error);
                count += 1;
                if count > MAX_PER_SHARD { break } else { continue }
            }
        };
        for (at, column) in opened.columns.all.iter().enumerate() {
            if matches!(column.encoding, None | Some(Encoding::Pickle)) {
                continue;
            }
            if let Err(error) = row.emit_column(at, &mut Discard) {
                note(&error);
                count += 1;
            }
        }
        if count > MAX_PER_SHARD {
            break;
        }
    }
}
