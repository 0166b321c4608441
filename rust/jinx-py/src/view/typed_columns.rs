//! A view's own columns that its file stores as typed arrays.

use crate::dataset::reader::Reader;
use crate::errors::IntoPy;
use jinx_core::Result;
use jinx_dataset::Dataset;
use jinx_format::read::columns::ColumnKind;
use jinx_format::write::own_column::OwnColumn;
use pyo3::prelude::*;

#[pyclass(frozen, module = "jinx._core")]
pub struct TypedColumns(pub Vec<OwnColumn>);

#[pymethods]
impl TypedColumns {
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.0.iter().map(|column| column.name.as_str()).collect()
    }
}

/// Columns that a view adds to its files and whose values are arrays of one type.
#[pyfunction]
pub fn typed_columns(py: Python<'_>, dataset: &Bound<'_, Reader>) -> PyResult<TypedColumns> {
    let view = &dataset.get().view;
    py.detach(|| typed_columns_of(view)).map(TypedColumns).into_py_result()
}

fn typed_columns_of(view: &Dataset) -> Result<Vec<OwnColumn>> {
    let mut typed = Vec::new();
    // A view without samples lists its columns in its Arrow schema.
    let names = if view.is_empty() { Vec::new() } else { view.rows.own_names() };
    for name in names.into_iter().filter(|name| view.rows.projection().has(name)) {
        let column = view.rows.column(&[Some(name.clone())], ColumnKind::Value)?;
        if let Some(column) = column.filter(|column| column.is_typed) {
            typed.push(column.to_write(name, view.positions.clone())?);
        }
    }
    Ok(typed)
}
