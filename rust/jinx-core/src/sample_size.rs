//! Estimates how many bytes a sample takes in a JINX file, without encoding it.

use crate::checked_math::to_u64;
use crate::error::Result;
use crate::row_events::{Blob, Dtype, Number, Payload, Sink, UnreadValue};

/// Binary values smaller than this stay in the row, as base64.
const INLINE: u64 = 64;
/// The size of a pointer to a value in the sidecar, including the name's suffix.
const POINTER: u64 = 64;
/// The bytes of a row's position, hash and numbers in the index.
const INDEX: u64 = 24;

/// A sink that adds up the bytes of one sample. What a sidecar stores counts as it is stored there, any other binary value
/// uncompressed.
#[derive(Debug, Default)]
pub struct SizeOfSample {
    bytes: u64,
}

impl SizeOfSample {
    /// The number of bytes since the last call.
    pub fn take(&mut self) -> u64 {
        std::mem::take(&mut self.bytes).saturating_add(INDEX)
    }

    fn add(&mut self, bytes: u64) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        Ok(())
    }

    fn number(&mut self, digits: usize) -> Result<()> {
        self.add(to_u64(digits) + 1)
    }
}

impl Sink for SizeOfSample {
    fn null(&mut self) -> Result<()> {
        self.add(5)
    }
    fn bool(&mut self, _value: bool) -> Result<()> {
        self.add(5)
    }
    fn int(&mut self, value: i64) -> Result<()> {
        self.number(itoa::Buffer::new().format(value).len())
    }
    fn big_int(&mut self, digits: &str) -> Result<()> {
        self.number(digits.len())
    }
    fn float(&mut self, value: f64) -> Result<()> {
        self.number(zmij::Buffer::new().format(value).len())
    }
    fn str(&mut self, value: &str) -> Result<()> {
        self.add(to_u64(value.len()) + 3)
    }
    fn blob(&mut self, _payload: Payload, blob: Blob<'_>) -> Result<()> {
        let bytes = to_u64(blob.as_slice().len());
        self.add(if bytes > INLINE { bytes.next_multiple_of(64) + POINTER } else { bytes * 4 / 3 + 8 })
    }
    fn unread(&mut self, value: UnreadValue) -> Result<bool> {
        self.add(value.stored_bytes.next_multiple_of(64).saturating_add(POINTER))?;
        Ok(true)
    }
    fn scalar(&mut self, dtype: Dtype, _value: Number) -> Result<()> {
        self.number(dtype.name().len() + 4)
    }
    fn begin_list(&mut self, _len: usize) -> Result<()> {
        self.add(2)
    }
    fn end_list(&mut self) -> Result<()> {
        Ok(())
    }
    fn begin_dict(&mut self, _len: usize) -> Result<()> {
        self.add(2)
    }
    fn key(&mut self, name: &str) -> Result<()> {
        self.add(to_u64(name.len()) + 3)
    }
    fn end_dict(&mut self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::json::write::{Binary, JsonText};
    use crate::value::Value;

    #[test]
    fn it_is_close_to_the_text_of_the_row() {
        let members = [
            ("id", Value::Str("sample 17".to_owned())),
            ("score", Value::Float(0.25)),
            ("words", Value::List(vec![Value::Str("one".to_owned()), Value::Null, Value::Bool(true)])),
            ("n", Value::Int(-123)),
        ];
        let row = Value::Dict(members.map(|(name, value)| (name.to_owned(), value)).to_vec());
        let (mut text, mut size) = (JsonText::new(Binary::Tagged), SizeOfSample::default());
        row.emit(&mut text).unwrap();
        row.emit(&mut size).unwrap();
        let (written, counted) = (to_u64(text.out.len()), size.take() - INDEX);
        assert!(written <= counted && counted <= written + 4, "{written} {counted}");
        assert_eq!(size.take(), INDEX);
    }

    #[test]
    fn a_value_in_a_sidecar_counts_as_it_is_stored() {
        let mut size = SizeOfSample::default();
        let value = UnreadValue {
            payload: Some(Payload::Raw),
            codec: None,
            stored_bytes: 1000,
            decoded_bytes: 9000,
            checksum: None,
        };
        assert!(size.unread(value).unwrap());
        assert_eq!(size.take(), 1024 + POINTER + INDEX);
        let huge = UnreadValue { stored_bytes: u64::MAX - 63, ..value };
        assert!(size.unread(huge).unwrap());
        assert!(size.unread(huge).unwrap());
        assert_eq!(size.take(), u64::MAX);
    }
}
