//! Marks an object with the call that wrote it, in the object's metadata: this tells a call whether it succeeded if the
//! answer was lost.

use object_store::path::Path as Key;
use object_store::{Attribute, Attributes, GetOptions, GetResult, ObjectStore};
use std::hash::{BuildHasher, RandomState};

/// The name of the metadata entry. Azure allows no hyphens.
const NAME: &str = "jinxmark";

/// A random word.
pub(crate) struct Mark(String);

impl Mark {
    pub(crate) fn new() -> Self {
        // Without this, forked processes would have the same random numbers.
        let random = || RandomState::new().hash_one(std::process::id());
        Self(format!("{:016x}{:016x}", random(), random()))
    }

    pub(crate) fn attributes(&self) -> Attributes {
        Attributes::from_iter([(Attribute::Metadata(NAME.into()), self.0.clone())])
    }

    pub(crate) fn is_in(&self, found: &GetResult) -> bool {
        found.attributes.get(&Attribute::Metadata(NAME.into())).is_some_and(|word| word.as_ref() == self.0)
    }

    /// Whether the object exists and has the mark.
    pub(crate) async fn is_on(&self, client: &dyn ObjectStore, key: &Key) -> bool {
        head(client, key).await.is_some_and(|found| self.is_in(&found))
    }
}

/// The state and the metadata of an object; `None` if it does not exist or cannot be accessed.
pub(crate) async fn head(client: &dyn ObjectStore, key: &Key) -> Option<GetResult> {
    client.get_opts(key, GetOptions { head: true, ..GetOptions::default() }).await.ok()
}
