//! Input files as one source of rows, and the known facts about the rows.

use crate::arrow::features::{Features, MediaFeature, MediaPath, media_of};
use crate::arrow::project::common_schema;
use crate::arrow::schema::decode_schema;
use crate::arrow::take_lengths;
use crate::arrow::unify::unify;
use crate::inputs::arrow::FileRows;
use crate::inputs::arrow_ipc::IpcSource;
use crate::inputs::parquet::ParquetSource;
use crate::inputs::{
    Chain, Input, JinxRows, MdsRows, MessagePack, Opener, STANDARD_STREAM, TarSamples, json_rows, mds_columns,
};
use crate::{Format, RowSource};
use arrow_schema::{Schema, SchemaRef};
use jinx_core::error::{Error, Result};
use jinx_core::io::sidecar_path;
use jinx_format::key::FormatVersion;
use jinx_format::meta::Meta;
use jinx_format::read::open::{ShardRef, natural, resolve};
use jinx_format::read::shard::{OpenOptions, Verify};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The inputs of a conversion.
pub(crate) struct InputFiles {
    format: Format,
    paths: Vec<PathBuf>,
    /// Whether every row contains markers, even if it does not declare them.
    markers: bool,
    pub(crate) known: Known,
}

/// What is known about rows before reading them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    pub(crate) schema: Option<SchemaRef>,
    /// The columns that rows may have.
    pub(crate) names: Option<Vec<String>>,
    pub(crate) media: Vec<MediaPath>,
    pub(crate) meta: Meta,
    pub(crate) split: Option<String>,
}

impl Known {
    pub(crate) fn of_schema(schema: &SchemaRef) -> Self {
        let (schema, meta) = take_lengths(schema);
        let media = Features::from_schema(&schema).media_paths();
        let names = schema.fields().iter().map(|field| field.name().clone()).collect();
        Self { schema: Some(schema), names: Some(names), media, meta, ..Self::default() }
    }
}

impl InputFiles {
    /// Examines the inputs; directories become the files in them.
    ///
    /// # Errors
    /// `Io` for missing inputs; errors of the files that describe the rows.
    pub(crate) fn new(paths: &[PathBuf], format: Format, markers: bool) -> Result<Self> {
        let mut files = Vec::new();
        for path in paths {
            if is_standard(path) {
                files.push(path.clone());
                continue;
            }
            let metadata = path.metadata().map_err(|error| Error::io(path, &error))?;
            match metadata.is_dir() && !matches!(format, Format::Jinx | Format::Mds) {
                true => files.extend(files_in(path, format)?),
                false => files.push(path.clone()),
            }
        }
        if files.is_empty() {
            return Err(Error::invalid("there is no input"));
        }
        let known = match format {
            Format::Parquet | Format::Arrow | Format::Jinx | Format::Mds
                if files.iter().any(|path| is_standard(path)) =>
            {
                let what = format!("{} cannot be read from standard input; give a file", format.name());
                return Err(Error::invalid(what));
            }
            Format::Parquet => known_of_schemas(&files, |file| Ok(ParquetSource::open(file)?.schema()))?,
            Format::Arrow => known_of_schemas(&files, |file| Ok(IpcSource::open(file)?.schema()))?,
            Format::Jinx => known_of_shards(&files)?,
            Format::Tar => Known { media: media_in_tar(&files)?, ..Known::default() },
            Format::Mds => known_of_mds(&files)?,
            Format::JsonLines | Format::MessagePack => Known::default(),
        };
        Ok(Self { format, paths: files, markers, known })
    }

    /// Whether [`InputFiles::open`] may be called again.
    pub(crate) fn is_repeatable(&self) -> bool {
        self.paths
            .iter()
            .all(|path| path.metadata().is_ok_and(|metadata| !is_standard(path) && !is_pipe(&metadata)))
    }

    /// All rows, from the beginning.
    ///
    /// # Errors
    /// Errors of a directory of shards.
    pub(crate) fn open(&self) -> Result<Box<dyn RowSource>> {
        let mut openers: Vec<Opener> = Vec::new();
        for path in &self.paths {
            if self.format == Format::Jinx {
                openers.extend(JinxRows::openers(path, &OpenOptions::default())?);
                continue;
            }
            if self.format == Format::Mds {
                openers.push(MdsRows::opener(path));
                continue;
            }
            let (path, format, whole) = (path.clone(), self.format, self.known.schema.clone());
            let markers = self.markers;
            openers.push(Box::new(move || {
                Ok(match format {
                    Format::JsonLines => json_rows(Input::open(&path)?, markers)?,
                    Format::Tar => Box::new(TarSamples::open(&path)?.markers(markers)),
                    Format::MessagePack => Box::new(MessagePack::open(&path)?.markers(markers)),
                    Format::Arrow => Box::new(FileRows::new(IpcSource::open(&path)?, &path, whole.as_ref())?),
                    _ => Box::new(FileRows::new(ParquetSource::open(&path)?, &path, whole.as_ref())?),
                })
            }));
        }
        Ok(Box::new(Chain::new(openers, self.total_bytes())))
    }

    /// The size of all inputs in bytes; `None` if one of them is a pipe.
    fn total_bytes(&self) -> Option<u64> {
        let mut total = 0;
        for path in &self.paths {
            if self.format == Format::Mds {
                total += mds_columns(path).ok()?.1;
                continue;
            }
            let files = match self.format {
                Format::Jinx => resolve(path).ok()?.into_iter().map(|shard| shard.path).collect(),
                _ => vec![path.clone()],
            };
            for file in files {
                let metadata = file.metadata().ok().filter(|metadata| metadata.is_file())?;
                let sidecar =
                    (self.format == Format::Jinx).then(|| sidecar_path(&file).metadata().ok()).flatten();
                total += metadata.len() + sidecar.map_or(0, |metadata| metadata.len());
            }
        }
        Some(total)
    }
}

/// What the indexes of MDS directories say about the rows.
fn known_of_mds(directories: &[PathBuf]) -> Result<Known> {
    let mut names: Vec<String> = Vec::new();
    for directory in directories {
        for (name, _) in mds_columns(directory)?.0 {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    // The index of a directory without shards names no columns.
    Ok(Known { names: Some(names).filter(|names| !names.is_empty()), ..Known::default() })
}

fn is_standard(path: &Path) -> bool {
    path == Path::new(STANDARD_STREAM)
}

fn is_pipe(metadata: &std::fs::Metadata) -> bool {
    !metadata.is_file() && !metadata.is_dir()
}

/// The files of a format in a directory, in natural order.
fn files_in(directory: &Path, format: Format) -> Result<Vec<PathBuf>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(|error| Error::io(directory, &error))? {
        let name = entry.map_err(|error| Error::io(directory, &error))?.file_name();
        if let Some(name) = name.to_str().filter(|name| !name.starts_with('.'))
            && Format::from_path(Path::new(name)) == Some(format)
        {
            names.push(name.to_owned());
        }
    }
    if names.is_empty() {
        return Err(Error::invalid(format!("there is no {} file in this directory", format.name()))
            .in_file(directory));
    }
    names.sort_by(|a, b| natural(a, b));
    Ok(names.into_iter().map(|name| directory.join(name)).collect())
}

/// The media columns of the first sample; a pipe can be read only once.
fn media_in_tar(files: &[PathBuf]) -> Result<Vec<MediaPath>> {
    let Some(first) = files.first().filter(|path| path.is_file()) else { return Ok(Vec::new()) };
    let media = TarSamples::media(first).map_err(|error| error.in_file(first))?;
    Ok(media.into_iter().map(|(name, kind)| (vec![Some(name)], MediaFeature::of(kind))).collect())
}

/// The common schema of all files, and how their lengths were counted.
fn known_of_schemas(files: &[PathBuf], schema_of: impl Fn(&Path) -> Result<SchemaRef>) -> Result<Known> {
    let (first, others) = files.split_first().ok_or_else(|| Error::invalid("there is no input"))?;
    let (mut whole, mut meta) = take_lengths(&schema_of(first)?);
    for file in others {
        let (schema, other) = take_lengths(&schema_of(file)?);
        if schema != whole {
            whole = Arc::new(unify(&whole, &schema).map_err(|error| error.in_file(file))?);
        }
        if other != meta {
            meta.keep_common(&other);
        }
    }
    Ok(Known { meta, ..Known::of_schema(&whole) })
}

/// The facts in the footers of all shards; a schema only if all of them have one, and these have a common one.
fn known_of_shards(paths: &[PathBuf]) -> Result<Known> {
    let options = OpenOptions { verify: Verify::None, ..OpenOptions::default() };
    let mut known: Option<(Known, Option<String>)> = None;
    let mut is_empty = true;
    for path in paths {
        for shard in resolve(path)? {
            let (footer, schema, samples) = known_of_shard(&shard, &options)?;
            known = Some(match known {
                // Files without samples say nothing about those of other files.
                Some(known) if samples == 0 && !is_empty => known,
                Some((first, first_schema)) if (samples == 0) == is_empty => {
                    united(first, first_schema, footer, schema).map_err(|error| error.in_file(path))?
                }
                _ => (footer, schema),
            });
            is_empty &= samples == 0;
        }
    }
    let Some((mut known, schema)) = known else {
        return Ok(Known::default());
    };
    known.schema =
        schema.map(|text| decode_schema(&text)).transpose()?.map(|schema: Schema| Arc::new(schema));
    // Footers list the columns of their rows, and not all columns have a type in a schema.
    known.names = known.names.filter(|_| !is_empty);
    Ok(known)
}

fn known_of_shard(shard: &ShardRef, options: &OpenOptions) -> Result<(Known, Option<String>, u64)> {
    let open = shard.open(options)?;
    let footer = open.footer();
    // Since 1.1, the footer lists all columns.
    let names =
        footer.fields.iter().filter(|field| field.path.len() == 1).filter_map(|field| field.path[0].clone());
    let known = Known {
        schema: None,
        names: (open.rules() == FormatVersion::V1_1).then(|| names.collect()),
        media: media_of(&footer.fields),
        meta: footer.meta.clone(),
        split: footer.split.clone(),
    };
    Ok((known, footer.arrow_schema.clone(), open.len()))
}

fn united(
    mut first: Known,
    first_schema: Option<String>,
    other: Known,
    schema: Option<String>,
) -> Result<(Known, Option<String>)> {
    for media in other.media {
        if first.media.iter().all(|(path, _)| *path != media.0) {
            first.media.push(media);
        }
    }
    first.names = first.names.zip(other.names).map(|(mut names, others)| {
        names.extend(others);
        names
    });
    if first.split != other.split {
        first.split = None;
    }
    if first.meta != other.meta {
        first.meta.keep_common(&other.meta);
    }
    Ok((first, common_schema(first_schema, schema)?))
}
