//! Every cap on untrusted input, with its reason. No other module decides how much is too much.

/// Bytes at the end of a file that are searched for the footer offset: its digits, and blanks added by other programs.
pub const MAX_TRAILER_BYTES: usize = 1024;
/// A footer without an inline index; with one (1.0 files) the file's own size is the bound.
pub const MAX_FOOTER_BYTES: u64 = 64 << 20;
/// Column names and `meta` in a footer that we write: the rest is for the small arrays of 256 columns.
pub const MAX_NAMED_BYTES: u64 = MAX_FOOTER_BYTES / 2;
/// An array inside the footer may be larger than [`MAX_FOOTER_BYTES`] if it is at most this many times the file's
/// size: 8 bytes for each row, and no row has less than 3.
pub const MAX_INLINE_RATIO: u64 = 3;
/// One line of a dataset: rows are text and small arrays, media belong in the sidecar.
pub const MAX_ROW_BYTES: u64 = 256 << 20;
/// One decoded value, by default; a caller may raise it.
pub const MAX_VALUE_BYTES: u64 = 2 << 30;
/// Nesting of lists and objects; JINX 1.0 round-trips 254.
pub const MAX_DEPTH: usize = 256;
/// Lists and dicts inside each other in a column of a table: readers of Arrow schemas stop above it.
pub const MAX_TABLE_DEPTH: usize = 60;
/// Levels of a Parquet schema, with its root and the values themselves: readers of pyarrow stop above it.
pub const MAX_PARQUET_LEVELS: usize = 100;
/// Digits of one integer, as CPython's own `int()` default.
pub const MAX_INT_DIGITS: usize = 4300;
/// Codecs in one suffix chain: only nested decompression bombs need more.
pub const MAX_CHAIN_CODECS: usize = 3;
/// zstd window, as log2: what `zstd --long=27` needs, 128 MiB.
pub const MAX_ZSTD_WINDOW_LOG: u32 = 27;
/// Memory of one xz decoder: four times what `xz -9` files need.
pub const MAX_LZMA_MEMORY_BYTES: u64 = 256 << 20;
/// Initial size of a decode buffer, regardless of what a header declares. It grows as bytes arrive.
pub const FIRST_RESERVATION_BYTES: u64 = 16 << 20;
/// A file name found inside a file.
pub const MAX_NAME_BYTES: usize = 255;
/// The length of a path found inside a file: the maximum that Linux takes in one call.
pub const MAX_PATH_BYTES: usize = 4096;
/// A manifest: 10,000 shards take about 2 MiB.
pub const MAX_MANIFEST_BYTES: u64 = 256 << 20;
/// Shards that a writer starts in one directory; the last shard takes the rest.
pub const MAX_SHARDS: usize = 300_000;
/// A filter expression: room for a list of a hundred thousand ids.
pub const MAX_EXPRESSION_BYTES: usize = 4 << 20;
/// Parentheses, operators and functions inside each other in an expression: evaluating it takes stack for each.
pub const MAX_EXPRESSION_DEPTH: usize = 64;
/// Numbers of one vector in an own column of a view: a hundred times those of usual embeddings.
pub const MAX_VECTOR_NUMBERS: u64 = 1 << 20;
/// The number of rows of a file with its index in the footer, where the index is one decoded value.
pub const MAX_INLINE_ROWS: u64 = MAX_VALUE_BYTES / 8 - 1;

/// The caps a caller may change, per dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub max_value_bytes: u64,
    pub max_row_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_value_bytes: MAX_VALUE_BYTES, max_row_bytes: MAX_ROW_BYTES }
    }
}
