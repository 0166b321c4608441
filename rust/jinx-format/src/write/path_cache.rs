//! Shares one path for each position in rows, because an encoder meets the same paths in every row.

use crate::fields::Path;
use std::collections::HashMap;
use std::sync::Arc;

/// The maximum number of cached top-level names; other names, and positions below them, get a new path each time.
const MAX_TOP: usize = 1024;
const MAX_NESTED: usize = 4096;

#[derive(Debug, Default)]
pub(crate) struct PathCache {
    top: Vec<Arc<Path>>,
    /// The top-level name that probably comes next.
    top_next: usize,
    nested: HashMap<Vec<u8>, Arc<Path>>,
    key: Vec<u8>,
}

impl PathCache {
    pub(crate) fn begin_row(&mut self) {
        self.top_next = 0;
    }

    /// The path with these components: a name, or `None` for an element of a list.
    pub(crate) fn get<'n>(&mut self, path: impl Iterator<Item = Option<&'n str>> + Clone) -> Arc<Path> {
        let mut parts = path.clone();
        if let (Some(Some(name)), None) = (parts.next(), parts.next()) {
            return self.top(name);
        }
        self.key.clear();
        for name in path.clone() {
            // The length of each name precedes it, so no two paths have the same key.
            let length = name.map_or(usize::MAX, str::len);
            self.key.extend_from_slice(&length.to_le_bytes());
            self.key.extend_from_slice(name.unwrap_or_default().as_bytes());
        }
        if let Some(path) = self.nested.get(self.key.as_slice()) {
            return Arc::clone(path);
        }
        let path: Arc<Path> = Arc::new(path.map(|name| name.map(str::to_owned)).collect());
        if self.nested.len() < MAX_NESTED {
            self.nested.insert(self.key.clone(), Arc::clone(&path));
        }
        path
    }

    /// Top-level names recur in the same order.
    fn top(&mut self, name: &str) -> Arc<Path> {
        if let Some(path) = self.top.get(self.top_next)
            && path[0].as_deref() == Some(name)
        {
            self.top_next += 1;
            return Arc::clone(path);
        }
        if let Some(at) = self.top.iter().position(|path| path[0].as_deref() == Some(name)) {
            self.top_next = at + 1;
            return Arc::clone(&self.top[at]);
        }
        let path = Arc::new(vec![Some(name.to_owned())]);
        if self.top.len() < MAX_TOP {
            self.top.push(Arc::clone(&path));
            self.top_next = self.top.len();
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_paths_never_share_one() {
        let mut cache = PathCache::default();
        let paths: [&[Option<&str>]; 8] = [
            &[Some("x"), Some("a"), Some("b")],
            &[Some("x"), Some("a\0kb")],
            &[Some("x"), Some("a\0b")],
            &[Some("x"), Some("a.b")],
            &[Some("x"), None, Some("b")],
            &[Some("x"), None],
            &[Some("x"), Some("")],
            &[Some("x"), Some(""), Some("")],
        ];
        for _ in 0..2 {
            for path in paths {
                let expected: Path = path.iter().map(|name| name.map(str::to_owned)).collect();
                assert_eq!(*cache.get(path.iter().copied()), expected);
            }
        }
        assert!(Arc::ptr_eq(&cache.get(paths[0].iter().copied()), &cache.get(paths[0].iter().copied())));
    }
}
