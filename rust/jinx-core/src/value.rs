//! A row as a tree, for code that must see a whole value: schema inference, tables, tests.

use crate::error::{Error, Result};
use crate::io::SourceRange;
use crate::row_events::{Blob, Dtype, Number, Payload, Sink};
use bytes::Bytes;

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Int(i64),
    /// An integer outside i64, as exact decimal digits.
    BigInt(String),
    Float(f64),
    Str(String),
    Blob {
        payload: Payload,
        data: Bytes,
        media: bool,
        path: Option<String>,
    },
    /// Plain bytes in a file; see [`TreeBuilder::with_ranges`].
    Range(SourceRange),
    Scalar(Dtype, Number),
    List(Vec<Self>),
    /// Members in the order written; in a valid row, names are unique.
    Dict(Vec<(String, Self)>),
}

impl Value {
    /// Emits the tree as events.
    ///
    /// # Errors
    /// The errors of the sink.
    pub fn emit(&self, sink: &mut impl Sink) -> Result<()> {
        match self {
            Self::Null => sink.null(),
            Self::Bool(value) => sink.bool(*value),
            Self::Int(value) => sink.int(*value),
            Self::BigInt(digits) => sink.big_int(digits),
            Self::Float(value) => sink.float(*value),
            Self::Str(value) => sink.str(value),
            Self::Blob { payload, data, media, path } => {
                let mut blob = Blob::shared(data.clone());
                blob.media = *media;
                blob.path = path.as_deref();
                sink.blob(*payload, blob)
            }
            Self::Range(range) => sink.range(range),
            Self::Scalar(dtype, value) => sink.scalar(*dtype, *value),
            Self::List(items) => {
                sink.begin_list(items.len())?;
                for item in items {
                    item.emit(sink)?;
                }
                sink.end_list()
            }
            Self::Dict(members) => {
                sink.begin_dict(members.len())?;
                for (name, value) in members {
                    sink.key(name)?;
                    value.emit(sink)?;
                }
                sink.end_dict()
            }
        }
    }

    /// The member `name` of a dict.
    pub fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Dict(members) => members.iter().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }
}

/// A sink that builds a [`Value`].
#[derive(Debug, Default)]
pub struct TreeBuilder {
    open: Vec<Value>,
    keys: Vec<String>,
    done: Option<Value>,
    is_without_bytes: bool,
    keeps_ranges: bool,
}

impl TreeBuilder {
    /// Drops the content of plain bytes, on which a schema does not depend.
    pub fn without_bytes() -> Self {
        Self { is_without_bytes: true, ..Self::default() }
    }

    /// Keeps plain bytes in files as [`Value::Range`], for a target that reads them while writing.
    pub fn with_ranges() -> Self {
        Self { keeps_ranges: true, ..Self::default() }
    }

    /// The finished value; afterwards, the builder is empty again.
    ///
    /// # Errors
    /// `Invalid` when the events were not balanced.
    pub fn take(&mut self) -> Result<Value> {
        self.done.take().ok_or_else(|| Error::invalid("a row was not finished"))
    }

    fn put(&mut self, value: Value) -> Result<()> {
        match self.open.last_mut() {
            None => self.done = Some(value),
            Some(Value::List(items)) => items.push(value),
            Some(Value::Dict(members)) => {
                let key = self.keys.pop().ok_or_else(|| Error::invalid("a value without a key"))?;
                members.push((key, value));
            }
            Some(_) => return Err(Error::invalid("a value inside a scalar")),
        }
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        let value = self.open.pop().ok_or_else(|| Error::invalid("an end without a begin"))?;
        self.put(value)
    }
}

impl Sink for TreeBuilder {
    fn null(&mut self) -> Result<()> {
        self.put(Value::Null)
    }
    fn bool(&mut self, value: bool) -> Result<()> {
        self.put(Value::Bool(value))
    }
    fn int(&mut self, value: i64) -> Result<()> {
        self.put(Value::Int(value))
    }
    fn big_int(&mut self, digits: &str) -> Result<()> {
        self.put(Value::BigInt(digits.to_owned()))
    }
    fn float(&mut self, value: f64) -> Result<()> {
        self.put(Value::Float(value))
    }
    fn str(&mut self, value: &str) -> Result<()> {
        self.put(Value::Str(value.to_owned()))
    }
    fn blob(&mut self, payload: Payload, blob: Blob<'_>) -> Result<()> {
        let (media, path) = (blob.media, blob.path.map(str::to_owned));
        let is_kept = payload != Payload::Raw || self.reads_bytes();
        let data = if is_kept { blob.into_bytes() } else { Bytes::new() };
        self.put(Value::Blob { payload, data, media, path })
    }
    fn range(&mut self, range: &SourceRange) -> Result<()> {
        if self.keeps_ranges {
            return self.put(Value::Range(range.clone()));
        }
        self.blob(Payload::Raw, Blob::shared(range.read()?))
    }
    fn reads_bytes(&self) -> bool {
        !self.is_without_bytes
    }
    fn scalar(&mut self, dtype: Dtype, value: Number) -> Result<()> {
        self.put(Value::Scalar(dtype, value))
    }
    fn begin_list(&mut self, len: usize) -> Result<()> {
        self.open.push(Value::List(Vec::with_capacity(len.min(1024))));
        Ok(())
    }
    fn end_list(&mut self) -> Result<()> {
        self.close()
    }
    fn begin_dict(&mut self, len: usize) -> Result<()> {
        self.open.push(Value::Dict(Vec::with_capacity(len.min(1024))));
        Ok(())
    }
    fn key(&mut self, name: &str) -> Result<()> {
        self.keys.push(name.to_owned());
        Ok(())
    }
    fn end_dict(&mut self) -> Result<()> {
        self.close()
    }
}
