//! Reading ahead: threads read values into their final objects while this one builds the rest.
//!
//! There is one mechanism, and three who use it: `take` and `Batches` know which samples come next, an iterator guesses
//! from what its last samples were asked for. What a thread does is a [`work::Work`]: reading one long value
//! ([`value::PendingValue`]), or decompressing a sample that is one piece (`mds::prefetch`). Two things stay out of it:
//! shards of MDS that are compressed as files, which one thread decodes from the first byte to the last
//! (`jinx_mds::read::prefetch`), and columns that are measured row by row, of which no object is made until all is read.

pub mod iteration;
pub mod touched;
pub mod value;
pub mod work;
