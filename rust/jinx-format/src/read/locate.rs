//! Finds the parts of a pair: the footer in the main file, and the sidecar next to it.

use crate::file_kind::{FileKind, sniff_source};
use crate::footer::{Footer, SidecarInfo, footer_range};
use crate::key::FormatVersion;
use crate::sidecar::{self, Header};
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Cause, Error, Result};
use jinx_core::io::{Access, Source, plain_component, second_name, sidecar_path};
use jinx_core::limits::MAX_TRAILER_BYTES;
use std::path::{Path, PathBuf};

/// Opens a file of a pair. `Io(NotFound)` means that there is none.
pub type OpenFile<'o> = &'o dyn Fn(&Path) -> Result<Source>;

/// Reads and parses the footer of a main file.
///
/// # Errors
/// The errors of [`footer_range`] and [`Footer::parse`].
pub fn read_footer(main: &Source) -> Result<(Footer, u64)> {
    let total = main.len();
    if total == 0 {
        return Err(Error::truncated("the file is empty: not a JINX file"));
    }
    let tail_len = total.min(to_u64(MAX_TRAILER_BYTES));
    let tail = main.slice(total - tail_len, tail_len)?;
    let (offset, length) = footer_range(&tail, total)?;
    let text = main.read_vec(offset, length)?;
    let footer = Footer::parse(&text).map_err(|error| error.at_byte(offset))?;
    if footer.rules == FormatVersion::V1_1 {
        let digits = to_u64(itoa::Buffer::new().format(offset).len());
        if total != offset + length + digits + 2 {
            return Err(Error::corrupt("there is foreign text around the footer"));
        }
    }
    Ok((footer, offset))
}

/// The error for a file without a footer; if it is in another format, says which, and what to do.
pub(crate) fn foreign(main: &Source, error: Error) -> Error {
    match sniff_source(main) {
        Ok(FileKind::Jinx | FileKind::Empty | FileKind::Unknown) | Err(_) => error,
        Ok(kind) => {
            let hint = kind.hint(main.path()).map(|hint| format!("; {hint}")).unwrap_or_default();
            Error::new(error.cause(), format!("this is {}, not a JINX file{hint}", kind.name()))
        }
    }
}

/// The sidecar that belongs to the main file, and its header (1.1).
///
/// # Errors
/// The errors of [`crate::read::shard::Shard::open`].
pub(crate) fn open_sidecar(
    path: &Path,
    footer: &Footer,
    open: OpenFile<'_>,
) -> Result<(Option<Source>, Option<Header>)> {
    let named = sidecar_path(path);
    if footer.rules != FormatVersion::V1_1 {
        return match open(&named) {
            Ok(side) => Ok((Some(old_sidecar(path, side, open)?), None)),
            Err(error) if error.cause() == Cause::Io(std::io::ErrorKind::NotFound) => Ok((None, None)),
            Err(error) => Err(error),
        };
    }
    let Some(info) = &footer.sidecar else { return Ok((None, None)) };
    let id = footer.id.as_deref().unwrap_or_default();
    let mut failure = None;
    for candidate in &candidates(path, id, info)? {
        let side = match open(candidate) {
            Ok(side) => side,
            Err(error) if error.cause() == Cause::Io(std::io::ErrorKind::NotFound) => continue,
            Err(error) => return Err(error),
        };
        match Header::read(&side) {
            Ok(header) if header.id == id && side.len() == info.length => {
                return Ok((Some(side), Some(header)));
            }
            Ok(header) if header.id == id => {
                let what = format!("the sidecar has {} bytes, {} were written", side.len(), info.length);
                let cause = if side.len() < info.length { Cause::Truncated } else { Cause::Corrupt };
                failure = Some(Error::new(cause, what).in_file(candidate));
            }
            Ok(header) => {
                let what = format!(
                    "the sidecar {} belongs to another dataset (id {}, expected {id})",
                    candidate.display(),
                    header.id
                );
                failure.get_or_insert(Error::mismatch(what).in_file(path));
            }
            Err(error) => {
                failure.get_or_insert(error.in_file(candidate));
            }
        }
    }
    Err(failure.unwrap_or_else(|| {
        Error::mismatch(format!(
            "the sidecar {} is missing ({} bytes, id {id}); copy it next to the main file",
            named.display(),
            info.length
        ))
        .in_file(path)
    }))
}

/// The possible paths of the sidecar, in search order.
fn candidates(path: &Path, id: &str, info: &SidecarInfo) -> Result<[PathBuf; 3]> {
    let name = plain_component(&info.name, "the sidecar's name");
    let named = path.with_file_name(name.map_err(|error| error.in_file(path))?);
    Ok([sidecar_path(path), named, second_name(path, Some(id))])
}

/// The file with the id of a main file's sidecar, of any length; `None` if there is no sidecar or no such file.
///
/// # Errors
/// The errors of [`read_footer`].
pub(crate) fn sidecar_with_id(path: &Path) -> Result<Option<PathBuf>> {
    let (footer, _) = read_footer(&Source::open(path, Access::Pread)?)?;
    let (Some(info), Some(id)) = (&footer.sidecar, &footer.id) else { return Ok(None) };
    let has_id = |candidate: &PathBuf| sidecar::id_of(candidate).as_ref() == Some(id);
    Ok(candidates(path, id, info)?.into_iter().find(has_id))
}

/// The sidecar of a 1.0 file: while a 1.1 pair replaces it, it is found under its second name.
fn old_sidecar(path: &Path, side: Source, open: OpenFile<'_>) -> Result<Source> {
    let is_new = side.len() >= sidecar::HEADER_BYTES && *side.slice(0, 8)? == sidecar::MAGIC;
    if !is_new {
        return Ok(side);
    }
    match open(&second_name(path, None)) {
        Err(error) if error.cause() == Cause::Io(std::io::ErrorKind::NotFound) => Ok(side),
        result => result,
    }
}
