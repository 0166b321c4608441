//! Kernels for operators, on whole columns of texts: they count, clean and hash texts, and find near-duplicates.
//!
//! Kernels are pure functions over string slices. They use several threads if there is enough work. They do not use
//! Arrow, Python or files.

pub mod characters;
pub mod clusters;
pub mod emails_and_ips;
pub mod factors;
pub mod hash;
pub mod language_model;
pub mod language_model_training;
pub mod lines;
pub mod links;
pub mod listed_words;
pub mod minhash;
pub mod ngrams;
pub mod patterns;
pub mod per_text;
pub mod repetition;
pub mod simhash;
pub mod translate;
pub mod trie;
pub mod words;
