//! Columns of dicts (media among them) and of maps.

use super::{BuilderSlot, ColumnBuilder, misfit};
use crate::arrow::failure::from_arrow;
use crate::arrow::features::is_media_struct;
use arrow_array::{ArrayRef, MapArray, StructArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, FieldRef, Fields};
use jinx_core::error::{Error, Result};
use jinx_core::row_events::Payload;
use jinx_core::value::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// Named columns side by side: the top level of a batch, and every struct.
pub(crate) struct StructMembers {
    names: Vec<String>,
    places: HashMap<String, usize>,
    slots: Vec<BuilderSlot>,
    /// The row in which a member was last seen, to detect missing and duplicate members.
    seen: Vec<usize>,
    row: usize,
}

impl StructMembers {
    pub(crate) fn new(fields: &Fields, depth: usize) -> Result<Self> {
        let mut members = Self {
            names: fields.iter().map(|field| field.name().clone()).collect(),
            places: HashMap::new(),
            slots: Vec::with_capacity(fields.len()),
            seen: vec![0; fields.len()],
            row: 0,
        };
        for (place, field) in fields.iter().enumerate() {
            let slot = BuilderSlot::new(field, depth + 1).map_err(|error| error.in_column(field.name()))?;
            members.slots.push(slot);
            if members.places.insert(field.name().clone(), place).is_some() {
                let what = "two columns have this name; rename one";
                return Err(Error::unsupported(what).in_column(field.name()));
            }
        }
        Ok(members)
    }

    pub(crate) fn push(&mut self, row: &[(String, Value)]) -> Result<()> {
        self.row += 1;
        for (at, (name, value)) in row.iter().enumerate() {
            // Rows usually follow the schema's order, so try the same place first, which saves a look-up.
            let guess = self.names.get(at).is_some_and(|expected| expected == name).then_some(at);
            let Some(place) = guess.or_else(|| self.places.get(name).copied()) else {
                let names = self.names.iter().map(|names| format!("'{names}'")).collect::<Vec<_>>();
                let what = format!("the schema has no such member (it has {})", names.join(", "));
                return Err(Error::mismatch(what).in_column(name));
            };
            if std::mem::replace(&mut self.seen[place], self.row) == self.row {
                return Err(Error::mismatch("the name occurs twice in one dict").in_column(name));
            }
            self.slots[place].push(value).map_err(|error| error.in_column(name))?;
        }
        if row.len() < self.slots.len() {
            for (place, slot) in self.slots.iter_mut().enumerate() {
                if self.seen[place] != self.row {
                    slot.push(&Value::Null).map_err(|error| error.in_column(&self.names[place]))?;
                }
            }
        }
        Ok(())
    }

    fn push_null(&mut self) -> Result<()> {
        self.slots.iter_mut().try_for_each(|slot| slot.column.push_null())
    }

    pub(crate) fn bytes(&self) -> usize {
        self.slots.iter().map(|slot| slot.column.bytes()).fold(0, usize::saturating_add)
    }

    pub(crate) fn finish(&mut self) -> Result<Vec<ArrayRef>> {
        self.slots.iter_mut().map(|slot| slot.column.finish()).collect()
    }
}

pub(crate) fn structure(fields: &Fields, depth: usize) -> Result<Box<dyn ColumnBuilder>> {
    Ok(Box::new(Structs {
        members: StructMembers::new(fields, depth)?,
        media: is_media_struct(&DataType::Struct(fields.clone())),
        fields: fields.clone(),
        nulls: NullBufferBuilder::new(0),
    }))
}

struct Structs {
    fields: Fields,
    members: StructMembers,
    media: bool,
    nulls: NullBufferBuilder,
}

impl ColumnBuilder for Structs {
    fn push(&mut self, value: &Value) -> Result<()> {
        match value {
            Value::Dict(row) => self.members.push(row)?,
            Value::Blob { payload: Payload::Raw, data, path, .. } if self.media => {
                let bytes =
                    Value::Blob { payload: Payload::Raw, data: data.clone(), media: false, path: None };
                let path = path.as_ref().map_or(Value::Null, |path| Value::Str(path.clone()));
                self.members.push(&[("bytes".to_owned(), bytes), ("path".to_owned(), path)])?;
            }
            other => return Err(misfit(other, if self.media { "media" } else { "dicts" })),
        }
        self.nulls.append_non_null();
        Ok(())
    }

    fn push_null(&mut self) -> Result<()> {
        self.nulls.append_null();
        self.members.push_null()
    }

    fn bytes(&self) -> usize {
        self.members.bytes()
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        let rows = self.nulls.len();
        let (members, nulls) = (self.members.finish()?, self.nulls.finish());
        let structs = StructArray::try_new_with_length(self.fields.clone(), members, nulls, rows);
        Ok(Arc::new(structs.map_err(from_arrow)?))
    }
}

pub(crate) fn map(entries: &FieldRef, sorted: bool, depth: usize) -> Result<Box<dyn ColumnBuilder>> {
    let DataType::Struct(fields) = entries.data_type() else {
        return Err(Error::invalid("a map's entries are not a struct"));
    };
    let [key, value] = fields.iter().as_slice() else {
        return Err(Error::invalid("a map's entries are not a struct of key and value"));
    };
    Ok(Box::new(Maps {
        keys: BuilderSlot {
            nullable: false,
            ..BuilderSlot::new(key, depth + 1).map_err(|error| error.in_column("key"))?
        },
        values: BuilderSlot::new(value, depth + 1).map_err(|error| error.in_column("value"))?,
        entries: entries.clone(),
        fields: fields.clone(),
        sorted,
        ends: vec![0],
        total: 0,
        nulls: NullBufferBuilder::new(0),
    }))
}

/// Lists of `[key, value]`, or dicts if the keys are strings.
struct Maps {
    entries: FieldRef,
    fields: Fields,
    keys: BuilderSlot,
    values: BuilderSlot,
    sorted: bool,
    ends: Vec<i32>,
    total: usize,
    nulls: NullBufferBuilder,
}

impl Maps {
    fn push_pair(&mut self, key: &Value, value: &Value) -> Result<()> {
        self.keys.push(key).map_err(|error| error.in_column("key"))?;
        self.values.push(value).map_err(|error| error.in_column("value"))
    }
}

impl ColumnBuilder for Maps {
    fn push(&mut self, value: &Value) -> Result<()> {
        let added = match value {
            Value::List(pairs) => {
                for pair in pairs {
                    match pair {
                        Value::List(pair) if pair.len() == 2 => self.push_pair(&pair[0], &pair[1])?,
                        other => return Err(misfit(other, "maps, which are lists of [key, value]")),
                    }
                }
                pairs.len()
            }
            Value::Dict(members) => {
                for (name, value) in members {
                    self.push_pair(&Value::Str(name.clone()), value)?;
                }
                members.len()
            }
            other => return Err(misfit(other, "maps, which are lists of [key, value]")),
        };
        self.total = self.total.saturating_add(added);
        self.ends.push(i32::try_from(self.total).map_err(|_| {
            Error::limit("more map entries in one batch than 32 bits can count; write fewer rows per batch")
        })?);
        self.nulls.append_non_null();
        Ok(())
    }

    fn push_null(&mut self) -> Result<()> {
        self.ends.extend(self.ends.last().copied());
        self.nulls.append_null();
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.keys.column.bytes().saturating_add(self.values.column.bytes())
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        let ends = std::mem::replace(&mut self.ends, vec![0]);
        let rows = std::mem::take(&mut self.total);
        let columns = vec![self.keys.column.finish()?, self.values.column.finish()?];
        let entries =
            StructArray::try_new_with_length(self.fields.clone(), columns, None, rows).map_err(from_arrow)?;
        let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
        let maps =
            MapArray::try_new(self.entries.clone(), offsets, entries, self.nulls.finish(), self.sorted);
        Ok(Arc::new(maps.map_err(from_arrow)?))
    }
}
