//! Emits one row of MessagePack.

use super::head::{Head, head};
use super::{BIG_INT, NP, NPY, PT, TIMESTAMP, timestamp};
use crate::error::{Error, Result};
use crate::jinx::unique::Unique;
use crate::limits::{MAX_DEPTH, MAX_INT_DIGITS};
use crate::sink::{Blob, Payload, Sink};
use bytes::Bytes;
use twox_hash::XxHash3_64;

/// Emits the row that `bytes` consists of. Binary values share its memory; of a name that stands twice in a map the
/// last one holds.
///
/// # Errors
/// `Corrupt`, `Truncated`, `Limit` for nesting; `Unsupported` for foreign extension types and names that are no text.
pub fn emit(bytes: &Bytes, sink: &mut impl Sink) -> Result<()> {
    let mut check = Walk::new(bytes);
    match check.head()? {
        Head::Map(_) => {}
        Head::Array(_) => {
            let what = "the file holds an array; rows must be maps, one after the other";
            return Err(Error::unsupported(what));
        }
        other => {
            return Err(Error::corrupt(format!("a row must be a map; this is {}", other.kind())));
        }
    }
    check.at = 0;
    let mut hashes = Vec::new();
    check.value(0, &mut hashes)?;
    if check.at != bytes.len() {
        return Err(Error::corrupt("more than one value in a row"));
    }
    let mut walk = Walk { may_repeat: check.may_repeat, ..Walk::new(bytes) };
    walk.emit(0, sink)
}

struct Walk<'a> {
    bytes: &'a Bytes,
    at: usize,
    /// Some map may hold a name twice, so maps must be looked through before they are emitted.
    may_repeat: bool,
}

impl<'a> Walk<'a> {
    fn new(bytes: &'a Bytes) -> Self {
        Self { bytes, at: 0, may_repeat: false }
    }

    fn head(&mut self) -> Result<Head> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let (found, size) = head(rest)?.ok_or_else(ends_early)?;
        self.at += size;
        Ok(found)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(length).ok_or_else(ends_early)?;
        let taken = self.bytes.get(self.at..end).ok_or_else(ends_early)?;
        self.at = end;
        Ok(taken)
    }

    fn text(&mut self, length: usize) -> Result<&'a str> {
        let bytes = self.take(length)?;
        simdutf8::basic::from_utf8(bytes).map_err(|_| {
            Error::corrupt("text that is not UTF-8; if it is meant as bytes, write it with use_bin_type=True")
        })
    }

    fn name(&mut self) -> Result<&'a str> {
        match self.head()? {
            Head::Str(length) => self.text(length),
            other => Err(Error::unsupported(format!("a name must be text; this is {}", other.kind()))),
        }
    }

    /// Steps over a value, checks its shape, and notes whether a name may stand twice.
    fn value(&mut self, depth: usize, hashes: &mut Vec<u64>) -> Result<()> {
        match self.head()? {
            Head::Array(count) => {
                check_depth(depth)?;
                for _ in 0..count {
                    self.value(depth + 1, hashes)?;
                }
            }
            Head::Map(count) => {
                check_depth(depth)?;
                let start = hashes.len();
                for _ in 0..count {
                    let name = self.name()?;
                    hashes.push(XxHash3_64::oneshot(name.as_bytes()));
                    self.value(depth + 1, hashes).map_err(|error| error.in_field(name))?;
                }
                let own = &mut hashes[start..];
                own.sort_unstable();
                self.may_repeat |= own.windows(2).any(|pair| pair[0] == pair[1]);
                hashes.truncate(start);
            }
            other => {
                self.take(other.rest().0)?;
            }
        }
        Ok(())
    }

    fn emit(&mut self, depth: usize, sink: &mut impl Sink) -> Result<()> {
        match self.head()? {
            Head::Nil => sink.null(),
            Head::Bool(value) => sink.bool(value),
            Head::Int(value) => sink.int(value),
            Head::Uint(value) => sink.big_int(itoa::Buffer::new().format(value)),
            Head::Float(value) => sink.float(value),
            Head::Str(length) => sink.str(self.text(length)?),
            Head::Bin(length) => self.blob(Payload::Raw, length, sink),
            Head::Ext(kind, length) => self.extension(kind, length, sink),
            Head::Array(count) => {
                sink.begin_list(count)?;
                for i in 0..count {
                    self.emit(depth + 1, sink).map_err(|error| error.in_field(&format!("[{i}]")))?;
                }
                sink.end_list()
            }
            Head::Map(count) if self.may_repeat => self.last_members(count, depth, sink),
            Head::Map(count) => {
                sink.begin_dict(count)?;
                for _ in 0..count {
                    let name = self.name()?;
                    sink.key(name)?;
                    self.emit(depth + 1, sink).map_err(|error| error.in_field(name))?;
                }
                sink.end_dict()
            }
        }
    }

    /// A map of which only the last of equal names counts.
    fn last_members(&mut self, count: usize, depth: usize, sink: &mut impl Sink) -> Result<()> {
        let mut unique = Unique::default();
        let mut kept: Vec<(&str, usize)> = Vec::new();
        for _ in 0..count {
            let name = self.name()?;
            match unique.insert(name) {
                Some(at) => kept[at].1 = self.at,
                None => kept.push((name, self.at)),
            }
            self.value(depth + 1, &mut Vec::new())?;
        }
        let end = self.at;
        sink.begin_dict(kept.len())?;
        for (name, at) in kept {
            sink.key(name)?;
            self.at = at;
            self.emit(depth + 1, sink).map_err(|error| error.in_field(name))?;
        }
        self.at = end;
        sink.end_dict()
    }

    fn blob(&mut self, payload: Payload, length: usize, sink: &mut impl Sink) -> Result<()> {
        let taken = self.take(length)?;
        sink.blob(payload, Blob::shared(self.bytes.slice_ref(taken)))
    }

    fn extension(&mut self, kind: i8, length: usize, sink: &mut impl Sink) -> Result<()> {
        match kind {
            NPY => self.blob(Payload::Npy, length, sink),
            PT => self.blob(Payload::Pt, length, sink),
            NP => self.blob(Payload::Np, length, sink),
            BIG_INT => {
                let digits = self.text(length)?;
                let plain = digits.strip_prefix('-').unwrap_or(digits);
                if plain.is_empty() || !plain.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(Error::corrupt("an integer (extension type 4) that is no integer"));
                }
                if plain.len() > MAX_INT_DIGITS {
                    return Err(Error::limit(format!("an integer of more than {MAX_INT_DIGITS} digits")));
                }
                match digits.parse() {
                    Ok(value) => sink.int(value),
                    // Leading zeros would not be JSON.
                    Err(_) if plain.starts_with('0') => {
                        Err(Error::corrupt("an integer (extension type 4) with leading zeros"))
                    }
                    Err(_) => sink.big_int(digits),
                }
            }
            TIMESTAMP => sink.str(&timestamp::text(self.take(length)?)?),
            kind => Err(Error::unsupported(format!("MessagePack extension type {kind} is not known here"))),
        }
    }
}

fn check_depth(depth: usize) -> Result<()> {
    if depth < MAX_DEPTH {
        Ok(())
    } else {
        Err(Error::limit(format!("arrays and maps nested deeper than {MAX_DEPTH}")))
    }
}

fn ends_early() -> Error {
    Error::truncated("the row ends inside a value")
}
