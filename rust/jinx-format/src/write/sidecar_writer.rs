//! The sidecar of a pair being written: values, then arrays.

use crate::footer::ArrayRef;
use crate::sidecar::ALIGNMENT;
use crate::write::array_hasher::ArrayHasher;
use crate::write::columns::{ArraySink, Fill};
use crate::write::early_sync::EarlySync;
use crate::write::pair_target::PairFiles;
use bytes::Bytes;
use jinx_core::checked_math::to_u64;
use jinx_core::codec::{self, Compressor};
use jinx_core::error::{Error, Result};
use jinx_core::io::Content;
use std::cell::RefCell;
use std::io::{IoSlice, Write};
use std::path::PathBuf;
use twox_hash::{XxHash3_64, XxHash3_128};

/// Arrays of at least this size are in the sidecar, where they can be mapped instead of decoded.
pub(super) const SIDECAR_ARRAY_BYTES: u64 = 64 << 10;
const BLOCK_BYTES: usize = 1 << 20;
/// The number of bytes of values that are collected and passed to the system in one call, without copying.
pub(super) const VALUE_BUFFER_BYTES: u64 = 1 << 20;
/// Values smaller than this are cheaper to copy together than to pass one by one.
pub(super) const MAX_SLICES: usize = 512;

static ZEROS: [u8; 64] = [0; 64];

/// The sidecar's stream.
pub(super) struct Side {
    pub(super) files: Box<dyn PairFiles>,
    pub(super) path: PathBuf,
    pub(super) allowed: bool,
    pub(super) len: u64,
    pub(super) pending: Vec<Bytes>,
    pub(super) pending_bytes: u64,
    pub(super) body: XxHash3_128,
    pub(super) sync: EarlySync,
}

impl Side {
    /// Appends a value; returns its offset.
    pub(super) fn put(&mut self, data: Content) -> Result<u64> {
        self.start();
        self.align();
        let offset = self.len;
        match data {
            Content::Memory(data) => self.put_block(data)?,
            Content::Range(range) => range.for_each_block(|block| self.put_block(block))?,
        }
        Ok(offset)
    }

    fn put_block(&mut self, data: Bytes) -> Result<()> {
        self.body.write(&data);
        self.append(data);
        let is_full = self.pending_bytes >= VALUE_BUFFER_BYTES || self.pending.len() >= MAX_SLICES;
        if is_full { self.flush() } else { Ok(()) }
    }

    /// Reserves space for the header, which is written last, when the id is known.
    fn start(&mut self) {
        if self.len == 0 {
            self.append(Bytes::from_static(&ZEROS));
        }
    }

    fn align(&mut self) {
        let over = self.len % ALIGNMENT;
        if over > 0 {
            let pad = usize::try_from(ALIGNMENT - over).unwrap_or_default();
            self.body.write(&ZEROS[..pad]);
            self.append(Bytes::from_static(&ZEROS).slice(..pad));
        }
    }

    fn append(&mut self, data: Bytes) {
        let length = to_u64(data.len());
        self.len += length;
        self.pending_bytes += length;
        self.pending.push(data);
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let is_synced = self.files.are_synced();
        let file = self.files.sidecar_file()?;
        let mut slices: Vec<IoSlice<'_>> = self.pending.iter().map(|data| IoSlice::new(data)).collect();
        let mut left = slices.as_mut_slice();
        IoSlice::advance_slices(&mut left, 0);
        while !left.is_empty() {
            match file.write_vectored(left) {
                Ok(0) => {
                    let error = std::io::Error::from(std::io::ErrorKind::WriteZero);
                    return Err(Error::io(&self.path, &error));
                }
                Ok(count) => IoSlice::advance_slices(&mut left, count),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io(&self.path, &error)),
            }
        }
        let bytes = self.pending.iter().map(Bytes::len).sum();
        self.pending.clear();
        self.pending_bytes = 0;
        if is_synced { self.sync.wrote(file, bytes, &self.path) } else { Ok(()) }
    }
}

impl ArraySink for Side {
    fn put_array(&mut self, length: u64, fill: &mut Fill<'_>) -> Result<ArrayRef> {
        if length < SIDECAR_ARRAY_BYTES || !self.allowed {
            let mut bytes = Vec::new();
            fill(&mut |block| {
                bytes.extend_from_slice(block);
                Ok(())
            })?;
            return inline_array(&bytes);
        }
        self.start();
        self.align();
        let offset = self.len;
        let mut hash = ArrayHasher::new(length);
        let mut block = Vec::with_capacity(BLOCK_BYTES);
        fill(&mut |piece| {
            block.extend_from_slice(piece);
            if block.len() >= BLOCK_BYTES {
                hash.write(&block);
                self.append(Bytes::from(std::mem::take(&mut block)));
                self.flush()?;
            }
            Ok(())
        })?;
        hash.write(&block);
        self.append(Bytes::from(block));
        self.flush()?;
        hash.pointer(offset, self.len - offset)
    }
}

pub(super) fn inline_array(bytes: &[u8]) -> Result<ArrayRef> {
    let mut data = Vec::new();
    codec::push_base64(&mut data, &compressed(bytes)?);
    Ok(ArrayRef::Inline {
        data: String::from_utf8(data).map_err(|_| Error::invalid("base64 is ASCII"))?,
        length: to_u64(bytes.len()),
        x: format!("{:016x}", XxHash3_64::oneshot(bytes)),
    })
}

fn compressed(bytes: &[u8]) -> Result<Vec<u8>> {
    thread_local! {
        /// Kept, because creating one takes longer than compressing a small array: zstd queries the processor.
        static KEPT: RefCell<Option<Compressor>> = const { RefCell::new(None) };
    }
    let mut compressor = match KEPT.take() {
        Some(kept) => kept,
        None => Compressor::zstd(3)?,
    };
    let out = compressor.compress(bytes)?;
    KEPT.set(Some(compressor));
    Ok(out)
}
