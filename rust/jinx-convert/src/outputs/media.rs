//! Writes media into files of their own and leaves their paths in the rows: the way out of a sidecar, and what
//! `embed` reads back.

use crate::filters::forward::forward;
use jinx_core::codec;
use jinx_core::error::{Error, Result};
use jinx_core::sink::{Blob, Dtype, Number, Payload, Sink};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;
use twox_hash::XxHash3_128;

/// Passes on all but binary values, in whose place it puts paths.
pub(crate) struct MediaOut<'a, S> {
    folder: &'a Path,
    inner: S,
}

impl<'a, S: Sink> MediaOut<'a, S> {
    pub(crate) fn around(folder: &'a Path, inner: S) -> Self {
        Self { folder, inner }
    }

    /// Writes a file named by its content, so that equal media are one file, whoever writes them.
    fn write(&self, data: &[u8]) -> Result<String> {
        let name = format!("{:032x}{}", XxHash3_128::oneshot(data), suffix(data));
        let path = self.folder.join(&name[..2]).join(&name);
        let failed = |error: std::io::Error| Error::io(&path, &error);
        if path.metadata().is_ok_and(|there| there.len() == jinx_core::num::to_u64(data.len())) {
            return Ok(self.shown(&name));
        }
        fs::create_dir_all(self.folder.join(&name[..2])).map_err(failed)?;
        // Under another name first, so that an interrupted run leaves no half file that a later one takes for whole.
        let thread = format!("{:?}", std::thread::current().id()).replace(|c: char| !c.is_ascii_digit(), "");
        let temporary = path.with_extension(format!("{}-{thread}.tmp", std::process::id()));
        let write = || {
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&temporary)?;
            file.write_all(data)?;
            fs::rename(&temporary, &path)
        };
        write().map_err(|error| {
            let _ = fs::remove_file(&temporary);
            match error.kind() {
                ErrorKind::NotFound => Error::io(self.folder, &error),
                _ => failed(error),
            }
        })?;
        Ok(self.shown(&name))
    }

    /// The path in the rows: below the folder's own name, which lies beside the output.
    fn shown(&self, name: &str) -> String {
        let folder = self.folder.file_name().map(|folder| folder.to_string_lossy()).unwrap_or_default();
        format!("{folder}/{}/{name}", &name[..2])
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
