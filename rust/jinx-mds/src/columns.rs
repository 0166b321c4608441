//! The columns of a shard, and their positions in a sample.

use crate::encodings::names::Encoding;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::error::{Error, Result};

/// One column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    pub name: String,
    /// The name of the encoding in the index.
    pub encoding_name: String,
    /// `None` for an unknown name: the other columns can still be read.
    pub encoding: Option<Encoding>,
    /// The size of every value in bytes; `None` if each sample states it.
    pub size: Option<u64>,
}

/// The columns of a shard, in the order in which samples contain them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Columns {
    pub all: Vec<Column>,
    /// The number of bytes of the sizes at the start of a sample.
    head: usize,
    /// The sum of the fixed sizes.
    fixed: u64,
}

/// The start and end of a column in its sample.
pub type Span = (u32, u32);

impl Columns {
    /// # Errors
    /// `Corrupt` when the three lists differ in length, or a name appears twice.
    pub fn new(names: Vec<String>, encodings: Vec<String>, sizes: Vec<Option<u64>>) -> Result<Self> {
        if names.len() != encodings.len() || names.len() != sizes.len() {
            let what = format!(
                "{} column names, {} encodings and {} sizes; there must be one each",
                names.len(),
                encodings.len(),
                sizes.len()
            );
            return Err(Error::corrupt(what));
        }
        let mut columns = Self::default();
        let mut seen = jinx_core::key_set::KeySet::default();
        for ((name, encoding_name), size) in names.into_iter().zip(encodings).zip(sizes) {
            if seen.insert(&name).is_some() {
                return Err(Error::corrupt("the column appears twice").in_column(&name));
            }
            // Streaming treats a size of zero as "variable".
            let size = size.filter(|size| *size > 0);
            match size {
                None => columns.head += 4,
                Some(size) => {
                    columns.fixed = columns
                        .fixed
                        .checked_add(size)
                        .filter(|sum| u32::try_from(*sum).is_ok())
                        .ok_or_else(|| Error::corrupt(format!("a size of {size}")).in_column(&name))?;
                }
            }
            let encoding = Encoding::parse(&encoding_name).ok();
            columns.all.push(Column { name, encoding_name, encoding, size });
        }
        Ok(columns)
    }

    /// The number of bytes at the start of each sample with the sizes of its variable columns.
    pub fn head_len(&self) -> usize {
        self.head
    }

    pub fn position(&self, name: &str) -> Option<usize> {
        self.all.iter().position(|column| column.name == name)
    }

    /// The spans of the columns in a sample of `total` bytes that begins with `head`.
    ///
    /// # Errors
    /// `Corrupt` when the sizes do not add up to the sample.
    pub fn spans(&self, head: &[u8], total: u64) -> Result<Box<[Span]>> {
        let short = || Error::corrupt(format!("a sample of {total} bytes, fewer than its columns take"));
        let sizes = head.get(..self.head).ok_or_else(short)?;
        let sum = sizes
            .chunks_exact(4)
            .map(|word| word.try_into().map_or(0, |word| u64::from(u32::from_le_bytes(word))))
            .fold(self.fixed + to_u64(self.head), u64::saturating_add);
        if sum != total {
            return Err(Error::corrupt(format!("a sample of {total} bytes whose columns take {sum}")));
        }
        let mut words = sizes.chunks_exact(4);
        let mut at = to_u64(self.head);
        let mut spans = Vec::with_capacity(self.all.len());
        for column in &self.all {
            let size = match column.size {
                Some(size) => size,
                None => {
                    let word = words.next().and_then(|word| word.try_into().ok()).ok_or_else(short)?;
                    u64::from(u32::from_le_bytes(word))
                }
            };
            let narrow = |value: u64| u32::try_from(value).map_err(|_| short());
            spans.push((narrow(at)?, narrow(at + size)?));
            at += size;
        }
        Ok(spans.into_boxed_slice())
    }

    /// Like [`Columns::spans`], for a whole sample.
    ///
    /// # Errors
    /// The errors of [`Columns::spans`].
    pub fn split(&self, sample: &[u8]) -> Result<Box<[Span]>> {
        self.spans(&sample[..sample.len().min(self.head)], to_u64(sample.len()))
    }
}

/// The bytes of one column of a whole sample.
pub fn part(sample: &[u8], span: Span) -> Result<&[u8]> {
    let (start, end) = (to_usize(span.0.into(), "an offset")?, to_usize(span.1.into(), "an offset")?);
    sample.get(start..end).ok_or_else(|| Error::corrupt("a column outside its sample"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn columns(sizes: &[Option<u64>]) -> Columns {
        let names = (0..sizes.len()).map(|i| format!("c{i}")).collect();
        Columns::new(names, vec!["bytes".to_owned(); sizes.len()], sizes.to_vec()).unwrap()
    }

    #[test]
    fn spans_follow_the_sizes() {
        let columns = columns(&[Some(8), None, None]);
        let mut sample = Vec::new();
        sample.extend_from_slice(&2u32.to_le_bytes());
        sample.extend_from_slice(&0u32.to_le_bytes());
        sample.extend_from_slice(&[7; 10]);
        assert_eq!(*columns.split(&sample).unwrap(), [(8, 16), (16, 18), (18, 18)]);
        sample.pop();
        assert!(columns.split(&sample).is_err());
        assert!(columns.split(&sample[..5]).is_err());
    }

    #[test]
    fn a_name_twice_is_corrupt() {
        let names = vec!["a".to_owned(), "a".to_owned()];
        assert!(Columns::new(names, vec!["int".to_owned(); 2], vec![Some(8); 2]).is_err());
    }

    proptest! {
        #[test]
        fn any_sample_is_split_or_refused(
            sizes in prop::collection::vec(prop::option::of(0u64..40), 0..6),
            sample in prop::collection::vec(any::<u8>(), 0..120),
        ) {
            let columns = columns(&sizes);
            if let Ok(spans) = columns.split(&sample) {
                let mut at = u32::try_from(columns.head_len()).unwrap();
                for (start, end) in spans.iter() {
                    prop_assert_eq!(*start, at);
                    prop_assert!(part(&sample, (*start, *end)).is_ok());
                    at = *end;
                }
                prop_assert_eq!(at as usize, sample.len());
            }
        }
    }
}
