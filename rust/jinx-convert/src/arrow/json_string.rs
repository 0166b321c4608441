//! A value as JSON text, for columns with rows of mixed kinds.

use crate::arrow::describe::describe;
use jinx_core::error::{Error, Result};
use jinx_core::row_events::Number;
use jinx_core::value::Value;

/// The field metadata that marks a string column whose values are JSON.
pub(crate) const JSON_KEY: &str = "jinx.mixed";

/// Compact JSON; integers of any size stay exact.
///
/// # Errors
/// `Mismatch` for values that JSON cannot hold (bytes, arrays, nan, the infinities), with the path.
pub(crate) fn to_json(value: &Value) -> Result<String> {
    let mut text = String::new();
    write(value, &mut text)?;
    Ok(text)
}

fn write(value: &Value, text: &mut String) -> Result<()> {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::Int(value) | Value::Scalar(_, Number::Int(value)) => text.push_str(&value.to_string()),
        Value::Scalar(_, Number::Uint(value)) => text.push_str(&value.to_string()),
        Value::BigInt(digits) => text.push_str(digits),
        Value::Float(value) | Value::Scalar(_, Number::Float(value)) => float(*value, text)?,
        Value::Str(value) => string(value, text),
        Value::Blob { .. } | Value::Range(_) => {
            return Err(Error::mismatch(format!(
                "{} cannot become JSON text; drop the column or keep its kind the same in every row",
                describe(value)
            )));
        }
        Value::List(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                write(item, text).map_err(|error| error.in_column(&format!("[{at}]")))?;
            }
            text.push(']');
        }
        Value::Dict(members) => {
            text.push('{');
            for (at, (name, member)) in members.iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                string(name, text);
                text.push(':');
                write(member, text).map_err(|error| error.in_column(name))?;
            }
            text.push('}');
        }
    }
    Ok(())
}

fn float(value: f64, text: &mut String) -> Result<()> {
    // `{:?}` gives the shortest text that reads back as the same float, and always looks like a float.
    if value.is_finite() {
        text.push_str(&format!("{value:?}"));
        Ok(())
    } else {
        Err(Error::mismatch(format!("the float {value} cannot be written as JSON")))
    }
}

fn string(value: &str, text: &mut String) {
    text.push_str(&serde_json::Value::from(value).to_string());
}
