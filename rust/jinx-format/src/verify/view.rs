//! Checks a saved view's entries for its bases, as far as possible with its own file.

use crate::footer::ColumnInfo;
use crate::read::shard::Shard;
use jinx_core::error::{Error, Result};

/// Checks that every position is within the bases' samples, and that line offsets increase.
pub fn check_view(shard: &Shard, problems: &mut Vec<Error>) {
    let Some(view) = &shard.footer().view else { return };
    let total = view.base_samples;
    match shard.stored_positions().transpose() {
        Ok(positions) => {
            let (words, _) = positions.as_deref().unwrap_or_default().as_chunks::<8>();
            let positions = words.iter().map(|word| u64::from_le_bytes(*word));
            let outside = (0u64..).zip(positions).filter(|(_, position)| *position >= total);
            problems.extend(outside.map(|(i, position)| {
                let what = format!("position {position} of the bases, which have {total} samples");
                Error::corrupt(what).in_sample(i)
            }));
        }
        Err(error) => problems.push(error),
    }
    for info in &view.own {
        problems.extend(check_own(shard, info).err().map(|error| shard.in_column(error, info)));
    }
    for i in 0..view.bases.len() {
        problems.extend(check_lines(shard, i).err());
    }
}

/// Checks a column that the view adds; bytes of missing values must be zero.
fn check_own(shard: &Shard, info: &ColumnInfo) -> Result<()> {
    let column = shard.read_column(info)?;
    let mut missing = (0..column.rows).filter(|i| !column.is_valid(*i));
    let is_zero = |i: u64| match &column.codes {
        Some(_) => column.view().code(i) == Some(0),
        None => column.cell(i).iter().all(|byte| *byte == 0),
    };
    match missing.find(|i| !is_zero(*i)) {
        None => Ok(()),
        Some(i) => Err(Error::corrupt("a missing value that is not zero").in_sample(i)),
    }
}

fn check_lines(shard: &Shard, base: usize) -> Result<()> {
    let Some(offsets) = shard.base_line_offsets(base)? else { return Ok(()) };
    let (words, _) = offsets.as_chunks::<8>();
    let offsets: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    match offsets.windows(2).position(|ends| ends[0] >= ends[1]) {
        None => Ok(()),
        Some(at) => Err(Error::corrupt(format!("line {at} of base {base} ends before it begins"))),
    }
}
