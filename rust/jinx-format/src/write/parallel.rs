//! Rows encoded on several threads, in an order that does not depend on them.

use crate::write::encode::{EncodedRow, RowEncoder};
use jinx_core::error::{Error, Result};
use jinx_core::num::to_u64;
use jinx_core::panics::error_of;
use std::any::Any;
use std::ops::Range;

/// Describes row `i` of those that are being written.
pub type EmitRow<'e> = dyn Fn(usize, &mut RowEncoder) -> Result<()> + Sync + 'e;

/// Encoded rows are written from this size on, before more of them are encoded.
const PART_BYTES: usize = 8 << 20;

/// One thread's share of the rows.
pub(super) struct EncodedPart {
    pub(super) rows: Vec<EncodedRow>,
    /// Why the row behind them is left out.
    pub(super) refused: Option<Error>,
    /// Rows that are not encoded yet, because these take memory enough.
    pub(super) left: Range<usize>,
}

/// Shares the rows among the encoders, each on a thread of its own; the first will be the dataset's row `first`.
pub(super) fn encode_rows(
    encoders: &mut [RowEncoder],
    rows: Range<usize>,
    first: u64,
    emit: &EmitRow<'_>,
) -> Vec<EncodedPart> {
    let threads = encoders.len().min(rows.len()).max(1);
    let share = rows.len().div_ceil(threads).max(1);
    if threads == 1 {
        return encoders
            .first_mut()
            .map(|encoder| encode_part(encoder, rows, first, emit))
            .into_iter()
            .collect();
    }
    std::thread::scope(|scope| {
        let shares = rows.clone().step_by(share).map(|start| start..rows.end.min(start + share));
        let workers: Vec<_> = shares
            .zip(encoders)
            .map(|(part, encoder)| {
                let first = first + to_u64(part.start - rows.start);
                scope.spawn(move || encode_part(encoder, part, first, emit))
            })
            .collect();
        let panicked = |panic: Box<dyn Any + Send>| EncodedPart {
            rows: Vec::new(),
            refused: Some(error_of(&*panic, "an encoder thread")),
            left: 0..0,
        };
        workers.into_iter().map(|worker| worker.join().unwrap_or_else(panicked)).collect()
    })
}

/// Encodes the rows `part`, of which the first will be the dataset's row `first`.
fn encode_part(encoder: &mut RowEncoder, part: Range<usize>, first: u64, emit: &EmitRow<'_>) -> EncodedPart {
    let (mut encoded, mut bytes) = (Vec::with_capacity(part.len()), 0);
    for i in part.clone() {
        match encoder.encode(|sink| emit(i, sink)) {
            Ok(row) => {
                bytes += row.text.len() + row.values.iter().map(|value| value.data.len()).sum::<usize>();
                encoded.push(row);
            }
            Err(error) => {
                let error = error.in_sample(first + to_u64(i - part.start));
                return EncodedPart { rows: encoded, refused: Some(error), left: 0..0 };
            }
        }
        if bytes >= PART_BYTES {
            return EncodedPart { rows: encoded, refused: None, left: i + 1..part.end };
        }
    }
    EncodedPart { rows: encoded, refused: None, left: 0..0 }
}
