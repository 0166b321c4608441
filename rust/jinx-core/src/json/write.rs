//! A sink that writes JSON text: what `jinx cat` and JSON Lines files hold.

use super::tagged;
use crate::codec;
use crate::error::{Error, Result};
use crate::jinx::encode::{push_json_float, push_json_str};
use crate::sink::{Blob, Dtype, Number, Payload, Sink};

/// What becomes of binary values in JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Binary {
    /// `{"$bytes": "<base64>"}`, so that the value can come back.
    #[default]
    Tagged,
    /// Only their size, for people.
    Summary,
}

/// Writes rows as compact JSON text.
#[derive(Debug, Default)]
pub struct JsonText {
    pub out: Vec<u8>,
    binary: Binary,
    /// For each open dict: whether it was opened behind a `{"$dict":`.
    open: Vec<Open>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    List,
    /// No member yet: its first name decides whether it must be escaped.
    NewDict,
    Dict,
    EscapedDict,
}

impl JsonText {
    pub fn new(binary: Binary) -> Self {
        Self { binary, ..Self::default() }
    }

    fn before_value(&mut self) {
        if self.open.last() == Some(&Open::List) && self.out.last() != Some(&b'[') {
            self.out.push(b',');
        }
    }

    fn text(&mut self, text: &[u8]) -> Result<()> {
        self.before_value();
        self.out.extend_from_slice(text);
        Ok(())
    }

    fn tagged(&mut self, tag: &str, data: &[u8]) -> Result<()> {
        self.before_value();
        self.out.extend_from_slice(format!("{{\"{tag}\":\"").as_bytes());
        codec::push_base64(&mut self.out, data);
        self.out.extend_from_slice(b"\"}");
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
            self.out.extend_from_slice(format!("{{\"{}\":\"{name}\"}}", tagged::FLOAT).as_bytes());
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
        if blob.media {
            let path = blob.path;
            self.begin_dict(2)?;
            self.key("bytes")?;
            self.tagged(tagged::BYTES, blob.as_slice())?;
            self.key("path")?;
            match path {
                Some(path) => self.str(path)?,
                None => self.null()?,
            }
            return self.end_dict();
        }
        self.tagged(tagged::tag_of(payload), blob.as_slice())
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
        self.open.push(Open::List);
        Ok(())
    }
    fn end_list(&mut self) -> Result<()> {
        self.open.pop();
        self.out.push(b']');
        Ok(())
    }
    fn begin_dict(&mut self, _len: usize) -> Result<()> {
        self.text(b"{")?;
        self.open.push(Open::NewDict);
        Ok(())
    }
    fn key(&mut self, name: &str) -> Result<()> {
        let open = self.open.last_mut().ok_or_else(|| Error::invalid("a key outside a dict"))?;
        if *open == Open::NewDict {
            *open = Open::Dict;
            if self.binary == Binary::Tagged && tagged::is_reserved(name) {
                *open = Open::EscapedDict;
                self.out.extend_from_slice(format!("\"{}\":{{", tagged::DICT).as_bytes());
            }
        } else {
            self.out.push(b',');
        }
        push_json_str(&mut self.out, name)?;
        self.out.push(b':');
        Ok(())
    }
    fn end_dict(&mut self) -> Result<()> {
        if self.open.pop() == Some(Open::EscapedDict) {
            self.out.push(b'}');
        }
        self.out.push(b'}');
        Ok(())
    }
}
