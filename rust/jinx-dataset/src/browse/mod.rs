//! Looks at all samples of a dataset at once, like a viewer: columns as codes of one byte, with counts that depend on
//! each other; pages in any order; and words in strings.

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
/// The codes of values that are not missing are below this.
pub const MAX_CODES: usize = 250;
