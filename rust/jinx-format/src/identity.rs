//! Which sidecar belongs to which main file.

use crate::key::FormatVersion;
use crate::manifest::Manifest;
use crate::read::locate::{open_sidecar, read_footer, sidecar_with_id};
use crate::sidecar::id_of;
use jinx_core::error::Result;
use jinx_core::io::{Access, PairIdentity, Source, other_owner, sidecar_path};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy)]
pub struct JinxIdentity;

impl PairIdentity for JinxIdentity {
    fn main_id(&self, main: &Path) -> Option<String> {
        read_footer(&Source::open(main, Access::Pread).ok()?).ok()?.0.id
    }

    fn sidecar_id(&self, sidecar: &Path) -> Option<String> {
        id_of(sidecar)
    }

    fn sidecar_of(&self, main: &Path) -> Option<PathBuf> {
        sidecar_with_id(main).ok().flatten()
    }

    fn listed(&self, directory: &Path) -> Option<Vec<String>> {
        let manifest = Manifest::read(directory).ok()??;
        Some(manifest.shards.into_iter().map(|shard| shard.name).collect())
    }
}

/// The sidecar of a main file, for callers that move, copy or remove both.
///
/// Where the files do not state it (a damaged main file or one of 1.0, a damaged sidecar), the name decides.
///
/// # Errors
/// `Mismatch` when the sidecar is missing; `Io`.
pub fn sidecar_of(path: &Path) -> Result<Option<PathBuf>> {
    let main = Source::open(path, Access::Pread)?;
    let footer = read_footer(&main).map(|(footer, _)| footer).ok();
    let named = sidecar_path(path);
    let is_free = named.symlink_metadata().is_ok() && id_of(&named).is_none();
    match footer {
        Some(footer) if footer.rules == FormatVersion::V1_1 => {
            if footer.sidecar.is_none() {
                return Ok(None);
            }
            match sidecar_with_id(path)? {
                None if is_free => Ok(Some(named)),
                None => open_sidecar(path, &footer, &|path| Source::open(path, Access::Auto)).map(|_| None),
                found => Ok(found),
            }
        }
        None if named.exists() && other_owner(&named, path, &JinxIdentity)?.is_none() => Ok(Some(named)),
        _ => Ok(is_free.then_some(named)),
    }
}
