//! A sink that writes JSON text, as printed by `jinx cat` and stored in JSON Lines files. Its markers are those of
//! [`crate::json::markers`].

use super::text::{push_json_float, push_json_str};
use crate::codec;
use crate::error::{Error, Result};
use crate::json::markers;
use crate::row_events::{Blob, Dtype, Number, Payload, Sink};

/// How binary values are written in JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Binary {
    /// Markers, so that values can be read back; the row then begins with `"$jinx":1`.
    #[default]
    Tagged,
    /// Only the size of binary values, for human readers.
    Summary,
}

/// Writes rows as compact JSON text.
#[derive(Debug, Default)]
pub struct JsonText {
    pub out: Vec<u8>,
    binary: Binary,
    /// For each open dict: whether it is inside a `{"$dict":`.
    open: Vec<JsonContainer>,
    /// The position where the row begins, and whether it contains markers.
    start: usize,
    is_marked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JsonContainer {
    List,
    /// A dict without members yet: its first name decides whether it must be escaped.
    NewDict,
    Dict,
    EscapedDict,
}

impl JsonText {
    pub fn new(binary: Binary) -> Self {
        Self { binary, ..Self::default() }
    }

    /// Whether the current row, or otherwise the last one, contains markers.
    pub fn is_marked(&self) -> bool {
        self.is_marked
    }

    /// Makes the row declare markers, even if it contains none.
    pub fn mark(&mut self) {
        self.is_marked = true;
    }

    /// Writes a value that is in another file of the same sample.
    ///
    /// # Errors
    /// None; as the other events.
    pub fn file(&mut self, payload: Payload, file: &str, path: Option<Option<&str>>) -> Result<()> {
        self.marker(payload, path, |out| {
            out.extend_from_slice(format!("{{\"{}\":", markers::FILE).as_bytes());
            push_json_str(out, file)?;
            out.push(b'}');
            Ok(())
        })
    }

    fn before_value(&mut self) {
        if self.open.last() == Some(&JsonContainer::List) && self.out.last() != Some(&b'[') {
            self.out.push(b',');
        }
    }

    fn text(&mut self, text: &[u8]) -> Result<()> {
        self.before_value();
        self.out.extend_from_slice(text);
        Ok(())
    }

    /// Writes a marker; `path` is the file name, for a media value.
    fn marker(
        &mut self,
        payload: Payload,
        path: Option<Option<&str>>,
        content: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        self.before_value();
        self.is_marked = true;
        self.out.extend_from_slice(format!("{{\"{}\":", markers::tag_of(payload)).as_bytes());
        content(&mut self.out)?;
        if let Some(path) = path {
            self.out.extend_from_slice(b",\"path\":");
            match path {
                Some(path) => push_json_str(&mut self.out, path)?,
                None => self.out.extend_from_slice(b"null"),
            }
        }
        self.out.push(b'}');
        Ok(())
    }
}

impl Sink for JsonText {
    fn null(&mut self) -> Result<()> {
        self.text(b"null")
    }
    fn bool(&mut self, value: bool) -> Result<()> {
        self.text(if value { b"true" } else { b"false" })
    }
    fn int(&mut self, value: i64) -> Result<()> {
        self.text(itoa::Buffer::new().format(value).as_bytes())
    }
    fn big_int(&mut self, digits: &str) -> Result<()> {
        self.text(digits.as_bytes())
    }
    fn float(&mut self, value: f64) -> Result<()> {
        self.before_value();
        if value.is_finite() {
            push_json_float(&mut self.out, value);
        } else if self.binary == Binary::Summary {
            self.out.extend_from_slice(b"null");
        } else {
            let name = if value.is_nan() {
                "nan"
            } else if value > 0.0 {
                "inf"
            } else {
                "-inf"
            };
            self.is_marked = true;
            self.out.extend_from_slice(format!("{{\"{}\":\"{name}\"}}", markers::FLOAT).as_bytes());
        }
        Ok(())
    }
    fn str(&mut self, value: &str) -> Result<()> {
        self.before_value();
        push_json_str(&mut self.out, value)
    }
    fn blob(&mut self, payload: Payload, blob: Blob<'_>) -> Result<()> {
        if self.binary == Binary::Summary {
            self.before_value();
            let what = match payload {
                Payload::Raw => codec::mime(blob.as_slice()).unwrap_or("bytes"),
                Payload::Npy => "ndarray",
                Payload::Pt => "tensor",
                Payload::Np => "numpy scalar",
            };
            return push_json_str(&mut self.out, &format!("<{what}, {} bytes>", blob.as_slice().len()));
        }
        self.marker(payload, blob.media.then_some(blob.path), |out| {
            out.push(b'"');
            codec::push_base64(out, blob.as_slice());
            out.push(b'"');
            Ok(())
        })
    }
    fn scalar(&mut self, dtype: Dtype, value: Number) -> Result<()> {
        match value {
            Number::Int(value) => self.int(value),
            Number::Uint(value) => self.text(itoa::Buffer::new().format(value).as_bytes()),
            Number::Float(value) if dtype == Dtype::Float32 && value.is_finite() => {
                self.before_value();
                push_json_float(&mut self.out, value);
                Ok(())
            }
            Number::Float(value) => self.float(value),
        }
    }
    fn begin_list(&mut self, _len: usize) -> Result<()> {
        self.text(b"[")?;
        self.open.push(JsonContainer::List);
        Ok(())
    }
    fn end_list(&mut self) -> Result<()> {
        self.open.pop();
        self.out.push(b']');
        Ok(())
    }
    fn begin_dict(&mut self, _len: usize) -> Result<()> {
        if self.open.is_empty() {
            self.start = self.out.len();
            self.is_marked = false;
        }
        self.text(b"{")?;
        self.open.push(JsonContainer::NewDict);
        Ok(())
    }
    fn key(&mut self, name: &str) -> Result<()> {
        let is_row = self.open.len() == 1;
        let open = self.open.last_mut().ok_or_else(|| Error::invalid("a key outside a dict"))?;
        if *open == JsonContainer::NewDict {
            *open = JsonContainer::Dict;
            let is_marker = markers::is_reserved(name) || is_row && name == markers::HEADER;
            if self.binary == Binary::Tagged && is_marker {
                *open = JsonContainer::EscapedDict;
                self.is_marked = true;
                self.out.extend_from_slice(format!("\"{}\":{{", markers::DICT).as_bytes());
            }
        } else {
            self.out.push(b',');
        }
        push_json_str(&mut self.out, name)?;
        self.out.push(b':');
        Ok(())
    }
    fn end_dict(&mut self) -> Result<()> {
        let closed = self.open.pop();
        if closed == Some(JsonContainer::EscapedDict) {
            self.out.push(b'}');
        }
        if self.open.is_empty() && self.is_marked {
            let comma = if closed == Some(JsonContainer::NewDict) { "" } else { "," };
            let header = format!("\"{}\":{}{comma}", markers::HEADER, markers::VERSION);
            let behind = self.start + 1;
            self.out.splice(behind..behind, header.into_bytes());
        }
        self.out.push(b'}');
        Ok(())
    }
}
