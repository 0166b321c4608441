//! Packs samples into sequences under budgets, in a seeded order that needs no stored array.
//!
//! ```text
//! sizes, budgets, seed, epoch -> permutation -> windows -> packs (offsets, positions), in shuffled order
//! ```
//!
//! A plan depends only on its [`Request`], not on the number of threads or the platform.
//! This crate uses no files and no Python.

mod best_fit;
mod bitset;
mod classes;
mod complement_fill;
mod draws;
mod exact_finish;
mod first_fit;
mod lengths;
mod next_fit;
mod open_packs;
mod permutation;
mod plan;
mod request;
mod run;
mod shares;
mod window;

pub use draws::Source;
pub use permutation::{Permutation, Stream, permutation};
pub use plan::{Plan, pack};
pub use request::{Oversize, Request, Strategy};
pub use run::LeftOut;

/// The version of the plans. It changes whenever the same request gives another plan.
pub const VERSION: u32 = 2;
