//! Finds duplicate names in a dict: a linear search in small dicts, hashing in larger ones.

use std::collections::HashMap;

const LINEAR: usize = 32;

#[derive(Debug, Default)]
pub struct KeySet {
    names: Vec<String>,
    places: HashMap<String, usize>,
}

impl KeySet {
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Where `name` was first seen, or `None` when it is new.
    pub fn insert(&mut self, name: &str) -> Option<usize> {
        if self.names.len() <= LINEAR {
            if let Some(at) = self.names.iter().position(|other| other == name) {
                return Some(at);
            }
        } else if let Some(&at) = self.places.get(name) {
            return Some(at);
        }
        let at = self.names.len();
        self.names.push(name.to_owned());
        if at == LINEAR {
            self.places = self.names.iter().cloned().zip(0..).collect();
        } else if at > LINEAR {
            self.places.insert(name.to_owned(), at);
        }
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
