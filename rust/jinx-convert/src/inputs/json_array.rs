//! Rows of a file that is one JSON array of objects, such as LLaVA's `llava_665k.json`: split on the reading thread
//! without reading the whole file, and parsed on the workers.

use crate::inputs::Input;
use crate::inputs::json_lines::{JsonChunk, JsonLines, Numbers};
use crate::{RowChunk, RowSource};
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use jinx_core::limits::MAX_ROW_BYTES;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

const CHUNK_BYTES: usize = 1 << 20;

/// Rows of JSON text: one array of objects if its first character is `[`, otherwise JSON Lines. With `markers`, every
/// row holds markers, even if it does not declare them.
///
/// # Errors
/// Errors of reading the first bytes.
pub fn json_rows(mut input: Input, markers: bool) -> Result<Box<dyn RowSource>> {
    let name = input.name().to_owned();
    let first = input.first_sign().map_err(|error| Error::io(&name, &error))?;
    Ok(match first {
        Some(b'[') => Box::new(JsonArray { markers, ..JsonArray::new(input) }),
        _ => Box::new(JsonLines::new(input).markers(markers)),
    })
}

/// The elements of one JSON array.
pub struct JsonArray {
    input: Input,
    name: Arc<Path>,
    cutter: ArrayCutter,
    /// Bytes that were read but not returned yet.
    text: Vec<u8>,
    elements: u64,
    at_end: bool,
    markers: bool,
}

impl JsonArray {
    pub fn new(input: Input) -> Self {
        let name = Arc::from(input.name());
        Self {
            input,
            name,
            cutter: ArrayCutter::default(),
            text: Vec::new(),
            elements: 0,
            at_end: false,
            markers: false,
        }
    }

    /// Complete elements, about a chunk of them; `None` at the end.
    fn next_elements(&mut self) -> Result<Option<JsonChunk>> {
        let mut elements = Vec::new();
        while elements.is_empty() && !self.at_end {
            let got = (&mut self.input).take(to_u64(CHUNK_BYTES)).read_to_end(&mut self.text)?;
            self.at_end = got < CHUNK_BYTES;
            self.cutter.cut(&self.text, &mut elements)?;
            if self.at_end {
                self.cutter.finish()?;
            }
            if elements.is_empty() && to_u64(self.text.len()) > MAX_ROW_BYTES {
                let what = format!("an element of more than {MAX_ROW_BYTES} bytes");
                return Err(Error::limit(what).in_sample(self.elements));
            }
        }
        if elements.is_empty() {
            return Ok(None);
        }
        let rest = self.cutter.keep(self.text.len());
        let rest = self.text.split_off(rest);
        let text = std::mem::replace(&mut self.text, rest);
        let number = |(i, range): (usize, Range<usize>)| (range, self.elements + to_u64(i));
        let rows: Vec<_> = elements.into_iter().enumerate().map(number).collect();
        self.elements += to_u64(rows.len());
        let (name, markers) = (Arc::clone(&self.name), self.markers);
        Ok(Some(JsonChunk { text, rows, name, numbers: Numbers::Elements, markers }))
    }
}

impl RowSource for JsonArray {
    fn next_chunk(&mut self) -> Result<Option<Box<dyn RowChunk>>> {
        let chunk = self.next_elements().map_err(|error| error.in_file(&self.name))?;
        Ok(chunk.map(|chunk| -> Box<dyn RowChunk> { Box::new(chunk) }))
    }

    fn bytes_read(&self) -> u64 {
        self.input.bytes_read()
    }

    fn total_bytes(&self) -> Option<u64> {
        self.input.total_bytes()
    }
}

/// Finds where elements begin and end, without parsing them.
#[derive(Default)]
struct ArrayCutter {
    state: Position,
    /// The number of bytes of the text that were scanned.
    at: usize,
    /// The number of bytes before the text, for messages.
    before: u64,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Position {
    /// Before the `[`.
    #[default]
    Start,
    /// Before an element, which must follow after a comma.
    Between {
        comma: bool,
    },
    Element {
        start: usize,
        depth: usize,
        string: bool,
        escaped: bool,
    },
    /// After an element: a comma or the end follows.
    End,
}

impl ArrayCutter {
    fn cut(&mut self, text: &[u8], elements: &mut Vec<Range<usize>>) -> Result<()> {
        while let Some(&byte) = text.get(self.at) {
            self.state = self.step(byte, elements)?;
            self.at += 1;
        }
        Ok(())
    }

    fn step(&mut self, byte: u8, elements: &mut Vec<Range<usize>>) -> Result<Position> {
        let is_space = byte.is_ascii_whitespace();
        Ok(match (self.state, byte) {
            (Position::Start, b'[') => Position::Between { comma: false },
            // A byte-order mark; the text is known to begin with `[`.
            (Position::Start, _) => Position::Start,
            (Position::Between { comma: false }, b']') => Position::End,
            (Position::Between { .. }, b',' | b']' | b'}') => {
                return Err(self.unexpected(byte, "where an element should begin"));
            }
            (Position::Between { comma }, _) if is_space => Position::Between { comma },
            (Position::Between { .. }, _) => self.element(byte, self.at, 0, elements)?,
            (Position::Element { start, depth, string: true, escaped }, _) => {
                let string = escaped || byte != b'"';
                Position::Element { start, depth, string, escaped: !escaped && byte == b'\\' }
            }
            (Position::Element { start, depth, .. }, _) => self.element(byte, start, depth, elements)?,
            (Position::End, _) if is_space => Position::End,
            (Position::End, _) => return Err(self.unexpected(byte, "after the end of the array")),
        })
    }

    /// Processes one byte outside of strings.
    fn element(
        &self,
        byte: u8,
        start: usize,
        depth: usize,
        elements: &mut Vec<Range<usize>>,
    ) -> Result<Position> {
        let inside = |depth, string| Position::Element { start, depth, string, escaped: false };
        Ok(match byte {
            b'"' => inside(depth, true),
            b'{' | b'[' => inside(depth + 1, false),
            b',' | b']' if depth == 0 => {
                elements.push(start..self.at);
                if byte == b',' { Position::Between { comma: true } } else { Position::End }
            }
            b'}' | b']' => match depth.checked_sub(1) {
                Some(depth) => inside(depth, false),
                None => return Err(self.unexpected(byte, "outside of an object")),
            },
            _ => inside(depth, false),
        })
    }

    fn unexpected(&self, byte: u8, place: &str) -> Error {
        let what = format!("not a JSON array: '{}' {place}", char::from(byte).escape_default());
        Error::corrupt(what).at_byte(self.before + to_u64(self.at))
    }

    /// The position from which the text is still needed; afterwards, positions count from there.
    fn keep(&mut self, end: usize) -> usize {
        let from = match &mut self.state {
            Position::Element { start, .. } => std::mem::take(start),
            _ => end,
        };
        self.at -= from;
        self.before += to_u64(from);
        from
    }

    fn finish(&self) -> Result<()> {
        match self.state {
            Position::End => Ok(()),
            _ => Err(Error::truncated("the JSON array does not end with ']': the file is incomplete")),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use jinx_core::value::TreeBuilder;
    use std::io::Cursor;

    fn rows(text: &str) -> Result<Vec<String>> {
        let input = Input::new(Cursor::new(text.to_owned().into_bytes()), Path::new("a.json"), None)?;
        let mut source = json_rows(input, false)?;
        let mut texts = Vec::new();
        while let Some(chunk) = source.next_chunk()? {
            for i in 0..chunk.len() {
                let mut tree = TreeBuilder::default();
                chunk.emit(i, &mut tree)?;
                texts.push(format!("{:?}", tree.take()?));
            }
        }
        Ok(texts)
    }

    #[test]
    fn elements_are_rows() {
        let tricky = r#" [ {"a": "x]},\"[{"} ,{"b":[{"c":[]},2]},
            {} ] "#;
        let texts = rows(tricky).unwrap();
        assert_eq!(texts.len(), 3);
        assert!(texts[0].contains(r#"x]},\"[{"#) && texts[1].contains("Int(2)"));
        assert_eq!(rows("\u{feff}[]").unwrap(), Vec::<String>::new());
        assert_eq!(rows("{\"a\":1}\n[]\n").unwrap_err().line(), Some(2));
    }

    #[test]
    fn rows_longer_than_a_chunk_come_whole() {
        let long = "y".repeat(3 * CHUNK_BYTES + 17);
        let text = format!("[{}]", vec![format!("{{\"t\":\"{long}\"}}"); 3].join(","));
        assert_eq!(rows(&text).unwrap().len(), 3);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let text = |json: &str| rows(json).unwrap_err().to_string();
        assert_eq!(
            text(r#"[{"a":1}"#),
            "a.json: the JSON array does not end with ']': the file is incomplete"
        );
        assert!(text("[{},]").contains("byte 4: not a JSON array: ']' where an element should begin"));
        assert!(text("[{}] x").contains("'x' after the end"));
        assert!(text("[{},3]").contains("sample 1: an element that is not a JSON object"));
        assert!(text("[{},{\"a\":}]").contains("sample 1"));
    }
}
