//! A schema as text for the footer: base64 of the Arrow IPC message that `pyarrow.Schema.serialize()` writes.

use crate::arrow::failure::{from_arrow, guarded};
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteOptions};
use arrow_schema::{DataType, Schema};
use base64_simd::STANDARD;
use jinx_core::error::{Error, Result};

/// Marks the start of an IPC message.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// IPC messages are padded, including their prefix of eight bytes, to a multiple of this.
const ALIGNMENT: usize = 8;

/// The schema with all its metadata, as base64.
#[expect(clippy::expect_used)]
pub fn encode_schema(schema: &Schema) -> String {
    let mut tracker = DictionaryTracker::new(true);
    let encoded = IpcDataGenerator::default().schema_to_bytes_with_dictionary_tracker(
        schema,
        &mut tracker,
        &IpcWriteOptions::default(),
    );
    let mut body = encoded.ipc_message;
    body.resize(body.len().next_multiple_of(ALIGNMENT), 0);
    let mut message = Vec::with_capacity(body.len() + 8);
    message.extend_from_slice(&CONTINUATION);
    let length = u32::try_from(body.len()).expect("flatbuffers hold less than 2 GiB");
    message.extend_from_slice(&length.to_le_bytes());
    message.extend_from_slice(&body);
    STANDARD.encode_to_string(message)
}

/// The schema from text made by [`encode_schema`] or pyarrow.
///
/// # Errors
/// `Corrupt` when the text is not base64 or not a schema message.
pub fn decode_schema(text: &str) -> Result<Schema> {
    let message = STANDARD
        .decode_to_vec(text.trim().as_bytes())
        .map_err(|_| Error::corrupt("the Arrow schema is not base64"))?;
    guarded(
        || arrow_ipc::convert::try_schema_from_ipc_buffer(&message).map_err(from_arrow),
        "the Arrow schema",
    )
    .map_err(|error| Error::corrupt(format!("the Arrow schema cannot be read: {}", error.what())))
    .and_then(checked)
}

/// Checks sizes that Arrow's own types assume to be valid.
fn checked(schema: Schema) -> Result<Schema> {
    for field in schema.fields() {
        check(field.data_type()).map_err(|error| error.in_column(field.name()))?;
    }
    Ok(schema)
}

fn check(data_type: &DataType) -> Result<()> {
    match data_type {
        DataType::FixedSizeBinary(size) | DataType::FixedSizeList(_, size) if *size < 0 => {
            Err(Error::corrupt("the Arrow schema has a negative size"))
        }
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _)
        | DataType::RunEndEncoded(_, field) => check(field.data_type()),
        DataType::Struct(fields) => fields.iter().try_for_each(|field| check(field.data_type())),
        DataType::Dictionary(_, values) => check(values),
        _ => Ok(()),
    }
}
