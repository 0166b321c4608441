//! Writes an own column of a view as typed arrays.

use crate::footer::{ArrayRef, ColumnInfo};
use crate::own_columns::{cell_bytes, check_width};
use crate::read::columns::{ColumnKind, ColumnType};
use crate::write::columns::ArraySink;
use bytes::Bytes;
use jinx_core::checked_math::{to_u64, to_usize, u64_at};
use jinx_core::error::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// Bytes that are passed to the sidecar at once.
const BLOCK_BYTES: usize = 1 << 20;

/// An own column that is about to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewColumn {
    pub name: String,
    pub dtype: ColumnType,
    /// Numbers of each vector; `None` for single values.
    pub width: Option<u64>,
    /// Little-endian cells, or the UTF-8 of all strings.
    pub data: Bytes,
    /// For strings: the start of each one and the end of the last, as little-endian u64.
    pub offsets: Option<Bytes>,
    /// One bit a cell, lowest first, 1 = present; `None` if every cell has a value.
    pub validity: Option<Bytes>,
    /// Which of the cells are written, in this order; `None`: all.
    pub order: Option<Arc<Vec<u64>>>,
}

impl NewColumn {
    /// Checks that it has a cell for each of `samples`.
    ///
    /// # Errors
    /// `Invalid` if it does not, or is of a type that no reader accepts.
    pub(crate) fn check(&self, samples: u64) -> Result<()> {
        let invalid = |what: String| Error::invalid(what).in_column(&self.name);
        check_width(self.dtype, self.width).map_err(invalid)?;
        if self.rows() != samples {
            return Err(invalid(format!("{} values for {samples} samples", self.rows())));
        }
        if self.offsets.is_some() != (self.dtype == ColumnType::Utf8) {
            return Err(invalid("offsets belong to strings".to_owned()));
        }
        Ok(())
    }

    fn rows(&self) -> u64 {
        let cells = match (&self.offsets, cell_bytes(self.dtype, self.width)) {
            (Some(offsets), _) => (to_u64(offsets.len()) / 8).saturating_sub(1),
            (None, Some(cell)) => to_u64(self.data.len()) / cell.max(1),
            (None, None) => 0,
        };
        self.order.as_ref().map_or(cells, |order| to_u64(order.len()))
    }

    /// Bytes of a cell; of strings, those of its offset.
    pub(crate) fn cell_bytes(&self) -> u64 {
        cell_bytes(self.dtype, self.width).unwrap_or(8)
    }

    /// The column of some of the samples.
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

    /// The bytes of a cell that has a value; nothing for one that has none.
    fn cell(&self, cell: u64, bytes: u64) -> Result<&[u8]> {
        if !self.is_valid(cell) {
            return Ok(&[]);
        }
        let range = match &self.offsets {
            Some(offsets) => {
                let bound = |at: u64| u64_at(offsets, usize::try_from(at.checked_mul(8)?).ok()?);
                bound(cell).zip(cell.checked_add(1).and_then(bound))
            }
            None => cell.checked_mul(bytes).and_then(|start| Some((start, start.checked_add(bytes)?))),
        };
        let range =
            range.and_then(|(start, end)| Some(usize::try_from(start).ok()?..usize::try_from(end).ok()?));
        let past = || Error::invalid(format!("there is no value {cell}")).in_column(&self.name);
        range.and_then(|range| self.data.get(range)).ok_or_else(past)
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
        let (data, offsets) = match cell_bytes(self.dtype, self.width) {
            Some(bytes) => (self.put_cells(rows, bytes, nulls == 0, out)?, None),
            None => self.put_strings(out)?,
        };
        Ok(ColumnInfo {
            path: vec![Some(self.name.clone())],
            kind: ColumnKind::Value.name().to_owned(),
            dtype: self.dtype.name().to_owned(),
            rows,
            width: self.width,
            nulls: (nulls > 0).then_some(nulls),
            validity,
            offsets,
            data,
        })
    }

    fn put_cells(&self, rows: u64, bytes: u64, is_full: bool, out: &mut impl ArraySink) -> Result<ArrayRef> {
        let length = rows.checked_mul(bytes).ok_or_else(|| Error::invalid("a column beyond 64 bits"))?;
        if self.order.is_none() && is_full {
            return out
                .put_array(length, &mut |write| self.data.chunks(BLOCK_BYTES).try_for_each(&mut *write));
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
        let mut put = |bytes: &[u8]| {
            out.put_array(to_u64(bytes.len()), &mut |write| {
                bytes.chunks(BLOCK_BYTES).try_for_each(&mut *write)
            })
        };
        Ok((put(&text)?, Some(put(&offsets)?)))
    }
}
