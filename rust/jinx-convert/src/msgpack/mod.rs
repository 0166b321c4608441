//! MessagePack files: rows are maps, one after another.
//!
//! ```text
//! bin <-> bytes      ext -1 (timestamp) -> ISO 8601 text
//! ```
//! In rows that begin with `"$jinx": 1` (`spec/exports.md`):
//! ```text
//! ext 1 npy    ext 2 pt    ext 3 numpy scalar    ext 4 integer beyond 64 bits, ASCII digits
//! {"$bytes": bin, "path": str} a media value    {"$dict": map} a map whose first name would make it a marker
//! ```
//! Other extension types are refused by their number.

mod head;
mod read;
mod split;
mod timestamp;
mod write;

pub use read::emit;
pub use split::{Block, Rows};
pub use write::RowWriter;

const NPY: i8 = 1;
const PT: i8 = 2;
const NP: i8 = 3;
const BIG_INT: i8 = 4;
const TIMESTAMP: i8 = -1;
