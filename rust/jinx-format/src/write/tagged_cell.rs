//! The cells of an indexed column of numbers, in the form in which a writer collects them.

use crate::read::column_view::{CellNumber, ColumnView};
use crate::write::columns::{BOOL, FLOAT, INT, MISSING, UINT};
use jinx_core::error::Result;

/// The tag and the bits of a cell.
///
/// # Errors
/// The errors of [`ColumnView::number`].
pub(super) fn tagged_cell(column: &ColumnView<'_>, row: u64) -> Result<(u8, u64)> {
    Ok(match column.number(row)? {
        None => (MISSING, 0),
        Some(CellNumber::Bool(value)) => (BOOL, value.into()),
        Some(CellNumber::Int(value)) => (INT, value.cast_unsigned()),
        Some(CellNumber::Uint(value)) => (if i64::try_from(value).is_ok() { INT } else { UINT }, value),
        Some(CellNumber::Float(value)) => (FLOAT, value.to_bits()),
    })
}
