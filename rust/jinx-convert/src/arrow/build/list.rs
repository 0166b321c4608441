//! Columns of lists in Arrow's five layouts, from lists or from numpy arrays.

use super::{BuilderSlot, ColumnBuilder, misfit};
use crate::arrow::failure::from_arrow;
use crate::arrow::npy::Npy;
use arrow_array::{ArrayRef, FixedSizeListArray, GenericListArray, GenericListViewArray, OffsetSizeTrait};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, FieldRef};
use jinx_core::error::{Error, Result};
use jinx_core::value::Value;
use std::sync::Arc;

pub(crate) fn column(data_type: &DataType, depth: usize) -> Result<Box<dyn ColumnBuilder>> {
    Ok(match data_type {
        DataType::List(field) => Box::new(Lists::<i32>::new(field, false, depth)?),
        DataType::LargeList(field) => Box::new(Lists::<i64>::new(field, false, depth)?),
        DataType::ListView(field) => Box::new(Lists::<i32>::new(field, true, depth)?),
        DataType::LargeListView(field) => Box::new(Lists::<i64>::new(field, true, depth)?),
        DataType::FixedSizeList(field, size) => Box::new(FixedLists {
            field: field.clone(),
            items: slot(field, depth)?,
            size: *size,
            width: usize::try_from(*size).map_err(|_| Error::invalid("a list type has a negative size"))?,
            nulls: NullBufferBuilder::new(0),
        }),
        other => return Err(Error::invalid(format!("{other} is not a list type"))),
    })
}

fn slot(field: &FieldRef, depth: usize) -> Result<BuilderSlot> {
    BuilderSlot::new(field, depth + 1).map_err(|error| error.in_column("[]"))
}

/// Adds the elements; errors name the element that fails.
fn push_items(items: &mut BuilderSlot, values: &[Value]) -> Result<()> {
    for (at, value) in values.iter().enumerate() {
        items.push(value).map_err(|error| error.in_column(&format!("[{at}]")))?;
    }
    Ok(())
}

/// Adds one dimension of an array and returns its length.
fn push_dimension(items: &mut BuilderSlot, array: &Npy, level: usize, at: usize) -> Result<usize> {
    let Some((length, stride)) = array.dimensions.get(level).copied() else {
        return Err(Error::mismatch(format!(
            "an array of {} dimensions does not fit the nested lists of the column",
            array.dimensions.len()
        )));
    };
    for index in 0..length {
        items.column.push_array(array, level + 1, at + index * stride)?;
    }
    Ok(length)
}

struct Lists<O: OffsetSizeTrait> {
    field: FieldRef,
    items: BuilderSlot,
    ends: Vec<O>,
    total: usize,
    nulls: NullBufferBuilder,
    view: bool,
}

impl<O: OffsetSizeTrait> Lists<O> {
    fn new(field: &FieldRef, view: bool, depth: usize) -> Result<Self> {
        Ok(Self {
            field: field.clone(),
            items: slot(field, depth)?,
            ends: vec![O::zero()],
            total: 0,
            nulls: NullBufferBuilder::new(0),
            view,
        })
    }

    fn close(&mut self, length: usize) -> Result<()> {
        self.total = self.total.saturating_add(length);
        let end = O::from_usize(self.total).ok_or_else(|| {
            Error::limit("more list elements in one batch than 32 bits can count; write fewer rows per batch")
        })?;
        self.ends.push(end);
        self.nulls.append_non_null();
        Ok(())
    }
}

impl<O: OffsetSizeTrait> ColumnBuilder for Lists<O> {
    fn push(&mut self, value: &Value) -> Result<()> {
        let Value::List(values) = value else {
            return Err(misfit(value, "lists"));
        };
        push_items(&mut self.items, values)?;
        self.close(values.len())
    }

    fn push_null(&mut self) -> Result<()> {
        self.ends.extend(self.ends.last().copied());
        self.nulls.append_null();
        Ok(())
    }

    fn push_array(&mut self, array: &Npy, level: usize, at: usize) -> Result<()> {
        let length = push_dimension(&mut self.items, array, level, at)?;
        self.close(length)
    }

    fn bytes(&self) -> usize {
        size_of_val(self.ends.as_slice()).saturating_add(self.items.column.bytes())
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        let ends = std::mem::replace(&mut self.ends, vec![O::zero()]);
        self.total = 0;
        let (field, items, nulls) = (self.field.clone(), self.items.column.finish()?, self.nulls.finish());
        if self.view {
            let sizes = ends.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<O>>();
            let starts = ends[..sizes.len()].to_vec();
            let lists = GenericListViewArray::try_new(field, starts.into(), sizes.into(), items, nulls);
            return Ok(Arc::new(lists.map_err(from_arrow)?));
        }
        let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
        Ok(Arc::new(GenericListArray::try_new(field, offsets, items, nulls).map_err(from_arrow)?))
    }
}

struct FixedLists {
    field: FieldRef,
    items: BuilderSlot,
    size: i32,
    width: usize,
    nulls: NullBufferBuilder,
}

impl FixedLists {
    fn close(&mut self, length: usize) -> Result<()> {
        if length != self.width {
            return Err(Error::mismatch(format!(
                "a list of {length} does not fit a column of lists of exactly {}",
                self.width
            )));
        }
        self.nulls.append_non_null();
        Ok(())
    }
}

impl ColumnBuilder for FixedLists {
    fn push(&mut self, value: &Value) -> Result<()> {
        let Value::List(values) = value else {
            return Err(misfit(value, "lists"));
        };
        push_items(&mut self.items, values)?;
        self.close(values.len())
    }

    fn push_null(&mut self) -> Result<()> {
        for _ in 0..self.width {
            self.items.column.push_null()?;
        }
        self.nulls.append_null();
        Ok(())
    }

    fn push_array(&mut self, array: &Npy, level: usize, at: usize) -> Result<()> {
        let length = push_dimension(&mut self.items, array, level, at)?;
        self.close(length)
    }

    fn bytes(&self) -> usize {
        self.items.column.bytes()
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        let rows = self.nulls.len();
        let (items, nulls) = (self.items.column.finish()?, self.nulls.finish());
        let lists =
            FixedSizeListArray::try_new_with_length(self.field.clone(), self.size, items, nulls, rows);
        Ok(Arc::new(lists.map_err(from_arrow)?))
    }
}
