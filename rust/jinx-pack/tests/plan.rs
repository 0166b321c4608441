//! Tests whole plans: they have every sample once, exceed no budget, and are the same for any number of threads.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation)]

use jinx_core::Cause;
use jinx_pack::{MixtureSource, Oversize, Plan, Request, Strategy, pack};
use proptest::prelude::*;

const STRATEGIES: [Strategy; 4] =
    [Strategy::NextFit, Strategy::FirstFitDecreasing, Strategy::BestFitDecreasing, Strategy::Knapsack];

fn request<'a>(sizes: &[&'a [u32]], capacities: &[u32]) -> Request<'a> {
    let samples = sizes[0].len() as u32;
    Request {
        sizes: sizes.to_vec(),
        capacities: capacities.to_vec(),
        strategy: Strategy::Knapsack,
        window: 64,
        oversize: Oversize::Drop,
        sources: vec![MixtureSource { samples, draws: u64::from(samples), start: 0 }],
        seed: Some(0),
        epoch: 0,
        threads: 1,
    }
}

/// Lengths that are easy to make and look random.
fn lengths(count: u32, longest: u32) -> Vec<u32> {
    (0..count)
        .map(|i| (u64::from(i).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u32 % longest + 1)
        .collect()
}

fn packs(plan: &Plan) -> impl Iterator<Item = &[u32]> {
    plan.offsets.windows(2).map(|ends| &plan.positions[ends[0] as usize..ends[1] as usize])
}

fn require_valid(request: &Request, plan: &Plan) {
    for pack in packs(plan) {
        assert!(!pack.is_empty());
        for (k, (column, &capacity)) in request.sizes.iter().zip(&request.capacities).enumerate() {
            let truncated = |size: u32| {
                if k == 0 && request.oversize == Oversize::Truncate { size.min(capacity) } else { size }
            };
            assert!(
                pack.iter().map(|&one| u64::from(truncated(column[one as usize]))).sum::<u64>()
                    <= u64::from(capacity)
            );
        }
    }
}

fn sorted(plan: &Plan) -> Vec<u32> {
    let mut positions = plan.positions.clone();
    positions.sort_unstable();
    positions
}

proptest! {
    #[test]
    fn each_sample_is_in_one_pack(
        sizes in prop::collection::vec((0_u32..=60, 0_u32..=9, 0_u32..=500), 0..600),
        budgets in 1_usize..=3,
        strategy in prop::sample::select(STRATEGIES.to_vec()),
        window in 1_usize..=100,
        seed in prop::option::of(any::<u64>()),
        epoch in 0_u64..5,
        truncate: bool,
    ) {
        let columns = [
            sizes.iter().map(|size| size.0).collect::<Vec<_>>(),
            sizes.iter().map(|size| size.1).collect(),
            sizes.iter().map(|size| size.2).collect(),
        ];
        let columns: Vec<&[u32]> = columns[..budgets].iter().map(Vec::as_slice).collect();
        let capacities = &[50, 8, 450][..budgets];
        let oversize = if truncate { Oversize::Truncate } else { Oversize::Drop };
        let asked = Request { strategy, window, seed, epoch, oversize, ..request(&columns, capacities) };
        let plan = pack(&asked).unwrap();
        require_valid(&asked, &plan);
        let is_over = |i: usize, k: usize| columns[k][i] > capacities[k];
        let expected: Vec<u32> = (0..sizes.len())
            .filter(|&i| columns[0][i] > 0 && (truncate || !is_over(i, 0)) && !(1..budgets).any(|k| is_over(i, k)))
            .map(|i| i as u32)
            .collect();
        prop_assert_eq!(sorted(&plan), expected.clone());
        let left_out = plan.left_out.empty + plan.left_out.oversize;
        prop_assert_eq!(left_out as usize, sizes.len() - expected.len());
        let more = pack(&Request { threads: 3, ..asked }).unwrap();
        prop_assert_eq!(more, plan);
    }
}

#[test]
fn threads_share_many_runs_and_change_nothing() {
    let sizes = lengths(40_000, 90);
    for strategy in STRATEGIES {
        let asked = Request { strategy, window: 16, ..request(&[&sizes], &[100]) };
        let plans = [1, 2, 5].map(|threads| pack(&Request { threads, ..asked.clone() }).unwrap());
        assert_eq!(plans[0], plans[1]);
        assert_eq!(plans[0], plans[2]);
        assert_eq!(sorted(&plans[0]), (0..40_000).collect::<Vec<_>>());
    }
}

#[test]
fn seeds_and_epochs_give_other_packs_and_none_keeps_the_order() {
    let sizes = lengths(1000, 40);
    let plan = |seed, epoch| {
        pack(&Request { seed, epoch, strategy: Strategy::NextFit, ..request(&[&sizes], &[100]) }).unwrap()
    };
    assert_eq!(plan(Some(1), 0), plan(Some(1), 0));
    assert_ne!(plan(Some(1), 0).positions, plan(Some(2), 0).positions);
    assert_ne!(plan(Some(1), 0).positions, plan(Some(1), 1).positions);
    assert_eq!(plan(None, 3).positions, (0..1000).collect::<Vec<_>>());
}

#[test]
fn next_fit_does_not_depend_on_the_window() {
    let sizes = lengths(500, 40);
    let plan = |window| {
        let asked = Request { seed: None, window, strategy: Strategy::NextFit, ..request(&[&sizes], &[100]) };
        pack(&asked).unwrap()
    };
    assert_eq!(plan(8), plan(1000));
}

#[test]
fn packs_that_are_not_full_are_opened_again() {
    let sizes = lengths(5000, 700);
    let count = |window| pack(&Request { window, ..request(&[&sizes], &[1000]) }).unwrap().offsets.len() - 1;
    let least = sizes.iter().sum::<u32>().div_ceil(1000) as usize;
    assert!(count(100) <= least + least / 50, "{} packs, {least} at least", count(100));
}

#[test]
fn samples_of_a_mixture_come_as_often_as_asked() {
    let sizes = lengths(30, 40);
    let sources = vec![
        MixtureSource { samples: 10, draws: 20, start: 0 },
        MixtureSource { samples: 20, draws: 5, start: 0 },
    ];
    let plan = pack(&Request { sources, ..request(&[&sizes], &[100]) }).unwrap();
    let times = |position: u32| plan.positions.iter().filter(|&&one| one == position).count();
    assert!((0..10).all(|position| times(position) == 2));
    assert_eq!((10..30).map(times).sum::<usize>(), 5);
    assert!((10..30).all(|position| times(position) <= 1));
}

#[test]
fn requests_that_cannot_be_met_are_refused() {
    let sizes = [1, 2, 3];
    let good = request(&[&sizes], &[10]);
    let source = |samples, draws| vec![MixtureSource { samples, draws, start: 0 }];
    for (bad, cause) in [
        (Request { sizes: vec![], capacities: vec![], ..good.clone() }, Cause::Invalid),
        (Request { capacities: vec![10, 10], ..good.clone() }, Cause::Invalid),
        (Request { capacities: vec![0], ..good.clone() }, Cause::Invalid),
        (Request { capacities: vec![u32::MAX], ..good.clone() }, Cause::Limit),
        (Request { window: 0, ..good.clone() }, Cause::Invalid),
        (Request { sources: source(2, 2), ..good.clone() }, Cause::Invalid),
        (Request { sources: source(3, u64::MAX), ..good.clone() }, Cause::Limit),
    ] {
        assert_eq!(pack(&bad).unwrap_err().cause(), cause);
    }
}

#[test]
fn no_samples_make_an_empty_plan() {
    let plan = pack(&request(&[&[], &[]], &[10, 8])).unwrap();
    assert_eq!((plan.offsets, plan.positions), (vec![0], vec![]));
    let empty = pack(&request(&[&[0, 0, 11]], &[10])).unwrap();
    assert_eq!((empty.offsets.len(), empty.left_out.empty, empty.left_out.oversize), (1, 2, 1));
}
