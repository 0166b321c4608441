//! Writes media to files and puts their paths in the rows, which `embed` reads back.

use crate::filters::forward::forward;
use jinx_core::codec;
use jinx_core::error::{Error, Result};
use jinx_core::io::{FileOps, RealOps};
use jinx_core::row_events::{Blob, Dtype, Number, Payload, Sink};
use std::io::ErrorKind;
use std::path::Path;
use twox_hash::XxHash3_128;

/// Forwards all values, replacing binary ones by paths.
pub(crate) struct MediaOut<'a, S> {
    ops: &'a dyn FileOps,
    directory: &'a Path,
    inner: S,
}

impl<'a, S: Sink> MediaOut<'a, S> {
    pub(crate) fn around(directory: &'a Path, inner: S) -> Self {
        Self { ops: &RealOps, directory, inner }
    }

    /// Writes a file named after its content, so that equal media become one file.
    fn write(&self, data: &[u8]) -> Result<String> {
        let name = format!("{:032x}{}", XxHash3_128::oneshot(data), suffix(data));
        let path = self.directory.join(&name[..2]).join(&name);
        let failed = |error: std::io::Error| Error::io(&path, &error);
        if path.metadata().is_ok_and(|metadata| metadata.len() == jinx_core::checked_math::to_u64(data.len()))
        {
            return Ok(self.shown(&name));
        }
        self.ops.create_directories(&self.directory.join(&name[..2])).map_err(failed)?;
        // Write under a temporary name first, so that an interrupted run leaves no partial file under the final name.
        let thread = format!("{:?}", std::thread::current().id()).replace(|c: char| !c.is_ascii_digit(), "");
        let temporary = path.with_extension(format!("{}-{thread}.tmp", std::process::id()));
        let written = self.ops.write(&temporary, data).and_then(|()| self.ops.rename(&temporary, &path));
        written.map_err(|error| {
            let _ = self.ops.remove(&temporary);
            match error.kind() {
                ErrorKind::NotFound => Error::io(self.directory, &error),
                _ => failed(error),
            }
        })?;
        Ok(self.shown(&name))
    }

    /// The path in the rows: it begins with the name of the directory, which is next to the output.
    fn shown(&self, name: &str) -> String {
        let directory =
            self.directory.file_name().map(|directory| directory.to_string_lossy()).unwrap_or_default();
        format!("{directory}/{}/{name}", &name[..2])
    }
}

/// The usual suffix of a file with this content.
pub(crate) fn suffix(data: &[u8]) -> &'static str {
    match codec::mime(data) {
        Some("image/jpeg") => ".jpg",
        Some("image/png") => ".png",
        Some("image/gif") => ".gif",
        Some("image/webp") => ".webp",
        Some("image/tiff") => ".tif",
        Some("image/bmp") => ".bmp",
        Some("audio/flac") => ".flac",
        Some("audio/mpeg") => ".mp3",
        Some("audio/ogg") => ".ogg",
        Some("audio/wav") => ".wav",
        Some("video/mp4") => ".mp4",
        Some("video/webm") => ".webm",
        Some("application/pdf") => ".pdf",
        _ => ".bin",
    }
}

impl<S: Sink> Sink for MediaOut<'_, S> {
    forward! {
        null();
        bool(value: bool);
        int(value: i64);
        big_int(digits: &str);
        float(value: f64);
        str(value: &str);
        scalar(dtype: Dtype, value: Number);
        media_path(path: &str);
        begin_list(len: usize);
        end_list();
        begin_dict(len: usize);
        key(name: &str);
        end_dict();
    }

    fn blob(&mut self, payload: Payload, blob: Blob<'_>) -> Result<()> {
        if payload != Payload::Raw {
            return self.inner.blob(payload, blob);
        }
        let path = self.write(blob.as_slice())?;
        self.inner.str(&path)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use jinx_core::io::fs_calls::Call;
    use jinx_core::value::TreeBuilder;
    use std::fs;
    use std::io;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn any_failing_call_leaves_no_file_or_a_whole_one() {
        for number in 0.. {
            let place = tempfile::tempdir().unwrap();
            let calls = AtomicUsize::new(0);
            let ops = |_: Call<'_>| match calls.fetch_add(1, Ordering::Relaxed) {
                at if at == number => Err(io::Error::other("injected")),
                _ => Ok(()),
            };
            let out = MediaOut { ops: &ops, directory: place.path(), inner: TreeBuilder::default() };
            let written = out.write(b"data");
            let has_failed = calls.load(Ordering::Relaxed) > number;
            assert_eq!(written.is_err(), has_failed, "{number}");
            let inner = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().path());
            let files: Vec<_> = inner
                .flat_map(|directory| fs::read_dir(directory).unwrap())
                .map(|entry| fs::read(entry.unwrap().path()).unwrap())
                .collect();
            if has_failed {
                assert!(files.is_empty(), "{number}");
                continue;
            }
            assert_eq!(files, [b"data"]);
            assert_eq!(number, 3, "the directory and the file are made, the file is renamed");
            return;
        }
    }
}
