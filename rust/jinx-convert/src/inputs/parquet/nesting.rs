//! A first check of the Parquet footer: the parquet crate builds its schema recursively and reserves lists by their
//! claimed length, so a forged footer of a few kilobytes could end the process. Such footers are refused here.
//!
//! The footer is in Thrift's compact protocol (thrift-compact-protocol.md); only the members of the schema's
//! elements matter, everything else is skipped.

use jinx_core::error::{Error, Result};
use jinx_core::limits::MAX_DEPTH;

/// `FileMetaData.schema`: the tree in depth-first order.
const SCHEMA_FIELD: i64 = 2;
/// `SchemaElement.num_children`.
const CHILDREN_FIELD: i64 = 5;
/// The maximum nesting of structs and lists; the format itself needs about six levels.
const MAX_THRIFT_DEPTH: usize = 32;

const BYTE: u8 = 3;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;

/// # Errors
/// `Corrupt` for bytes that are not a Thrift struct, `Limit` for a schema nested too deep.
pub(crate) fn check_footer(footer: &[u8]) -> Result<()> {
    let mut reader = Compact { rest: footer };
    let mut last = 0;
    while let Some((field, kind)) = reader.field(&mut last)? {
        if field == SCHEMA_FIELD && kind == LIST {
            reader.schema()?;
        } else {
            reader.skip(kind, MAX_THRIFT_DEPTH)?;
        }
    }
    Ok(())
}

struct Compact<'a> {
    rest: &'a [u8],
}

fn broken() -> Error {
    Error::corrupt("the Parquet footer is damaged: it is not a Thrift struct")
}

impl Compact<'_> {
    fn byte(&mut self) -> Result<u8> {
        let (first, rest) = self.rest.split_first().ok_or_else(broken)?;
        self.rest = rest;
        Ok(*first)
    }

    fn advance(&mut self, count: u64) -> Result<()> {
        let count = usize::try_from(count).map_err(|_| broken())?;
        self.rest = self.rest.get(count..).ok_or_else(broken)?;
        Ok(())
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(broken())
    }

    fn zigzag(&mut self) -> Result<i64> {
        let raw = self.varint()?;
        let half = i64::try_from(raw >> 1).map_err(|_| broken())?;
        Ok(if raw & 1 == 0 { half } else { -half - 1 })
    }

    /// The next field's number and type; `None` at the end of the struct.
    fn field(&mut self, last: &mut i64) -> Result<Option<(i64, u8)>> {
        let header = self.byte()?;
        if header == 0 {
            return Ok(None);
        }
        *last = match header >> 4 {
            0 => self.zigzag()?,
            delta => last.saturating_add(delta.into()),
        };
        Ok(Some((*last, header & 0x0f)))
    }

    /// The length and element type of a list; each element needs at least one byte.
    fn list(&mut self) -> Result<(u64, u8)> {
        let header = self.byte()?;
        let length = match header >> 4 {
            15 => self.varint()?,
            length => length.into(),
        };
        match usize::try_from(length) {
            Ok(count) if count <= self.rest.len() => Ok((length, header & 0x0f)),
            _ => Err(broken()),
        }
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Result<()> {
        let depth = depth.checked_sub(1).ok_or_else(broken)?;
        match kind {
            // The type of a bool field contains its value.
            1 | 2 => Ok(()),
            BYTE => self.advance(1),
            4..=6 => self.varint().map(drop),
            DOUBLE => self.advance(8),
            BINARY => {
                let length = self.varint()?;
                self.advance(length)
            }
            LIST | SET => {
                let (length, kind) = self.list()?;
                (0..length).try_for_each(|_| self.skip_element(kind, depth))
            }
            MAP => {
                let length = self.varint()?;
                let kinds = if length == 0 { 0 } else { self.byte()? };
                (0..length).try_for_each(|_| {
                    self.skip_element(kinds >> 4, depth)?;
                    self.skip_element(kinds & 0x0f, depth)
                })
            }
            STRUCT => {
                let mut last = 0;
                while let Some((_, kind)) = self.field(&mut last)? {
                    self.skip(kind, depth)?;
                }
                Ok(())
            }
            _ => Err(broken()),
        }
    }

    /// Skips an element of a collection, in which a bool takes a byte.
    fn skip_element(&mut self, kind: u8, depth: usize) -> Result<()> {
        if matches!(kind, 1 | 2) { self.advance(1) } else { self.skip(kind, depth) }
    }

    fn schema(&mut self) -> Result<()> {
        let (length, kind) = self.list()?;
        if kind != STRUCT {
            return Err(broken());
        }
        // For each open group, the number of children still to come.
        let mut open: Vec<i64> = Vec::new();
        for _ in 0..length {
            let mut children = 0;
            let mut last = 0;
            while let Some((field, kind)) = self.field(&mut last)? {
                if field == CHILDREN_FIELD && matches!(kind, 4..=6) {
                    children = self.zigzag()?;
                } else {
                    self.skip(kind, MAX_THRIFT_DEPTH)?;
                }
            }
            while open.last().is_some_and(|left| *left == 0) {
                open.pop();
            }
            if let Some(left) = open.last_mut() {
                *left -= 1;
            }
            if children > 0 {
                open.push(children);
            }
            if open.len() > MAX_DEPTH {
                return Err(Error::limit(format!("the Parquet schema is nested deeper than {MAX_DEPTH}")));
            }
        }
        Ok(())
    }
}
