//! Whether the rows of one file fit the schema of another.

use arrow_schema::{DataType, Field, Fields, Schema};
use jinx_core::error::{Error, Result};

/// Checks that a file's columns are those of the first file, in any order; metadata do not count.
///
/// # Errors
/// `Mismatch` naming the column and what differs.
pub(crate) fn check(first: &Schema, other: &Schema) -> Result<()> {
    for field in first.fields() {
        let Ok(found) = other.field_with_name(field.name()) else {
            return Err(
                Error::mismatch("the first file has this column, this one has not").in_field(field.name())
            );
        };
        check_field(field, found)?;
    }
    match other.fields().iter().find(|field| first.field_with_name(field.name()).is_err()) {
        Some(field) => {
            Err(Error::mismatch("this file has this column, the first one has not").in_field(field.name()))
        }
        None => Ok(()),
    }
}

fn check_field(first: &Field, other: &Field) -> Result<()> {
    if !same(first.data_type(), other.data_type()) {
        let what =
            format!("the column is {} here, and {} in the first file", other.data_type(), first.data_type());
        return Err(Error::mismatch(what).in_field(first.name()));
    }
    if other.is_nullable() && !first.is_nullable() {
        return Err(
            Error::mismatch("the column may be null here, but not in the first file").in_field(first.name())
        );
    }
    Ok(())
}

fn same(one: &DataType, other: &DataType) -> bool {
    use DataType::{FixedSizeList, LargeList, LargeListView, List, ListView, Map, Struct};
    match (one, other) {
        (List(a), List(b))
        | (LargeList(a), LargeList(b))
        | (ListView(a), ListView(b))
        | (LargeListView(a), LargeListView(b)) => same_element(a, b),
        (FixedSizeList(a, one), FixedSizeList(b, other)) => one == other && same_element(a, b),
        (Map(a, one), Map(b, other)) => one == other && same_element(a, b),
        (Struct(a), Struct(b)) => same_members(a, b),
        _ => one == other,
    }
}

/// The element's own name means nothing: writers call it `item` or `element`.
fn same_element(one: &Field, other: &Field) -> bool {
    (one.is_nullable() || !other.is_nullable()) && same(one.data_type(), other.data_type())
}

fn same_members(one: &Fields, other: &Fields) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.name() == b.name() && same_element(a, b))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn names_and_types_count_and_element_names_do_not() {
        let list = |name: &str, inner: DataType| DataType::List(Arc::new(Field::new(name, inner, true)));
        let schema = |fields: Vec<(&str, DataType)>| {
            Schema::new(
                fields.into_iter().map(|(name, kind)| Field::new(name, kind, true)).collect::<Vec<_>>(),
            )
        };
        let first = schema(vec![("a", DataType::Int64), ("b", list("item", DataType::Utf8))]);
        let same = schema(vec![("b", list("element", DataType::Utf8)), ("a", DataType::Int64)]);
        check(&first, &same).unwrap();
        let text = |other: Schema| check(&first, &other).unwrap_err().to_string();
        assert!(text(schema(vec![("a", DataType::Int64)])).contains("'b'"));
        let other = schema(vec![("a", DataType::Int32), ("b", list("item", DataType::Utf8))]);
        assert_eq!(text(other), "field 'a': the column is Int32 here, and Int64 in the first file");
        let other =
            schema(vec![("a", DataType::Int64), ("b", list("item", DataType::Utf8)), ("c", DataType::Null)]);
        assert!(text(other).contains("'c'"));
    }
}
