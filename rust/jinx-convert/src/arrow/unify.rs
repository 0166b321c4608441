//! One schema for the rows of many files: columns that only some files have become nullable, and types are widened if
//! no value changes.

use crate::arrow::features::METADATA_KEY;
use arrow_schema::{
    DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Field, Fields, Schema, TimeUnit,
};
use jinx_core::error::{Error, Result};
use serde_json::Value as Json;
use std::sync::Arc;

/// The schema that covers the rows of both; the order and metadata of the first come first.
///
/// # Errors
/// `Mismatch` naming the column and what differs.
pub(crate) fn unify(first: &Schema, other: &Schema) -> Result<Schema> {
    let fields = members(first.fields(), other.fields())?;
    require_same_labels(first, other)?;
    let mut metadata = other.metadata().clone();
    metadata.extend(first.metadata().clone());
    Ok(Schema::new_with_metadata(fields, metadata))
}

/// The labels of a class are numbers, whose names are in the metadata of Hugging Face.
fn require_same_labels(first: &Schema, other: &Schema) -> Result<()> {
    let features = |schema: &Schema| {
        let text = schema.metadata().get(METADATA_KEY)?;
        serde_json::from_str::<Json>(text).ok()?.pointer("/info/features").cloned()
    };
    let (Some(Json::Object(first)), Some(other)) = (features(first), features(other)) else { return Ok(()) };
    for (name, feature) in &first {
        let Some(found) = other.get(name) else { continue };
        let (before, here) = (labels_of(feature), labels_of(found));
        if before != here {
            let shown =
                |labels: &[&Json]| labels.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let what = format!(
                "the column has the class labels {} here, and {} in the files before it",
                shown(&here),
                shown(&before)
            );
            return Err(Error::mismatch(what).in_column(name));
        }
    }
    Ok(())
}

/// The names of all class labels in a feature, in order.
fn labels_of(feature: &Json) -> Vec<&Json> {
    match feature {
        Json::Object(members) if members.get("_type").is_some_and(|kind| kind == "ClassLabel") => {
            members.get("names").into_iter().collect()
        }
        Json::Object(members) => members.values().flat_map(labels_of).collect(),
        Json::Array(elements) => elements.iter().flat_map(labels_of).collect(),
        _ => Vec::new(),
    }
}

/// The members of both, by name.
fn members(first: &Fields, other: &Fields) -> Result<Fields> {
    let nullable = |field: &Field| Arc::new(field.clone().with_nullable(true));
    let mut all = Vec::with_capacity(first.len());
    for field in first {
        all.push(match other.iter().find(|other| other.name() == field.name()) {
            Some(found) => Arc::new(one_field(field, found).map_err(|error| error.in_column(field.name()))?),
            None => nullable(field),
        });
    }
    let is_new = |field: &&Arc<Field>| first.iter().all(|known| known.name() != field.name());
    all.extend(other.iter().filter(is_new).map(|field| nullable(field)));
    Ok(all.into())
}

fn one_field(first: &Field, other: &Field) -> Result<Field> {
    let wide = wider(first.data_type(), other.data_type())?;
    // Metadata of only one of the fields, such as the mark for JSON strings, may not apply to the other.
    let mut metadata = first.metadata().clone();
    metadata.retain(|key, value| other.metadata().get(key) == Some(value));
    let nullable = first.is_nullable() || other.is_nullable();
    Ok(first.clone().with_data_type(wide).with_nullable(nullable).with_metadata(metadata))
}

fn element(first: &Field, other: &Field) -> Result<Arc<Field>> {
    one_field(first, other).map(Arc::new).map_err(|error| error.in_column("[]"))
}

/// The type that can represent all values of both unchanged.
fn wider(left: &DataType, right: &DataType) -> Result<DataType> {
    use DataType::{Dictionary, FixedSizeList, LargeList, List, Map, Null, Struct, Timestamp};
    Ok(match (left, right) {
        _ if left == right => left.clone(),
        (Null, kind) | (kind, Null) => kind.clone(),
        (Dictionary(_, kind), _) => wider(kind, right)?,
        (_, Dictionary(_, kind)) => wider(left, kind)?,
        (List(a), List(b)) => List(element(a, b)?),
        (List(a) | LargeList(a), List(b) | LargeList(b)) => LargeList(element(a, b)?),
        (FixedSizeList(a, size), FixedSizeList(b, size_b)) if size == size_b => {
            FixedSizeList(element(a, b)?, *size)
        }
        (FixedSizeList(a, _) | List(a), FixedSizeList(b, _) | List(b)) => List(element(a, b)?),
        (Map(a, sorted), Map(b, _)) => Map(element(a, b)?, *sorted),
        (Struct(a), Struct(b)) => Struct(members(a, b)?),
        (Timestamp(a, zone), Timestamp(b, other)) if zone == other => Timestamp(finer(*a, *b), zone.clone()),
        _ => decimal(left, right).or_else(|| ladder(left, right)).ok_or_else(|| {
            Error::mismatch(format!("the column is {right} here, and {left} in the files before it"))
        })?,
    })
}

/// The unit of which both are multiples.
fn finer(left: TimeUnit, right: TimeUnit) -> TimeUnit {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    [Nanosecond, Microsecond, Millisecond]
        .into_iter()
        .find(|unit| [left, right].contains(unit))
        .unwrap_or(Second)
}

/// The decimals with the most digits on each side of the point.
fn decimal(left: &DataType, right: &DataType) -> Option<DataType> {
    let ((precision, scale), (other, other_scale)) = (digits_of(left)?, digits_of(right)?);
    let whole = (i16::from(precision) - i16::from(scale)).max(i16::from(other) - i16::from(other_scale));
    let scale = scale.max(other_scale);
    let digits = u8::try_from(whole + i16::from(scale)).ok()?;
    if digits <= DECIMAL128_MAX_PRECISION {
        return Some(DataType::Decimal128(digits, scale));
    }
    (digits <= DECIMAL256_MAX_PRECISION).then_some(DataType::Decimal256(digits, scale))
}

/// The number of digits of decimals, and of those behind the point.
fn digits_of(kind: &DataType) -> Option<(u8, i8)> {
    use DataType::{Decimal32, Decimal64, Decimal128, Decimal256};
    match kind {
        Decimal32(digits, scale)
        | Decimal64(digits, scale)
        | Decimal128(digits, scale)
        | Decimal256(digits, scale) => Some((*digits, *scale)),
        _ => None,
    }
}

/// The later of two types in a list where each type can represent all values of the types before it.
fn ladder(left: &DataType, right: &DataType) -> Option<DataType> {
    use DataType::{
        Binary, BinaryView, Float16, Float32, Float64, Int8, Int16, Int32, Int64, LargeBinary, LargeUtf8,
        UInt8, UInt16, UInt32, UInt64, Utf8, Utf8View,
    };
    const LADDERS: [&[DataType]; 7] = [
        &[Int8, Int16, Int32, Int64],
        &[UInt8, Int16, Int32, Int64],
        &[UInt8, UInt16, Int32, Int64],
        &[UInt8, UInt16, UInt32, UInt64],
        &[Float16, Float32, Float64],
        &[Utf8, Utf8View, LargeUtf8],
        &[Binary, BinaryView, LargeBinary],
    ];
    LADDERS.iter().find_map(|steps| {
        let place = |kind: &DataType| steps.iter().position(|step| step == kind);
        let later = place(left)?.max(place(right)?);
        steps.get(later).cloned()
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use DataType::{Float64, Int8, Int32, Int64, LargeUtf8, Null, UInt8, UInt64, Utf8};

    fn schema(fields: &[(&str, DataType)]) -> Schema {
        let field = |(name, kind): &(&str, DataType)| Field::new(*name, kind.clone(), false);
        Schema::new(fields.iter().map(field).collect::<Vec<_>>())
    }

    fn list(name: &str, inner: DataType) -> DataType {
        DataType::List(Arc::new(Field::new(name, inner, true)))
    }

    #[test]
    fn types_widen_and_columns_join() {
        let both = unify(
            &schema(&[("a", Int32), ("b", list("item", Null)), ("only", Utf8), ("t", Utf8)]),
            &schema(&[("b", list("element", Utf8)), ("a", Int64), ("new", Int8), ("t", LargeUtf8)]),
        );
        let both = both.unwrap();
        let names: Vec<&str> = both.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(names, ["a", "b", "only", "t", "new"]);
        let kind = |name: &str| both.field_with_name(name).unwrap().data_type().clone();
        assert_eq!(
            (kind("a"), kind("b"), kind("t"), kind("new")),
            (Int64, list("item", Utf8), LargeUtf8, Int8)
        );
        let nullable = |name: &str| both.field_with_name(name).unwrap().is_nullable();
        assert!(!nullable("a") && nullable("only") && nullable("new"));
    }

    #[test]
    fn structs_join_their_members() {
        let of = |members: &[(&str, DataType)]| {
            schema(&[("m", DataType::Struct(schema(members).fields().clone()))])
        };
        let both = unify(&of(&[("x", UInt8)]), &of(&[("y", Utf8), ("x", Int32)])).unwrap();
        let DataType::Struct(members) = both.field(0).data_type() else { unreachable!() };
        assert_eq!((members[0].data_type(), members[1].data_type()), (&Int32, &Utf8));
    }

    #[test]
    fn what_would_change_values_is_refused_by_name() {
        let text =
            |one: DataType, two: DataType| unify(&schema(&[("c", one)]), &schema(&[("c", two)])).unwrap_err();
        assert_eq!(
            text(Int64, Utf8).to_string(),
            "column 'c': the column is Utf8 here, and Int64 in the files before it"
        );
        for (one, two) in [(Int64, Float64), (Int8, UInt64), (list("i", Int8), Int8)] {
            text(one, two);
        }
        assert!(text(list("i", Int8), list("i", Utf8)).to_string().contains("column 'c[]'"));
    }
}
