//! Checks one pair: rows on all cores, in waves, so that problems are reported in the order of the samples.

use super::Problems;
use crate::file_kind::{FileKind, sniff};
use crate::key::FormatVersion;
use crate::own_columns;
use crate::read::open::ShardRef;
use crate::read::shard::{OpenOptions, Shard, Verify};
use crate::sidecar::HEADER_BYTES;
use crate::verify::footer::{FieldTally, OpenColumn};
use crate::verify::layout::{SidecarLayout, check_tail};
use crate::verify::row::{RowReport, check_row};
use crate::verify::view::check_view;
use jinx_core::checked_math::to_u64;
use jinx_core::cores::usable_cores;
use jinx_core::error::{Cause, Error, Result};
use jinx_core::interrupt;
use jinx_core::io::url_of;
use jinx_core::threads;
use std::borrow::Cow;
use std::io::ErrorKind;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use twox_hash::{XxHash3_64, XxHash3_128};

/// The number of rows per thread in one wave.
const WAVE_ROWS: u64 = 512;
const BLOCK_BYTES: u64 = 4 << 20;

/// What is known about a shard after its rows were checked.
struct Pass<'s> {
    shard: &'s Shard,
    columns: Vec<OpenColumn>,
    layout: SidecarLayout,
    fields: FieldTally,
    /// The number of rows with a problem.
    bad_rows: u64,
}

/// Checks one shard; `progress` receives the number of bytes in checked rows.
///
/// # Errors
/// Only what stops the check.
pub fn check(
    place: &ShardRef,
    options: &OpenOptions,
    problems: &mut Problems,
    progress: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<()> {
    let options = OpenOptions { verify: Verify::Whole, ..options.clone() };
    let is_url = url_of(&place.path).is_some();
    let is_jinx = place.path.extension().is_some_and(|ext| ext == "jinx");
    let opened = if !is_jinx && (is_url || sniff(&place.path)? == FileKind::Jsonl) {
        Shard::open_plain(&place.path, &options).map(|shard| (shard, Vec::new())).map_err(|error| vec![error])
    } else {
        Shard::open_damaged(&place.path, &options)
    };
    let (shard, found) = match opened {
        Ok(opened) => opened,
        Err(errors) => {
            let missing = |error: Error| match error.cause() {
                Cause::Io(ErrorKind::NotFound) if place.samples.is_some() => {
                    Error::mismatch("the shard is missing; the manifest lists it").in_file(&place.path)
                }
                _ => error,
            };
            return errors.into_iter().try_for_each(|error| damage(missing(error), problems));
        }
    };
    found.into_iter().chain(place.check(&shard).err()).try_for_each(|error| damage(error, problems))?;
    let (columns, found) = OpenColumn::open_all(&shard);
    found.iter().for_each(|error| problems.push(error));
    let before = problems.count();
    let mut pass = Pass {
        shard: &shard,
        columns,
        layout: SidecarLayout::default(),
        fields: FieldTally::default(),
        bad_rows: 0,
    };
    pass.rows(problems, progress)?;
    if shard.rules() == FormatVersion::V1_1 {
        if pass.bad_rows == 0 {
            pass.fields.compare(&shard.footer().fields).iter().for_each(|error| problems.push(error));
        }
        let mut found = Vec::new();
        check_tail(&shard, &mut pass.layout, &mut found);
        check_view(&shard, &mut found);
        found.iter().for_each(|error| problems.push(error));
        // Known damage also changes the id; do not report that too.
        if problems.count() == before {
            check_id(&shard).or_else(|error| damage(error, problems))?;
        }
    }
    Ok(())
}

fn damage(error: Error, problems: &mut Problems) -> Result<()> {
    if error.cause().is_about_data() {
        problems.push(&error);
        return Ok(());
    }
    Err(error)
}

impl Pass<'_> {
    fn rows(&mut self, problems: &mut Problems, progress: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        let threads = to_u64(usable_cores());
        let total = self.shard.len();
        let mut first = 0;
        while first < total {
            let ranges: Vec<Range<u64>> = (0..threads)
                .map(|i| (first + i * WAVE_ROWS).min(total)..(first + (i + 1) * WAVE_ROWS).min(total))
                .filter(|range| !range.is_empty())
                .collect();
            first = ranges.last().map_or(total, |range| range.end);
            for reports in self.wave(&ranges) {
                self.merge(reports?, problems);
            }
            let done = self.shard.line_range(first - 1).map_or(0, |(_, end)| end);
            progress(done)?;
        }
        Ok(())
    }

    fn wave(&self, ranges: &[Range<u64>]) -> Vec<Result<Vec<(u64, RowReport)>>> {
        let stop = Arc::new(AtomicBool::new(false));
        // Only the caller's thread receives signals, so the others check whether it has stopped.
        let check = |range: Range<u64>, is_caller: bool| {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::interrupted());
            }
            if !is_caller {
                let asked = Arc::clone(&stop);
                interrupt::also_ask(move || asked.load(Ordering::Relaxed));
            }
            let rows = range.map(|i| self.row_unless_stopped(i)).collect::<Result<_>>();
            rows.inspect_err(|_| stop.store(is_caller || stop.load(Ordering::Relaxed), Ordering::Relaxed))
        };
        threads::map(ranges.len(), ranges.iter().cloned(), "a checking thread", check)
    }

    /// Checks a row unless a signal arrived: it is reported only once, so everything must stop after it.
    fn row_unless_stopped(&self, i: u64) -> Result<(u64, RowReport)> {
        interrupt::check()?;
        let report = self.row(i);
        let is_stopped = report.problems.iter().any(|error| error.cause() == Cause::Interrupted);
        if is_stopped { Err(Error::interrupted()) } else { Ok((i, report)) }
    }

    fn row(&self, i: u64) -> RowReport {
        let mut report = RowReport::default();
        let line = match self
            .shard
            .line_range(i)
            .and_then(|(start, end)| self.shard.main().slice(start, end - start).map(Cow::into_owned))
        {
            Ok(line) => line,
            Err(error) => {
                report.problems.push(error);
                return report;
            }
        };
        let mut errors = Vec::new();
        if let Some(stored) = self.shard.stored_line_hash(i)
            && stored != XxHash3_64::oneshot(&line)
        {
            errors.push(Error::corrupt("the line's checksum does not match"));
        }
        let ends_well = memchr::memchr(b'\n', &line).is_some_and(|at| at + 1 == line.len());
        if self.shard.rules() == FormatVersion::V1_1 && !ends_well {
            errors.push(Error::corrupt("a sample that is not one line"));
        }
        let text = line.trim_ascii_end();
        report = check_row(self.shard, text);
        if report.problems.is_empty() {
            errors.extend(self.columns.iter().filter_map(|column| column.check(self.shard, i, text).err()));
        }
        report.problems.splice(0..0, errors);
        report
    }

    fn merge(&mut self, reports: Vec<(u64, RowReport)>, problems: &mut Problems) {
        for (i, report) in reports {
            let mut bad = !report.problems.is_empty();
            for error in report.problems {
                problems.push(&error.in_sample(i));
            }
            if bad {
                self.layout.skip();
            }
            if let (FormatVersion::V1_1, Some(side)) = (self.shard.rules(), self.shard.sidecar()) {
                for (offset, length) in report.values {
                    if let Err(error) = self.layout.next(side, offset, length) {
                        problems.push(&error.in_sample(i).in_file(side.path()));
                        bad = true;
                    }
                }
            }
            if bad {
                self.layout.skip();
            }
            self.bad_rows += u64::from(bad);
            for fact in report.facts {
                self.fields.add(i, fact);
            }
        }
    }
}

/// Computes the id from the content.
fn check_id(shard: &Shard) -> Result<()> {
    let mut id = XxHash3_128::new();
    if let (Some(side), Some(header)) = (shard.sidecar(), shard.header()) {
        let mut at = HEADER_BYTES;
        while at < header.values_end {
            let block = side.slice(at, BLOCK_BYTES.min(header.values_end - at))?;
            id.write(&block);
            at += to_u64(block.len());
        }
    }
    let hashes = shard.stored_line_hashes().ok_or_else(|| Error::corrupt("the footer has no line hashes"))?;
    id.write(&hashes?);
    if let Some(view) = &shard.footer().view {
        id.write(&view.canonical());
        if let Some(positions) = shard.stored_positions() {
            id.write(&positions?);
        }
        id.write(&own_columns::canonical(&view.own)?);
    }
    let id = format!("{:032x}", id.finish_128());
    if shard.footer().id.as_deref() == Some(&id) {
        return Ok(());
    }
    Err(Error::corrupt(format!(
        "the content's id is {id}, the footer says {}",
        shard.footer().id.as_deref().unwrap_or("none")
    )))
}
