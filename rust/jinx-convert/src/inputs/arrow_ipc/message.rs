//! One Arrow IPC message, and the errors for invalid ones.

use crate::arrow::failure::from_arrow;
use arrow_buffer::Buffer;
use arrow_ipc::root_as_message;
use arrow_schema::ArrowError;
use jinx_core::error::{Error, Result};

pub(super) const FILE_MARK: &[u8; 8] = b"ARROW1\0\0";
/// The maximum metadata of a message; thousands of columns take a megabyte.
pub(super) const MAX_METADATA_BYTES: u64 = 256 << 20;

pub(super) struct BatchBlock {
    pub(super) metadata: Vec<u8>,
    pub(super) body: Buffer,
}

impl BatchBlock {
    pub(super) fn header(&self) -> Result<arrow_ipc::Message<'_>> {
        // The verifier's own message is about tables and positions of the encoding, which does not help users.
        root_as_message(&self.metadata).map_err(|_| Error::corrupt("an Arrow message is damaged"))
    }
}

/// An error in decoding: the data is in memory, so a failed read means damage.
pub(super) fn damaged(error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(what, _) => Error::corrupt(format!("the Arrow data is damaged: {what}")),
        other => from_arrow(other),
    }
}

pub(super) fn ends_early() -> Error {
    Error::truncated("the Arrow data ends early: the file is incomplete; copy or download it again")
}
