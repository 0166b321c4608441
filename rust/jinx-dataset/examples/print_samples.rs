//! Prints the first ten samples of a dataset as JSON lines.
//!
//! ```text
//! cargo run -p jinx-dataset --example print_samples -- good.jinx     # a pair, or a saved view and what it shows
//! cargo run -p jinx-dataset --example print_samples -- train/        # a directory of shards, or of MDS
//! cargo run -p jinx-dataset --example print_samples -- a.jinx b.jinx # several, as one sequence
//! ```

use jinx_core::json::write::{Binary, JsonText};
use jinx_core::{Error, Result};
use jinx_dataset::{Location, Options, open};
use std::io::{Write, stderr, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

const SAMPLES: usize = 10;

fn main() -> ExitCode {
    match print_samples() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn print_samples() -> Result<()> {
    let mut paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let location = match (paths.pop(), paths.is_empty()) {
        (Some(only), true) => Location::Path(only),
        (Some(last), false) => {
            paths.push(last);
            Location::List(paths)
        }
        (None, _) => return Err(Error::invalid("usage: print_samples PATH...")),
    };
    let dataset = open(&location, None, &Options::default())?;
    let mut lines = JsonText::new(Binary::Summary);
    for i in 0..dataset.len().min(SAMPLES) {
        dataset.emit(i, &mut lines)?;
        lines.out.push(b'\n');
    }
    Ok(stdout().write_all(&lines.out)?)
}
