//! Writes the samples of a dataset in another order, shuffled or sorted, within bounded memory.
//!
//! ```text
//! keys ──▶ Sorter ─┐                   ┌─ one pass:   out[j] = in[order(j)]
//!                  ├─▶ Order ─▶ Passes ┤
//! seed ────────────┘                   └─ two passes: in ─▶ runs of neighbours in the output ─▶ out
//! ```
//! Samples are copied in their stored form. The output depends neither on the number of passes nor on that of threads.

mod column_keys;
mod key_bytes;
mod merge;
mod number_sort;
mod order;
mod passes;
mod permutation;
mod position_list;
mod random_reads;
mod records;
mod rewrite;
mod rewrite_by_region;
mod scatter;
mod sort;

pub use column_keys::key_at;
pub use key_bytes::{Direction, KeyBytes, KeyValue};
pub use order::Order;
pub use passes::{Passes, SidecarValues};
pub use permutation::Permutation;
pub use rewrite::{Rewrite, Samples, rewrite};
pub use sort::{Sorted, Sorter};
