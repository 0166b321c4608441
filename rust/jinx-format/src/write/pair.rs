//! Writes one pair: lines, values, index, columns and footer, in the order of `spec/jinx.md`.

use crate::fields::{Fact, FieldInfo, FieldStats};
use crate::footer::ColumnInfo;
use crate::own_columns;
use crate::sidecar::{HEADER_BYTES, Header};
use crate::view_footer::{Base, NewView, ViewInfo, count_samples};
use crate::write::columns::{ArraySink, ColumnBuilder};
use crate::write::common_row_form::{FormBlocks, RowForm};
use crate::write::early_sync::EarlySync;
use crate::write::encode::{EncodedRow, RowEncoder};
use crate::write::fixed_layout::{Arrays, Layout, PlacedFiles};
use crate::write::footer_text::{FooterParts, check_footer, footer_text, room_for_names};
use crate::write::line_block::LineBlock;
use crate::write::options::WriteOptions;
use crate::write::pair_target::PairFiles;
use crate::write::plain_lines::PlainLines;
use crate::write::sidecar_writer::{MAX_SLICES, Side, VALUE_BUFFER_BYTES};
use crate::write::spool::Spool;
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use jinx_core::io::sidecar_path;
use jinx_core::limits::{MAX_INLINE_ROWS, MAX_ROW_BYTES};
use serde_json::json;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use twox_hash::{XxHash3_64, XxHash3_128};

const LINE_BUFFER_BYTES: usize = 1 << 20;

/// The sizes of a finished pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairSummary {
    pub samples: u64,
    pub bytes: u64,
    pub sidecar_bytes: u64,
    pub id: String,
}

pub struct PairBuilder {
    path: PathBuf,
    options: Arc<WriteOptions>,
    lines: Vec<u8>,
    main_len: u64,
    side: Side,
    ends: Spool,
    hashes: Spool,
    stats: FieldStats,
    columns: ColumnBuilder,
    rows: u64,
    /// The number of bytes of values written since lines were last passed to the system.
    values_since_lines: u64,
    main_sync: EarlySync,
    /// The arrays, if they are already written.
    arrays: Option<Arrays>,
}

impl PairBuilder {
    /// `path` is the final name of the main file; spools are next to it.
    ///
    /// # Errors
    /// The errors of [`room_for_names`].
    pub fn new(path: &Path, files: Box<dyn PairFiles>, options: &Arc<WriteOptions>) -> Result<Self> {
        Ok(Self::with_room(path, files, options, room_for_names(options)?))
    }

    /// Like `new`, if the number of bytes left for column names is known.
    pub fn with_room(path: &Path, files: Box<dyn PairFiles>, options: &Arc<WriteOptions>, room: u64) -> Self {
        let directory = match path.parent() {
            Some(directory) if !directory.as_os_str().is_empty() => directory.to_owned(),
            _ => PathBuf::from("."),
        };
        Self {
            path: path.to_owned(),
            options: Arc::clone(options),
            lines: Vec::with_capacity(LINE_BUFFER_BYTES + (64 << 10)),
            main_len: 0,
            side: Side {
                files,
                path: sidecar_path(path),
                allowed: options.encode.sidecar,
                len: 0,
                pending: Vec::new(),
                pending_bytes: 0,
                body: XxHash3_128::new(),
                sync: EarlySync::default(),
            },
            ends: Spool::new(&directory),
            hashes: Spool::new(&directory),
            stats: FieldStats::new(&options.media, room),
            columns: ColumnBuilder::new(options.columns.clone(), directory),
            rows: 0,
            values_since_lines: 0,
            main_sync: EarlySync::default(),
            arrays: None,
        }
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Changes what the footer will say about the rows in addition to their contents: schema, media, split and meta.
    ///
    /// # Errors
    /// The errors of [`room_for_names`]; nothing has changed then.
    pub fn set_options(&mut self, options: &Arc<WriteOptions>) -> Result<()> {
        self.stats.set_media(&options.media, room_for_names(options)?)?;
        self.options = Arc::clone(options);
        Ok(())
    }

    /// Sets the samples that this shard of a view shows. They are known only when all its rows are written.
    pub(super) fn show(&mut self, view: NewView) {
        self.options = Arc::new(WriteOptions { view: Some(Arc::new(view)), ..(*self.options).clone() });
    }

    /// The size of both files so far, in bytes.
    pub fn bytes(&self) -> u64 {
        self.main_len + self.side.len
    }

    /// Checks that a reader accepts the pair with this row.
    ///
    /// # Errors
    /// `Limit` for a row that must be left out; nothing has changed.
    pub fn admit(&self, row: &EncodedRow) -> Result<()> {
        if !self.side.allowed && self.rows >= MAX_INLINE_ROWS {
            return Err(Error::limit(format!(
                "without a sidecar one file holds at most {MAX_INLINE_ROWS} samples; allow it, or write a directory"
            )));
        }
        self.stats.admit(&row.facts, to_u64(row.text.len()))
    }

    /// Appends one row.
    ///
    /// # Errors
    /// `Invalid` after [`Self::place`], which writes all rows; I/O errors. The pair is then unusable.
    pub fn write(&mut self, row: EncodedRow) -> Result<()> {
        self.require_open()?;
        let start = self.lines.len();
        let mut done = 0;
        for value in row.values {
            self.lines.extend_from_slice(&row.text[done..value.at]);
            done = value.at;
            self.values_since_lines += value.data.len();
            let offset = self.side.put(value.data)?;
            self.lines.extend_from_slice(itoa::Buffer::new().format(offset).as_bytes());
        }
        self.lines.extend_from_slice(&row.text[done..]);
        self.lines.push(b'\n');
        let line = &self.lines[start..];
        self.main_len += to_u64(line.len());
        let hash = row.hash.unwrap_or_else(|| XxHash3_64::oneshot(line));
        self.hashes.push(&hash.to_le_bytes())?;
        self.ends.push(&self.main_len.to_le_bytes())?;
        for fact in &row.facts {
            self.stats.add(fact);
        }
        self.columns.add_row(&row.facts)?;
        self.rows += 1;
        if self.side.pending_bytes >= VALUE_BUFFER_BYTES || self.side.pending.len() >= MAX_SLICES {
            self.side.flush()?;
        }
        // Short lines may point to gigabytes of values, which would be lost with the lines if the writer were killed.
        if self.lines.len() >= LINE_BUFFER_BYTES || self.values_since_lines >= VALUE_BUFFER_BYTES {
            self.side.flush()?;
            self.flush_lines()?;
        }
        Ok(())
    }

    /// Checks that a reader accepts the pair with these rows.
    ///
    /// # Errors
    /// The errors of [`Self::admit`].
    pub(super) fn admit_block(&self, block: &LineBlock) -> Result<()> {
        let facts: Vec<Fact> = block.kinds.iter().map(|(fact, _)| fact.clone()).collect();
        self.stats.admit(&facts, block.ends.first().copied().unwrap_or_default())
    }

    /// Whether earlier rows have everything that these have. The footer lists names and columns in the order in which
    /// they first occur, and a block does not tell which of its rows comes first.
    pub(super) fn knows(&self, block: &LineBlock) -> bool {
        let has = |(fact, values): &(Fact, u64)| *values == 0 || self.stats.has(&fact.path);
        let mut columns = block.columns.iter().filter(|column| column.has_values());
        block.kinds.iter().all(has) && columns.all(|column| self.columns.has(&column.path, column.kind))
    }

    /// Appends rows.
    ///
    /// # Errors
    /// The errors of [`Self::write`].
    pub(super) fn write_block(&mut self, block: &LineBlock) -> Result<()> {
        self.require_open()?;
        self.flush_lines()?;
        self.write_main(&block.lines)?;
        let ends: Vec<u8> = block.ends.iter().flat_map(|end| (self.main_len + end).to_le_bytes()).collect();
        self.ends.push(&ends)?;
        self.main_len += to_u64(block.lines.len());
        self.hashes.push(&block.hashes)?;
        for (fact, rows) in &block.kinds {
            self.stats.add_many(fact, *rows);
        }
        let rows = to_u64(block.ends.len());
        self.columns.add_block(&block.columns, rows)?;
        self.rows += rows;
        Ok(())
    }

    /// Appends rows. Lines that are the same in the pair are copied; `encoder` encodes the other rows.
    ///
    /// # Errors
    /// The errors of reading, of [`Self::admit`] and of [`Self::write`].
    pub fn write_lines(
        &mut self,
        lines: &PlainLines<'_>,
        rows: &[u64],
        encoder: &mut RowEncoder,
    ) -> Result<()> {
        for rows in rows.chunks(lines.block_rows()) {
            if let Some(block) = lines.block(rows)?.filter(|block| self.knows(block)) {
                self.admit_block(&block)?;
                self.write_block(&block)?;
                continue;
            }
            for row in rows {
                let encoded = encoder.encode(|encoder| lines.emit(*row, encoder))?;
                self.admit(&encoded)?;
                self.write(encoded)?;
            }
        }
        Ok(())
    }

    fn require_open(&self) -> Result<()> {
        if self.arrays.is_some() {
            return Err(Error::invalid("all rows of this file are written already"));
        }
        Ok(())
    }

    /// Passes all values to the system, and keeps none of the memory.
    ///
    /// # Errors
    /// The errors of [`Self::write`].
    pub fn flush_values(&mut self) -> Result<()> {
        self.side.flush()
    }

    fn flush_lines(&mut self) -> Result<()> {
        let lines = std::mem::take(&mut self.lines);
        self.write_main(&lines)?;
        self.lines = lines;
        self.lines.clear();
        self.values_since_lines = 0;
        Ok(())
    }

    fn write_main(&mut self, bytes: &[u8]) -> Result<()> {
        let is_synced = self.side.files.are_synced();
        let file = self.side.files.main_file();
        file.write_all(bytes).map_err(|error| Error::io(&self.path, &error))?;
        if is_synced { self.main_sync.wrote(file, bytes.len(), &self.path) } else { Ok(()) }
    }

    /// The hash of the pair's content: its values, its lines and, for a view, what it shows.
    fn id(&mut self, values: XxHash3_128, view: Option<&NewView>, own: &[ColumnInfo]) -> Result<u128> {
        let mut id = values;
        self.hashes.read(8, |block| {
            id.write(block);
            Ok(())
        })?;
        if let Some(view) = view {
            id.write(&view.canonical());
            for position in view.positions.iter().flatten() {
                id.write(&position.to_le_bytes());
            }
            id.write(&own_columns::canonical(own)?);
        }
        Ok(id.finish_128())
    }

    /// Writes the index, the line checksums, and the columns.
    fn put_arrays(&mut self, fields: &[FieldInfo]) -> Result<(Arrays, Option<(u64, ViewInfo)>)> {
        let view = self.options.view.clone();
        // Arrays after the values do not count, and neither does the padding between them.
        let values = self.side.body.clone();
        // A view without columns of its own has no rows and an empty index.
        let is_rowless = view.is_some() && self.rows == 0;
        let index_bytes = if is_rowless { 0 } else { (self.rows + 1) * 8 };
        let index = {
            let ends = &mut self.ends;
            self.side.put_array(index_bytes, &mut |write| {
                if is_rowless {
                    return Ok(());
                }
                write(&0u64.to_le_bytes())?;
                ends.read(8, &mut *write)
            })?
        };
        let line_hash = {
            let hashes = &mut self.hashes;
            self.side.put_array(self.rows * 8, &mut |write| hashes.read(8, &mut *write))?
        };
        let shown = view.as_ref().map(|view| put_view(view, self.rows, &mut self.side)).transpose()?;
        let own = shown.as_ref().map_or(&[][..], |(_, shown)| &shown.own);
        let id = self.id(values, view.as_deref(), own)?;
        let columns = self.columns.finish(fields, &mut self.side)?;
        self.side.flush()?;
        Ok((Arrays { id, index, line_hash, columns }, shown))
    }

    /// The positions of rows with this form, if nothing is written yet and the footer has room for their names.
    pub(super) fn layout_of(&self, form: &RowForm<'_>) -> Option<Layout> {
        let is_new = self.rows == 0 && self.side.len == 0 && self.side.allowed && self.options.view.is_none();
        let facts: Vec<Fact> = form.kinds.iter().map(|(fact, _)| fact.clone()).collect();
        let has_room = is_new && self.stats.admit(&facts, MAX_ROW_BYTES).is_ok();
        Layout::of(form).filter(|_| has_room)
    }

    /// Another handle of the main file, and its final name.
    ///
    /// # Errors
    /// I/O errors.
    pub(super) fn main_file(&mut self) -> Result<(File, PathBuf)> {
        let file = self.side.files.main_file();
        let file = file.try_clone().map_err(|error| Error::io(&self.path, &error))?;
        Ok((file, self.path.clone()))
    }

    /// Writes all rows, in blocks, at the positions in `layout`. Calls `tell` with the number of rows of each block.
    ///
    /// # Errors
    /// Errors of making a block and of `tell`; I/O errors. The pair is then unusable.
    pub(super) fn place(
        &mut self,
        (form, layout): (&RowForm<'_>, &Layout),
        blocks: &FormBlocks<'_>,
        threads: usize,
        tell: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        let is_synced = self.side.files.are_synced();
        let (main, main_path) = self.main_file()?;
        let side = match layout.sidecar_bytes {
            0 => None,
            _ => Some(self.side.files.sidecar_file()?.try_clone()),
        };
        let side = side.transpose().map_err(|error| Error::io(&self.side.path, &error))?;
        let files = PlacedFiles {
            form,
            layout,
            main,
            side,
            main_path,
            side_path: self.side.path.clone(),
            syncs: is_synced.then(Mutex::default),
        };
        let written = files.write(blocks, threads, tell)?;
        if let Some(syncs) = files.syncs {
            (self.main_sync, self.side.sync) = syncs.into_inner().unwrap_or_else(PoisonError::into_inner);
        }
        // The footer comes next. If `make` has stored anything after the lines, it is no longer needed.
        let main = self.side.files.main_file();
        main.set_len(written.main_len).map_err(|error| Error::io(&self.path, &error))?;
        main.seek(SeekFrom::Start(written.main_len)).map_err(|error| Error::io(&self.path, &error))?;
        for (fact, values) in &form.kinds {
            self.stats.add_many(fact, *values);
        }
        self.rows = written.rows;
        self.main_len = written.main_len;
        self.side.len = layout.sidecar_bytes;
        self.arrays = Some(written.arrays);
        Ok(())
    }

    /// Writes index, columns and footer. The files are complete but not yet synced or published.
    ///
    /// # Errors
    /// I/O errors, and what a reader would report about the footer.
    pub fn finish(mut self, shard_id: i64) -> Result<(PairSummary, Box<dyn PairFiles>)> {
        self.flush_lines()?;
        self.side.flush()?;
        let fields = std::mem::take(&mut self.stats).finish();
        let values_end = if self.arrays.is_some() { 0 } else { self.side.len };
        let (arrays, view) = match self.arrays.take() {
            Some(arrays) => (arrays, None),
            None => self.put_arrays(&fields)?,
        };
        let Arrays { id, index, line_hash, columns } = arrays;
        let sidecar_bytes = self.side.len;
        if sidecar_bytes > 0 {
            let header = Header::encode(id, values_end.max(HEADER_BYTES));
            let file = self.side.files.sidecar_file()?;
            file.write_all_at(&header, 0).map_err(|error| Error::io(&self.path, &error))?;
        }
        let id = format!("{id:032x}");
        let samples = view.as_ref().map_or(self.rows, |(samples, _)| *samples);
        let footer = footer_text(&FooterParts {
            options: &self.options,
            path: &self.path,
            rows: self.rows,
            shard_id,
            id: &id,
            sidecar_bytes,
            index,
            line_hash,
            fields: &fields,
            columns: json!(columns),
            view,
        })?;
        check_footer(&footer).map_err(|error| error.in_file(&self.path))?;
        let text = format!("{footer}\n{}\n", self.main_len);
        let file = self.side.files.main_file();
        file.write_all(text.as_bytes()).map_err(|error| Error::io(&self.path, &error))?;
        self.main_sync.finish(&self.path)?;
        self.side.sync.finish(&self.side.path)?;
        let bytes = self.main_len + to_u64(text.len());
        Ok((PairSummary { samples, bytes, sidecar_bytes, id }, self.side.files))
    }
}

/// Stores the arrays of a view; returns its samples, and its entries for the footer.
fn put_view(view: &NewView, rows: u64, side: &mut Side) -> Result<(u64, ViewInfo)> {
    let mut put = |numbers: &[u64]| {
        side.put_array(8 * to_u64(numbers.len()), &mut |write| {
            numbers.chunks(LINE_BUFFER_BYTES / 8).try_for_each(|chunk| {
                let bytes: Vec<u8> = chunk.iter().flat_map(|number| number.to_le_bytes()).collect();
                write(&bytes)
            })
        })
    };
    let mut bases = Vec::with_capacity(view.bases.len());
    for new in &view.bases {
        let index = new.index.as_deref().map(&mut put).transpose()?;
        bases.push(Base { index, ..new.base.clone() });
    }
    let positions = view.positions.as_deref().map(&mut put).transpose()?;
    let base_samples = count_samples(&bases)?;
    let own = view.own.iter().map(|column| column.put(side)).collect::<Result<_>>()?;
    let info = ViewInfo { rows, bases, positions, drop: view.drop.clone(), base_samples, own };
    Ok((view.num_samples, info))
}
