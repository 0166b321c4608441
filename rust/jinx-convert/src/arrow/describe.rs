//! A value in a few words, for messages.

use jinx_core::row_events::Payload;
use jinx_core::value::Value;

pub(crate) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("the bool {value}"),
        Value::Int(value) => format!("the integer {value}"),
        Value::BigInt(digits) => format!("the integer {}", shortened(digits)),
        Value::Float(value) => format!("the float {value}"),
        Value::Str(text) => format!("the string '{}'", shortened(text)),
        Value::Blob { payload: Payload::Npy, .. } => "a numpy array".to_owned(),
        Value::Blob { payload: Payload::Pt, .. } => "a torch tensor".to_owned(),
        Value::Blob { payload: Payload::Np, .. } => "a numpy scalar".to_owned(),
        Value::Blob { media: true, .. } => "a media value".to_owned(),
        // Their number is not stated, because some readers of samples leave media out.
        Value::Blob { .. } | Value::Range(_) => "bytes".to_owned(),
        Value::Scalar(dtype, _) => format!("a numpy {}", dtype.name()),
        Value::List(items) => format!("a list of {}", items.len()),
        Value::Dict(members) => format!("a dict of {}", members.len()),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
