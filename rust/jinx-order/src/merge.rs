//! Merges sorted sequences.

use jinx_core::error::Result;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// Passes the items of all `sequences` to `see` in ascending order. Each sequence must be in ascending order.
///
/// # Errors
/// The first error of a sequence or of `see`.
pub fn merge<T: Ord>(
    mut sequences: Vec<impl FnMut() -> Result<Option<T>>>,
    mut see: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let mut heads = BinaryHeap::with_capacity(sequences.len());
    for (at, sequence) in sequences.iter_mut().enumerate() {
        heads.extend(sequence()?.map(|item| Reverse((item, at))));
    }
    while let Some(mut head) = heads.peek_mut() {
        let at = head.0.1;
        let item = match sequences[at]()? {
            Some(next) => std::mem::replace(&mut *head, Reverse((next, at))).0.0,
            None => PeekMut::pop(head).0.0,
        };
        see(item)?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn all_items_come_in_order() {
        let sequences: Vec<Vec<u32>> = vec![vec![], vec![1, 4, 9], vec![0, 4, 5, 6], vec![7]];
        let sequences = sequences.into_iter().map(|items| {
            let mut items = items.into_iter();
            move || Ok(items.next())
        });
        let mut merged = Vec::new();
        merge(sequences.collect(), |item| {
            merged.push(item);
            Ok(())
        })
        .unwrap();
        assert_eq!(merged, [0, 1, 4, 4, 5, 6, 7, 9]);
    }
}
