//! Writes rows with a known form to one pair.

use super::{DatasetWriter, Target};
use crate::write::common_row_form::{FormBlocks, RowForm};
use crate::write::plain_lines::PlainLines;
use jinx_core::error::{Error, Result};
use std::fs::File;
use std::path::PathBuf;

impl DatasetWriter {
    /// The form of all rows of `lines`, in an order that begins with `first`; `None` if they have no common form.
    ///
    /// # Errors
    /// Errors of reading and encoding the first rows; `Interrupted`.
    pub fn form_of<'l>(&mut self, lines: &'l PlainLines<'_>, first: &[u64]) -> Result<Option<RowForm<'l>>> {
        let Target::Pair(pair) = &self.target else { return Ok(None) };
        let Some(encoder) = self.encoders.first_mut().filter(|_| self.skip == 0) else { return Ok(None) };
        let form = RowForm::of(lines, first, &self.options, encoder)?;
        Ok(form.filter(|form| pair.layout_of(form).is_some()))
    }

    /// The main file of a pair, for reading written data again before its final position is known.
    ///
    /// # Errors
    /// I/O errors; `Invalid` for a directory.
    pub fn main_file(&mut self) -> Result<(File, PathBuf)> {
        match &mut self.target {
            Target::Pair(pair) => pair.main_file(),
            Target::Directory(_) => Err(Error::invalid("a directory has no main file")),
        }
    }

    /// Writes all rows of one form. Calls `tell` with the number of rows of each block.
    ///
    /// # Errors
    /// Errors of making them and of `tell`; I/O errors. The writer is then broken.
    pub fn write_form(
        &mut self,
        form: &RowForm<'_>,
        blocks: &FormBlocks<'_>,
        tell: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        self.require_whole()?;
        let no_place = || Error::invalid("rows of this form have no places in this file");
        let Target::Pair(pair) = &mut self.target else { return Err(no_place()) };
        let layout = pair.layout_of(form).ok_or_else(no_place)?;
        self.is_broken = true;
        pair.place((form, &layout), blocks, self.encoders.len(), tell)?;
        self.rows += form.rows();
        self.is_broken = false;
        Ok(())
    }
}
