//! Looks at all samples of a dataset at once, as a viewer does: columns as codes of one byte with counts that depend on
//! each other, pages of any order, and words in strings.

mod counts;
mod numbers;
mod order;
mod packed_keys;
mod search;
mod selected;
mod sortable_cells;
mod stored;
mod texts;

pub use counts::{Counts, KeptCodes, kept_samples, linked_counts};
pub use numbers::Numbers;
pub use order::SortedPages;
pub use search::search;
pub use selected::Selected;
pub use texts::{Categories, categories};

/// The code of a missing value.
pub const MISSING: u8 = u8::MAX;
/// Codes of present values are smaller than this.
pub const MAX_CODES: usize = 250;
