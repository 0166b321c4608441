//! The identity of an opened file: its id or, for a file without one, facts about the file.

use crate::content_hash::hash_source;
use crate::key::FormatVersion;
use crate::read::shard::Shard;
use jinx_core::error::Result;
use jinx_core::io::Source;
use twox_hash::XxHash3_128;

/// The number of bytes at each end of a file that its identity covers.
const END_BYTES: u64 = 1 << 20;

impl Shard {
    /// The id in the footer. Files of 1.0 and plain JSON lines have none: for them the size, the time of the last change
    /// in nanoseconds and a hash of the first and the last MiB, of the file as it was opened, joined by `-`. It is the
    /// same wherever the file is seen, so it holds no numbers of devices and inodes.
    ///
    /// # Errors
    /// Read errors.
    pub fn identity(&self) -> Result<String> {
        match &self.footer().id {
            Some(id) => Ok(id.clone()),
            None => Ok(format!("{}-{}", self.main().version().portable(), hash_of_ends(self.main())?)),
        }
    }

    /// The id with which a saved view refers to this file as a base (`spec/views.md`, section 2). A file without an id
    /// must be unchanged since it was opened, because the view would not find it again.
    ///
    /// # Errors
    /// `Mismatch` naming a file that was changed or replaced; read errors.
    pub fn base_id(&self) -> Result<String> {
        if let Some(id) = &self.footer().id {
            return Ok(id.clone());
        }
        let main = self.main();
        main.require_unchanged()?;
        if self.rules() == FormatVersion::Plain {
            return Ok(main.version().portable());
        }
        hash_source(main, self.footer_offset())
    }

    /// xxh3-128 of the whole main file as it was when opened, as 32 hex digits.
    ///
    /// # Errors
    /// Read errors.
    pub fn content_hash(&self) -> Result<String> {
        hash_source(self.main(), 0)
    }
}

fn hash_of_ends(file: &Source) -> Result<String> {
    let mut hash = XxHash3_128::new();
    let first = END_BYTES.min(file.len());
    let last = END_BYTES.min(file.len() - first);
    hash.write(&file.read_vec(0, first)?);
    hash.write(&file.read_vec(file.len() - last, last)?);
    Ok(format!("{:032x}", hash.finish_128()))
}
