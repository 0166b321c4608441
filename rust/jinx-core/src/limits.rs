//! All limits on untrusted input, with their reasons. No other module decides how much is too much.

/// The number of bytes at the end of a file that are searched for the footer offset: its digits, and blanks added by
/// other programs.
pub const MAX_TRAILER_BYTES: usize = 1024;
/// The maximum size of a footer without an inline index; with one (1.0 files), the file's own size is the limit.
pub const MAX_FOOTER_BYTES: u64 = 64 << 20;
/// The maximum size of column names and `meta` in a footer that we write; the rest is for the small arrays of 256
/// columns.
pub const MAX_NAMED_BYTES: u64 = MAX_FOOTER_BYTES / 2;
/// An array inside the footer may be larger than [`MAX_FOOTER_BYTES`] if it is at most this many times the file's size:
/// it has 8 bytes for each row, and no row has fewer than 3.
pub const MAX_INLINE_RATIO: u64 = 3;
/// The maximum size of one line of a dataset: rows are text and small arrays; media belong in the sidecar.
pub const MAX_ROW_BYTES: u64 = 256 << 20;
/// The default limit for one decoded value, which a caller may raise.
pub const MAX_VALUE_BYTES: u64 = 2 << 30;
/// The maximum nesting of lists and objects; JINX 1.0 round-trips 254 levels.
pub const MAX_DEPTH: usize = 256;
/// The maximum nesting of lists and dicts in a column of a table: readers of Arrow schemas fail above it.
pub const MAX_TABLE_DEPTH: usize = 60;
/// The maximum number of levels in a Parquet schema, including its root and the values: pyarrow's reader fails above
/// it.
pub const MAX_PARQUET_LEVELS: usize = 100;
/// The maximum number of digits of an integer, as in CPython's `int()` by default.
pub const MAX_INT_DIGITS: usize = 4300;
/// The maximum number of codecs in one suffix chain: only nested decompression bombs need more.
pub const MAX_CHAIN_CODECS: usize = 3;
/// The maximum zstd window, as log2: what `zstd --long=27` needs, 128 MiB.
pub const MAX_ZSTD_WINDOW_LOG: u32 = 27;
/// The maximum memory of one xz decoder: four times what `xz -9` files need.
pub const MAX_LZMA_MEMORY_BYTES: u64 = 256 << 20;
/// The initial size of a decode buffer, whatever a header declares. It grows as bytes arrive.
pub const FIRST_RESERVATION_BYTES: u64 = 16 << 20;
/// The maximum length of a file name found inside a file.
pub const MAX_NAME_BYTES: usize = 255;
/// The maximum length of a path found inside a file: what Linux accepts in one call.
pub const MAX_PATH_BYTES: usize = 4096;
/// The maximum size of a manifest: 10,000 shards take about 2 MiB.
pub const MAX_MANIFEST_BYTES: u64 = 256 << 20;
/// The maximum number of shards that a writer starts in one directory; the last shard takes the rest.
pub const MAX_SHARDS: usize = 300_000;
/// The maximum length of a filter expression: enough for a list of a hundred thousand ids.
pub const MAX_EXPRESSION_BYTES: usize = 4 << 20;
/// The maximum nesting of parentheses, operators and functions in an expression: evaluating each level takes stack
/// space.
pub const MAX_EXPRESSION_DEPTH: usize = 64;
/// The maximum number of elements of a vector in a column that a view adds: a hundred times those of usual embeddings.
pub const MAX_VECTOR_NUMBERS: u64 = 1 << 20;
/// The maximum number of rows of a file with its index in the footer, where the index is one decoded value.
pub const MAX_INLINE_ROWS: u64 = MAX_VALUE_BYTES / 8 - 1;

/// The limits that a caller may change, per dataset.
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
