//! Converts the description of a view to save from Python.

use crate::dataset::reader::positions;
use crate::errors::{IntoPy, to_py};
use crate::view::typed_columns::TypedColumns;
use jinx_core::Error;
use jinx_format::view_footer::{Base, NewBase, NewView};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// `{"bases": JSON text of a list, "indexes": [bytes or None], "positions": bytes or None, "drop": [...],
/// "num_samples": int, "own": TypedColumns}`; arrays are little-endian u64.
pub fn new_view(view: &Bound<'_, PyDict>) -> PyResult<NewView> {
    let member = |name: &str| {
        view.get_item(name)?.ok_or_else(|| to_py(&Error::invalid(format!("a view without '{name}'"))))
    };
    let numbers = |bytes: &Bound<'_, PyAny>| match bytes.is_none() {
        true => Ok(None),
        false => positions(bytes, u64::MAX).map(Some),
    };
    let text: String = member("bases")?.extract()?;
    let bases: Vec<Base> = serde_json::from_str(&text)
        .map_err(|error| to_py(&Error::invalid(format!("the bases of a view: {error}"))))?;
    let indexes: Vec<Bound<'_, PyAny>> = member("indexes")?.extract()?;
    let bases =
        bases.into_iter().zip(indexes).map(|(base, index)| Ok(NewBase { base, index: numbers(&index)? }));
    let own = match view.get_item("own")? {
        Some(own) => own.cast::<TypedColumns>()?.get().0.clone(),
        None => Vec::new(),
    };
    let new = NewView {
        bases: bases.collect::<PyResult<_>>()?,
        positions: numbers(&member("positions")?)?,
        drop: member("drop")?.extract()?,
        num_samples: member("num_samples")?.extract()?,
        own,
    };
    new.check().into_py_result()?;
    Ok(new)
}
