//! Makes the plan of an epoch: packs runs of windows on several threads, and shuffles the packs.

use crate::mixture::Draws;
use crate::permutation::{Permutation, Stream, permutation};
use crate::request::{Request, known_u32};
use crate::windows_in_sequence::{LeftOut, Packs, Runner, WINDOWS};
use jinx_core::Result;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::threads;

/// The samples of each pack: pack `i` has `positions[offsets[i]..offsets[i + 1]]`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Plan {
    pub offsets: Vec<u32>,
    pub positions: Vec<u32>,
    pub left_out: LeftOut,
}

/// Packs the samples of an epoch.
///
/// # Errors
/// The errors of [`Request::check`]; `Interrupted`.
pub fn pack(request: &Request) -> Result<Plan> {
    request.check()?;
    let draws = Draws::new(&request.sources, request.seed);
    let order = request.seed.map(|seed| permutation(draws.total(), seed, request.epoch, Stream::Samples));
    let request = Request { window: window_of(request, draws.total()), ..request.clone() };
    let runs = all_runs(&request, &draws, order.as_ref())?;
    in_order(&request, &runs)
}

/// The minimum number of windows. A window of nearly all samples would give nearly the same packs in each epoch.
const LEAST_WINDOWS: u64 = 8;
/// The minimum size of a window: with fewer samples, packs are less full.
const LEAST_WINDOW: u64 = 512;

/// The window of a plan: the requested size, or an eighth of the samples if these are few.
fn window_of(request: &Request, total: u64) -> usize {
    let fair = usize::try_from((total / LEAST_WINDOWS).max(LEAST_WINDOW)).unwrap_or(usize::MAX);
    if request.seed.is_some() { request.window.min(fair) } else { request.window }
}

fn all_runs(request: &Request, draws: &Draws, order: Option<&Permutation>) -> Result<Vec<Packs>> {
    let per_run = to_u64(request.window).saturating_mul(WINDOWS);
    let count = draws.total().div_ceil(per_run);
    let threads = to_usize(request.threads(count), "a number of threads")?;
    let runner = || Runner::new(request, draws, order);
    threads::map_with(threads, 0..count, "a thread that packs", runner, |runner, run, _| {
        runner.run(run * per_run..draws.total().min((run + 1).saturating_mul(per_run)))
    })
}

/// Joins the packs of all runs. Shuffles them if the request has a seed.
fn in_order(request: &Request, runs: &[Packs]) -> Result<Plan> {
    let mut firsts = vec![0_u64];
    let mut samples = 0;
    let mut left_out = LeftOut::default();
    for run in runs {
        firsts.push(firsts[firsts.len() - 1] + to_u64(run.ends.len()));
        samples += run.positions.len();
        left_out.add(run.left_out);
    }
    let count = firsts[firsts.len() - 1];
    let order = request.seed.map(|seed| permutation(count, seed, request.epoch, Stream::Packs));
    let mut plan = Plan {
        offsets: Vec::with_capacity(to_usize(count, "a number of packs")? + 1),
        positions: Vec::with_capacity(samples),
        left_out,
    };
    plan.offsets.push(0);
    for place in 0..count {
        let pack = order.as_ref().map_or(place, |order| order.at(place));
        let after = firsts.partition_point(|&first| first <= pack);
        let run = &runs[after - 1];
        let inside = to_usize(pack - firsts[after - 1], "a pack's number")?;
        let start = if inside == 0 { 0 } else { run.ends[inside - 1] as usize };
        plan.positions.extend_from_slice(&run.positions[start..run.ends[inside] as usize]);
        plan.offsets.push(known_u32(plan.positions.len(), "at most MAX_DRAWS positions"));
    }
    Ok(plan)
}
