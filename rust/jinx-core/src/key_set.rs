//! Finds duplicate names in a dict by their hashes: a linear search in small dicts, a table in larger ones.

use std::collections::HashMap;
use twox_hash::XxHash3_64;

const LINEAR: usize = 32;

#[derive(Debug, Default)]
pub struct KeySet {
    /// Hashes of the first names.
    first: [u64; LINEAR],
    names: usize,
    /// Hashes of all names, once there are more than fit into `first`.
    places: Option<HashMap<u64, usize>>,
}

impl KeySet {
    pub fn is_empty(&self) -> bool {
        self.names == 0
    }

    /// The position where `name` was first seen; `None` if it is new.
    pub fn insert(&mut self, name: &str) -> Option<usize> {
        let hash = XxHash3_64::oneshot(name.as_bytes());
        let at = self.names;
        let seen = match &self.places {
            None => self.first[..at].iter().position(|other| *other == hash),
            Some(places) => places.get(&hash).copied(),
        };
        if seen.is_some() {
            return seen;
        }
        match (self.first.get_mut(at), &mut self.places) {
            (Some(place), _) => *place = hash,
            (None, places) => {
                let first = &self.first;
                let places = places.get_or_insert_with(|| first.iter().copied().zip(0..).collect());
                places.insert(hash, at);
            }
        }
        self.names += 1;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_dicts_agree() {
        let mut unique = KeySet::default();
        for i in 0..1000 {
            assert_eq!(unique.insert(&i.to_string()), None);
        }
        for i in 0..1000 {
            assert_eq!(unique.insert(&i.to_string()), Some(i));
        }
    }
}
