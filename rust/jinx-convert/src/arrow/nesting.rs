//! How deep the columns of a table may be nested, so that Arrow and Parquet readers can open the output.

use crate::arrow::infer::InferredType;
use arrow_schema::{DataType, Schema};
use jinx_core::error::{Error, Result};
use jinx_core::limits::{MAX_PARQUET_LEVELS, MAX_TABLE_DEPTH};

const TOO_DEEP: &str = "lists and dicts are nested too deep for a table";

/// The position of a value in its row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nesting {
    /// The number of lists and dicts around the value, including the row; 0 for the row itself.
    depth: usize,
    /// The number of levels of the Parquet schema down to the value.
    levels: usize,
}

impl Nesting {
    pub(crate) const ROW: Self = Self { depth: 0, levels: 1 };

    pub(crate) fn is_row(self) -> bool {
        self.depth == 0
    }

    pub(crate) fn in_dict(self) -> Self {
        self.below(1, 1)
    }

    /// A list is two levels of a Parquet schema.
    pub(crate) fn in_list(self) -> Self {
        self.below(1, 2)
    }

    fn below(self, depth: usize, levels: usize) -> Self {
        Self { depth: self.depth.saturating_add(depth), levels: self.levels.saturating_add(levels) }
    }

    /// Whether a column may contain a value of this kind here; values inside it have positions of their own.
    pub(crate) fn holds(self, kind: &InferredType) -> bool {
        match kind {
            InferredType::List(_) => self.in_list(),
            InferredType::Dict(_) | InferredType::Media => self.in_dict(),
            InferredType::Array(_, dimensions) => self.below(*dimensions, dimensions.saturating_mul(2)),
            _ => self,
        }
        .is_allowed()
    }

    fn holds_type(self, data_type: &DataType) -> bool {
        self.is_allowed()
            && match data_type {
                DataType::Struct(members) => {
                    members.iter().all(|member| self.in_dict().holds_type(member.data_type()))
                }
                DataType::List(item)
                | DataType::LargeList(item)
                | DataType::FixedSizeList(item, _)
                | DataType::ListView(item)
                | DataType::LargeListView(item) => self.in_list().holds_type(item.data_type()),
                // A map holds a struct of the key and the value.
                DataType::Map(entries, _) => self.in_dict().holds_type(entries.data_type()),
                DataType::RunEndEncoded(_, values) => self.in_dict().holds_type(values.data_type()),
                DataType::Dictionary(_, values) => self.holds_type(values),
                _ => true,
            }
    }

    fn is_allowed(self) -> bool {
        self.depth <= MAX_TABLE_DEPTH + 1 && self.levels <= MAX_PARQUET_LEVELS
    }
}

/// Refuses a schema that readers of Parquet files would reject.
///
/// # Errors
/// `Limit`, naming the column.
pub(crate) fn check_nesting(schema: &Schema) -> Result<()> {
    let deep = schema.fields().iter().find(|field| !Nesting::ROW.in_dict().holds_type(field.data_type()));
    deep.map_or(Ok(()), |field| Err(too_deep().in_column(field.name())))
}

/// The error for a kind that [`Nesting::holds`] refuses.
pub(crate) fn too_deep() -> Error {
    let lists = (MAX_PARQUET_LEVELS - 2) / 2;
    Error::limit(format!(
        "{TOO_DEEP}: readers of Parquet and Arrow take {lists} lists inside each other, or {MAX_TABLE_DEPTH} dicts; \
         flatten the column, write JINX or JSON lines, or keep the innermost values as JSON text: \
         jinx convert --mixed json, jinx.convert(..., mixed=\"json\")"
    ))
}

/// Adds the member of a value to an error; for a value nested too deep only the column, because the path would be too
/// long.
pub(crate) fn in_nested(error: Error, place: Nesting, name: &str) -> Error {
    if error.what().starts_with(TOO_DEEP) && !place.is_row() { error } else { error.in_column(name) }
}
