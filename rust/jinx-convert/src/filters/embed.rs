//! Embeds files: workers replace paths in rows by the contents of the files.

use crate::filters::forward::forward;
use bytes::Bytes;
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Cause, Error, Result};
use jinx_core::limits::MAX_VALUE_BYTES;
use jinx_core::row_events::{Blob, Dtype, Number, Payload, Sink};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// What to do when a file is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missing {
    #[default]
    Fail,
    /// Leave the row out.
    Skip,
    /// Null instead of the content.
    Null,
}

/// Which strings are paths, and where relative ones start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbedOptions {
    /// Dotted paths; every element of a list is visited.
    pub paths: Vec<String>,
    pub root: PathBuf,
    pub missing: Missing,
}

/// Reads files for one thread.
pub(crate) struct Embed {
    options: Arc<EmbedOptions>,
    /// Whether the last file was missing, so that its row must be left out.
    missing: bool,
}

impl Embed {
    pub(crate) fn new(options: EmbedOptions) -> Self {
        Self { options: Arc::new(options), missing: false }
    }

    pub(crate) fn options(&self) -> &EmbedOptions {
        &self.options
    }

    pub(crate) fn was_missing(&self) -> bool {
        self.missing
    }

    /// A sink for one row, which forwards to `inner`.
    pub(crate) fn around<'a>(&'a mut self, inner: &'a mut dyn Sink) -> impl Sink + 'a {
        self.missing = false;
        Embedding { embed: self, inner, names: Vec::new(), dicts: Vec::new(), wanted: false }
    }

    /// The bytes of a file; `None` if it is missing and is replaced by null.
    fn read(&mut self, path: &str) -> Result<Option<Bytes>> {
        let full = self.resolve(path)?;
        let failed = |error: io::Error| Error::io(&full, &error);
        let read = || {
            let mut file = File::open(&full)?;
            let size = file.metadata()?.len();
            let mut data = Vec::with_capacity(usize::try_from(size.min(MAX_VALUE_BYTES)).unwrap_or(0));
            file.by_ref().take(MAX_VALUE_BYTES + 1).read_to_end(&mut data)?;
            io::Result::Ok(data)
        };
        match read() {
            Ok(data) if to_u64(data.len()) > MAX_VALUE_BYTES => {
                Err(Error::limit(format!("{} is larger than {MAX_VALUE_BYTES} bytes", full.display())))
            }
            Ok(data) => Ok(Some(Bytes::from(data))),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                self.not_there(path)
            }
            Err(error) => Err(failed(error)),
        }
    }

    fn not_there(&mut self, path: &str) -> Result<Option<Bytes>> {
        let root = self.options.root.display();
        match self.options.missing {
            Missing::Null => return Ok(None),
            Missing::Skip => self.missing = true,
            Missing::Fail => {}
        }
        let advice = "name another directory (--root), or choose what to do (--missing skip, --missing null)";
        let what = format!("the file '{path}' is not in {root}; {advice}");
        Err(Error::new(Cause::Io(io::ErrorKind::NotFound), what))
    }

    /// The path of a file; refuses paths outside the directory that the caller named, because data must not decide what
    /// is read.
    fn resolve(&self, path: &str) -> Result<PathBuf> {
        if path.contains("://") {
            return Err(Error::unsupported(format!("'{path}' is a URL; download the files first")));
        }
        let root = &self.options.root;
        let full = root.join(path.strip_prefix("./").unwrap_or(path));
        let leaves = Path::new(path).components().any(|part| part == Component::ParentDir);
        if leaves || !full.starts_with(root) || path.contains('\0') {
            let what =
                format!("'{path}' leads out of the directory {}; name another one (--root)", root.display());
            return Err(Error::invalid(what));
        }
        Ok(full)
    }
}

struct Embedding<'a> {
    embed: &'a mut Embed,
    inner: &'a mut dyn Sink,
    /// Names from the outermost dict to the current value; lists have none.
    names: Vec<String>,
    /// For each open container: whether it is a dict, and the number of names before it.
    dicts: Vec<(bool, usize)>,
    /// Whether the current value is at one of the paths.
    wanted: bool,
}

impl Embedding<'_> {
    fn file(&mut self, path: &str) -> Result<()> {
        let path_of = || self.names.join(".");
        match self.embed.read(path).map_err(|error| error.in_column(&path_of()))? {
            Some(data) => self.inner.blob(Payload::Raw, Blob::shared(data).with_path(Some(path))),
            None => self.inner.null(),
        }
    }

    fn begin(&mut self, is_dict: bool) {
        self.dicts.push((is_dict, self.names.len()));
    }

    fn end(&mut self) {
        let names = self.dicts.pop().map_or(0, |(_, names)| names);
        self.names.truncate(names);
        self.wanted = false;
    }
}

impl Sink for Embedding<'_> {
    forward! {
        null();
        bool(value: bool);
        int(value: i64);
        big_int(digits: &str);
        float(value: f64);
        blob(payload: Payload, blob: Blob<'_>);
        scalar(dtype: Dtype, value: Number);
    }

    fn str(&mut self, value: &str) -> Result<()> {
        if self.wanted { self.file(value) } else { self.inner.str(value) }
    }

    fn media_path(&mut self, path: &str) -> Result<()> {
        if self.wanted { self.file(path) } else { self.inner.media_path(path) }
    }

    fn begin_list(&mut self, len: usize) -> Result<()> {
        self.begin(false);
        self.inner.begin_list(len)
    }

    fn end_list(&mut self) -> Result<()> {
        self.end();
        self.inner.end_list()
    }

    fn begin_dict(&mut self, len: usize) -> Result<()> {
        self.begin(true);
        self.inner.begin_dict(len)
    }

    fn key(&mut self, name: &str) -> Result<()> {
        let names = self.dicts.last().map_or(0, |(_, names)| *names);
        self.names.truncate(names);
        self.names.push(name.to_owned());
        let is_path = |path: &String| path.split('.').eq(self.names.iter().map(String::as_str));
        let is_name = |path: &String| self.names.len() == 1 && self.names[0] == *path;
        self.wanted = self.embed.options.paths.iter().any(|path| is_path(path) || is_name(path));
        self.inner.key(name)
    }

    fn end_dict(&mut self) -> Result<()> {
        self.end();
        self.inner.end_dict()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use jinx_core::json::markers::{self, Markers};
    use jinx_core::value::{TreeBuilder, Value};

    fn embed(row: &str, paths: &[&str], missing: Missing) -> Result<Value> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("d")).unwrap();
        std::fs::write(directory.path().join("d/a.png"), b"A").unwrap();
        std::fs::write(directory.path().join("b.png"), b"B").unwrap();
        let paths = paths.iter().map(|&path| path.to_owned()).collect();
        let mut embed = Embed::new(EmbedOptions { paths, root: directory.path().to_owned(), missing });
        let mut tree = TreeBuilder::default();
        markers::emit_line(row.as_bytes(), Markers::default(), &mut embed.around(&mut tree))?;
        tree.take()
    }

    #[test]
    fn paths_lists_and_nested_fields_are_read() {
        let row = r#"{"image":"d/a.png","m":{"i":["b.png",null,"./d/a.png"],"t":"b.png"},"i":"b.png"}"#;
        let value = embed(row, &["image", "m.i"], Missing::Fail).unwrap();
        let blob = |data: &'static [u8], path: &str| Value::Blob {
            payload: Payload::Raw,
            data: Bytes::from_static(data),
            media: true,
            path: Some(path.to_owned()),
        };
        assert_eq!(value.get("image"), Some(&blob(b"A", "d/a.png")));
        let list = Value::List(vec![blob(b"B", "b.png"), Value::Null, blob(b"A", "./d/a.png")]);
        assert_eq!(value.get("m").unwrap().get("i"), Some(&list));
        assert_eq!(value.get("m").unwrap().get("t"), Some(&Value::Str("b.png".into())));
        assert_eq!(value.get("i"), Some(&Value::Str("b.png".into())));
    }

    #[test]
    fn files_that_are_not_there_or_not_inside() {
        let row = r#"{"m":[{"image":"no.png"}]}"#;
        let error = embed(row, &["m.image"], Missing::Fail).unwrap_err().to_string();
        assert!(error.starts_with("column 'm.image': the file 'no.png' is not in "), "{error}");
        assert_eq!(
            embed(row, &["m.image"], Missing::Null).unwrap().get("m"),
            Some(&Value::List(vec![Value::Dict(vec![("image".into(), Value::Null)])]))
        );
        for path in ["../b.png", "/etc/passwd", "d/../../x", "http://x/a.png"] {
            let row = format!(r#"{{"image":"{path}"}}"#);
            assert!(embed(&row, &["image"], Missing::Null).is_err(), "{path}");
        }
    }
}
