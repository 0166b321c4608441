//! Writes objects. An object appears when all of its bytes have arrived, so a reader sees the old one or the new one.

use crate::failure::failure;
use bytes::Bytes;
use jinx_core::checked_math::to_usize;
use jinx_core::error::Cause;
use jinx_core::{Error, Result};
use object_store::path::Path as Key;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutMode, PutOptions};
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use tokio::task::{JoinError, JoinSet};

/// Larger files are sent in parts of at least this size.
const PART_BYTES: u64 = 8 << 20;
/// Stores allow 10,000.
const MAX_PARTS: u64 = 9_000;
/// Parts on their way at once.
const PARTS_AT_ONCE: usize = 8;

/// Writes bytes as an object. Without `replace`, an existing one stays.
///
/// # Errors
/// `Io(AlreadyExists)`; errors of the store.
pub(crate) async fn put_bytes(
    client: Arc<dyn ObjectStore>,
    key: Key,
    bytes: Bytes,
    replace: bool,
) -> Result<()> {
    let mode = if replace { PutMode::Overwrite } else { PutMode::Create };
    let put = client.put_opts(&key, bytes.into(), PutOptions::from(mode)).await;
    put.map(drop).map_err(|error| match error {
        // Some stores say that the condition failed.
        object_store::Error::Precondition { .. } if !replace => exists(),
        error => failure(&error),
    })
}

/// Writes a file as an object, in parts if it is long. Without `replace`, an existing one stays.
///
/// # Errors
/// The errors of [`put_bytes`]; `Io` for the file. What was sent is removed.
pub(crate) async fn put_file(
    client: Arc<dyn ObjectStore>,
    key: Key,
    file: Arc<File>,
    replace: bool,
) -> Result<()> {
    let length = file.metadata()?.len();
    if length <= PART_BYTES {
        let bytes = part_of(file, 0, length).await?;
        return put_bytes(client, key, bytes, replace).await;
    }
    if !replace && client.head(&key).await.is_ok() {
        return Err(exists());
    }
    let mut upload = client.put_multipart(&key).await.map_err(|error| failure(&error))?;
    let sent = send_parts(upload.as_mut(), file, length).await;
    let done = match sent {
        Ok(()) => upload.complete().await.map(drop).map_err(|error| failure(&error)),
        Err(error) => Err(error),
    };
    if done.is_err() {
        // The store removes parts of its own after some days, too.
        let _ = upload.abort().await;
    }
    done
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

/// Files are read by other threads than the one for the network.
async fn part_of(file: Arc<File>, start: u64, length: u64) -> Result<Bytes> {
    let read = move || {
        let mut bytes = vec![0; to_usize(length, "a part")?];
        file.read_exact_at(&mut bytes, start)?;
        Ok(Bytes::from(bytes))
    };
    let ended = |_| Error::new(Cause::Internal, "a thread for files has ended");
    tokio::task::spawn_blocking(read).await.map_err(ended)?
}

fn exists() -> Error {
    Error::new(Cause::Io(ErrorKind::AlreadyExists), "the object exists already")
}
