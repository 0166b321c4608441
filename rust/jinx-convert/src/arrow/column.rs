//! A column, resolved once per batch: a tree of typed buffers from which rows are read without checking types.

use crate::arrow::calendar::Zone;
use crate::arrow::failure::from_arrow;
use crate::arrow::features::Node;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrowPrimitiveType, BooleanArray, Decimal32Array, Decimal64Array, Decimal128Array,
    Decimal256Array, LargeStringArray, StringArray, StringViewArray,
};
use arrow_buffer::{ArrowNativeType, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, TimeUnit};
use bytes::Bytes;
use jinx_core::error::{Error, Result};
use jinx_core::limits::MAX_DEPTH;

pub(crate) struct ArrowColumn {
    pub(crate) nulls: Option<NullBuffer>,
    pub(crate) data: Data,
}

pub(crate) enum Data {
    Null,
    Bool(BooleanArray),
    Int8(ScalarBuffer<i8>),
    Int16(ScalarBuffer<i16>),
    Int32(ScalarBuffer<i32>),
    /// Also used for durations.
    Int64(ScalarBuffer<i64>),
    Uint8(ScalarBuffer<u8>),
    Uint16(ScalarBuffer<u16>),
    Uint32(ScalarBuffer<u32>),
    Uint64(ScalarBuffer<u64>),
    Float16(ScalarBuffer<<Float16Type as ArrowPrimitiveType>::Native>),
    Float32(ScalarBuffer<f32>),
    Float64(ScalarBuffer<f64>),
    Text(StringArray),
    LargeText(LargeStringArray),
    TextView(StringViewArray),
    Bytes(OffsetBuffer<i32>, Bytes),
    LargeBytes(OffsetBuffer<i64>, Bytes),
    BytesView(ScalarBuffer<u128>, Vec<Bytes>),
    FixedBytes(usize, Bytes),
    Date32(ScalarBuffer<i32>),
    Date64(ScalarBuffer<i64>),
    Time32(ScalarBuffer<i32>, TimeUnit),
    Time64(ScalarBuffer<i64>, TimeUnit),
    Timestamp(ScalarBuffer<i64>, TimeUnit, Zone),
    Decimal32(Decimal32Array),
    Decimal64(Decimal64Array),
    Decimal128(Decimal128Array),
    Decimal256(Decimal256Array),
    List(OffsetBuffer<i32>, Box<ArrowColumn>),
    LargeList(OffsetBuffer<i64>, Box<ArrowColumn>),
    FixedList(usize, Box<ArrowColumn>),
    ListView(ScalarBuffer<i32>, ScalarBuffer<i32>, Box<ArrowColumn>),
    LargeListView(ScalarBuffer<i64>, ScalarBuffer<i64>, Box<ArrowColumn>),
    Struct(Vec<(String, ArrowColumn)>),
    Map(OffsetBuffer<i32>, Box<ArrowColumn>, Box<ArrowColumn>),
    /// Hugging Face's struct of `bytes` and `path`.
    Media(Box<ArrowColumn>, Box<ArrowColumn>),
    /// For dictionaries and runs: the index of the value of each row.
    Indirect(Vec<usize>, Box<ArrowColumn>),
}

/// Resolves `array`; `feature` states which parts are media.
///
/// # Errors
/// `Unsupported` for unions, intervals and member names that occur twice, naming the column.
pub(crate) fn resolve(array: &dyn Array, feature: Option<&Node>, depth: usize) -> Result<ArrowColumn> {
    if depth > MAX_DEPTH {
        return Err(Error::limit(format!("the type is nested deeper than {MAX_DEPTH}")));
    }
    let nested = |array: &dyn Array, feature| resolve(array, feature, depth + 1).map(Box::new);
    let element = |array: &dyn Array| {
        nested(array, feature.and_then(Node::element)).map_err(|error| error.in_column("[]"))
    };
    let data = match array.data_type() {
        DataType::Null => Data::Null,
        DataType::Boolean => Data::Bool(array.as_boolean().clone()),
        DataType::Int8 => Data::Int8(numbers::<Int8Type>(array)),
        DataType::Int16 => Data::Int16(numbers::<Int16Type>(array)),
        DataType::Int32 => Data::Int32(numbers::<Int32Type>(array)),
        DataType::Int64 => Data::Int64(numbers::<Int64Type>(array)),
        DataType::Duration(_) => Data::Int64(reinterpreted(array)),
        DataType::UInt8 => Data::Uint8(numbers::<UInt8Type>(array)),
        DataType::UInt16 => Data::Uint16(numbers::<UInt16Type>(array)),
        DataType::UInt32 => Data::Uint32(numbers::<UInt32Type>(array)),
        DataType::UInt64 => Data::Uint64(numbers::<UInt64Type>(array)),
        DataType::Float16 => Data::Float16(numbers::<Float16Type>(array)),
        DataType::Float32 => Data::Float32(numbers::<Float32Type>(array)),
        DataType::Float64 => Data::Float64(numbers::<Float64Type>(array)),
        DataType::Utf8 => Data::Text(array.as_string().clone()),
        DataType::LargeUtf8 => Data::LargeText(array.as_string().clone()),
        DataType::Utf8View => Data::TextView(array.as_string_view().clone()),
        DataType::Binary => {
            let values = array.as_binary::<i32>();
            Data::Bytes(values.offsets().clone(), values.values().clone().into())
        }
        DataType::LargeBinary => {
            let values = array.as_binary::<i64>();
            Data::LargeBytes(values.offsets().clone(), values.values().clone().into())
        }
        DataType::BinaryView => {
            let values = array.as_binary_view();
            let buffers = values.data_buffers().iter().map(|buffer| buffer.clone().into()).collect();
            Data::BytesView(values.views().clone(), buffers)
        }
        DataType::FixedSizeBinary(_) => {
            let values = array.as_fixed_size_binary();
            Data::FixedBytes(values.value_length().as_usize(), values.values().clone().into())
        }
        DataType::Date32 => Data::Date32(reinterpreted(array)),
        DataType::Date64 => Data::Date64(reinterpreted(array)),
        DataType::Time32(unit) => Data::Time32(reinterpreted(array), *unit),
        DataType::Time64(unit) => Data::Time64(reinterpreted(array), *unit),
        DataType::Timestamp(unit, zone) => {
            Data::Timestamp(reinterpreted(array), *unit, Zone::of(zone.as_deref()))
        }
        DataType::Decimal32(..) => Data::Decimal32(array.as_primitive().clone()),
        DataType::Decimal64(..) => Data::Decimal64(array.as_primitive().clone()),
        DataType::Decimal128(..) => Data::Decimal128(array.as_primitive().clone()),
        DataType::Decimal256(..) => Data::Decimal256(array.as_primitive().clone()),
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            Data::List(lists.offsets().clone(), element(lists.values())?)
        }
        DataType::LargeList(_) => {
            let lists = array.as_list::<i64>();
            Data::LargeList(lists.offsets().clone(), element(lists.values())?)
        }
        DataType::FixedSizeList(..) => {
            let lists = array.as_fixed_size_list();
            Data::FixedList(lists.value_length().as_usize(), element(lists.values())?)
        }
        DataType::ListView(_) => {
            let lists = array.as_list_view::<i32>();
            Data::ListView(lists.offsets().clone(), lists.sizes().clone(), element(lists.values())?)
        }
        DataType::LargeListView(_) => {
            let lists = array.as_list_view::<i64>();
            Data::LargeListView(lists.offsets().clone(), lists.sizes().clone(), element(lists.values())?)
        }
        DataType::Struct(_) => {
            let values = array.as_struct();
            let member =
                |name: &str| values.column_by_name(name).map(|column| nested(column, None)).transpose();
            match (feature, member("bytes"), member("path")) {
                (Some(Node::Media(_)), Ok(Some(bytes)), Ok(Some(path))) => Data::Media(bytes, path),
                _ => Data::Struct(members(
                    values.column_names().into_iter().zip(values.columns()),
                    |name| feature.and_then(|node| node.member(name)),
                    depth + 1,
                )?),
            }
        }
        DataType::Map(..) => {
            let maps = array.as_map();
            let keys = nested(maps.keys(), None).map_err(|error| error.in_column("key"))?;
            let values = nested(maps.values(), None).map_err(|error| error.in_column("value"))?;
            Data::Map(maps.offsets().clone(), keys, values)
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            if dictionary.values().is_empty() {
                Data::Null
            } else {
                Data::Indirect(dictionary.normalized_keys(), nested(dictionary.values(), feature)?)
            }
        }
        DataType::RunEndEncoded(ends, _) => match ends.data_type() {
            DataType::Int16 => runs::<Int16Type>(array, depth + 1)?,
            DataType::Int32 => runs::<Int32Type>(array, depth + 1)?,
            _ => runs::<Int64Type>(array, depth + 1)?,
        },
        DataType::Union(..) => {
            return Err(Error::unsupported("union columns have no form in a row; cast the column first"));
        }
        DataType::Interval(_) => {
            return Err(Error::unsupported(
                "interval columns have no form in a row; cast the column to a duration",
            ));
        }
    };
    Ok(ArrowColumn { nulls: array.nulls().cloned(), data })
}

/// Resolves named children; a duplicate name is an error, because the row could not be read back.
pub(crate) fn members<'a, A: AsRef<dyn Array> + 'a>(
    children: impl Iterator<Item = (&'a str, &'a A)>,
    feature: impl Fn(&str) -> Option<&'a Node>,
    depth: usize,
) -> Result<Vec<(String, ArrowColumn)>> {
    let mut seen = std::collections::HashSet::new();
    children
        .map(|(name, child)| {
            if !seen.insert(name) {
                return Err(Error::unsupported("two columns have this name; rename one").in_column(name));
            }
            let column =
                resolve(child.as_ref(), feature(name), depth).map_err(|error| error.in_column(name))?;
            Ok((name.to_owned(), column))
        })
        .collect()
}

fn numbers<T: ArrowPrimitiveType>(array: &dyn Array) -> ScalarBuffer<T::Native> {
    array.as_primitive::<T>().values().clone()
}

/// The values of a primitive array of any type whose native type is `N`.
fn reinterpreted<N: ArrowNativeType>(array: &dyn Array) -> ScalarBuffer<N> {
    let data = array.to_data();
    match data.buffers().first() {
        Some(buffer) => ScalarBuffer::new(buffer.clone(), data.offset(), data.len()),
        None => ScalarBuffer::from(Vec::new()),
    }
}

fn runs<R: arrow_array::types::RunEndIndexType>(array: &dyn Array, depth: usize) -> Result<Data> {
    let Some(run) = array.as_run_opt::<R>() else {
        return Err(from_arrow(arrow_schema::ArrowError::InvalidArgumentError(
            "run ends of a wrong type".into(),
        )));
    };
    let rows = (0..run.len()).map(|row| run.get_physical_index(row)).collect();
    Ok(Data::Indirect(rows, Box::new(resolve(run.values(), None, depth)?)))
}
