//! A row's text and where its fields lie in it: read once, scanned as far as needed.

use jinx_core::jinx::decode::unescape;
use jinx_core::jinx::key::{Chain, Rules};
use jinx_core::jinx::scan::{Members, Span};
use jinx_core::jinx::shard::Shard;
use jinx_core::jinx::unique::Unique;
use jinx_core::{Error, Result};
use std::borrow::Cow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Names are compared one by one up to this many fields, and hashed beyond.
const FEW_FIELDS: usize = 32;

/// One field: its name's and its value's place in the line.
#[derive(Debug)]
pub struct Field {
    name: Name,
    pub chain: Option<Chain>,
    value: (u32, u32),
    elements: u32,
}

#[derive(Debug)]
enum Name {
    /// As it stands in the line.
    Plain(u32, u32),
    /// With its escapes resolved.
    Owned(Box<str>),
}

#[derive(Debug)]
pub struct Row {
    pub line: Vec<u8>,
    fields: OnceLock<Box<[Field]>>,
    touched: AtomicBool,
}

/// A field found in a row.
#[derive(Debug, Clone, Copy)]
pub struct Found<'r> {
    pub chain: Option<Chain>,
    pub text: &'r [u8],
    /// Where the text begins in its line, which tells the fields of a row apart.
    pub start: u32,
    /// Elements or members of a list or dict, counted when it was found.
    pub elements: u32,
}

impl Row {
    pub fn new(line: Vec<u8>) -> Self {
        Self { line, fields: OnceLock::new(), touched: AtomicBool::new(false) }
    }

    /// All fields in order, scanned at the first call.
    pub fn fields(&self, shard: &Shard) -> Result<&[Field]> {
        if let Some(fields) = self.fields.get() {
            return Ok(fields);
        }
        let fields = scan_all(shard, &self.line)?;
        Ok(self.fields.get_or_init(|| fields))
    }

    /// Looks a field up. The first look-up stops at the field, the second scans the whole row once for all.
    pub fn find(&self, shard: &Shard, name: &str) -> Result<Option<Found<'_>>> {
        // Of two equal names the last one holds in old files, which only a whole scan tells.
        let stops_early = shard.rules() == Rules::V1_1;
        if self.fields.get().is_none() && stops_early && !self.touched.swap(true, Ordering::Relaxed) {
            return self.find_first(shard, name);
        }
        let field = self.fields(shard)?.iter().find(|field| field.raw_name(&self.line) == name.as_bytes());
        Ok(field.map(|field| self.found(field)))
    }

    pub fn name<'r>(&'r self, field: &'r Field) -> &'r str {
        // The scan has seen that the name is UTF-8.
        std::str::from_utf8(field.raw_name(&self.line)).unwrap_or_default()
    }

    pub fn found(&self, field: &Field) -> Found<'_> {
        Found { chain: field.chain, text: self.text(field), start: field.value.0, elements: field.elements }
    }

    fn text(&self, field: &Field) -> &[u8] {
        &self.line[field.value.0 as usize..field.value.1 as usize]
    }

    fn find_first(&self, shard: &Shard, name: &str) -> Result<Option<Found<'_>>> {
        let mut members = Members::new(&self.line);
        while let Some(span) = members.next_member()? {
            let raw = &self.line[span.key_range()];
            // A physical key begins with its name, unless something is escaped.
            if !raw.starts_with(name.as_bytes()) && !raw.contains(&b'\\') {
                continue;
            }
            let text = &self.line[span.value_range()];
            let (found, chain) = split(shard, raw, text)?;
            if found == name {
                return Ok(Some(Found { chain, text, start: span.value.0, elements: span.elements }));
            }
        }
        Ok(None)
    }
}

fn split<'r>(shard: &Shard, raw: &'r [u8], text: &[u8]) -> Result<(Cow<'r, str>, Option<Chain>)> {
    shard.split_key(unescape(raw)?, text)
}

impl Field {
    fn raw_name<'r>(&'r self, line: &'r [u8]) -> &'r [u8] {
        match &self.name {
            Name::Plain(start, end) => &line[*start as usize..*end as usize],
            Name::Owned(name) => name.as_bytes(),
        }
    }
}

fn scan_all(shard: &Shard, line: &[u8]) -> Result<Box<[Field]>> {
    let mut members = Members::new(line);
    let mut fields: Vec<Field> = Vec::with_capacity(8);
    let mut unique = Unique::default();
    while let Some(Span { key, value, elements }) = members.next_member()? {
        let raw = &line[key.0 as usize..key.1 as usize];
        let (name, chain) = split(shard, raw, &line[value.0 as usize..value.1 as usize])?;
        // A name without escapes is the beginning of its key.
        let place = match (&name, u32::try_from(name.len())) {
            (Cow::Borrowed(_), Ok(length)) => Name::Plain(key.0, key.0 + length),
            _ => Name::Owned(name.as_ref().into()),
        };
        let field = Field { name: place, chain, value, elements };
        let twice = if fields.len() < FEW_FIELDS {
            fields.iter().position(|other| other.raw_name(line) == name.as_bytes())
        } else {
            if fields.len() == FEW_FIELDS {
                for other in &fields {
                    unique.insert(std::str::from_utf8(other.raw_name(line)).unwrap_or_default());
                }
            }
            unique.insert(&name)
        };
        match twice {
            None => fields.push(field),
            Some(_) if shard.rules() == Rules::V1_1 => {
                return Err(Error::corrupt("the name stands twice in one row").in_field(&name));
            }
            Some(at) => fields[at] = field,
        }
    }
    Ok(fields.into_boxed_slice())
}
