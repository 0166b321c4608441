//! Writes samples to a WebDataset tar: the files of a sample are adjacent and share their name.
//!
//! A row that its files describe completely is written as these files alone (`KEY.jpg`, `KEY.cls`). Any other becomes a
//! `KEY.json` that is the whole row, next to a file for each of its binary values, which the row names.

use crate::outputs::media;
use crate::outputs::stream::Out;
use crate::tar_names::{KEY, Kind, SAMPLE, is_key, is_suffix};
use crate::{ChunkEncoder, OnRefused, RowTarget, Summary};
use bytes::Bytes;
use jinx_core::checked_math::to_u64;
use jinx_core::codec::Codec;
use jinx_core::error::{Error, Result};
use jinx_core::io::StreamOut;
use jinx_core::json::write::{Binary, JsonText};
use jinx_core::npy;
use jinx_core::row_events::{Payload, Sink};
use jinx_core::value::{TreeBuilder, Value};
use std::path::{Path, PathBuf};

/// The files of one sample, in order.
pub struct SampleFiles {
    key: Option<String>,
    /// Whether the key is the row's `__key__`, so that it must not change.
    is_keyed: bool,
    files: Vec<(String, Bytes)>,
}

/// Writes one tar.
pub struct TarTarget {
    tar: tar::Builder<Out>,
    path: PathBuf,
    samples: u64,
    last_key: String,
}

/// Samples into `out`, compressed with gzip or not at all.
///
/// # Errors
/// `Invalid` for another codec or a level that it does not have.
pub fn tar_samples(out: StreamOut, codec: Option<Codec>, level: Option<i32>) -> Result<TarTarget> {
    let path = out.path().to_owned();
    let tar = tar::Builder::new(Out::new(out, codec, level)?);
    Ok(TarTarget { tar, path, samples: 0, last_key: String::new() })
}

impl TarTarget {
    /// The name of the files of the next sample. Files of one name that follow one another are one sample.
    fn key(&self, sample: &SampleFiles) -> Result<String> {
        match &sample.key {
            Some(key) if *key != self.last_key => Ok(key.clone()),
            Some(key) if sample.is_keyed => {
                let what =
                    format!("two samples in a row have the {KEY} '{key}', and a tar would make them one");
                Err(Error::invalid(what).in_sample(self.samples))
            }
            _ => {
                let number = format!("{:09}", self.samples);
                Ok(if number == self.last_key { format!("{number}_") } else { number })
            }
        }
    }
}

impl RowTarget for TarTarget {
    type Part = Vec<SampleFiles>;
    type Encoder = Samples;

    fn encoder(&self) -> Result<Samples> {
        Ok(Samples { tree: TreeBuilder::default(), samples: Vec::new(), bytes: 0 })
    }

    fn commit(&mut self, samples: Vec<SampleFiles>, refused: OnRefused<'_>) -> Result<()> {
        for (i, sample) in samples.into_iter().enumerate() {
            let key = match self.key(&sample) {
                Ok(key) => key,
                Err(error) => {
                    refused(i, error)?;
                    continue;
                }
            };
            for (suffix, data) in &sample.files {
                let mut header = tar::Header::new_gnu();
                header.set_size(to_u64(data.len()));
                header.set_mode(0o644);
                self.tar
                    .append_data(&mut header, Path::new(&format!("{key}.{suffix}")), data.as_ref())
                    .map_err(|error| Error::io(&self.path, &error))?;
            }
            self.last_key = key;
            self.samples += 1;
        }
        Ok(())
    }

    fn finish(self) -> Result<Summary> {
        let out = self.tar.into_inner().map_err(|error| Error::io(&self.path, &error))?;
        let bytes = out.finish(&self.path)?.commit()?;
        Ok(Summary { bytes, files: 1, ..Summary::default() })
    }
}

/// Encoded samples for the tar writer.
pub struct Samples {
    tree: TreeBuilder,
    samples: Vec<SampleFiles>,
    bytes: u64,
}

impl ChunkEncoder for Samples {
    type Part = Vec<SampleFiles>;

    fn encode(&mut self, emit: &mut dyn FnMut(&mut dyn Sink) -> Result<()>) -> Result<()> {
        emit(&mut self.tree)?;
        let Value::Dict(row) = self.tree.take()? else {
            return Err(Error::invalid("a row that is not a dict"));
        };
        let sample = match plain_files(&row)? {
            Some(sample) => sample,
            None => described(&row)?,
        };
        self.bytes += sample.files.iter().map(|(_, data)| to_u64(data.len())).sum::<u64>();
        self.samples.push(sample);
        Ok(())
    }

    fn undo(&mut self) -> Result<()> {
        self.tree = TreeBuilder::default();
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn take(&mut self) -> Result<Vec<SampleFiles>> {
        self.bytes = 0;
        Ok(std::mem::take(&mut self.samples))
    }
}

/// Files that read back as exactly this row without a description; `None` if there are none.
fn plain_files(row: &[(String, Value)]) -> Result<Option<SampleFiles>> {
    let Some(((name, Value::Str(key)), columns)) = row.split_first() else { return Ok(None) };
    if name != KEY || !is_key(key) || columns.is_empty() {
        return Ok(None);
    }
    let mut files = Vec::with_capacity(columns.len());
    for (name, value) in columns {
        match plain_file(name, value)? {
            Some(data) => files.push((name.clone(), data)),
            None => return Ok(None),
        }
    }
    Ok(Some(SampleFiles { key: Some(key.clone()), is_keyed: true, files }))
}

fn plain_file(name: &str, value: &Value) -> Result<Option<Bytes>> {
    if !is_suffix(name) {
        return Ok(None);
    }
    Ok(match (Kind::of(name), value) {
        (Kind::Text, Value::Str(text)) => Some(Bytes::from(text.clone())),
        (Kind::Number, Value::Int(number)) => Some(Bytes::from(number.to_string())),
        (Kind::Json, value) => {
            let mut text = JsonText::new(Binary::Tagged);
            value.emit(&mut text)?;
            (!text.is_marked()).then(|| Bytes::from(text.out))
        }
        (Kind::Npy, Value::Blob { payload: Payload::Npy, data, .. }) => Some(data.clone()),
        (Kind::Npy, Value::Blob { payload: Payload::Raw, data, path: None, .. }) => {
            npy::check_blob(Payload::Npy, data).is_err().then(|| data.clone())
        }
        (Kind::Media(_) | Kind::Bytes, Value::Blob { payload: Payload::Raw, data, path: None, .. }) => {
            Some(data.clone())
        }
        _ => None,
    })
}

/// A JSON file with the row, and the files that it refers to.
fn described(row: &[(String, Value)]) -> Result<SampleFiles> {
    let key = match row.iter().find(|(name, _)| name == KEY) {
        Some((_, Value::Str(key))) if is_key(key) => Some(key.clone()),
        _ => None,
    };
    let mut files: Vec<(String, Bytes)> = Vec::new();
    let mut text = JsonText::new(Binary::Tagged);
    text.begin_dict(row.len())?;
    text.mark();
    for (i, (name, value)) in row.iter().enumerate() {
        text.key(name)?;
        match value {
            Value::Blob { payload, data, media, path } if *payload != Payload::Np => {
                let suffix = suffix_of(name, i, *payload, data, &files);
                text.file(*payload, &suffix, media.then_some(path.as_deref()))?;
                files.push((suffix, data.clone()));
            }
            value => value.emit(&mut text)?,
        }
    }
    text.end_dict()?;
    files.push((SAMPLE.to_owned(), Bytes::from(text.out)));
    Ok(SampleFiles { key, is_keyed: false, files })
}

/// A suffix, based on the column's name, that states what the file contains and is unique in the sample.
fn suffix_of(name: &str, i: usize, payload: Payload, data: &[u8], others: &[(String, Bytes)]) -> String {
    let ending = match payload {
        Payload::Npy => ".npy",
        Payload::Pt => ".pth",
        _ => media::suffix(data),
    };
    let base = if is_suffix(name) { name.to_owned() } else { format!("field{i}") };
    let mut suffix = match base.rsplit('.').next() {
        Some(last) if format!(".{last}") == ending => base,
        _ => base + ending,
    };
    while suffix == SAMPLE || others.iter().any(|(other, _)| *other == suffix) {
        suffix.insert(0, '_');
    }
    suffix
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_differ_and_tell_the_content() {
        let of = |name: &str, payload, data: &[u8], others: &[&str]| {
            let others: Vec<_> = others.iter().map(|name| ((*name).to_owned(), Bytes::new())).collect();
            suffix_of(name, 3, payload, data, &others)
        };
        assert_eq!(of("image", Payload::Raw, b"\xff\xd8\xff", &[]), "image.jpg");
        assert_eq!(of("jpg", Payload::Raw, b"\xff\xd8\xff", &[]), "jpg");
        assert_eq!(of("pyd", Payload::Raw, b"", &[]), "pyd.bin");
        assert_eq!(of("Image", Payload::Npy, b"", &[]), "field3.npy");
        assert_eq!(of("a/../b", Payload::Pt, b"", &["field3.pth"]), "_field3.pth");
    }
}
