//! The rows that were left out, as JSON Lines: where each was and what was wrong with it.

use jinx_core::error::{Error, Result};
use serde_json::json;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes the list; the file is made with the first row that is left out.
pub(crate) struct Rejects {
    path: Option<PathBuf>,
    file: Option<BufWriter<File>>,
    count: u64,
}

impl Rejects {
    /// Without a path, rows are counted only.
    pub(crate) fn new(path: Option<&Path>) -> Self {
        Self { path: path.map(Path::to_owned), file: None, count: 0 }
    }

    pub(crate) fn add(&mut self, error: &Error) -> Result<()> {
        self.count += 1;
        let Some(path) = &self.path else { return Ok(()) };
        let failed = |error: std::io::Error| Error::io(path, &error);
        let file = match &mut self.file {
            Some(file) => file,
            empty => empty.insert(BufWriter::new(File::create(path).map_err(failed)?)),
        };
        let line = json!({
            "source": error.path().map(|path| path.to_string_lossy()),
            "line": error.line(),
            "row": error.sample(),
            "field": error.field(),
            "reason": error.what(),
        });
        // At once: what was wrong is wanted most when the run fails.
        writeln!(file, "{line}").and_then(|()| file.flush()).map_err(failed)
    }

    /// How many there were.
    ///
    /// # Errors
    /// `Io` when the list cannot be made durable.
    pub(crate) fn finish(&mut self) -> Result<u64> {
        if let (Some(file), Some(path)) = (&self.file, &self.path) {
            file.get_ref().sync_all().map_err(|error| Error::io(path, &error))?;
        }
        Ok(self.count)
    }
}
