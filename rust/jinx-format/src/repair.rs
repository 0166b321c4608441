//! Recovers every intact sample of a pair whose writer died or whose bytes were damaged.
//!
//! The input is never changed. A sample is intact when its line is a row and each of its values decodes. Known
//! checksums (of lines in the footer, of values in their pointers) must match too.

use crate::fields::{FieldNode, MediaField};
use crate::file_kind::{FileKind, sniff};
use crate::footer::{ArrayRef, Footer, IndexRef};
use crate::identity::sidecar_of;
use crate::index::Array;
use crate::key::FormatVersion;
use crate::read::json_lines::scan;
use crate::read::shard::{OpenOptions, Shard, Verify};
use crate::sidecar::MAGIC;
use crate::verify::{arrays, check_row};
use crate::write::dataset::DatasetWriter;
use crate::write::options::WriteOptions;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::error::{Cause, Error, Result};
use jinx_core::interrupt;
use jinx_core::io::{Source, sidecar_path};
use jinx_core::value::{TreeBuilder, Value};
use rustix::fs::{FlockOperation, flock};
use std::ffi::OsString;
use std::fs::File;
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use twox_hash::XxHash3_64;

mod damaged_footer;
mod line_hashes;

use damaged_footer::{find_footer, has_bare_pointer, is_remains};
use line_hashes::LineHashes;

/// The number of rows that are written together.
const BATCH_ROWS: usize = 256;

/// One piece of a file that could not be saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// The number of the line, counted from 0, if there was a line.
    pub line: Option<u64>,
    /// Its bytes in the main file.
    pub bytes: Option<(u64, u64)>,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairReport {
    /// The number of samples of the dataset, kept and lost, if it is known.
    pub samples: u64,
    pub kept: u64,
    /// How many of the kept samples could not be compared with a checksum of their lines.
    pub unchecked: u64,
    pub lost: Vec<Lost>,
    /// Other damaged parts, which are written anew.
    pub damage: Vec<String>,
    /// The repaired file; `None` for a dry run.
    pub out: Option<PathBuf>,
}

/// Saves the intact samples of `path` to `out` (by default `STEM.repaired.jinx` next to it).
///
/// `path` may be a main file, the temporary of a writer that died, or the name that such a writer would have published.
///
/// # Errors
/// `Io` when there is nothing to read, or a writer is still writing; `Invalid` when `out` exists.
pub fn repair(path: &Path, out: Option<&Path>, dry_run: bool) -> Result<RepairReport> {
    let (main, side) = find(path)?;
    require_no_writer(&main)?;
    require_kind(&main)?;
    let damaged = Damaged::open(&main, &side)?;
    let target = out.map_or_else(|| path_for(path), Path::to_owned);
    let mut report =
        RepairReport { samples: 0, kept: 0, unchecked: 0, lost: Vec::new(), damage: Vec::new(), out: None };
    if dry_run {
        damaged.each_row(&mut report, &mut |_| Ok(()))?;
        return Ok(report);
    }
    if target.exists() {
        let what = "this already exists; choose another name with --out (out=...)";
        return Err(Error::invalid(what).in_file(&target));
    }
    let mut writer = DatasetWriter::create(&target, damaged.options())?;
    let mut batch = Batch::default();
    damaged.each_row(&mut report, &mut |row| {
        batch.lines.push((row.line, row.is_compared));
        batch.rows.push(row.value);
        if batch.rows.len() == BATCH_ROWS { batch.write(&mut writer) } else { Ok(()) }
    })?;
    batch.write(&mut writer)?;
    writer.close()?;
    report.kept -= to_u64(batch.refused.len());
    for (line, is_compared, error) in batch.refused {
        report.unchecked -= u64::from(!is_compared);
        let bytes = damaged.shard.line_range(line).ok();
        report.lost.push(Lost { line: Some(line), bytes, reason: reason_of(&error) });
    }
    // Losses without a line number come last.
    report.lost.sort_by_key(|lost| lost.line.unwrap_or(u64::MAX));
    report.out = Some(target);
    Ok(report)
}

/// Intact rows that will be written to the new file.
#[derive(Default)]
struct Batch {
    rows: Vec<Value>,
    /// Their lines in the damaged file, and whether these were compared with a checksum.
    lines: Vec<(u64, bool)>,
    /// The lines of rows that the writer refuses, although the old reader accepted them.
    refused: Vec<(u64, bool, Error)>,
}

impl Batch {
    fn write(&mut self, writer: &mut DatasetWriter) -> Result<()> {
        let mut first = 0;
        while first < self.rows.len() {
            let before = writer.rows();
            let Err(error) = writer.write_values(&self.rows[first..]) else { break };
            if writer.is_broken()
                || !matches!(error.cause(), Cause::Limit | Cause::Invalid | Cause::Corrupt | Cause::Mismatch)
            {
                return Err(error);
            }
            // All rows before the refused one have been written.
            first += to_usize(writer.rows() - before, "the number of written rows")?;
            let Some((line, is_compared)) = self.lines.get(first) else { return Err(error) };
            self.refused.push((*line, *is_compared, error));
            first += 1;
        }
        self.rows.clear();
        self.lines.clear();
        Ok(())
    }
}

/// An error without its place in the file.
fn reason_of(error: &Error) -> String {
    match error.column() {
        Some(column) => format!("column '{column}': {}", error.what()),
        None => error.what().to_owned(),
    }
}

fn path_for(path: &Path) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = name.strip_prefix('.').and_then(|name| name.strip_suffix(".jinx.tmp"));
    let stem = stem.or_else(|| name.strip_suffix(".jinx")).unwrap_or(&name);
    path.with_file_name(format!("{stem}.repaired.jinx"))
}

/// The files to read: the pair, or its writer's temporary files.
fn find(path: &Path) -> Result<(PathBuf, PathBuf)> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if let Some(stem) = name.strip_suffix(".jinx.tmp") {
        return Ok((path.to_owned(), path.with_file_name(format!("{stem}.binx.tmp"))));
    }
    if path.exists() {
        let side = sidecar_of(path).ok().flatten().unwrap_or_else(|| sidecar_path(path));
        return Ok((path.to_owned(), side));
    }
    let hidden = |suffix: &str| {
        let mut hidden = OsString::from(".");
        hidden.push(path.file_stem().unwrap_or_default());
        hidden.push(suffix);
        path.with_file_name(hidden)
    };
    let main = hidden(".jinx.tmp");
    if main.exists() {
        return Ok((main, hidden(".binx.tmp")));
    }
    Err(Error::new(Cause::Io(std::io::ErrorKind::NotFound), "no such file, and no temporary of its writer")
        .in_file(path))
}

fn require_no_writer(main: &Path) -> Result<()> {
    let file = File::open(main).map_err(|error| Error::io(main, &error))?;
    // Without file locks, no writer holds one.
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let what = "a writer is still writing this; wait until it has finished";
            Err(Error::new(Cause::Io(std::io::ErrorKind::WouldBlock), what).in_file(main))
        }
        _ => Ok(()),
    }
}

/// Refuses a file of another format, which contains no lines to save.
fn require_kind(main: &Path) -> Result<()> {
    let kind = sniff(main)?;
    // Kinds of file that a few damaged bytes cannot imitate.
    let is_foreign = matches!(
        kind,
        FileKind::Sidecar
            | FileKind::Parquet
            | FileKind::Arrow
            | FileKind::Compressed(_)
            | FileKind::Zip
            | FileKind::Tar
            | FileKind::GitLfs
    );
    if !is_foreign {
        return Ok(());
    }
    let hint = kind.hint(main).map(|hint| format!("; {hint}")).unwrap_or_default();
    Err(Error::unsupported(format!("this is {}, not a damaged JINX file{hint}", kind.name())).in_file(main))
}

/// A row to save.
struct IntactRow {
    line: u64,
    value: Value,
    /// Whether its line matches a checksum.
    is_compared: bool,
}

/// The readable part of a pair.
struct Damaged {
    shard: Shard,
    /// Checksums of the written lines, as far as these checksums are intact.
    hashes: Option<LineHashes>,
    /// The number of samples according to the footer.
    expected: Option<u64>,
    /// False if the footer is lost, so that the last lines may be its remains.
    has_footer: bool,
    problems: Vec<Error>,
}

impl Damaged {
    fn open(main: &Path, side: &Path) -> Result<Self> {
        let options = OpenOptions { verify: Verify::Whole, ..OpenOptions::default() };
        let (shard_found, mut problems) = match Shard::open_damaged(main, &options) {
            Ok((shard, problems)) => (Some(shard), problems),
            Err(problems) => (None, problems),
        };
        if let Some(error) =
            problems.iter().find(|error| matches!(error.cause(), Cause::Unsupported | Cause::Io(_)))
        {
            return Err(Error::new(error.cause(), error.what()).in_file(error.path().unwrap_or(main)));
        }
        if let Some(shard) = shard_found {
            require_no_view(shard.footer(), main)?;
            // Damaged columns were reported when the file was opened.
            let hashes = LineHashes::of(&shard).ok().flatten();
            problems.extend(damaged_columns(&shard));
            let expected = Some(shard.len());
            return Ok(Self { shard, hashes, expected, has_footer: true, problems });
        }
        let source = Source::open(main, options.access)?;
        let parsed = find_footer(&source);
        if let Some((footer, _)) = &parsed {
            require_no_view(footer, main)?;
        }
        let side = match Source::open(side, options.access) {
            Ok(side) => Some(side),
            Err(error) if error.cause() == Cause::Io(std::io::ErrorKind::NotFound) => None,
            Err(error) => return Err(error),
        };
        let end = parsed.as_ref().map_or(source.len(), |(_, offset)| *offset);
        let has_footer = parsed.is_some();
        let (index, rows) = scan(&source, end)?;
        let expected = parsed.as_ref().map(|(footer, _)| footer.num_samples);
        let footer = match parsed {
            Some((footer, _)) => Footer { num_samples: rows, ..footer },
            None => Footer::bare(rules_of(side.as_ref())?, rows),
        };
        let tree = FieldNode::build(&footer.fields).unwrap_or_else(|_| FieldNode::anything());
        let tree = if has_footer { tree } else { FieldNode::anything() };
        let mut shard = Shard::from_parts(source, side, footer, end, Array::owned(index), tree, &options);
        let hashes = LineHashes::of(&shard).unwrap_or_else(|error| {
            problems.push(error);
            None
        });
        if let Some(LineHashes { problem: Some(error), .. }) = &hashes {
            problems.push(Error::new(error.cause(), error.what()));
        }
        problems.extend(damaged_columns(&shard));
        shard.forget_line_hash();
        Ok(Self { shard, hashes, expected, has_footer, problems })
    }

    /// How the repaired pair is written: like the original, as far as its footer says how.
    fn options(&self) -> WriteOptions {
        let footer = self.shard.footer();
        let mut options = WriteOptions {
            split: footer.split.clone(),
            meta: footer.meta.clone(),
            arrow_schema: footer.arrow_schema.clone(),
            ..WriteOptions::default()
        };
        options.media = footer
            .fields
            .iter()
            .filter_map(|field| {
                let media = field.media.as_ref()?;
                let feature = field.feature.clone().unwrap_or_default();
                Some(MediaField { path: field.path.clone(), kind: media.kind.clone(), feature })
            })
            .collect();
        options.encode.sidecar = self.shard.sidecar().is_some() || footer.sidecar.is_some();
        options
    }

    /// Passes on every intact row and records every other.
    fn each_row(
        &self,
        report: &mut RepairReport,
        keep: &mut dyn FnMut(IntactRow) -> Result<()>,
    ) -> Result<()> {
        let lines = self.shard.len();
        for i in 0..lines {
            interrupt::check()?;
            let place = self.shard.line_range(i).ok();
            match self.row(i) {
                Ok(Some(row)) => {
                    report.unchecked += u64::from(!row.is_compared);
                    keep(row)?;
                    report.kept += 1;
                }
                // Part of a footer is not a sample.
                Ok(None) => continue,
                Err(error) if matches!(error.cause(), Cause::Io(_) | Cause::Interrupted) => {
                    return Err(error);
                }
                Err(error) => {
                    report.lost.push(Lost { line: Some(i), bytes: place, reason: reason_of(&error) });
                }
            }
            report.samples += 1;
        }
        if let Some(expected) = self.expected.filter(|expected| *expected > report.samples) {
            let reason =
                format!("{} of {expected} samples are missing from the file", expected - report.samples);
            report.lost.push(Lost { line: None, bytes: None, reason });
            report.samples = expected;
        }
        report.damage = self.problems.iter().map(ToString::to_string).collect();
        Ok(())
    }

    fn row(&self, i: u64) -> Result<Option<IntactRow>> {
        let (start, end) = self.shard.line_range(i)?;
        let line = self.shard.main().slice(start, end - start)?.into_owned();
        let mut text = line.trim_ascii_end();
        // A damaged newline before the footer.
        if self.has_footer && i + 1 == self.shard.len() && !text.ends_with(b"}") {
            text = text
                .split_last()
                .map(|(_, whole)| whole)
                .filter(|whole| whole.ends_with(b"}"))
                .unwrap_or(text);
        }
        if !self.has_footer && is_remains(text, i, self.shard.len()) {
            return Ok(None);
        }
        let mut is_compared = false;
        if let Some(hashes) = &self.hashes {
            // The range may include blank lines that were not written, or lack the newline.
            let mut hash = XxHash3_64::new();
            hash.write(text);
            hash.write(b"\n");
            match hashes.matches(i, hash.finish()) {
                Some(false) => return Err(Error::corrupt("the line's checksum does not match")),
                matches => is_compared = matches.is_some(),
            }
        }
        if let Some(error) = check_row(&self.shard, text).problems.into_iter().next() {
            return Err(error);
        }
        let mut tree = TreeBuilder::default();
        self.shard.emit_line(text, &|_| true, &mut tree)?;
        let value = tree.take()?;
        if !is_compared && self.shard.rules() == FormatVersion::V1_1 && has_bare_pointer(&value) {
            return Err(Error::corrupt("a pointer into the sidecar under a damaged name"));
        }
        Ok(Some(IntactRow { line: i, value, is_compared }))
    }
}

/// What is wrong with the columns in the sidecar. They are made again from the rows.
fn damaged_columns(shard: &Shard) -> Vec<Error> {
    let of_rows = usize::from(matches!(shard.footer().index, IndexRef::Sidecar(_)))
        + usize::from(matches!(shard.footer().line_hash, Some(ArrayRef::Sidecar { .. })));
    let columns = arrays(shard.footer()).into_iter().skip(of_rows);
    let problem = |(name, place): (String, &ArrayRef)| {
        let error = shard.array_bytes(place, None, &name).err()?;
        Some(Error::new(error.cause(), format!("{name}: {}", error.what())))
    };
    columns.filter_map(problem).collect()
}

fn require_no_view(footer: &Footer, main: &Path) -> Result<()> {
    if footer.view.is_none() {
        return Ok(());
    }
    let what = "this is a saved view: its positions and columns belong to samples of other files, so a part of it \
                cannot be repaired; those files are not affected, save the view again";
    Err(Error::unsupported(what).in_file(main))
}

/// The rules for a file without a footer: a 1.1 sidecar begins with its header, or with space for it.
fn rules_of(side: Option<&Source>) -> Result<FormatVersion> {
    let Some(side) = side else { return Ok(FormatVersion::V1_1) };
    let head = side.slice(0, side.len().min(to_u64(MAGIC.len())))?;
    Ok(if *head == MAGIC || head.iter().all(|byte| *byte == 0) {
        FormatVersion::V1_1
    } else {
        FormatVersion::V1_0
    })
}
