//! A 128-bit hash of a sample's content, independent of how files store it.
//!
//! Two samples have the same fingerprint if they have the same columns with the same values of the same types; neither
//! the order of names nor compression, encoding and place of a value matter. A value in a sidecar that is not compressed is
//! known by its checksum and not read. The file names next to media values do not count.

use crate::codec::Codec;
use crate::error::{Error, Result};
use crate::row_events::{Blob, Dtype, Number, Payload, Sink, UnreadValue};
use twox_hash::{XxHash3_64, XxHash3_128};

/// The kind of a value; it is the first byte that is hashed.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Tag {
    Null,
    Bool,
    Int,
    BigInt,
    Float,
    Str,
    Raw,
    Npy,
    Pt,
    Np,
    Scalar,
    List,
    Dict,
    Member,
}

/// An open list or dict.
struct Container {
    tag: Tag,
    /// Fingerprints of its elements or members.
    parts: Vec<u128>,
    /// The hash of the name whose value comes next.
    name: u64,
}

/// A sink that hashes one value, or some members of a sample.
#[derive(Default)]
pub struct Fingerprint {
    open: Vec<Container>,
    done: Option<u128>,
}

impl Fingerprint {
    /// The hash of what was emitted; afterwards, the sink is ready for the next value.
    ///
    /// # Errors
    /// `Invalid` when the events were not balanced.
    pub fn take(&mut self) -> Result<u128> {
        self.done.take().ok_or_else(|| Error::invalid("a value was not finished"))
    }

    fn put(&mut self, hash: u128) -> Result<()> {
        match self.open.last_mut() {
            None => self.done = Some(hash),
            Some(Container { tag: Tag::Dict, parts, name }) => {
                parts.push(tagged(Tag::Member, &[&name.to_le_bytes(), &hash.to_le_bytes()]));
            }
            Some(list) => list.parts.push(hash),
        }
        Ok(())
    }

    fn begin(&mut self, tag: Tag) -> Result<()> {
        self.open.push(Container { tag, parts: Vec::new(), name: 0 });
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        let Container { tag, mut parts, .. } =
            self.open.pop().ok_or_else(|| Error::invalid("an end without a begin"))?;
        if matches!(tag, Tag::Dict) {
            parts.sort_unstable();
        }
        let bytes: Vec<u8> = parts.iter().flat_map(|part| part.to_le_bytes()).collect();
        self.put(tagged(tag, &[&bytes]))
    }

    /// Adds a value whose content has this length and hash.
    fn content(&mut self, tag: Tag, bytes: u64, hash: u64) -> Result<()> {
        self.put(tagged(tag, &[&bytes.to_le_bytes(), &hash.to_le_bytes()]))
    }

    fn whole(&mut self, tag: Tag, data: &[u8]) -> Result<()> {
        self.content(tag, crate::checked_math::to_u64(data.len()), XxHash3_64::oneshot(data))
    }
}

fn tagged(tag: Tag, parts: &[&[u8]]) -> u128 {
    let mut bytes = vec![tag as u8];
    for part in parts {
        bytes.extend_from_slice(part);
    }
    XxHash3_128::oneshot(&bytes)
}

fn tag_of(payload: Payload) -> Tag {
    match payload {
        Payload::Raw => Tag::Raw,
        Payload::Npy => Tag::Npy,
        Payload::Pt => Tag::Pt,
        Payload::Np => Tag::Np,
    }
}

/// The bits of a float; all NaNs count as one value.
fn float_bits(value: f64) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() }
}

impl Sink for Fingerprint {
    fn null(&mut self) -> Result<()> {
        self.put(tagged(Tag::Null, &[]))
    }
    fn bool(&mut self, value: bool) -> Result<()> {
        self.put(tagged(Tag::Bool, &[&[u8::from(value)]]))
    }
    fn int(&mut self, value: i64) -> Result<()> {
        self.put(tagged(Tag::Int, &[&value.to_le_bytes()]))
    }
    fn big_int(&mut self, digits: &str) -> Result<()> {
        self.put(tagged(Tag::BigInt, &[digits.as_bytes()]))
    }
    fn float(&mut self, value: f64) -> Result<()> {
        self.put(tagged(Tag::Float, &[&float_bits(value).to_le_bytes()]))
    }
    fn str(&mut self, value: &str) -> Result<()> {
        self.whole(Tag::Str, value.as_bytes())
    }
    fn blob(&mut self, payload: Payload, blob: Blob<'_>) -> Result<()> {
        self.whole(tag_of(payload), blob.as_slice())
    }
    fn unread(&mut self, value: UnreadValue) -> Result<bool> {
        let UnreadValue { payload, codec: None::<Codec>, decoded_bytes, checksum: Some(checksum), .. } =
            value
        else {
            return Ok(false);
        };
        self.content(payload.map_or(Tag::Str, tag_of), decoded_bytes, checksum)?;
        Ok(true)
    }
    fn scalar(&mut self, dtype: Dtype, value: Number) -> Result<()> {
        let bits = match value {
            Number::Int(value) => value.to_le_bytes(),
            Number::Uint(value) => value.to_le_bytes(),
            Number::Float(value) => float_bits(value).to_le_bytes(),
        };
        match dtype {
            // A Python float whose value JSON cannot represent.
            Dtype::Float64 => self.put(tagged(Tag::Float, &[&bits])),
            _ => self.put(tagged(Tag::Scalar, &[dtype.name().as_bytes(), &bits])),
        }
    }
    fn begin_list(&mut self, _len: usize) -> Result<()> {
        self.begin(Tag::List)
    }
    fn end_list(&mut self) -> Result<()> {
        self.end()
    }
    fn begin_dict(&mut self, _len: usize) -> Result<()> {
        self.begin(Tag::Dict)
    }
    fn key(&mut self, name: &str) -> Result<()> {
        let dict = self.open.last_mut().ok_or_else(|| Error::invalid("a name outside a dict"))?;
        dict.name = XxHash3_64::oneshot(name.as_bytes());
        Ok(())
    }
    fn end_dict(&mut self) -> Result<()> {
        self.end()
    }
}

/// Records which fingerprints were seen: 16 bytes for each expected one, plus a quarter.
pub struct Seen {
    /// A table with open addressing; 0 marks a free place.
    places: Vec<u128>,
    used: usize,
    limit: usize,
}

impl Seen {
    /// A set for at most `limit` different fingerprints.
    ///
    /// # Errors
    /// `Limit` when there is not enough memory.
    pub fn with_limit(limit: usize) -> Result<Self> {
        let count = limit.saturating_add(limit / 4).saturating_add(8);
        let mut places = Vec::new();
        places
            .try_reserve_exact(count)
            .map_err(|_| Error::limit(format!("there is no memory for {limit} fingerprints")))?;
        places.resize(count, 0);
        Ok(Self { places, used: 0, limit })
    }

    /// Adds a fingerprint; returns whether it is new.
    ///
    /// # Errors
    /// `Invalid` when there are more than the limit.
    pub fn insert(&mut self, fingerprint: u128) -> Result<bool> {
        let wanted = fingerprint.max(1);
        let high = u64::try_from(wanted >> 64).unwrap_or(u64::MAX);
        let count = crate::checked_math::to_u64(self.places.len());
        // Scale the hash to the number of places, so that this need not be a power of two.
        let start = (u128::from(high) * u128::from(count)) >> 64;
        let mut at = usize::try_from(start).unwrap_or(0);
        loop {
            match self.places[at] {
                0 if self.used == self.limit => {
                    return Err(Error::invalid("more fingerprints than this set was made for"));
                }
                0 => {
                    self.places[at] = wanted;
                    self.used += 1;
                    return Ok(true);
                }
                there if there == wanted => return Ok(false),
                _ => at = (at + 1) % self.places.len(),
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::value::Value;
    use bytes::Bytes;

    fn of(value: &Value) -> u128 {
        let mut sink = Fingerprint::default();
        value.emit(&mut sink).unwrap();
        sink.take().unwrap()
    }

    fn text(value: &str) -> Value {
        Value::Str(value.to_owned())
    }

    fn dict(members: &[(&str, Value)]) -> Value {
        Value::Dict(members.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
    }

    fn blob(payload: Payload, data: &'static [u8], path: Option<&str>) -> Value {
        let path = path.map(str::to_owned);
        Value::Blob { payload, data: Bytes::from_static(data), media: path.is_some(), path }
    }

    #[test]
    fn the_order_of_names_does_not_count_and_that_of_elements_does() {
        let one = dict(&[("a", Value::Int(1)), ("b", text("x"))]);
        assert_eq!(of(&one), of(&dict(&[("b", text("x")), ("a", Value::Int(1))])));
        let list = |items: &[i64]| Value::List(items.iter().copied().map(Value::Int).collect());
        assert_ne!(of(&list(&[1, 2])), of(&list(&[2, 1])));
    }

    #[test]
    fn values_of_other_kinds_differ() {
        let kinds = [
            Value::Null,
            Value::Bool(false),
            Value::Bool(true),
            Value::Int(0),
            Value::Int(1),
            Value::BigInt("1".to_owned()),
            Value::Float(0.0),
            Value::Float(-0.0),
            Value::Float(1.0),
            text(""),
            text("1"),
            blob(Payload::Raw, b"1", None),
            blob(Payload::Npy, b"1", None),
            Value::Scalar(Dtype::Int8, Number::Int(1)),
            Value::Scalar(Dtype::Int16, Number::Int(1)),
            Value::List(Vec::new()),
            Value::List(vec![Value::Null]),
            Value::List(vec![Value::List(Vec::new())]),
            dict(&[]),
            dict(&[("a", Value::Null)]),
            dict(&[("b", Value::Null)]),
            dict(&[("a", dict(&[("b", Value::Null)]))]),
        ];
        let found: std::collections::BTreeSet<u128> = kinds.iter().map(of).collect();
        assert_eq!(found.len(), kinds.len());
    }

    #[test]
    fn every_nan_is_one_value_and_file_names_of_media_do_not_count() {
        let nan = Value::Float(f64::from_bits(f64::NAN.to_bits() | 1));
        assert_eq!(of(&nan), of(&Value::Scalar(Dtype::Float64, Number::Float(f64::NAN))));
        let (with, without) = (blob(Payload::Raw, b"jpeg", Some("a.jpg")), blob(Payload::Raw, b"jpeg", None));
        assert_eq!(of(&with), of(&without));
    }

    #[test]
    fn a_checksum_counts_as_the_content_it_is_of() {
        let data: &[u8] = b"an image that is not compressed";
        let mut sink = Fingerprint::default();
        let mut value = UnreadValue {
            payload: Some(Payload::Raw),
            codec: None,
            stored_bytes: 31,
            decoded_bytes: 31,
            checksum: Some(XxHash3_64::oneshot(data)),
        };
        assert!(sink.unread(value).unwrap());
        assert_eq!(sink.take().unwrap(), of(&blob(Payload::Raw, data, None)));
        value.codec = Some(Codec::Zstd);
        assert!(!sink.unread(value).unwrap());
        value = UnreadValue { codec: None, checksum: None, ..value };
        assert!(!sink.unread(value).unwrap());
    }

    #[test]
    fn a_set_knows_what_it_has_seen() {
        let mut seen = Seen::with_limit(1000).unwrap();
        // Values that are neighbours in the table, and the value that marks a free place.
        let all: Vec<u128> = (0..500u128).chain((1..=499).map(|i| i << 100)).collect();
        let first: Vec<bool> = all.iter().map(|one| seen.insert(*one).unwrap()).collect();
        assert_eq!(first.iter().filter(|is_new| !**is_new).count(), 1, "0 and 1 are taken for the same");
        assert!(all.iter().all(|one| !seen.insert(*one).unwrap()));
        assert!(seen.insert(u128::MAX).unwrap());
        assert!(seen.insert(u128::MAX - 1).unwrap());
        assert!(seen.insert(u128::MAX - 2).is_err());
        assert!(Seen::with_limit(0).unwrap().insert(7).is_err());
    }
}
