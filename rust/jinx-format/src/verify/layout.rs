//! Accounts for every byte of a sidecar: values in row order, then arrays, with zeros between them.

use crate::footer::{ArrayRef, Footer, IndexRef};
use crate::read::shard::Shard;
use crate::sidecar::{ALIGNMENT, HEADER_BYTES};
use crate::view_footer::ViewInfo;
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use jinx_core::io::Source;

/// How much of a sidecar is accounted for.
#[derive(Debug)]
pub struct SidecarLayout {
    end: u64,
    /// Whether something before `end` is unknown, so that a gap before the next value is not reported.
    unsure: bool,
}

impl Default for SidecarLayout {
    fn default() -> Self {
        Self { end: HEADER_BYTES, unsure: false }
    }
}

impl SidecarLayout {
    pub fn end(&self) -> u64 {
        self.end
    }

    pub fn is_sure(&self) -> bool {
        !self.unsure
    }

    /// Records that values of a damaged row may be missing here.
    pub fn skip(&mut self) {
        self.unsure = true;
    }

    /// Accounts for the next value or array.
    ///
    /// # Errors
    /// `Corrupt` when it overlaps the last one, leaves bytes out, is not aligned or is padded with anything but zeros.
    pub fn next(&mut self, side: &Source, offset: u64, length: u64) -> Result<()> {
        let expected = self.end.next_multiple_of(ALIGNMENT);
        let (before, was_unsure) = (self.end, self.unsure);
        let Some(end) = offset.checked_add(length).filter(|end| *end <= side.len()) else {
            self.unsure = true;
            // This was already reported when the value was read.
            return Ok(());
        };
        self.end = end.max(before);
        self.unsure = false;
        if offset < before {
            return Err(Error::corrupt(format!(
                "bytes {offset} to {end} of the sidecar overlap the value before, which ends at {before}"
            )));
        }
        if !offset.is_multiple_of(ALIGNMENT) {
            return Err(Error::corrupt(format!(
                "the value at {offset} of the sidecar is not aligned to {ALIGNMENT}"
            )));
        }
        if was_unsure {
            return Ok(());
        }
        if offset != expected {
            return Err(Error::corrupt(format!(
                "bytes {before} to {offset} of the sidecar belong to no value"
            )));
        }
        zeros(side, before, offset)
    }
}

/// Checks that padding is zero.
fn zeros(side: &Source, start: u64, end: u64) -> Result<()> {
    if start == end {
        return Ok(());
    }
    match side.slice(start, end - start)?.iter().position(|byte| *byte != 0) {
        Some(at) => Err(Error::corrupt("the padding in the sidecar is not zero").at_byte(start + to_u64(at))),
        None => Ok(()),
    }
}

/// The arrays in the sidecar, in their required order.
pub fn arrays(footer: &Footer) -> Vec<(String, &ArrayRef)> {
    let mut list: Vec<(String, &ArrayRef)> = Vec::new();
    if let IndexRef::Sidecar(place) = &footer.index {
        list.push(("the index".to_owned(), place));
    }
    list.extend(footer.line_hash.iter().map(|place| ("line_hash".to_owned(), place)));
    list.extend(footer.view.iter().flat_map(ViewInfo::arrays));
    for column in &footer.columns {
        let name: Vec<&str> = column.path.iter().map(|part| part.as_deref().unwrap_or("[]")).collect();
        list.extend(column.arrays().map(|place| (format!("the column '{}'", name.join(".")), place)));
    }
    list.retain(|(_, place)| matches!(place, ArrayRef::Sidecar { .. }));
    list
}

/// Checks that the arrays follow the values, one after another, with nothing else.
pub fn check_tail(shard: &Shard, layout: &mut SidecarLayout, problems: &mut Vec<Error>) {
    let (Some(side), Some(header)) = (shard.sidecar(), shard.header()) else { return };
    if layout.is_sure() && layout.end() != header.values_end {
        let what =
            format!("the sidecar's values end at {}, its header says {}", layout.end(), header.values_end);
        problems.push(Error::corrupt(what));
    }
    for (name, place) in arrays(shard.footer()) {
        let ArrayRef::Sidecar { offset, length, .. } = place else { continue };
        if let Err(error) = layout.next(side, *offset, *length) {
            problems.push(Error::new(error.cause(), format!("{name}: {}", error.what())));
        }
        let checked = shard.array_bytes(place, None, &name).and_then(|_| shard.check_chunks(place));
        if let Err(error) = checked {
            problems.push(Error::new(error.cause(), format!("{name}: {}", error.what())));
        }
    }
    if layout.is_sure() && layout.end() != side.len() {
        let what = format!("bytes {} to {} of the sidecar belong to no value", layout.end(), side.len());
        problems.push(Error::corrupt(what));
    }
}
