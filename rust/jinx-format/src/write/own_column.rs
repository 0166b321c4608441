//! Writes a column that a view adds as typed arrays.

use crate::footer::{ArrayRef, ColumnInfo};
use crate::own_columns::{MAX_ENTRIES, cell_bytes, check_codes, check_width, check_zone, code_type};
use crate::read::columns::{ColumnKind, ColumnType};
use crate::write::columns::ArraySink;
use bytes::Bytes;
use jinx_core::checked_math::{to_u64, to_usize, u64_at};
use jinx_core::error::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// The number of bytes that are passed to the sidecar at a time.
const BLOCK_BYTES: usize = 1 << 20;

/// A view's own column that will be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnColumn {
    pub name: String,
    pub dtype: ColumnType,
    /// Numbers of each vector; `None` for single values.
    pub width: Option<u64>,
    /// For times that are instants: a time zone.
    pub zone: Option<String>,
    /// Little-endian cells, or the UTF-8 of all strings.
    pub data: Bytes,
    /// For strings: the start of each one and the end of the last, as little-endian u64 numbers.
    pub offsets: Option<Bytes>,
    /// For strings: which string each cell has, as integers of [`code_type`]; `None` if each cell has its own string.
    pub codes: Option<Bytes>,
    /// One bit per cell, lowest first, 1 = present; `None` if every cell has a value.
    pub validity: Option<Bytes>,
    /// Which cells are written, and in which order; `None` for all.
    pub order: Option<Arc<Vec<u64>>>,
}

impl OwnColumn {
    /// Checks that there is a cell for each of `samples`.
    ///
    /// # Errors
    /// `Invalid` if it does not, or is of a type that no reader accepts.
    pub(crate) fn check(&self, samples: u64) -> Result<()> {
        let invalid = |what: String| Error::invalid(what).in_column(&self.name);
        check_width(self.dtype, self.width).map_err(invalid)?;
        check_zone(self.dtype, self.zone.as_deref()).map_err(invalid)?;
        if self.rows() != samples {
            return Err(invalid(format!("{} values for {samples} samples", self.rows())));
        }
        if self.offsets.is_some() != (self.dtype == ColumnType::Utf8) {
            return Err(invalid("offsets belong to strings".to_owned()));
        }
        let Some(codes) = &self.codes else { return Ok(()) };
        if !(1..=MAX_ENTRIES).contains(&self.strings()) || self.offsets.is_none() {
            return Err(invalid(format!("codes for {} strings", self.strings())));
        }
        check_codes(codes, self.strings()).map_err(|error| invalid(error.what().to_owned()))
    }

    fn strings(&self) -> u64 {
        self.offsets.as_ref().map_or(0, |offsets| (to_u64(offsets.len()) / 8).saturating_sub(1))
    }

    /// The size in bytes of each cell's own data; for strings with codes, of the code; `None` for other strings.
    fn bytes_in_order(&self) -> Option<u64> {
        match self.codes {
            Some(_) => code_type(self.strings()).width(),
            None => cell_bytes(self.dtype, self.width),
        }
    }

    /// The total number of cells, regardless of the order.
    fn num_cells(&self) -> u64 {
        match self.bytes_in_order() {
            Some(cell) => to_u64(self.codes.as_ref().unwrap_or(&self.data).len()) / cell.max(1),
            None => self.strings(),
        }
    }

    fn rows(&self) -> u64 {
        self.order.as_ref().map_or_else(|| self.num_cells(), |order| to_u64(order.len()))
    }

    /// The size of a cell in bytes; for strings, of the offset or code.
    pub(crate) fn cell_bytes(&self) -> u64 {
        self.bytes_in_order().unwrap_or(8)
    }

    /// The column for some of the samples.
    ///
    /// # Errors
    /// `Invalid` for samples that it does not have.
    pub(crate) fn part(&self, samples: &Range<u64>) -> Result<Self> {
        let outside =
            || Error::invalid(format!("samples {samples:?} of {}", self.rows())).in_column(&self.name);
        let order = match &self.order {
            None if samples.end <= self.rows() => samples.clone().collect(),
            None => return Err(outside()),
            Some(order) => {
                let range = to_usize(samples.start, "a sample")?..to_usize(samples.end, "a sample")?;
                order.get(range).ok_or_else(outside)?.to_vec()
            }
        };
        Ok(Self { order: Some(Arc::new(order)), ..self.clone() })
    }

    fn is_valid(&self, cell: u64) -> bool {
        let Some(bits) = &self.validity else { return true };
        let byte = usize::try_from(cell / 8).ok().and_then(|at| bits.get(at));
        byte.is_some_and(|byte| byte >> (cell % 8) & 1 == 1)
    }

    /// The bytes of a cell with a value; empty for a cell without one.
    fn cell(&self, cell: u64, bytes: u64) -> Result<&[u8]> {
        if !self.is_valid(cell) {
            return Ok(&[]);
        }
        let range = match (&self.offsets, &self.codes) {
            (Some(offsets), None) => {
                let bound = |at: u64| u64_at(offsets, usize::try_from(at.checked_mul(8)?).ok()?);
                bound(cell).zip(cell.checked_add(1).and_then(bound))
            }
            _ => cell.checked_mul(bytes).and_then(|start| Some((start, start.checked_add(bytes)?))),
        };
        let range =
            range.and_then(|(start, end)| Some(usize::try_from(start).ok()?..usize::try_from(end).ok()?));
        let past = || Error::invalid(format!("there is no value {cell}")).in_column(&self.name);
        range.and_then(|range| self.codes.as_ref().unwrap_or(&self.data).get(range)).ok_or_else(past)
    }

    fn cells(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        match &self.order {
            None => Box::new(0..self.rows()),
            Some(order) => Box::new(order.iter().copied()),
        }
    }

    /// Stores the arrays; returns the entry for the footer.
    pub(crate) fn put(&self, out: &mut impl ArraySink) -> Result<ColumnInfo> {
        let rows = self.rows();
        let mut bits = vec![0u8; to_usize(rows.div_ceil(8), "the validity of a column")?];
        let mut nulls = 0;
        for (i, cell) in self.cells().enumerate() {
            match self.is_valid(cell) {
                true => bits[i / 8] |= 1 << (i % 8),
                false => nulls += 1,
            }
        }
        let validity = match nulls {
            0 => None,
            _ => Some(out.put_array(to_u64(bits.len()), &mut |write| write(&bits))?),
        };
        let (data, offsets, codes) = match (self.bytes_in_order(), &self.offsets) {
            (Some(bytes), Some(offsets)) => {
                let (data, offsets) = (put_bytes(&self.data, out)?, put_bytes(offsets, out)?);
                (data, Some(offsets), Some(self.put_cells(rows, bytes, nulls == 0, out)?))
            }
            (Some(bytes), None) => (self.put_cells(rows, bytes, nulls == 0, out)?, None, None),
            (None, _) => {
                let (data, offsets) = self.put_strings(out)?;
                (data, offsets, None)
            }
        };
        Ok(ColumnInfo {
            path: vec![Some(self.name.clone())],
            kind: ColumnKind::Value.name().to_owned(),
            dtype: self.dtype.name().to_owned(),
            rows,
            width: self.width,
            nulls: (nulls > 0).then_some(nulls),
            zone: self.zone.clone(),
            entries: codes.as_ref().map(|_| self.strings()),
            validity,
            offsets,
            codes,
            data,
        })
    }

    fn put_cells(&self, rows: u64, bytes: u64, is_full: bool, out: &mut impl ArraySink) -> Result<ArrayRef> {
        let length = rows.checked_mul(bytes).ok_or_else(|| Error::invalid("a column beyond 64 bits"))?;
        if self.order.is_none() && is_full {
            return put_bytes(self.codes.as_ref().unwrap_or(&self.data), out);
        }
        let zeros = vec![0u8; to_usize(bytes, "a vector")?];
        out.put_array(length, &mut |write| {
            let mut block = Vec::with_capacity(BLOCK_BYTES);
            for cell in self.cells() {
                let found = self.cell(cell, bytes)?;
                block.extend_from_slice(if found.is_empty() { &zeros } else { found });
                if block.len() >= BLOCK_BYTES {
                    write(&block)?;
                    block.clear();
                }
            }
            write(&block)
        })
    }

    fn put_strings(&self, out: &mut impl ArraySink) -> Result<(ArrayRef, Option<ArrayRef>)> {
        let (mut text, mut offsets) = (Vec::new(), vec![0u8; 8]);
        for cell in self.cells() {
            text.extend_from_slice(self.cell(cell, 0)?);
            offsets.extend_from_slice(&to_u64(text.len()).to_le_bytes());
        }
        Ok((put_bytes(&text, out)?, Some(put_bytes(&offsets, out)?)))
    }
}

fn put_bytes(bytes: &[u8], out: &mut impl ArraySink) -> Result<ArrayRef> {
    out.put_array(to_u64(bytes.len()), &mut |write| bytes.chunks(BLOCK_BYTES).try_for_each(&mut *write))
}
