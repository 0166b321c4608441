//! Groups of positions: positions with equal keys are in the same group.

use jinx_core::checked_math::to_usize;
use jinx_core::error::{Error, Result};

/// A union-find over positions. The name of a group is its smallest position.
pub struct Clusters {
    parents: Vec<u64>,
}

impl Clusters {
    /// Puts each of `count` positions into its own group.
    ///
    /// # Errors
    /// `Limit` if they do not fit into memory.
    pub fn new(count: u64) -> Result<Self> {
        let size = to_usize(count, "the number of samples")?;
        let mut parents = Vec::new();
        parents
            .try_reserve_exact(size)
            .map_err(|_| Error::limit(format!("{count} samples do not fit memory")))?;
        parents.extend(0..count);
        Ok(Self { parents })
    }

    /// Joins the groups of positions with equal keys.
    ///
    /// # Errors
    /// `Invalid` for a position that does not exist, or if there are not as many keys as positions.
    pub fn join_equal(&mut self, keys: &[u64], positions: &[u64]) -> Result<()> {
        if keys.len() != positions.len() {
            return Err(Error::invalid(format!("{} keys for {} positions", keys.len(), positions.len())));
        }
        let mut pairs: Vec<(u64, u64)> = keys.iter().copied().zip(positions.iter().copied()).collect();
        pairs.sort_unstable();
        for pair in pairs.windows(2) {
            if let [(one, first), (other, second)] = *pair
                && one == other
            {
                self.join(first, second)?;
            }
        }
        // The position of a key that occurs only once has not been checked.
        let count = self.parents.len();
        match positions.iter().find(|&&position| usize::try_from(position).map_or(true, |at| at >= count)) {
            Some(position) => Err(Error::invalid(format!("position {position} of {count} samples"))),
            None => Ok(()),
        }
    }

    /// Joins the groups of two positions.
    ///
    /// # Errors
    /// `Invalid` for a position that does not exist.
    pub fn join(&mut self, left: u64, right: u64) -> Result<()> {
        let (left, right) = (self.root(left)?, self.root(right)?);
        let (least, greatest) = (left.min(right), left.max(right));
        *self.parent(greatest)? = least;
        Ok(())
    }

    /// For each position, the smallest position of its group.
    ///
    /// # Errors
    /// None for positions that were joined.
    pub fn roots(&mut self) -> Result<Vec<u64>> {
        for position in 0..jinx_core::checked_math::to_u64(self.parents.len()) {
            // A parent is never larger than its child, so its root is already known.
            let parent = *self.parent(position)?;
            let root = *self.parent(parent)?;
            *self.parent(position)? = root;
        }
        Ok(self.parents.clone())
    }

    fn parent(&mut self, position: u64) -> Result<&mut u64> {
        let count = self.parents.len();
        usize::try_from(position)
            .ok()
            .and_then(|at| self.parents.get_mut(at))
            .ok_or_else(|| Error::invalid(format!("position {position} of {count} samples")))
    }

    fn root(&mut self, mut position: u64) -> Result<u64> {
        loop {
            let parent = *self.parent(position)?;
            if parent == position {
                return Ok(position);
            }
            let grandparent = *self.parent(parent)?;
            *self.parent(position)? = grandparent; // halves the path
            position = grandparent;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn groups_are_those_of_a_plain_search(edges in proptest::collection::vec((0_u64..40, 0_u64..40), 0..60)) {
            let mut clusters = Clusters::new(40).unwrap();
            let mut plain: Vec<u64> = (0..40).collect();
            for &(one, other) in &edges {
                clusters.join(one, other).unwrap();
                let (a, b) = (plain[one as usize], plain[other as usize]);
                plain.iter_mut().filter(|group| **group == a.max(b)).for_each(|group| *group = a.min(b));
            }
            prop_assert_eq!(clusters.roots().unwrap(), plain);
        }
    }

    #[test]
    fn equal_keys_join() {
        let mut clusters = Clusters::new(5).unwrap();
        clusters.join_equal(&[7, 8, 7, 9, 8], &[0, 1, 2, 3, 4]).unwrap();
        assert_eq!(clusters.roots().unwrap(), [0, 1, 0, 3, 1]);
    }

    #[test]
    fn positions_that_are_not_there() {
        let mut clusters = Clusters::new(2).unwrap();
        assert!(clusters.join_equal(&[1], &[2]).is_err());
        assert!(clusters.join_equal(&[1, 1], &[0, 2]).is_err());
        assert!(clusters.join_equal(&[1], &[]).is_err());
        assert!(Clusters::new(u64::MAX).is_err());
    }
}
