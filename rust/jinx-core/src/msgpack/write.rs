//! A sink that writes MessagePack, each value in its shortest form.

use super::{BIG_INT, NP, NPY, PT};
use crate::error::{Error, Result};
use crate::sink::{Blob, Dtype, Number, Payload, Sink};
use rmp::encode;

/// Writes rows one after the other.
#[derive(Debug, Default)]
pub struct RowWriter {
    pub out: Vec<u8>,
    open: Vec<Open>,
}

#[derive(Debug)]
struct Open {
    /// Where the container's head is, and how many bytes were left for it.
    start: usize,
    head: usize,
    is_map: bool,
    count: usize,
}

impl RowWriter {
    fn before_value(&mut self) {
        if let Some(open) = self.open.last_mut().filter(|open| !open.is_map) {
            open.count += 1;
        }
    }

    /// Lengths are only a hint when a container begins: room for the likely head is left.
    fn begin(&mut self, is_map: bool, len: usize) -> Result<()> {
        self.before_value();
        let (start, head) = (self.out.len(), head_bytes(len));
        self.out.resize(start + head, 0);
        self.open.push(Open { start, head, is_map, count: 0 });
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        let open = self.open.pop().ok_or_else(|| Error::invalid("an end without its begin"))?;
        let mut head = Vec::with_capacity(5);
        let count = length(open.count)?;
        if open.is_map {
            wrote(encode::write_map_len(&mut head, count))?;
        } else {
            wrote(encode::write_array_len(&mut head, count))?;
        }
        let place = open.start..open.start + open.head;
        if head.len() == open.head {
            self.out[place].copy_from_slice(&head);
        } else {
            self.out.splice(place, head);
        }
        Ok(())
    }

    fn extension(&mut self, kind: i8, data: &[u8]) -> Result<()> {
        wrote(encode::write_ext_meta(&mut self.out, length(data.len())?, kind))?;
        self.out.extend_from_slice(data);
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<()> {
        wrote(encode::write_str_len(&mut self.out, length(text.len())?))?;
        self.out.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

impl Sink for RowWriter {
    fn null(&mut self) -> Result<()> {
        self.before_value();
        wrote(encode::write_nil(&mut self.out))
    }
    fn bool(&mut self, value: bool) -> Result<()> {
        self.before_value();
        wrote(encode::write_bool(&mut self.out, value))
    }
    fn int(&mut self, value: i64) -> Result<()> {
        self.before_value();
        wrote(encode::write_sint(&mut self.out, value))
    }
    fn big_int(&mut self, digits: &str) -> Result<()> {
        self.before_value();
        match digits.parse() {
            Ok(value) => wrote(encode::write_uint(&mut self.out, value)),
            Err(_) => self.extension(BIG_INT, digits.as_bytes()),
        }
    }
    fn float(&mut self, value: f64) -> Result<()> {
        self.before_value();
        wrote(encode::write_f64(&mut self.out, value))
    }
    fn str(&mut self, value: &str) -> Result<()> {
        self.before_value();
        self.text(value)
    }
    fn blob(&mut self, payload: Payload, blob: Blob<'_>) -> Result<()> {
        if blob.media {
            let path = blob.path;
            self.begin_dict(2)?;
            self.key("bytes")?;
            self.blob(payload, Blob::borrowed(blob.as_slice()))?;
            self.key("path")?;
            match path {
                Some(path) => self.str(path)?,
                None => self.null()?,
            }
            return self.end_dict();
        }
        self.before_value();
        let data = blob.as_slice();
        match payload {
            Payload::Raw => {
                wrote(encode::write_bin_len(&mut self.out, length(data.len())?))?;
                self.out.extend_from_slice(data);
                Ok(())
            }
            Payload::Npy => self.extension(NPY, data),
            Payload::Pt => self.extension(PT, data),
            Payload::Np => self.extension(NP, data),
        }
    }
    fn scalar(&mut self, dtype: Dtype, value: Number) -> Result<()> {
        match value {
            Number::Int(value) => self.int(value),
            Number::Uint(value) => {
                self.before_value();
                wrote(encode::write_uint(&mut self.out, value))
            }
            Number::Float(value) => {
                #[allow(clippy::cast_possible_truncation)]
                let short = value as f32;
                if dtype == Dtype::Float32 && f64::from(short).to_bits() == value.to_bits() {
                    self.before_value();
                    return wrote(encode::write_f32(&mut self.out, short));
                }
                self.float(value)
            }
        }
    }
    fn begin_list(&mut self, len: usize) -> Result<()> {
        self.begin(false, len)
    }
    fn end_list(&mut self) -> Result<()> {
        self.end()
    }
    fn begin_dict(&mut self, len: usize) -> Result<()> {
        self.begin(true, len)
    }
    fn key(&mut self, name: &str) -> Result<()> {
        let open = self.open.last_mut().ok_or_else(|| Error::invalid("a key outside a dict"))?;
        open.count += 1;
        self.text(name)
    }
    fn end_dict(&mut self) -> Result<()> {
        self.end()
    }
}

/// Bytes of the shortest head for `count` members.
fn head_bytes(count: usize) -> usize {
    match count {
        0..=15 => 1,
        16..=0xffff => 3,
        _ => 5,
    }
}

fn length(length: usize) -> Result<u32> {
    u32::try_from(length)
        .map_err(|_| Error::limit(format!("MessagePack has no values of {length} bytes or members")))
}

/// Writing to memory does not fail; the type says it may.
fn wrote<T, E: std::fmt::Display>(result: std::result::Result<T, E>) -> Result<()> {
    result.map(drop).map_err(|error| Error::invalid(error.to_string()))
}
