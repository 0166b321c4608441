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
mod budget_shares;
mod complement_fill;
mod exact_finish;
mod first_fit;
mod lengths;
mod mixture;
mod next_fit;
mod open_packs;
mod permutation;
mod plan;
mod request;
mod second_budget;
mod window;
mod windows_in_sequence;

pub use mixture::MixtureSource;
pub use permutation::{Permutation, Stream, permutation};
pub use plan::{Plan, pack};
pub use request::{Oversize, Request, Strategy};
pub use windows_in_sequence::LeftOut;

/// The version of the plans. It changes whenever the same request gives another plan.
pub const VERSION: u32 = 2;
