//! The rejected rows, as JSON Lines: the position and the error of each.

use jinx_core::error::{Error, Result};
use jinx_core::io::FileOps;
use serde_json::json;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes the list; the file is created with the first rejected row.
pub(crate) struct Rejects {
    ops: Arc<dyn FileOps>,
    path: Option<PathBuf>,
    file: Option<BufWriter<File>>,
    count: u64,
}

impl Rejects {
    /// Without a path, rejected rows are only counted.
    pub(crate) fn new(ops: Arc<dyn FileOps>, path: Option<&Path>) -> Self {
        Self { ops, path: path.map(Path::to_owned), file: None, count: 0 }
    }

    /// Adds a rejected row; `samples_before` is how many rows were written before it.
    pub(crate) fn add(&mut self, error: &Error, samples_before: u64) -> Result<()> {
        self.count += 1;
        let Some(path) = &self.path else { return Ok(()) };
        let failed = |error: std::io::Error| Error::io(path, &error);
        let file = match &mut self.file {
            Some(file) => file,
            empty => empty.insert(BufWriter::new(self.ops.open_empty(path).map_err(failed)?)),
        };
        let line = json!({
            "source": error.path().map(|path| path.to_string_lossy()),
            "line": error.line(),
            "sample": error.sample(),
            "column": error.column(),
            "samples_before": samples_before,
            "reason": error.what(),
        });
        // Flush at once: the list is most useful when the run fails.
        writeln!(file, "{line}").and_then(|()| file.flush()).map_err(failed)
    }

    /// The number of rejected rows.
    ///
    /// # Errors
    /// `Io` when the list cannot be made durable.
    pub(crate) fn finish(&mut self) -> Result<u64> {
        if let (Some(file), Some(path)) = (&self.file, &self.path) {
            self.ops.sync_file(file.get_ref(), path).map_err(|error| Error::io(path, &error))?;
        }
        Ok(self.count)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use jinx_core::io::RealOps;
    use jinx_core::io::fs_calls::Call;
    use std::fs;
    use std::io;

    #[test]
    fn a_list_that_cannot_be_made_or_synced_is_an_error() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("list");
        fs::write(&path, "old").unwrap();
        let refuse = |name: &'static str| {
            Arc::new(move |call: Call<'_>| match format!("{call:?}").starts_with(name) {
                true => Err(io::Error::other("injected")),
                false => Ok(()),
            })
        };
        let reason = Error::corrupt("bad");
        let mut rejects = Rejects::new(refuse("OpenEmpty"), Some(&path));
        assert!(rejects.add(&reason, 0).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old", "nothing was rejected yet");
        let mut rejects = Rejects::new(refuse("SyncFile"), Some(&path));
        rejects.add(&reason, 0).unwrap();
        assert!(rejects.finish().is_err());
        let mut rejects = Rejects::new(Arc::new(RealOps), Some(&path));
        rejects.add(&reason, 0).unwrap();
        assert_eq!(rejects.finish().unwrap(), 1);
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1);
    }
}
