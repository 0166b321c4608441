//! Emits one row of MessagePack.

use super::{BIG_INT, NP, NPY, PT, TIMESTAMP, timestamp};
use crate::msgpack::head::{Head, head};
use bytes::Bytes;
use jinx_core::error::{Error, Result};
use jinx_core::json::markers::{self, BYTES, DICT, HEADER, VERSION};
use jinx_core::key_set::KeySet;
use jinx_core::limits::{MAX_DEPTH, MAX_INT_DIGITS};
use jinx_core::npy::check_import;
use jinx_core::row_events::{Blob, Payload, Sink};
use twox_hash::XxHash3_64;

/// Emits the row in `bytes`. With `always`, extension types have our meaning even in rows that do not declare markers.
/// Binary values share its memory. If a name appears twice in a map, the last value counts.
///
/// # Errors
/// `Corrupt`, `Truncated`, `Limit` for nesting; `Unsupported` for foreign extension types and names that are not
/// strings.
pub fn emit(bytes: &Bytes, always: bool, sink: &mut impl Sink) -> Result<()> {
    let mut check = RowWalk::new(bytes);
    match check.head()? {
        Head::Map(count) => check.is_marked = check.header(count)?,
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
    let RowWalk { may_repeat, is_marked, .. } = check;
    let mut walk = RowWalk { may_repeat, is_marked, is_ours: is_marked || always, ..RowWalk::new(bytes) };
    if is_marked { walk.marked_row(sink) } else { walk.emit(0, sink) }
}

struct RowWalk<'a> {
    bytes: &'a Bytes,
    at: usize,
    /// Whether some map may have duplicate names, so that maps must be scanned before they are emitted.
    may_repeat: bool,
    /// Whether the row declares markers.
    is_marked: bool,
    /// Whether extension types have our meaning.
    is_ours: bool,
}

impl<'a> RowWalk<'a> {
    fn new(bytes: &'a Bytes) -> Self {
        Self { bytes, at: 0, may_repeat: false, is_marked: false, is_ours: false }
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
            Error::corrupt(
                "a string that is not UTF-8; if it should be bytes, write it with use_bin_type=True",
            )
        })
    }

    fn name(&mut self) -> Result<&'a str> {
        match self.head()? {
            Head::Str(length) => self.text(length),
            other => Err(Error::unsupported(format!("a name must be a string; this is {}", other.kind()))),
        }
    }

    /// Reads the first member, if it declares markers; returns whether it does.
    fn header(&mut self, count: usize) -> Result<bool> {
        Ok(count > 0
            && matches!(self.head()?, Head::Str(length) if self.text(length).is_ok_and(|name| name == HEADER))
            && matches!(self.head()?, Head::Int(VERSION)))
    }

    /// The rest of a row after its header; it may begin with an escape.
    fn marked_row(&mut self, sink: &mut impl Sink) -> Result<()> {
        let Head::Map(count) = self.head()? else { return Err(ends_early()) };
        self.header(count)?;
        let start = self.at;
        if count == 2 && self.name()? == DICT && matches!(self.head()?, Head::Map(_)) {
            self.at = start;
            self.name()?;
            return self.map(0, sink);
        }
        self.at = start;
        self.members(count - 1, 0, sink)
    }

    /// The first name of the map that has just begun, if this makes the map a marker.
    fn tag(&mut self, count: usize) -> Result<Option<&'a str>> {
        if !self.is_marked || count == 0 {
            return Ok(None);
        }
        let start = self.at;
        let name = self.name()?;
        if markers::is_reserved(name) {
            return Ok(Some(name));
        }
        self.at = start;
        Ok(None)
    }

    fn map(&mut self, depth: usize, sink: &mut impl Sink) -> Result<()> {
        match self.head()? {
            Head::Map(count) => self.members(count, depth, sink),
            _ => Err(misfit(DICT)),
        }
    }

    fn marker(&mut self, tag: &str, count: usize, depth: usize, sink: &mut impl Sink) -> Result<()> {
        match (tag, count) {
            (DICT, 1) => self.map(depth, sink),
            (BYTES, 2) => {
                let Head::Bin(length) = self.head()? else { return Err(misfit(tag)) };
                let data = self.take(length)?;
                let is_path = self.name()? == "path";
                let Head::Str(length) = self.head()? else { return Err(misfit(tag)) };
                // Skip the file name: only Hugging Face columns have a place for it.
                self.text(length)?;
                if !is_path {
                    return Err(misfit(tag));
                }
                sink.blob(Payload::Raw, Blob::shared(self.bytes.slice_ref(data)))
            }
            _ => Err(misfit(tag)),
        }
    }

    /// Skips a value, checks its form, and records whether a map may have duplicate names.
    fn value(&mut self, depth: usize, hashes: &mut Vec<u64>) -> Result<()> {
        // In a row with markers, each level may be escaped, which adds a level.
        let max_depth = if self.is_marked { 2 * MAX_DEPTH + 1 } else { MAX_DEPTH };
        match self.head()? {
            Head::Array(count) => {
                check_depth(depth, max_depth)?;
                for _ in 0..count {
                    self.value(depth + 1, hashes)?;
                }
            }
            Head::Map(count) => {
                check_depth(depth, max_depth)?;
                let start = hashes.len();
                for _ in 0..count {
                    let name = self.name()?;
                    hashes.push(XxHash3_64::oneshot(name.as_bytes()));
                    self.value(depth + 1, hashes).map_err(|error| error.in_column(name))?;
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
                check_depth(depth, MAX_DEPTH)?;
                sink.begin_list(count)?;
                for i in 0..count {
                    self.emit(depth + 1, sink).map_err(|error| error.in_column(&format!("[{i}]")))?;
                }
                sink.end_list()
            }
            Head::Map(count) => match self.tag(count)? {
                Some(tag) => self.marker(tag, count, depth, sink),
                None => self.members(count, depth, sink),
            },
        }
    }

    fn members(&mut self, count: usize, depth: usize, sink: &mut impl Sink) -> Result<()> {
        check_depth(depth, MAX_DEPTH)?;
        if self.may_repeat {
            return self.last_members(count, depth, sink);
        }
        sink.begin_dict(count)?;
        for _ in 0..count {
            let name = self.name()?;
            sink.key(name)?;
            self.emit(depth + 1, sink).map_err(|error| error.in_column(name))?;
        }
        sink.end_dict()
    }

    /// A map in which only the last of several equal names counts.
    fn last_members(&mut self, count: usize, depth: usize, sink: &mut impl Sink) -> Result<()> {
        let mut unique = KeySet::default();
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
            self.emit(depth + 1, sink).map_err(|error| error.in_column(name))?;
        }
        self.at = end;
        sink.end_dict()
    }

    fn blob(&mut self, payload: Payload, length: usize, sink: &mut impl Sink) -> Result<()> {
        let taken = self.take(length)?;
        check_import(payload, taken)?;
        sink.blob(payload, Blob::shared(self.bytes.slice_ref(taken)))
    }

    fn extension(&mut self, kind: i8, length: usize, sink: &mut impl Sink) -> Result<()> {
        match kind {
            NPY | PT | NP | BIG_INT if !self.is_ours => Err(Error::unsupported(format!(
                "MessagePack extension type {kind} is not supported; if an early version of jinx wrote the file, \
                 read it with --markers (markers=True)"
            ))),
            NPY => self.blob(Payload::Npy, length, sink),
            PT => self.blob(Payload::Pt, length, sink),
            NP => self.blob(Payload::Np, length, sink),
            BIG_INT => {
                let digits = self.text(length)?;
                let plain = digits.strip_prefix('-').unwrap_or(digits);
                if plain.is_empty() || !plain.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(Error::corrupt("an invalid integer (extension type 4)"));
                }
                if plain.len() > MAX_INT_DIGITS {
                    return Err(Error::limit(format!("an integer of more than {MAX_INT_DIGITS} digits")));
                }
                match digits.parse() {
                    Ok(value) => sink.int(value),
                    // JSON does not allow leading zeros.
                    Err(_) if plain.starts_with('0') => {
                        Err(Error::corrupt("an integer (extension type 4) with leading zeros"))
                    }
                    Err(_) => sink.big_int(digits),
                }
            }
            TIMESTAMP => sink.str(&timestamp::text(self.take(length)?)?),
            kind => Err(Error::unsupported(format!("MessagePack extension type {kind} is not supported"))),
        }
    }
}

fn check_depth(depth: usize, max_depth: usize) -> Result<()> {
    if depth < max_depth {
        Ok(())
    } else {
        Err(Error::limit(format!("arrays and maps nested deeper than {MAX_DEPTH}")))
    }
}

fn misfit(tag: &str) -> Error {
    Error::corrupt(format!("a row that declares markers has an invalid {tag}"))
}

fn ends_early() -> Error {
    Error::truncated("the row ends inside a value")
}
