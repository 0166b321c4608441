//! How publishing tells which sidecar belongs to which main file.

use crate::manifest::Manifest;
use crate::read::locate::{read_footer, sidecar_with_id};
use crate::sidecar::Header;
use jinx_core::io::{Access, PairIdentity, Source};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy)]
pub struct JinxIdentity;

impl PairIdentity for JinxIdentity {
    fn main_id(&self, main: &Path) -> Option<String> {
        read_footer(&Source::open(main, Access::Pread).ok()?).ok()?.0.id
    }

    fn sidecar_id(&self, sidecar: &Path) -> Option<String> {
        Header::read(&Source::open(sidecar, Access::Pread).ok()?).ok().map(|header| header.id)
    }

    fn sidecar_of(&self, main: &Path) -> Option<PathBuf> {
        sidecar_with_id(main).ok().flatten()
    }

    fn listed(&self, folder: &Path) -> Option<Vec<String>> {
        let manifest = Manifest::read(folder).ok()??;
        Some(manifest.shards.into_iter().map(|shard| shard.name).collect())
    }
}
