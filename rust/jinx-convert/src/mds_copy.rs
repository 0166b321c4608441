//! Copies samples of MDS directories to another one, with their values as stored.

use crate::options::ConvertSpec;
use crate::ordered_threads::{Commit, ordered};
use crate::row_traits::Summary;
use crate::run::Progress;
use crate::{ConvertOptions, Format};
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use jinx_mds::columns::Columns;
use jinx_mds::read::directory::Directory;
use jinx_mds::write::writer::{SampleEncoder, Writer, WrittenColumn};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The number of samples that a thread copies at once, unless they are large.
const MAX_SAMPLES: u64 = 4096;
const PIECE_BYTES: u64 = 1 << 20;
/// The minimum time between two reports.
const REPORT_EVERY: Duration = Duration::from_millis(80);

/// The bytes of consecutive samples.
type Copied = Vec<Vec<u8>>;

/// Samples of directories as one sequence.
#[derive(Debug, Clone)]
pub struct MdsSamples {
    pub directories: Vec<Arc<Directory>>,
    /// The positions of the samples; `None` for all.
    pub positions: Option<Arc<Vec<u64>>>,
    /// The columns to keep.
    pub names: Vec<String>,
}

impl MdsSamples {
    fn len(&self) -> u64 {
        match &self.positions {
            Some(positions) => to_u64(positions.len()),
            None => self.directories.iter().map(|directory| directory.len()).sum(),
        }
    }

    /// The name and encoding of each column, if all shards have it in the same form, which our writer also supports.
    fn columns(&self) -> Option<BTreeMap<String, String>> {
        let mut encodings = BTreeMap::new();
        for directory in &self.directories {
            for shard in 0..directory.count() {
                let columns = &directory.info(shard)?.columns;
                for name in &self.names {
                    let column = &columns.all[columns.position(name)?];
                    let encoding = column.encoding.as_ref()?;
                    let encoding_name =
                        encodings.entry(name.clone()).or_insert_with(|| column.encoding_name.clone());
                    if *encoding_name != column.encoding_name || column.size != encoding.fixed_size() {
                        return None;
                    }
                }
            }
        }
        (encodings.len() == self.names.len()).then_some(encodings)
    }

    /// The directory of the `i`th sample, and its position there.
    fn place(&self, i: u64) -> Result<(&Directory, u64)> {
        let past = || Error::invalid(format!("sample {i} of {}", self.len()));
        let mut position = match &self.positions {
            None => i,
            Some(positions) => *usize::try_from(i).ok().and_then(|i| positions.get(i)).ok_or_else(past)?,
        };
        for directory in &self.directories {
            if position < directory.len() {
                return Ok((directory, position));
            }
            position -= directory.len();
        }
        Err(past())
    }

    fn mean_bytes(&self) -> u64 {
        let (mut bytes, mut samples) = (0u64, 0u64);
        for directory in &self.directories {
            samples += directory.len();
            let infos = (0..directory.count()).filter_map(|shard| directory.info(shard));
            bytes += infos.map(|info| info.raw.bytes).sum::<u64>();
        }
        (bytes / samples.max(1)).max(1)
    }
}

/// Copies samples into a new directory. `None` if they must be decoded and encoded, because their shards have
/// different columns, or encodings that the writer does not support.
///
/// # Errors
/// The errors of [`crate::convert`].
pub fn copy_mds(
    samples: &MdsSamples,
    out: &Path,
    spec: &ConvertSpec,
    progress: &mut dyn FnMut(Progress) -> Result<()>,
) -> Result<Option<Summary>> {
    spec.check(out, Format::Mds)?;
    let Some(columns) = samples.columns().filter(|columns| !columns.is_empty()) else { return Ok(None) };
    let options: ConvertOptions = spec.engine()?;
    let writer = Writer::create(out, spec.mds(columns)?)?;
    let workers = (0..options.workers())
        .map(|_| {
            let mut copier = Copier { samples, encoder: writer.encoder()?, known: None };
            Ok(move |piece: Range<u64>, _: &mut dyn FnMut(Copied) -> Result<()>| -> Result<Copied> {
                piece.map(|i| copier.sample(i)).collect()
            })
        })
        .collect::<Result<Vec<_>>>()?;
    let (count, mean) = (samples.len(), samples.mean_bytes());
    let total_bytes = Some(count.saturating_mul(mean));
    let mut writing = Writing { writer, progress, total_bytes, last: Instant::now() };
    let mut next = 0;
    let produce = move || {
        let rows = (PIECE_BYTES / mean).clamp(1, MAX_SAMPLES).min(count - next);
        let piece = next..next + rows;
        next = piece.end;
        Ok((rows > 0).then_some((piece, rows.saturating_mul(mean))))
    };
    ordered(produce, workers, &mut writing)?;
    writing.report()?;
    let written = writing.writer.finish()?;
    Ok(Some(Summary {
        rows: written.samples,
        bytes: written.bytes,
        sidecar_bytes: 0,
        files: written.shards,
        skipped: 0,
    }))
}

/// The part of the work that one thread does.
struct Copier<'s> {
    samples: &'s MdsSamples,
    encoder: SampleEncoder,
    /// The columns of the last sample's shard, and the indices of those to keep.
    known: Option<(Arc<Columns>, Vec<usize>)>,
}

impl Copier<'_> {
    fn sample(&mut self, i: u64) -> Result<Vec<u8>> {
        let (directory, position) = self.samples.place(i)?;
        let row = directory.row(position)?;
        let columns = &row.shard().columns;
        let places = match &mut self.known {
            Some((known, places)) if Arc::ptr_eq(known, columns) => places,
            known => {
                let places = places_of(self.encoder.columns(), columns)?;
                &mut known.insert((Arc::clone(columns), places)).1
            }
        };
        let value = |place: &usize| row.slice(*place).map_err(|error| row.here(error, *place));
        let values = places.iter().map(value).collect::<Result<Vec<_>>>()?;
        self.encoder.encode(&values).map_err(|error| row.shard().here(error, row.index()))
    }
}

fn places_of(wanted: &[WrittenColumn], columns: &Columns) -> Result<Vec<usize>> {
    let place = |column: &WrittenColumn| {
        let missing = || Error::mismatch("the index of the directory has changed").in_column(&column.name);
        columns.position(&column.name).ok_or_else(missing)
    };
    wanted.iter().map(place).collect()
}

struct Writing<'p> {
    writer: Writer,
    progress: &'p mut dyn FnMut(Progress) -> Result<()>,
    total_bytes: Option<u64>,
    last: Instant,
}

impl Writing<'_> {
    fn report(&mut self) -> Result<()> {
        self.last = Instant::now();
        let (rows, bytes_read) = (self.writer.written(), self.writer.bytes());
        (self.progress)(Progress { rows, bytes_read, total_bytes: self.total_bytes })
    }
}

impl Commit<Copied> for Writing<'_> {
    fn commit(&mut self, samples: Copied) -> Result<()> {
        samples.iter().try_for_each(|sample| self.writer.push(sample))
    }

    fn tick(&mut self) -> Result<()> {
        if self.last.elapsed() >= REPORT_EVERY { self.report() } else { Ok(()) }
    }
}
