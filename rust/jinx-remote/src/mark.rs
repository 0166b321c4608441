//! Names the call that has written an object, in the object's metadata: so a call finds out whether it succeeded when its
//! answer was lost.

use object_store::path::Path as Key;
use object_store::{Attribute, Attributes, GetOptions, GetResult, ObjectStore};
use std::hash::{BuildHasher, RandomState};

/// The name of the metadata. Azure allows no hyphens.
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

    /// Whether the object is there and has the mark.
    pub(crate) async fn is_on(&self, client: &dyn ObjectStore, key: &Key) -> bool {
        head(client, key).await.is_some_and(|found| self.is_in(&found))
    }
}

/// The state and the metadata of an object; `None` if it is not there, or cannot be looked at.
pub(crate) async fn head(client: &dyn ObjectStore, key: &Key) -> Option<GetResult> {
    client.get_opts(key, GetOptions { head: true, ..GetOptions::default() }).await.ok()
}
