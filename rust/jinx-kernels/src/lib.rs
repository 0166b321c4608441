//! What operators do to whole columns of texts: counting, cleaning, hashing, finding near-duplicates.
//!
//! Pure functions over string slices, on several threads where there is enough to do. They know no Arrow, no Python and
//! no files.

pub mod characters;
pub mod clusters;
pub mod contacts;
pub mod hash;
pub mod language_model;
pub mod lexicon;
pub mod lines;
pub mod links;
pub mod minhash;
pub mod ngrams;
pub mod patterns;
pub mod repetition;
pub mod rows;
pub mod simhash;
pub mod train;
pub mod translate;
pub mod trie;
pub mod words;
