//! Converts files of any format to a file of any format.

use crate::arrow::features::MediaPath;
use crate::arrow::infer::{InferOptions, SchemaInference};
use crate::arrow::project;
use crate::arrow::schema::encode_schema;
use crate::arrow::with_lengths;
use crate::filters::condition::Condition;
use crate::inputs::Selected;
use crate::inputs::filtered::Filtered;
use crate::inputs::input_files::{InputFiles, Known};
use crate::options::ConvertSpec;
use crate::outputs::parquet_target::ParquetTarget;
use crate::outputs::{JinxTarget, MdsTarget, json_lines, message_pack, tar_samples};
use crate::{ConvertOptions, Format, Observer, Progress, RowSource, Summary, run};
use arrow_schema::SchemaRef;
use jinx_core::error::{Error, Result};
use jinx_core::io::StreamOut;
use jinx_format::fields::MediaField;
use jinx_format::write::dataset::DatasetWriter;
use jinx_format::write::options::WriteOptions;
use jinx_mds::write::infer::Inference;
use jinx_mds::write::writer::Writer;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Receives the progress of a conversion about ten times a second; an error stops it.
pub type OnProgress<'a> = &'a mut dyn FnMut(Progress) -> Result<()>;

/// Converts files of one format, in order, to `out`. Nothing is published unless all rows were written.
///
/// # Errors
/// The first problem of inputs, options, rows or output, and its place.
pub fn convert(
    sources: &[PathBuf],
    input_format: Format,
    out: &Path,
    output_format: Format,
    spec: &ConvertSpec,
    progress: OnProgress<'_>,
) -> Result<Summary> {
    spec.check(out, output_format)?;
    let options = spec.engine()?;
    let inputs = InputFiles::new(sources, input_format, spec.markers)?;
    project::check(inputs.known.names.as_deref(), &options)?;
    if output_format == Format::Mds {
        if !inputs.is_repeatable() {
            return Err(Error::unsupported(
                "MDS needs an encoding for each column, and finding them takes a first pass, which a pipe does not \
                 allow; save the input to a file",
            ));
        }
        let observer = Observer::new(Inference::default());
        run(inputs.open()?, observer.clone(), &options, &mut |now| progress(first_half(now)))?;
        let writer = Writer::create(out, spec.mds(observer.findings().columns())?)?;
        return run(inputs.open()?, MdsTarget::new(writer), &options, &mut |now| progress(second_half(now)));
    }
    if output_format != Format::Parquet {
        let facts = projected(inputs.known.clone(), spec, &options);
        let done = write(inputs.open()?, facts.clone(), out, output_format, spec, &options, progress)?;
        let is_new =
            output_format == Format::Jinx && done.rows == 0 && facts.schema.is_none() && !spec.append;
        return if is_new { with_columns(&inputs, facts, out, spec, &options, done) } else { Ok(done) };
    }
    // Check this before the first pass, which may take long.
    let file = StreamOut::create(out, spec.overwrite)?;
    let facts = projected(inputs.known.clone(), spec, &options);
    let is_second = facts.schema.is_none();
    let schema = match facts.schema {
        Some(schema) => schema,
        None => infer(&inputs, facts.media, spec, &options, progress)?,
    };
    let target = ParquetTarget::new(file, with_lengths(schema, || Ok(facts.meta))?, spec.parquet()?)?;
    run(inputs.open()?, target, &options, &mut |now| progress(if is_second { second_half(now) } else { now }))
}

/// Converts rows from another source, such as a table of another library; `schema` is their schema.
///
/// # Errors
/// The errors of [`convert`].
pub fn convert_rows(
    source: Box<dyn RowSource>,
    schema: &SchemaRef,
    out: &Path,
    output_format: Format,
    spec: &ConvertSpec,
    progress: OnProgress<'_>,
) -> Result<Summary> {
    spec.check(out, output_format)?;
    let options = spec.engine()?;
    let facts = Known::of_schema(schema);
    project::check(facts.names.as_deref(), &options)?;
    let facts = projected(facts, spec, &options);
    write(source, facts, out, output_format, spec, &options, progress)
}

/// The rows of files one by one, with only these columns if given, and only those that the expression
/// `filter` selects; `markers` as in [`ConvertSpec`].
///
/// # Errors
/// The errors of [`convert`], for the inputs.
pub fn stream_rows(
    sources: &[PathBuf],
    format: Format,
    columns: Option<&[String]>,
    markers: bool,
    filter: Option<&str>,
) -> Result<Box<dyn RowSource>> {
    let condition = filter.map(Condition::parse).transpose()?.map(Arc::new);
    let mut source = InputFiles::new(sources, format, markers)?.open()?;
    if let Some(condition) = &condition {
        source = Filtered::around(source, Arc::clone(condition));
    }
    Selected::around(source, columns, condition.iter().flat_map(|condition| condition.columns()))
}

fn write(
    source: Box<dyn RowSource>,
    known: Known,
    out: &Path,
    target: Format,
    spec: &ConvertSpec,
    options: &ConvertOptions,
    progress: OnProgress<'_>,
) -> Result<Summary> {
    match target {
        Format::Jinx => {
            let columns = spec.only_indexed.as_deref().or(spec.indexed.as_deref()).unwrap_or_default();
            project::check_columns(known.names.as_deref(), columns, options)?;
            let are_names_known = known.names.is_some();
            let write = jinx_options(spec, known)?;
            let mut writer = match spec.append {
                true => DatasetWriter::append(out, write)?,
                false => DatasetWriter::create(out, write)?,
            };
            let mut options = options.clone();
            // If rows may be left out, examine each row to know which ones were written.
            match options.rejects.is_some() || options.embed.is_some() || options.filter.is_some() {
                true => writer.skip_resumed(),
                false => options.skip = writer.resumed(),
            }
            // Rows that are left out, or were written by an interrupted run, may have further columns.
            let is_part = options.limit.is_some() || options.filter.is_some() || writer.resumed() > 0;
            let required = if are_names_known || is_part { &[] } else { columns };
            let target = JinxTarget::new(writer).requiring(required);
            run(source, target, &options, progress)
        }
        Format::JsonLines => {
            let codec = spec.stream_codec(out)?;
            let file = StreamOut::create(out, spec.overwrite)?;
            run(source, json_lines(file, codec, spec.level)?, options, progress)
        }
        Format::MessagePack => {
            let codec = spec.stream_codec(out)?;
            let file = StreamOut::create(out, spec.overwrite)?;
            run(source, message_pack(file, codec, spec.level)?, options, progress)
        }
        Format::Tar => {
            let codec = spec.tar_codec(out)?;
            let file = StreamOut::create(out, spec.overwrite)?;
            run(source, tar_samples(file, codec, spec.level)?, options, progress)
        }
        Format::Arrow => Err(Error::unsupported("Arrow files are read, not written; write Parquet")),
        Format::Mds => Err(Error::unsupported(
            "MDS needs an encoding for each column, which takes a first pass over files",
        )),
        Format::Parquet => {
            let schema = known.schema.ok_or_else(|| Error::invalid("Parquet needs a schema"))?;
            let schema = with_lengths(schema, || Ok(known.meta))?;
            let file = StreamOut::create(out, spec.overwrite)?;
            run(source, ParquetTarget::new(file, schema, spec.parquet()?)?, options, progress)
        }
    }
}

/// The options for writing a JINX dataset, with what is known about its rows.
fn jinx_options(spec: &ConvertSpec, facts: Known) -> Result<WriteOptions> {
    let media = facts.media.into_iter().map(|(path, media)| MediaField {
        path,
        kind: media.kind,
        feature: media.feature_json,
    });
    Ok(WriteOptions {
        split: spec.split.clone().or(facts.split),
        meta: spec.meta.clone().unwrap_or(facts.meta),
        arrow_schema: facts.schema.map(|schema| encode_schema(&schema)),
        media: media.collect(),
        ..spec.jinx()?
    })
}

fn projected(facts: Known, spec: &ConvertSpec, options: &ConvertOptions) -> Known {
    let mut media = facts.media;
    media.extend(spec.embedded_media());
    let mut meta = facts.meta;
    let renamed: Vec<String> = options.rename.iter().map(|(_, new)| new.clone()).collect();
    meta.replace_columns(&renamed);
    Known {
        meta,
        // Embedding files, or extracting them to paths, changes types.
        schema: facts
            .schema
            .filter(|_| options.embed.is_none() && options.media_dir.is_none())
            .map(|schema| Arc::new(project::schema(&schema, options))),
        media: if options.media_dir.is_some() { Vec::new() } else { project::media(media, options) },
        ..facts
    }
}

/// Infers a schema from all rows, if they come without one.
fn infer(
    inputs: &InputFiles,
    media: Vec<MediaPath>,
    spec: &ConvertSpec,
    options: &ConvertOptions,
    progress: OnProgress<'_>,
) -> Result<SchemaRef> {
    if !inputs.is_repeatable() {
        return Err(Error::unsupported(
            "Parquet needs a schema, which takes a first pass that a pipe does not allow; save the input to a file",
        ));
    }
    let infer = InferOptions { media: media.clone(), mixed_json: spec.mixed_json, ..InferOptions::default() };
    let observer = Observer::new(SchemaInference::new(infer));
    let seen = run(inputs.open()?, observer.clone(), options, &mut |now| progress(first_half(now)))?;
    let inferred = observer.findings().finish()?;
    let unselected = if seen.rows == 0 { schema_of_unselected(inputs, media, spec, options) } else { None };
    Ok(unselected.unwrap_or(inferred))
}

/// Rewrites a JINX dataset without rows, so that it has the columns of the rows that were not selected.
fn with_columns(
    inputs: &InputFiles,
    known: Known,
    out: &Path,
    spec: &ConvertSpec,
    options: &ConvertOptions,
    done: Summary,
) -> Result<Summary> {
    let Some(schema) = schema_of_unselected(inputs, known.media.clone(), spec, options) else {
        return Ok(done);
    };
    let known = Known { schema: Some(schema), ..known };
    let spec = ConvertSpec { overwrite: true, resume: false, ..spec.clone() };
    let options = ConvertOptions { limit: Some(0), rejects: None, ..options.clone() };
    let again = write(inputs.open()?, known, out, Format::Jinx, &spec, &options, &mut |_| Ok(()))?;
    Ok(Summary { skipped: done.skipped, ..again })
}

/// The columns of all rows, for a filter or limit that selects none; `None` if there are no columns or no common types,
/// or the rows cannot be read again.
fn schema_of_unselected(
    inputs: &InputFiles,
    media: Vec<MediaPath>,
    spec: &ConvertSpec,
    options: &ConvertOptions,
) -> Option<SchemaRef> {
    // Rows that were not selected must not read embedded files or write extracted ones.
    let has_files = options.embed.is_some() || options.media_dir.is_some();
    if has_files || (options.filter.is_none() && options.limit.is_none()) || !inputs.is_repeatable() {
        return None;
    }
    let all = ConvertOptions { filter: None, limit: None, rejects: None, ..options.clone() };
    let infer = InferOptions { media, mixed_json: spec.mixed_json, ..InferOptions::default() };
    let observer = Observer::new(SchemaInference::new(infer));
    // Errors in rows that are not selected do not matter.
    run(inputs.open().ok()?, observer.clone(), &all, &mut |_| Ok(())).ok()?;
    observer.findings().finish().ok().filter(|schema| !schema.fields().is_empty())
}

/// Progress for the first of two passes, which each read every byte.
fn first_half(now: Progress) -> Progress {
    Progress { rows: 0, total_bytes: now.total_bytes.map(|total| total.saturating_mul(2)), ..now }
}

fn second_half(now: Progress) -> Progress {
    let total = now.total_bytes.unwrap_or(0);
    Progress {
        bytes_read: now.bytes_read.saturating_add(total),
        total_bytes: now.total_bytes.map(|total| total.saturating_mul(2)),
        ..now
    }
}
