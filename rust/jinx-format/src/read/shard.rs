//! One pair of files, open for reading.

use crate::chunk_checksums::ChunkChecks;
use crate::fields::FieldNode;
use crate::footer::{ArrayRef, Footer, IndexRef};
use crate::index::Array;
use crate::key::FormatVersion;
use crate::read::chunked::OpenColumn;
use crate::read::key_cache::KnownKey;
use crate::read::locate::{OpenFile, foreign, open_sidecar, read_footer};
pub use crate::read::options::{OpenOptions, Verify};
use crate::sidecar::Header;
use bytes::Bytes;
use jinx_core::checked_math::to_u64;
use jinx_core::codec::TextEncoding;
use jinx_core::error::{Cause, Error, Result};
use jinx_core::io::{Source, sidecar_path};
use jinx_core::limits::Limits;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use twox_hash::XxHash3_64;

/// A main file with its sidecar.
#[derive(Debug)]
pub struct Shard {
    main: Source,
    side: Option<Arc<Source>>,
    header: Option<Header>,
    footer: Footer,
    footer_offset: u64,
    pub(super) index: Array,
    line_hash: Option<Array>,
    /// The positions, for a saved view that has any.
    positions: Option<Array>,
    /// Which of the positions were compared with their checksums.
    pub(super) checked_positions: OnceLock<Option<ChunkChecks>>,
    /// Those of a saved view's own columns that were used.
    pub(super) open_own: Box<[OnceLock<Arc<OpenColumn>>]>,
    tree: FieldNode,
    known_keys: OnceLock<Box<[KnownKey]>>,
    encoding: TextEncoding,
    options: OpenOptions,
}

impl Shard {
    /// Opens `path` and its sidecar.
    ///
    /// # Errors
    /// Names the file and the problem; `Mismatch` when the sidecar belongs to another file.
    pub fn open(path: &Path, options: &OpenOptions) -> Result<Self> {
        Self::open_with(path, &|path| options.source(path), options)
    }

    /// Like [`Shard::open`], using `open` for each file, which may be anywhere; see [`jinx_core::io::Blocks`].
    ///
    /// # Errors
    /// The errors of [`Shard::open`].
    pub fn open_with(path: &Path, open: OpenFile<'_>, options: &OpenOptions) -> Result<Self> {
        let mut seen = String::new();
        loop {
            match Self::open_once(path, open, options) {
                // A writer may have replaced the pair between the two opens: try again, until the same mismatch occurs
                // twice.
                Err(error) if error.cause() == Cause::Mismatch && error.to_string() != seen => {
                    seen = error.to_string();
                }
                result => return result,
            }
        }
    }

    fn open_once(path: &Path, open: OpenFile<'_>, options: &OpenOptions) -> Result<Self> {
        let main = open(path)?;
        let (footer, footer_offset) =
            read_footer(&main).map_err(|error| foreign(&main, error).in_file(path))?;
        if footer.view.is_some() && !options.views {
            let what = "this is a saved view, which shows samples of other files; read it with jinx.open, or make it \
                        a dataset of its own with jinx convert";
            return Err(Error::unsupported(what).in_file(path));
        }
        let side = open_sidecar(path, &footer, open)?;
        let mut shard = Self::assemble(main, side, footer, footer_offset, options)?;
        shard.open_line_hash().map_err(|error| error.in_file(path))?;
        Ok(shard)
    }

    /// Opens a damaged pair as far as possible: footer and index must be intact, but not the sidecar.
    ///
    /// # Errors
    /// All problems, when nothing can be read.
    pub(crate) fn open_damaged(path: &Path, options: &OpenOptions) -> Result<(Self, Vec<Error>), Vec<Error>> {
        let main = options.source(path).map_err(|error| vec![error])?;
        let footer = read_footer(&main).map_err(|error| vec![foreign(&main, error).in_file(path)]);
        let (footer, footer_offset) = footer?;
        let mut problems = Vec::new();
        let side = open_sidecar(path, &footer, &|path| options.source(path)).unwrap_or_else(|error| {
            problems.push(error);
            (options.source(sidecar_path(path)).ok(), None)
        });
        let mut shard = match Self::assemble(main, side, footer, footer_offset, options) {
            Ok(shard) => shard,
            Err(error) => {
                problems.push(error);
                return Err(problems);
            }
        };
        problems.extend(shard.open_line_hash().err().map(|error| error.in_file(path)));
        Ok((shard, problems))
    }

    fn assemble(
        main: Source,
        (side, header): (Option<Source>, Option<Header>),
        footer: Footer,
        footer_offset: u64,
        options: &OpenOptions,
    ) -> Result<Self> {
        let path = main.path().to_owned();
        let tree = FieldNode::build(&footer.fields).map_err(|error| error.in_file(&path))?;
        let mut shard = Self::from_parts(main, side, footer, footer_offset, Array::default(), tree, options);
        shard.header = header;
        shard.index = shard.open_index().map_err(|error| error.in_file(&path))?;
        shard.positions = shard.open_positions().map_err(|error| error.in_file(&path))?;
        Ok(shard)
    }

    fn open_line_hash(&mut self) -> Result<()> {
        if self.options.verify >= Verify::Rows
            && let Some(place) = &self.footer.line_hash
        {
            self.line_hash = Some(self.open_array(place, self.footer.rows(), "line_hash")?);
        }
        Ok(())
    }

    /// A dataset from its parts.
    pub(crate) fn from_parts(
        main: Source,
        side: Option<Source>,
        footer: Footer,
        footer_offset: u64,
        index: Array,
        tree: FieldNode,
        options: &OpenOptions,
    ) -> Self {
        let encoding = footer.encoding.or(options.encoding).unwrap_or(TextEncoding::Ascii85);
        let options = options.clone();
        let own = footer.view.as_ref().map_or(0, |view| view.own.len());
        Self {
            main,
            side: side.map(Arc::new),
            header: None,
            footer,
            footer_offset,
            index,
            line_hash: None,
            positions: None,
            checked_positions: OnceLock::new(),
            open_own: (0..own).map(|_| OnceLock::new()).collect(),
            tree,
            known_keys: OnceLock::new(),
            encoding,
            options,
        }
    }

    fn open_index(&self) -> Result<Array> {
        let rows = self.footer.rows();
        let is_rowless = rows == 0 && self.footer.view.is_some();
        let count = if is_rowless { Some(0) } else { rows.checked_add(1) };
        let count = count.ok_or_else(|| Error::corrupt("num_samples is too large"))?;
        let index = match &self.footer.index {
            IndexRef::Sidecar(place) => self.open_array(place, count, "index")?,
            IndexRef::Text(text, codecs) => {
                let bytes =
                    IndexRef::decode_text(text, codecs, self.encoding, self.options.limits.max_value_bytes)
                        .map_err(|error| Error::new(error.cause(), format!("the index: {}", error.what())))?;
                if to_u64(bytes.len()) != count.saturating_mul(8) {
                    return Err(Error::corrupt(format!(
                        "the index has {} bytes, {rows} samples need {}",
                        bytes.len(),
                        count.saturating_mul(8)
                    )));
                }
                Array::owned(bytes)
            }
        };
        if is_rowless {
            return match self.footer_offset {
                0 => Ok(index),
                _ => Err(Error::corrupt("there are lines in a view that has no rows")),
            };
        }
        // Check the two ends now and the rest on use; `verify` checks everything.
        let side = self.side.as_deref();
        let (first, last) = (index.u64_at(0, side)?, index.u64_at(rows, side)?);
        if first > last
            || last > self.footer_offset
            || (self.footer.rules == FormatVersion::V1_1 && (first != 0 || last != self.footer_offset))
        {
            return Err(Error::corrupt(format!(
                "the index covers bytes {first} to {last}, the samples end at {}",
                self.footer_offset
            )));
        }
        Ok(index)
    }

    fn open_positions(&self) -> Result<Option<Array>> {
        let place = self.footer.view.as_ref().and_then(|view| view.positions.as_ref());
        place.map(|place| self.open_array(place, self.footer.num_samples, "positions")).transpose()
    }

    /// For a saved view: the position of its sample `i` in the sequence of its bases.
    ///
    /// # Errors
    /// `Invalid` past the end; `Corrupt` for a position that the bases do not have, and from `Verify::Full` on for
    /// positions that were damaged.
    pub fn view_position(&self, i: u64) -> Result<u64> {
        let samples = self.footer.num_samples;
        if i >= samples {
            return Err(Error::invalid(format!("sample {i} of {samples}")).in_file(self.path()));
        }
        let Some(positions) = &self.positions else { return Ok(i) };
        if self.options.verify >= Verify::Full {
            self.check_position(i).map_err(|error| self.here(error, i))?;
        }
        let position = positions.u64_at(i, self.side.as_deref()).map_err(|error| self.here(error, i))?;
        let total = self.footer.view.as_ref().map_or(samples, |view| view.base_samples);
        if position >= total {
            let what = format!("position {position} of the bases, which have {total} samples");
            return Err(self.here(Error::corrupt(what), i));
        }
        Ok(position)
    }

    /// The start of each line and the end of the last one, as little-endian u64.
    ///
    /// # Errors
    /// I/O errors of the sidecar.
    pub fn line_offsets(&self) -> Result<Vec<u8>> {
        self.index.bytes(self.side.as_deref()).map(Vec::from)
    }

    /// An array of `count` 8-byte numbers.
    fn open_array(&self, place: &ArrayRef, count: u64, what: &str) -> Result<Array> {
        let expected = count.checked_mul(8).ok_or_else(|| Error::corrupt(format!("{what} is too long")))?;
        if self.options.verify == Verify::Whole && self.footer.rules == FormatVersion::V1_1 {
            self.compare_array(place, Some(expected), what)?;
        }
        Array::open(place, expected, self.main.len(), self.side.as_deref(), what)
    }

    fn compare_array(&self, place: &ArrayRef, expected: Option<u64>, what: &str) -> Result<()> {
        let named = |error: Error| Error::new(error.cause(), format!("{what}: {}", error.what()));
        self.array_bytes(place, expected, what).map(drop).map_err(named)
    }

    /// The number of lines in the file: samples, or rows of a view's own columns.
    pub fn len(&self) -> u64 {
        self.footer.rows()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn path(&self) -> &Path {
        self.main.path()
    }

    pub fn footer(&self) -> &Footer {
        &self.footer
    }

    pub fn footer_offset(&self) -> u64 {
        self.footer_offset
    }

    pub fn rules(&self) -> FormatVersion {
        self.footer.rules
    }

    pub fn encoding(&self) -> TextEncoding {
        self.encoding
    }

    pub fn limits(&self) -> &Limits {
        &self.options.limits
    }

    /// The options with which the shard was opened.
    pub fn options(&self) -> &OpenOptions {
        &self.options
    }

    pub fn verify_level(&self) -> Verify {
        self.options.verify
    }

    /// The tree of paths below which a row is not plain JSON (1.1).
    pub fn tree(&self) -> &FieldNode {
        &self.tree
    }

    pub fn main(&self) -> &Source {
        &self.main
    }

    pub fn sidecar(&self) -> Option<&Source> {
        self.side.as_deref()
    }

    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// The place of line `i` in the main file, including its newline.
    ///
    /// # Errors
    /// `Invalid` past the end, `Corrupt` when the index does not ascend inside the data area.
    pub fn line_range(&self, i: u64) -> Result<(u64, u64)> {
        if i >= self.len() {
            return Err(Error::invalid(format!("sample {i} of {}", self.len())).in_file(self.path()));
        }
        self.checked_bounds(i, self.index.entries(i, self.side.as_deref())?)
    }

    /// The start and end of line `i`, according to the index.
    pub(super) fn checked_bounds(&self, i: u64, [start, end]: [u64; 2]) -> Result<(u64, u64)> {
        if start > end || end > self.footer_offset {
            return Err(
                self.here(Error::corrupt(format!("the index gives it the bytes {start} to {end}")), i)
            );
        }
        if end - start > self.options.limits.max_row_bytes {
            return Err(self.here(Error::limit(format!("a line of {} bytes", end - start)), i));
        }
        Ok((start, end))
    }

    /// Compares line `i`, with its newline, with its checksum, if the file's verification level requires it.
    ///
    /// # Errors
    /// `Corrupt` when they differ.
    pub(super) fn check_line(&self, i: u64, line: &[u8]) -> Result<()> {
        let Some(hashes) = &self.line_hash else { return Ok(()) };
        let stored = hashes.u64_at(i, self.side.as_deref()).map_err(|error| self.here(error, i))?;
        if XxHash3_64::oneshot(line) == stored {
            return Ok(());
        }
        let what = "the line's checksum does not match: the file was changed or damaged";
        Err(self.here(Error::corrupt(what), i))
    }

    /// Whether every row of plain JSON Lines contains markers.
    pub(super) fn is_all_marked(&self) -> bool {
        self.options.markers
    }

    /// The keys of the first line scanned: `line`, if there was none before.
    pub fn known_keys(&self, line: &[u8]) -> &[KnownKey] {
        self.known_keys.get_or_init(|| KnownKey::of_line(&self.footer, line))
    }

    /// The line checksums, if the file was opened for them.
    pub(super) fn line_hash(&self) -> Option<&Array> {
        self.line_hash.as_ref()
    }

    /// Stops comparing lines with their checksums.
    pub(crate) fn forget_line_hash(&mut self) {
        self.line_hash = None;
    }

    /// All stored line checksums, if the file was opened for them.
    pub(crate) fn stored_line_hashes(&self) -> Option<Result<Bytes>> {
        Some(self.line_hash.as_ref()?.bytes(self.side.as_deref()))
    }

    /// For a base of plain JSON lines in a saved view: the start of each line and the end of the last one, as
    /// little-endian u64.
    ///
    /// # Errors
    /// `Corrupt` for an array that does not match its checksum, `Truncated` outside the sidecar.
    pub fn base_line_offsets(&self, base: usize) -> Result<Option<Bytes>> {
        let base = self.footer.view.as_ref().and_then(|view| view.bases.get(base));
        let place = base.and_then(|base| base.index.as_ref());
        place.map(|place| self.array_bytes(place, None, "the line offsets of a base")).transpose()
    }

    /// The positions of a saved view that has any.
    pub(crate) fn stored_positions(&self) -> Option<Result<Bytes>> {
        Some(self.positions.as_ref()?.bytes(self.side.as_deref()))
    }

    pub(crate) fn value_head(&self) -> Option<u64> {
        self.options.value_head
    }

    /// The line's stored checksum, if the file was opened for it.
    pub fn stored_line_hash(&self, i: u64) -> Option<u64> {
        self.line_hash.as_ref()?.u64_at(i, self.side.as_deref()).ok()
    }

    /// Adds file and sample to an error.
    pub fn here(&self, error: Error, i: u64) -> Error {
        error.in_sample(i).in_file(self.path())
    }

    /// The sidecar, for values that are read in parts.
    ///
    /// # Errors
    /// `Mismatch` if there is none.
    pub fn side(&self) -> Result<&Arc<Source>> {
        self.side.as_ref().ok_or_else(|| {
            Error::mismatch(format!(
                "the sidecar {} is missing; it holds this value",
                sidecar_path(self.path()).display()
            ))
        })
    }

    /// Bytes of the sidecar, for headers and arrays.
    ///
    /// # Errors
    /// `Truncated` outside the file.
    pub fn sidecar_bytes(&self, offset: u64, length: u64) -> Result<Bytes> {
        self.side()?.read(offset, length)
    }
}
