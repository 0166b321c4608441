//! Fetches the blocks of an epoch before its samples are read; see `Dataset.shuffle(blocks=True)`.

use crate::dataset::Dataset;
use jinx_core::io::Density;
use jinx_core::threads;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

/// The number of blocks of the next group that are fetched in addition to those that replace read blocks.
const MORE_BLOCKS: usize = 4;
/// The maximum number of rows of a block that are looked at: what is between them is fetched with them.
const ROWS_OF_BLOCK: usize = 1024;

/// An order in blocks, in which groups of blocks are mixed.
pub struct BlockOrder {
    /// The first sample of each block, in the order of the epoch.
    pub starts: Vec<usize>,
    /// The number of samples of a block; the last one of the dataset may have fewer.
    pub size: usize,
    /// The number of blocks in a group.
    pub mixed: usize,
    /// The number of processes that read the order together, in equal shares.
    pub ranks: usize,
}

/// The blocks that were not requested yet, and the thread that requests them: what they need is known only when their
/// lines have arrived, and the caller continues meanwhile.
pub struct BlocksAhead {
    order: BlockOrder,
    /// The number of samples of the epoch that the caller has begun to read.
    read: usize,
    /// The number of blocks that were requested.
    asked: usize,
    sender: Option<Sender<Vec<u64>>>,
    process: u32,
}

impl BlocksAhead {
    /// For an epoch that begins after `read` samples.
    pub fn new(order: BlockOrder, read: usize) -> Self {
        let asked = read / (order.size * order.mixed) * order.mixed;
        Self { order, read, asked, sender: None, process: std::process::id() }
    }

    /// Announces that the caller reads this many samples next, with `columns` or all of them.
    pub fn advance(&mut self, view: &Dataset, columns: Option<&[String]>, samples: usize) {
        // A forked process does not have this thread, so it fetches what it reads itself.
        if self.process != std::process::id() {
            return;
        }
        self.read += samples * self.order.ranks;
        let wanted = self.wanted();
        if wanted <= self.asked {
            return;
        }
        let mut positions = Vec::new();
        for start in &self.order.starts[self.asked..wanted] {
            let step = self.order.size.div_ceil(ROWS_OF_BLOCK);
            let block = *start..(start + self.order.size).min(view.len());
            let last = block.clone().last();
            positions.extend(block.step_by(step).chain(last).map(|at| view.position(at)));
        }
        self.asked = wanted;
        if self.sender.is_none() {
            self.sender = start(view, columns);
        }
        if let Some(sender) = &self.sender {
            let _ = sender.send(positions);
        }
    }

    /// The number of blocks that should have been requested by now: the current group, and as much of the next as was
    /// read of it.
    fn wanted(&self) -> usize {
        let samples = self.order.size * self.order.mixed;
        let (group, inside) = (self.read / samples, self.read % samples);
        let next = inside / self.order.size + if inside > 0 { MORE_BLOCKS } else { 0 };
        ((group + 1) * self.order.mixed + next).min(self.order.starts.len())
    }
}

/// Starts a thread that requests blocks until its sender is dropped; `None` if the system refuses it: then blocks are
/// fetched when they are read.
fn start(view: &Dataset, columns: Option<&[String]>) -> Option<Sender<Vec<u64>>> {
    let (sender, receiver) = channel::<Vec<u64>>();
    let (rows, columns) = (Arc::clone(&view.rows), columns.map(<[String]>::to_vec));
    let ask = move || {
        let wanted =
            |name: &str| columns.as_ref().is_none_or(|columns| columns.iter().any(|column| column == name));
        for positions in receiver {
            rows.will_need(&positions, &wanted, Density::Dense);
        }
    };
    threads::background("jinx-blocks", ask).is_ok().then_some(sender)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ahead(read: usize) -> BlocksAhead {
        let order =
            BlockOrder { starts: (0..100).map(|block| block * 10).collect(), size: 10, mixed: 32, ranks: 1 };
        BlocksAhead::new(order, read)
    }

    #[test]
    fn a_group_is_asked_for_before_it_is_read_and_the_next_one_meanwhile() {
        let mut ahead = ahead(0);
        assert_eq!((ahead.asked, ahead.wanted()), (0, 32));
        ahead.read = 160;
        assert_eq!(ahead.wanted(), 32 + 16 + MORE_BLOCKS);
        ahead.read = 320;
        assert_eq!(ahead.wanted(), 64);
        ahead.read = 999;
        assert_eq!(ahead.wanted(), 100);
    }

    #[test]
    fn an_epoch_that_is_resumed_asks_for_what_is_left() {
        let ahead = ahead(500);
        assert_eq!((ahead.asked, ahead.wanted()), (32, 64 + 18 + MORE_BLOCKS));
    }
}
