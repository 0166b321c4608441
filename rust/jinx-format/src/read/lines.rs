//! Reads the text of lines. Lines that are close together are read with one call.

use crate::key::FormatVersion;
use crate::read::marked_rows::with_header;
use crate::read::shard::Shard;
use jinx_core::error::{Error, Result};
use jinx_core::json::markers;
use std::borrow::Cow;

/// The maximum number of bytes to read at once. They are still in the processor's caches when they are parsed.
const GROUP_BYTES: u64 = 256 << 10;
/// The largest gap between two lines that is read over. Reading it takes less time than another call.
const GAP_BYTES: u64 = 8 << 10;

/// The row of a line, with its start and end in the file.
type Place = (u64, u64, u64);

impl Shard {
    /// A copy of line `i` without its newline, checked as the file's verification level requires.
    ///
    /// # Errors
    /// The errors of [`Shard::line_range`]; `Corrupt` if the line's checksum does not match.
    pub fn line(&self, i: u64) -> Result<Vec<u8>> {
        let mut line = Vec::new();
        self.read_line(i, &mut line)?;
        Ok(line)
    }

    /// Like [`Shard::line`]; replaces the contents of `line`.
    ///
    /// # Errors
    /// The errors of [`Shard::line`].
    pub fn read_line(&self, i: u64, line: &mut Vec<u8>) -> Result<()> {
        match self.try_line(i, line) {
            Err(error) if self.may_fetch_line_again(&error, i) => self.try_line(i, line),
            done => done,
        }
    }

    /// Whether an error may come from cached copies of objects in a store; these are then dropped, both of the line and
    /// of its entries in the index.
    fn may_fetch_line_again(&self, error: &Error, i: u64) -> bool {
        let mut may = false;
        let entries = [self.index.place(i, 2), self.line_hash().and_then(|hashes| hashes.place(i, 1))];
        if let Some(side) = self.sidecar() {
            for entry in entries.into_iter().flatten() {
                may |= side.may_fetch_again(error, entry);
            }
        }
        let (start, end) = self.line_range(i).unwrap_or_default();
        self.main().may_fetch_again(error, start..end) || may
    }

    fn try_line(&self, i: u64, line: &mut Vec<u8>) -> Result<()> {
        let (start, end) = self.line_range(i)?;
        match self.main().slice(start, end - start).map_err(|error| self.here(error, i))? {
            Cow::Borrowed(stored) => {
                line.clear();
                line.extend_from_slice(stored);
            }
            Cow::Owned(stored) => *line = stored,
        }
        self.check_line(i, line)?;
        line.truncate(self.without_end(line).len());
        if self.needs_header(line) {
            *line = with_header(std::mem::take(line), self.is_all_marked());
        }
        Ok(())
    }

    /// Passes the line of each row to `see`, with the row's position in `rows`. `rows` must be in ascending order.
    /// Lines are the same as those of [`Shard::line`].
    ///
    /// # Errors
    /// The first error in the order of the rows: as [`Shard::line`], or an error of `see`.
    pub fn each_line(&self, rows: &[u64], see: &mut dyn FnMut(usize, &[u8]) -> Result<()>) -> Result<()> {
        let (mut group, mut buffer, mut line) = (Vec::new(), Vec::new(), Vec::new());
        let mut done = 0;
        while done < rows.len() {
            self.next_group(&rows[done..], &mut group)?;
            if self.read_group(&group, &mut buffer)? {
                let first = group[0].1;
                for (at, (row, start, end)) in (done..).zip(&group) {
                    let place = |offset: u64| usize::try_from(offset - first).unwrap_or(usize::MAX);
                    let stored = buffer.get(place(*start)..place(*end)).unwrap_or_default();
                    if self.check_line(*row, stored).is_err() {
                        self.read_line(*row, &mut line)?;
                        see(at, &line)?;
                        continue;
                    }
                    let text = self.without_end(stored);
                    match self.needs_header(text) {
                        false => see(at, text)?,
                        true => see(at, &with_header(text.to_vec(), self.is_all_marked()))?,
                    }
                }
            } else {
                for (at, (row, ..)) in (done..).zip(&group) {
                    self.read_line(*row, &mut line)?;
                    see(at, &line)?;
                }
            }
            done += group.len();
        }
        Ok(())
    }

    /// Sets `group` to the first rows whose lines can be read with one call. It has at least one row.
    fn next_group(&self, rows: &[u64], group: &mut Vec<Place>) -> Result<()> {
        group.clear();
        let (mut first, mut last) = (0, 0);
        for row in rows {
            let (start, end) = match self.line_range(*row) {
                // Read the rows before the bad one first; the next group reports the error.
                Err(_) if !group.is_empty() => return Ok(()),
                range => range?,
            };
            if group.is_empty() {
                (first, last) = (start, end);
            } else if start < first || start > last + GAP_BYTES || end - first > GROUP_BYTES {
                return Ok(());
            }
            last = last.max(end);
            group.push((*row, start, end));
        }
        Ok(())
    }

    /// Reads the lines of a group. Returns `false` if the caller must read them one by one, to find the line with an
    /// error.
    fn read_group(&self, group: &[Place], buffer: &mut Vec<u8>) -> Result<bool> {
        let ends = group.iter().map(|(.., end)| *end).max();
        let (Some((_, first, _)), Some(end)) = (group.first(), ends) else { return Ok(false) };
        if end - first > GROUP_BYTES {
            return Ok(false);
        }
        let length = usize::try_from(end - first).map_err(|_| Error::limit("a group of lines"))?;
        buffer.resize(length, 0);
        Ok(self.main().read_at(*first, buffer.as_mut_slice().into()).is_ok())
    }

    /// A stored line without its newline. In JSON Lines, its range also includes the blank lines after it.
    fn without_end<'l>(&self, line: &'l [u8]) -> &'l [u8] {
        match self.rules() {
            FormatVersion::Plain => line.trim_ascii_end(),
            _ => line.strip_suffix(b"\n").unwrap_or(line),
        }
    }

    fn needs_header(&self, line: &[u8]) -> bool {
        self.rules() == FormatVersion::Plain && (self.is_all_marked() || markers::is_marked(line))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::read::options::OpenOptions;
    use jinx_core::Cause;
    use jinx_core::io::Access;
    use std::path::Path;

    fn open(path: &Path, access: Access) -> Shard {
        Shard::open_any(path, &OpenOptions { access, ..OpenOptions::default() }).unwrap()
    }

    fn seen(shard: &Shard, rows: &[u64]) -> Result<Vec<Vec<u8>>> {
        let mut lines = Vec::new();
        shard.each_line(rows, &mut |at, line| {
            assert_eq!(at, lines.len());
            lines.push(line.to_vec());
            Ok(())
        })?;
        Ok(lines)
    }

    #[test]
    fn lines_are_the_same_alone_and_with_others() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.jsonl");
        let long = usize::try_from(GROUP_BYTES).unwrap();
        let line = |i: usize| match i % 50 {
            7 => format!("{{\"a\":\"{}\"}}", "x".repeat(long + i)),
            9 => format!("{{\"a\":\"{}\"}}\n\n \t", "y".repeat(long / 3)),
            11 => format!("{{\"$jinx\":1,\"a\":{{\"$bytes\":\"AA==\"}},\"i\":{i}}} \r"),
            _ => format!("{{\"a\":{i}}}"),
        };
        let text: Vec<String> = (0..300).map(line).collect();
        std::fs::write(&path, text.join("\n")).unwrap();
        for access in [Access::Mmap, Access::Pread] {
            let shard = open(&path, access);
            assert_eq!(shard.len(), 300);
            for step in [1, 2, 3, 37, 299] {
                let rows: Vec<u64> = (0..300).step_by(step).flat_map(|row| [row, row]).collect();
                let expected: Vec<_> = rows.iter().map(|row| shard.line(*row).unwrap()).collect();
                assert!(seen(&shard, &rows).unwrap() == expected, "{step}");
            }
            assert!(seen(&shard, &[]).unwrap().is_empty());
            assert_eq!(seen(&shard, &[5, 300]).unwrap_err().cause(), Cause::Invalid);
        }
    }

    #[test]
    fn the_first_line_that_is_gone_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.jsonl");
        std::fs::write(&path, "{\"a\":1}\n".repeat(100)).unwrap();
        let shard = open(&path, Access::Pread);
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(8 * 40 + 3).unwrap();
        let rows: Vec<u64> = (0..100).collect();
        let mut count = 0;
        let error = shard.each_line(&rows, &mut |_, _| {
            count += 1;
            Ok(())
        });
        let error = error.unwrap_err();
        assert_eq!((count, error.sample()), (40, Some(40)), "{error}");
    }
}
