//! Reading ahead: threads read values into their final objects while the calling thread builds the rest.
//!
//! Three callers use this module. `take` and `Batches` are given the next samples; an iterator predicts the columns
//! from those used in its last samples. Each task of a thread is a [`work::Work`]: it reads one long value
//! ([`value::PendingValue`]) or decompresses a sample that is compressed as one piece (`mds::prefetch`).
//!
//! Two kinds of reads do not use this module. For MDS shards that are compressed as files, one thread decodes the whole
//! file (`jinx_mds::read::decode_ahead`). Columns that are measured row by row create objects only after all is read.

pub mod iteration;
pub mod value;
pub mod work;
