//! Plain JSON Lines as a dataset: scanning for newlines makes the index.

use crate::fields::FieldNode;
use crate::file_kind::{FileKind, sniff_source};
use crate::footer::Footer;
use crate::index::Array;
use crate::key::FormatVersion;
use crate::ordered_blocks::in_order;
use crate::read::shard::{OpenOptions, Shard};
use jinx_core::checked_math::{to_u64, to_usize, u64_at};
use jinx_core::error::{Error, Result};
use jinx_core::io::{Access, Source};
use std::path::Path;

/// The number of bytes that a thread scans at once.
const BLOCK_BYTES: u64 = 4 << 20;
/// The number of bytes that a thread reads at once, into the processor's caches.
const READ_BYTES: u64 = 256 << 10;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Shard {
    /// Opens a file with one JSON object per line. Blank lines are skipped; names have no suffixes.
    ///
    /// # Errors
    /// `Unsupported` naming the command to run when the file is compressed or of another format.
    pub fn open_plain(path: &Path, options: &OpenOptions) -> Result<Self> {
        let main = options.source(path)?;
        match sniff_source(&main)? {
            FileKind::Jsonl | FileKind::Empty | FileKind::MdsIndex | FileKind::Jinx => {}
            // The file may begin with more blank lines than format detection examines.
            FileKind::Unknown if matches!(first_sign(&main)?, None | Some(b'{')) => {}
            FileKind::Unknown => {
                return Err(Error::corrupt("this is not JSON Lines: no '{' at its start").in_file(path));
            }
            kind => {
                let hint = kind.hint(path).map(|hint| format!("; {hint}")).unwrap_or_default();
                return Err(Error::unsupported(format!("this is {}{hint}", kind.name())).in_file(path));
            }
        }
        let end = main.len();
        let (index, rows) = match &options.line_offsets {
            Some(offsets) => known_offsets(offsets, end).map_err(|error| error.in_file(path))?,
            None => scan(&main, end)?,
        };
        let footer = Footer::bare(FormatVersion::Plain, rows);
        Ok(Self::from_parts(main, None, footer, end, Array::owned(index), FieldNode::default(), options))
    }

    /// Opens a main file or a JSON Lines file.
    ///
    /// # Errors
    /// The errors of [`Shard::open`] and [`Shard::open_plain`].
    pub fn open_any(path: &Path, options: &OpenOptions) -> Result<Self> {
        let is_jinx = path.extension().is_some_and(|ext| ext == "jinx");
        let source = Source::open_from(&options.base, path, Access::Pread)?;
        let kind = sniff_source(&source)?;
        drop(source);
        let plain_name = path.extension().is_some_and(|ext| ext == "jsonl" || ext == "ndjson");
        match kind {
            FileKind::Jsonl | FileKind::Compressed(_) if !is_jinx => Self::open_plain(path, options),
            FileKind::Empty | FileKind::Unknown if plain_name => Self::open_plain(path, options),
            _ => Self::open(path, options),
        }
    }
}

/// Line offsets from an earlier scan; they are checked again when they are used.
fn known_offsets(offsets: &[u8], end: u64) -> Result<(Vec<u8>, u64)> {
    let last = offsets.len().checked_sub(8).and_then(|at| u64_at(offsets, at));
    if !offsets.len().is_multiple_of(8) || last != Some(end) {
        return Err(Error::mismatch("the stored line offsets are of another file"));
    }
    Ok((offsets.to_vec(), to_u64(offsets.len() / 8 - 1)))
}

/// The first byte that is neither a blank nor part of the byte-order mark.
fn first_sign(main: &Source) -> Result<Option<u8>> {
    let mut at = 0;
    while at < main.len() {
        let block = main.slice(at, BLOCK_BYTES.min(main.len() - at))?;
        let text = if at == 0 { block.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&block) } else { &block };
        if let Some(sign) = text.iter().find(|byte| !byte.is_ascii_whitespace()) {
            return Ok(Some(*sign));
        }
        at += to_u64(block.len());
    }
    Ok(None)
}

/// The offsets of all lines in the first `total` bytes that are not blank, and `total`, as little-endian u64; and the
/// number of lines.
pub(crate) fn scan(main: &Source, total: u64) -> Result<(Vec<u8>, u64)> {
    let head = main.slice(0, total.min(3))?;
    let first = if *head == *BYTE_ORDER_MARK { to_u64(BYTE_ORDER_MARK.len()) } else { 0 };
    let mut starts = Vec::new();
    let mut line = Line { start: first, is_known: false };
    let blocks = to_usize((total - first).div_ceil(BLOCK_BYTES), "a file's size")?;
    in_order(
        blocks,
        |block| {
            let start = first + to_u64(block) * BLOCK_BYTES;
            LinesOfBlock::scan(main, start, total.min(start + BLOCK_BYTES))
        },
        |block| {
            if block.is_first_known && !line.is_known {
                starts.extend_from_slice(&line.start.to_le_bytes());
                line.is_known = true;
            }
            starts.extend_from_slice(&block.starts);
            line = block.last.unwrap_or(line);
            false
        },
    )?;
    let rows = to_u64(starts.len() / 8);
    starts.extend_from_slice(&total.to_le_bytes());
    Ok((starts, rows))
}

/// A line whose end was not reached yet.
#[derive(Debug, Clone, Copy)]
struct Line {
    start: u64,
    /// Whether the line is known not to be blank; its start was then recorded.
    is_known: bool,
}

/// The lines that begin in a block.
#[derive(Debug, Default)]
struct LinesOfBlock {
    /// Whether the line that begins before the block is not blank, according to its part in the block.
    is_first_known: bool,
    /// The starts of lines that are not blank, as little-endian u64.
    starts: Vec<u8>,
    /// The last line that begins here.
    last: Option<Line>,
}

impl LinesOfBlock {
    fn scan(main: &Source, start: u64, end: u64) -> Result<Self> {
        let mut lines_found = Self::default();
        let mut buffer = vec![0; to_usize(READ_BYTES.min(end - start), "a block's size")?];
        let mut at = start;
        while at < end {
            let length = to_usize(READ_BYTES.min(end - at), "a block's size")?;
            let text = &*main.read_at(at, (&mut buffer[..length]).into())?;
            let mut done = 0;
            for newline in memchr::memchr_iter(b'\n', text) {
                lines_found.see(&text[done..newline]);
                done = newline + 1;
                lines_found.last = Some(Line { start: at + to_u64(done), is_known: false });
            }
            lines_found.see(&text[done..]);
            at += to_u64(length);
        }
        Ok(lines_found)
    }

    /// Processes more bytes of the last line.
    #[inline]
    fn see(&mut self, text: &[u8]) {
        if text.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        match &mut self.last {
            None => self.is_first_known = true,
            Some(line) if !line.is_known => {
                self.starts.extend_from_slice(&line.start.to_le_bytes());
                line.is_known = true;
            }
            Some(_) => {}
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use jinx_core::Cause;
    use jinx_core::json::markers;
    use jinx_core::value::{TreeBuilder, Value};

    fn rows(bytes: &[u8]) -> Result<Vec<String>> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.jsonl");
        std::fs::write(&path, bytes).unwrap();
        let mut found = Vec::new();
        for access in [Access::Mmap, Access::Pread] {
            let access = if bytes.is_empty() { Access::Pread } else { access };
            let shard = Shard::open_any(&path, &OpenOptions { access, ..OpenOptions::default() })?;
            let lines: Result<Vec<_>> = (0..shard.len()).map(|i| shard.line(i)).collect();
            found.push(lines?.into_iter().map(|line| String::from_utf8(line).unwrap()).collect::<Vec<_>>());
        }
        assert_eq!(found[0], found[1]);
        Ok(found.remove(0))
    }

    #[test]
    fn lines_are_found_whatever_stands_around_them() {
        let expected = ["{\"a\":1}", "{\"b\":2}"];
        for text in [
            "{\"a\":1}\n{\"b\":2}\n",
            "{\"a\":1}\n{\"b\":2}",
            "{\"a\":1}\r\n\r\n \t\n{\"b\":2}\r\n\n\n",
            "\u{feff}{\"a\":1}\n{\"b\":2}\n",
            "\n\n{\"a\":1}\n{\"b\":2}\n",
        ] {
            assert_eq!(rows(text.as_bytes()).unwrap(), expected, "{text:?}");
        }
        for text in ["", "\n", &"\n \r\n".repeat(1000), "\u{feff}\n"] {
            assert!(rows(text.as_bytes()).unwrap().is_empty(), "{text:?}");
        }
        let late = format!("{}{{\"a\":1}}\n", "\n".repeat(1000));
        assert_eq!(rows(late.as_bytes()).unwrap(), ["{\"a\":1}"]);
        assert_eq!(rows(format!("{}x", "\n".repeat(1000)).as_bytes()).unwrap_err().cause(), Cause::Corrupt);
    }

    #[test]
    fn lines_may_cross_blocks() {
        let long = format!("{{\"a\":\"{}\"}}\n", "x".repeat(3 << 20));
        assert_eq!(rows(long.repeat(4).as_bytes()).unwrap().len(), 4);
    }

    #[test]
    fn lines_are_found_wherever_blocks_end() {
        let size = usize::try_from(READ_BYTES).unwrap();
        for shift in 0..6 {
            for (blanks, after) in [("\n", ""), ("\n \n\n", " "), ("\r\n", "\n \n")] {
                let mut text = String::new();
                let mut expected = Vec::new();
                for boundary in [size, 2 * size, usize::try_from(BLOCK_BYTES).unwrap()] {
                    let fill = boundary - text.len() - shift;
                    let line = format!("{{\"a\":\"{}\"}}", "x".repeat(fill.saturating_sub(8)));
                    expected.push(line.clone());
                    text.extend([&line, blanks]);
                    expected.push("{}".to_owned());
                    text.extend(["{}", after, "\n"]);
                }
                assert!(rows(text.as_bytes()).unwrap() == expected, "{shift} {blanks:?}");
            }
        }
        let blank = " ".repeat(2 * size + 1);
        let found = rows(format!("{{\"a\":1}}\n{blank}\n{blank}{{}}").as_bytes()).unwrap();
        assert_eq!(found, ["{\"a\":1}", &format!("{blank}{{}}")]);
    }

    #[test]
    fn names_are_taken_as_they_are() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.jsonl");
        std::fs::write(&path, "{\"photo.raw.zst\":\"AA==\",\"a\":{\"b.str\":\"x\"}}\n").unwrap();
        let shard = Shard::open_any(&path, &OpenOptions::default()).unwrap();
        let mut tree = TreeBuilder::default();
        shard.emit_row(0, &mut tree).unwrap();
        let row = tree.take().unwrap();
        assert_eq!(row.get("photo.raw.zst"), Some(&Value::Str("AA==".into())));
    }

    #[test]
    fn markers_count_in_rows_that_say_so() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.jsonl");
        let lines = [
            r#"{"a":{"$bytes":"AA=="}}"#,
            r#"{"$jinx":1,"a":[{"$bytes":"AA=="}],"b":{"$dict":{"$dict":2}}}"#,
            r#"{ "$jinx": 1, "$dict": {"$bytes": "AA==", "$jinx": 5} }"#,
            r#"{"$jinx":1,"$dict":{}}"#,
            r#"{"$jinx":1}"#,
        ];
        std::fs::write(&path, lines.join("\n")).unwrap();
        for markers in [false, true] {
            let options = OpenOptions { markers, ..OpenOptions::default() };
            let shard = Shard::open_any(&path, &options).unwrap();
            for (i, line) in (0..).zip(lines) {
                let (mut tree, mut expected) = (TreeBuilder::default(), TreeBuilder::default());
                shard.emit_row(i, &mut tree).unwrap();
                let rule = markers::Markers { always: markers, files: None };
                markers::emit_line(line.as_bytes(), rule, &mut expected).unwrap();
                assert_eq!(tree.take().unwrap(), expected.take().unwrap(), "{line}");
            }
        }
    }

    #[test]
    fn other_files_are_named_with_the_command_to_run() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.jsonl.gz");
        std::fs::write(&path, b"\x1f\x8b\x08\0\0\0\0\0").unwrap();
        let error = Shard::open_any(&path, &OpenOptions::default()).unwrap_err();
        assert_eq!(error.cause(), Cause::Unsupported);
        assert!(error.what().contains("run: jinx convert"), "{error}");
    }
}
