//! Writes objects. An object appears when all of its bytes have arrived, so a reader sees the old one or the new one.

use crate::failure::failure;
use crate::mark::Mark;
use bytes::Bytes;
use jinx_core::checked_math::to_usize;
use jinx_core::error::Cause;
use jinx_core::{Error, Result};
use object_store::path::Path as Key;
use object_store::{MultipartUpload, ObjectStore, PutMultipartOptions};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use tokio::task::{JoinError, JoinSet};

/// Larger files are sent in parts of at least this size.
pub(crate) const PART_BYTES: u64 = 8 << 20;
/// Stores allow 10,000 parts.
const MAX_PARTS: u64 = 9_000;
/// The number of parts that are sent at the same time.
const PARTS_AT_ONCE: usize = 8;

/// A long file all of whose parts have been sent. It becomes an object when it is completed.
pub(crate) struct Upload {
    parts: Box<dyn MultipartUpload>,
    client: Arc<dyn ObjectStore>,
    key: Key,
    mark: Mark,
}

impl Upload {
    /// Turns the parts into an object.
    ///
    /// # Errors
    /// Errors of the store. What was sent is removed.
    pub(crate) async fn complete(mut self) -> Result<()> {
        let Err(error) = self.parts.complete().await else { return Ok(()) };
        // The answer to an earlier attempt may have been lost.
        if self.mark.is_on(self.client.as_ref(), &self.key).await {
            return Ok(());
        }
        self.abort().await;
        Err(failure(&error))
    }

    /// Removes the parts that were sent. The store removes parts of its own after some days, too.
    pub(crate) async fn abort(mut self) {
        let _ = self.parts.abort().await;
    }
}

/// Sends a long file in parts.
///
/// # Errors
/// Errors of the store; `Io` for the file. What was sent is removed.
pub(crate) async fn send(
    client: Arc<dyn ObjectStore>,
    key: Key,
    file: Arc<File>,
    length: u64,
) -> Result<Upload> {
    let mark = Mark::new();
    let options = PutMultipartOptions { attributes: mark.attributes(), ..PutMultipartOptions::default() };
    let parts = client.put_multipart_opts(&key, options).await.map_err(|error| failure(&error))?;
    let mut upload = Upload { parts, client, key, mark };
    match send_parts(upload.parts.as_mut(), file, length).await {
        Ok(()) => Ok(upload),
        Err(error) => {
            upload.abort().await;
            Err(error)
        }
    }
}

async fn send_parts(upload: &mut dyn MultipartUpload, file: Arc<File>, length: u64) -> Result<()> {
    let step = PART_BYTES.max(length.div_ceil(MAX_PARTS));
    let mut sending = JoinSet::new();
    let mut start = 0;
    while start < length {
        let end = (start + step).min(length);
        let bytes = part_of(Arc::clone(&file), start, end - start).await?;
        sending.spawn(upload.put_part(bytes.into()));
        start = end;
        if sending.len() >= PARTS_AT_ONCE {
            sent(sending.join_next().await)?;
        }
    }
    while let Some(part) = sending.join_next().await {
        sent(Some(part))?;
    }
    Ok(())
}

fn sent(part: Option<Result<object_store::Result<()>, JoinError>>) -> Result<()> {
    let ended = |_| Error::new(Cause::Internal, "a part of an upload has ended early");
    let Some(part) = part else { return Ok(()) };
    part.map_err(ended)?.map_err(|error| failure(&error))
}

/// Reads a part of a file, on a thread other than the network thread.
async fn part_of(file: Arc<File>, start: u64, length: u64) -> Result<Bytes> {
    let read = move || {
        let mut bytes = vec![0; to_usize(length, "a part")?];
        file.read_exact_at(&mut bytes, start)?;
        Ok(Bytes::from(bytes))
    };
    let ended = |_| Error::new(Cause::Internal, "a thread for files has ended");
    tokio::task::spawn_blocking(read).await.map_err(ended)?
}
