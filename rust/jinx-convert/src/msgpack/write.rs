//! A sink that writes MessagePack, each value in its shortest form.

use super::{BIG_INT, NP, NPY, PT};
use jinx_core::error::{Error, Result};
use jinx_core::json::markers::{self, BYTES, DICT, HEADER, VERSION};
use jinx_core::row_events::{Blob, Dtype, Number, Payload, Sink};
use rmp::encode;

/// Writes rows one after another.
#[derive(Debug, Default)]
pub struct RowWriter {
    pub out: Vec<u8>,
    open: Vec<ContainerHead>,
    /// Whether the row contains values that must be declared as markers.
    is_marked: bool,
}

#[derive(Debug)]
struct ContainerHead {
    /// The position of the container's header, and the number of bytes reserved for it.
    start: usize,
    head: usize,
    is_map: bool,
    count: usize,
    /// Whether the container follows a `$dict`.
    is_escaped: bool,
}

impl RowWriter {
    fn before_value(&mut self) {
        if let Some(open) = self.open.last_mut().filter(|open| !open.is_map) {
            open.count += 1;
        }
    }

    /// Begins a container: its length is only a hint, so room for the likely header is reserved.
    fn begin(&mut self, is_map: bool, len: usize) -> Result<()> {
        self.before_value();
        self.is_marked &= !self.open.is_empty();
        let (start, head) = (self.out.len(), head_bytes(len));
        self.out.resize(start + head, 0);
        self.open.push(ContainerHead { start, head, is_map, count: 0, is_escaped: false });
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        let open = self.open.pop().ok_or_else(|| Error::invalid("an end without a begin"))?;
        let mut head = Vec::with_capacity(16);
        let has_header = self.open.is_empty() && self.is_marked && open.is_map && !open.is_escaped;
        let count = length(open.count + usize::from(has_header))?;
        if open.is_map {
            wrote(encode::write_map_len(&mut head, count))?;
            if has_header {
                push_header(&mut head)?;
            }
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

    /// Wraps the map that has just begun in another one, under the escape.
    fn escape(&mut self, is_row: bool) -> Result<()> {
        self.is_marked = true;
        let Some(open) = self.open.last_mut() else { return Ok(()) };
        let mut around = Vec::with_capacity(16);
        wrote(encode::write_map_len(&mut around, 1 + u32::from(is_row)))?;
        if is_row {
            push_header(&mut around)?;
        }
        wrote(encode::write_str(&mut around, DICT))?;
        self.out.splice(open.start..open.start, around.iter().copied());
        open.start += around.len();
        open.is_escaped = true;
        Ok(())
    }

    fn extension(&mut self, kind: i8, data: &[u8]) -> Result<()> {
        self.is_marked = true;
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
        self.before_value();
        let data = blob.as_slice();
        match payload {
            Payload::Raw => {
                if blob.path.is_some() {
                    self.is_marked = true;
                    wrote(encode::write_map_len(&mut self.out, 2))?;
                    self.text(BYTES)?;
                }
                wrote(encode::write_bin_len(&mut self.out, length(data.len())?))?;
                self.out.extend_from_slice(data);
                match blob.path {
                    Some(path) => {
                        self.text("path")?;
                        self.text(path)
                    }
                    None => Ok(()),
                }
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
        let is_row = self.open.len() == 1;
        let open = self.open.last_mut().ok_or_else(|| Error::invalid("a key outside a dict"))?;
        open.count += 1;
        if open.count == 1 && (markers::is_reserved(name) || is_row && name == HEADER) {
            self.escape(is_row)?;
        }
        self.text(name)
    }
    fn end_dict(&mut self) -> Result<()> {
        self.end()
    }
}

/// Writes the member that declares markers.
fn push_header(out: &mut Vec<u8>) -> Result<()> {
    wrote(encode::write_str(out, HEADER))?;
    wrote(encode::write_sint(out, VERSION))
}

/// The size in bytes of the shortest header for `count` members.
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

/// Unwraps the result of a write to memory, which cannot fail although the type allows it.
fn wrote<T, E: std::fmt::Display>(result: std::result::Result<T, E>) -> Result<()> {
    result.map(drop).map_err(|error| Error::invalid(error.to_string()))
}
