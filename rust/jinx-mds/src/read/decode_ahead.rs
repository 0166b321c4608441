//! Samples from first to last: shards compressed as files are decoded ahead in memory, piece by piece.

use crate::compression::Algorithm;
use crate::hash::Hashers;
use crate::index_json::FileInfo;
use crate::read::directory::{Directory, Hashes};
use crate::read::shard::Shard;
use crate::read::unpack::{self, read_exactly, read_vec};
use bytes::Bytes;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::error::{Error, Result};
use jinx_core::threads;
use std::io::Read;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// The number of decoded bytes in a piece, unless a single sample has more.
const PIECE_BYTES: u64 = 2 << 20;
/// The number of pieces that wait for the reader, in addition to those being decoded and read.
const WAITING: usize = 1;

/// Some samples of a shard, decoded.
pub struct Piece {
    /// The position of the first sample over all shards.
    pub first: u64,
    pub count: u64,
    pub shard: Arc<Shard>,
    /// The number of the first sample in its shard.
    pub index: u64,
}

/// Decodes the file-compressed shards of a directory in order, on a separate thread. Other shards are skipped.
pub struct ShardPrefetcher {
    pieces: Receiver<Piece>,
    current: Option<Piece>,
    ended: bool,
}

impl ShardPrefetcher {
    /// Starts with the shard that contains sample `start`.
    pub fn new(directory: Arc<Directory>, start: u64) -> Self {
        let (sender, pieces) = sync_channel(WAITING);
        // If no thread can be started, each sample is read on its own.
        let _ = threads::background("jinx-mds", move || {
            let (first, _) = directory.place(start.min(directory.len().saturating_sub(1)));
            for shard in first..directory.count() {
                let skip = start.saturating_sub(directory.start(shard));
                // The error of a shard is reported when one of its samples is read.
                if let Err(error) = decode(&directory, shard, skip, &sender)
                    && error.cause() == jinx_core::Cause::Interrupted
                {
                    return;
                }
            }
        });
        Self { pieces, current: None, ended: false }
    }

    /// The piece with sample `position`, if its shard is decoded here. Positions must not decrease.
    pub fn piece(&mut self, position: u64) -> Option<&Piece> {
        loop {
            match &self.current {
                Some(piece) if position < piece.first => return None,
                Some(piece) if position < piece.first + piece.count => break,
                _ if self.ended => return None,
                _ => {
                    self.current = self.pieces.recv().ok();
                    self.ended = self.current.is_none();
                }
            }
        }
        self.current.as_ref()
    }
}

fn decode(directory: &Directory, shard: usize, skip: u64, sender: &SyncSender<Piece>) -> Result<()> {
    let Some(info) = directory.info(shard) else { return Ok(()) };
    if unpack::algorithm(info).is_none() || info.samples <= skip {
        return Ok(());
    }
    info.check()?;
    let (verify, limits) = (directory.options.hashes != Hashes::None, directory.options.limits);
    let source = unpack::open_zip(info, directory.place_of(shard), verify)?;
    // Check once the file is open, because from then on nothing can replace it.
    directory.require_same_index(shard)?;
    let path = source.path().to_owned();
    let send = |piece| sender.send(piece).map_err(|_| Error::interrupted());
    // Return nothing before it is checked: to hash the decoded shard, all of it is needed.
    let is_checked = !verify || has_known(info.zip.as_ref()) || !has_known(Some(&info.raw));
    if unpack::algorithm(info).and_then(Algorithm::stream).is_none() || !is_checked {
        drop(source);
        let (bytes, path) =
            unpack::to_memory(info, directory.place_of(shard), verify, limits.max_value_bytes)?;
        directory.require_same_index(shard)?;
        let whole = Arc::new(Shard::in_memory(Bytes::from(bytes), path, info, limits)?);
        return send(Piece { first: directory.start(shard), count: info.samples, shard: whole, index: 0 });
    }
    let mut reader = unpack::stream(source, info)?;
    let ends = read_offsets(&mut reader, info.samples, info.raw.bytes)?;
    let mut at = 0usize;
    while at + 1 < ends.len() {
        let start = ends[at];
        let mut last = at + 1;
        while last + 1 < ends.len() && u64::from(ends[last + 1] - start) <= PIECE_BYTES {
            last += 1;
        }
        let bytes = read_vec(&mut reader, u64::from(ends[last] - start))?;
        let index = to_u64(at);
        let count = to_u64(last - at);
        let relative = ends[at + 1..=last].iter().map(|end| end - start).collect();
        let part = Shard::part(Bytes::from(bytes), relative, index, path.clone(), info, limits);
        if index + count > skip {
            send(Piece { first: directory.start(shard) + index, count, shard: Arc::new(part), index })?;
        }
        at = last;
    }
    Ok(())
}

/// The offsets of a shard that is being decoded; afterwards the stream is at the first sample.
fn read_offsets(reader: &mut dyn Read, samples: u64, total: u64) -> Result<Vec<u32>> {
    let head = samples.saturating_add(1).saturating_mul(4);
    if head.saturating_add(4) > total {
        return Err(Error::corrupt("more samples than the shard has bytes for"));
    }
    let mut count = [0; 4];
    read_exactly(reader, &mut count)?;
    if u64::from(u32::from_le_bytes(count)) != samples {
        return Err(Error::corrupt("a number of samples that differs from the index"));
    }
    let bytes = read_vec(reader, head)?;
    let offsets: Vec<u32> = bytes
        .chunks_exact(4)
        .map(|word| word.try_into().map(u32::from_le_bytes).unwrap_or_default())
        .collect();
    let ascending = offsets.windows(2).all(|pair| pair[0] <= pair[1]);
    let first = offsets.first().copied().map_or(0, u64::from);
    let last = offsets.last().copied().map_or(0, u64::from);
    if !ascending || first < head + 4 || last > total {
        return Err(Error::corrupt("offsets that are not ascending inside the shard"));
    }
    let config = read_vec(reader, first - head - 4)?;
    drop(config);
    to_usize(last, "a shard")?;
    Ok(offsets)
}

/// Whether the index has a hash of this file with a known algorithm.
fn has_known(file: Option<&FileInfo>) -> bool {
    file.is_some_and(|file| !Hashers::of(file.hashes.keys().map(String::as_str)).is_empty())
}
