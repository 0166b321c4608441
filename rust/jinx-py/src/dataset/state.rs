//! What all samples of a dataset share: its shards or MDS folders and its choice of fields.

use crate::errors::IntoPy;
use crate::mds::open::Mds;
use crate::prefetch::iteration::Touched;
use jinx_core::io::base_of;
use jinx_core::sink::Sink;
use jinx_core::{Error, Result};
use jinx_format::read::shard::{OpenOptions, Shard};
use pyo3::prelude::*;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// A folder of at most so many shards is opened whole, so that replacing it does not touch who reads it.
const OPENED_AT_ONCE: usize = 16;

/// Shards as one sequence; of many, those whose size the manifest tells are opened at first access.
#[derive(Debug)]
pub struct Shards {
    entries: Vec<ShardEntry>,
    /// First sample of each shard, and the total at the end.
    starts: Vec<u64>,
    pub options: OpenOptions,
    pub plain: bool,
}

#[derive(Debug)]
struct ShardEntry {
    path: PathBuf,
    expected: Option<(u64, String)>,
    shard: OnceLock<Arc<Shard>>,
}

impl Shards {
    /// Opens the shards; with `expected` (samples and id) only those that are touched. Relative paths count from the
    /// working directory as it is now.
    pub fn open(
        paths: Vec<PathBuf>,
        expected: Option<Vec<(u64, String)>>,
        split: Option<&str>,
        options: OpenOptions,
        plain: bool,
    ) -> Result<Self> {
        let options = OpenOptions { base: base_of(&paths), ..options };
        let mut expected = expected.map(Vec::into_iter);
        let entries: Vec<ShardEntry> = paths
            .into_iter()
            .map(|path| ShardEntry {
                path,
                expected: expected.as_mut().and_then(Iterator::next),
                shard: OnceLock::new(),
            })
            .collect();
        let mut shards = Self { entries, starts: vec![0], options, plain };
        let mut total = 0u64;
        for i in 0..shards.entries.len() {
            let samples = match &shards.entries[i].expected {
                Some((samples, _)) => *samples,
                None => {
                    let shard = shards.shard(i)?;
                    let other = split.is_some() && shard.footer().split.as_deref() != split;
                    if other { 0 } else { shard.len() }
                }
            };
            total = total
                .checked_add(samples)
                .ok_or_else(|| Error::corrupt("more samples than 64 bits count"))?;
            shards.starts.push(total);
        }
        if shards.entries.len() <= OPENED_AT_ONCE {
            for i in 0..shards.entries.len() {
                // One that cannot be opened is an error for those who touch its samples.
                let _ = shards.shard(i);
            }
        }
        Ok(shards)
    }

    pub fn len(&self) -> u64 {
        self.starts.last().copied().unwrap_or_default()
    }

    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// The files as they were given.
    pub fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.entries.iter().map(|entry| &entry.path)
    }

    /// Samples of shard `i` that count (none under another split).
    pub fn samples(&self, i: usize) -> u64 {
        self.starts[i + 1] - self.starts[i]
    }

    pub fn shard(&self, i: usize) -> Result<&Arc<Shard>> {
        let entry = &self.entries[i];
        if let Some(shard) = entry.shard.get() {
            return Ok(shard);
        }
        let shard = if self.plain {
            Shard::open_plain(&entry.path, &self.options)?
        } else {
            Shard::open(&entry.path, &self.options)?
        };
        if let Some((samples, id)) = &entry.expected
            && (shard.len() != *samples || shard.footer().id.as_deref().unwrap_or_default() != id.as_str())
        {
            let what =
                "the file is not the one that was opened or that the manifest lists (other samples or id)";
            return Err(Error::mismatch(what).in_file(&entry.path));
        }
        Ok(entry.shard.get_or_init(|| Arc::new(shard)))
    }

    /// Samples and id of shard `i`; one that was told them beforehand is not opened.
    pub fn identity(&self, i: usize) -> Result<(u64, String)> {
        if let Some(expected) = &self.entries[i].expected {
            return Ok(expected.clone());
        }
        let shard = self.shard(i)?;
        Ok((shard.len(), shard.footer().id.clone().unwrap_or_default()))
    }

    /// The shard of sample `i` and its number in it.
    pub fn locate(&self, i: u64) -> Result<(&Arc<Shard>, u64)> {
        let at = self.place(i);
        Ok((self.shard(at)?, i - self.starts[at]))
    }

    /// The number of the shard of sample `i`.
    pub fn place(&self, i: u64) -> usize {
        if self.entries.len() == 1 { 0 } else { self.starts.partition_point(|start| *start <= i) - 1 }
    }

    /// The samples of shard `i` as positions.
    pub fn range(&self, i: usize) -> Range<u64> {
        self.starts[i]..self.starts[i + 1]
    }
}

/// Shared by a dataset, its iterators and its samples.
pub struct DatasetState {
    pub shards: Arc<Shards>,
    /// Takes the place of the shards, of which there are none then.
    pub mds: Option<Arc<Mds>>,
    /// The fields that exist for the view, or all.
    pub fields: Option<Vec<String>>,
    /// Fields whose decoder makes an array of pixels of an image.
    pixels: Vec<String>,
    /// What the samples of an iterator are asked for.
    pub touched: Option<Touched>,
}

impl DatasetState {
    pub fn new(shards: Arc<Shards>, fields: Option<Vec<String>>, pixels: Vec<String>) -> Self {
        Self { shards, mds: None, fields, pixels, touched: None }
    }

    /// With MDS folders in the place of shards.
    pub fn with_mds(self, mds: Option<Arc<Mds>>) -> Self {
        Self { mds, ..self }
    }

    /// The same for the samples of one iterator, with a count of what they are asked for.
    pub fn of_iterator(&self) -> Self {
        let dataset = Self::new(Arc::clone(&self.shards), self.fields.clone(), self.pixels.clone());
        Self { touched: Some(Touched::default()), ..dataset }
    }

    /// Whether the field's decoder makes arrays of images, which is done here where it can be.
    pub fn gives_pixels(&self, name: &str) -> bool {
        self.pixels.iter().any(|field| field == name)
    }

    pub fn is_projected(&self, name: &str) -> bool {
        self.fields.as_ref().is_none_or(|fields| fields.iter().any(|field| field == name))
    }

    /// Samples in the files.
    pub fn len(&self) -> u64 {
        self.mds.as_ref().map_or_else(|| self.shards.len(), |mds| mds.folder.len())
    }

    /// Emits the shown fields of sample `i` over all shards.
    pub fn emit(&self, i: u64, sink: &mut impl Sink) -> Result<()> {
        if let Some(mds) = &self.mds {
            return mds.folder.row(i)?.emit(&|name| self.is_projected(name), sink);
        }
        let (shard, row) = self.shards.locate(i)?;
        let line = shard.line(row)?;
        shard.emit_line(&line, &|name| self.is_projected(name), sink).map_err(|error| shard.here(error, row))
    }

    pub fn locate(&self, i: u64) -> PyResult<(&Arc<Shard>, u64)> {
        self.shards.locate(i).into_py_result()
    }
}
