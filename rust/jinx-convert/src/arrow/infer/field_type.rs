//! The inferred type of one field, and how another value changes it.

use crate::arrow::describe::describe;
use crate::arrow::exact_numbers::exact_f64;
use crate::arrow::features::MediaFeature;
use crate::arrow::infer::finish::{lacks_type, number};
use crate::arrow::nesting::{Nesting, in_nested, too_deep};
use crate::arrow::npy::{Element, Npy};
use jinx_core::error::{Error, Result};
use jinx_core::row_events::{Dtype, Number, Payload};
use jinx_core::value::Value;
use std::collections::HashMap;

/// The maximum number of members: dicts used as maps always have new names, and a larger schema is useless.
const MAX_MEMBERS: usize = 10_000;

#[derive(Debug, Clone, Default)]
pub(crate) struct InferredField {
    pub(crate) kind: InferredType,
    /// The feature, if the caller declares that this is media.
    pub(crate) media: Option<MediaFeature>,
    /// Whether any row had the field; a field that was only announced is not a column.
    seen: bool,
    /// Whether the values have no common type, so that the field is left out.
    pub(crate) is_left_out: bool,
}

#[derive(Debug, Clone, Default)]
pub(crate) enum InferredType {
    #[default]
    Null,
    Bool,
    Number(Range),
    /// So far, only numpy scalars of one dtype.
    Scalar(Dtype, Range),
    Text,
    Bytes,
    Media,
    List(Box<InferredField>),
    Dict(InferredMembers),
    /// So far, only numpy arrays with one dtype and number of dimensions.
    Array(Element, usize),
    /// Mixed kinds that are kept as JSON text.
    Json,
}

/// The members of all dicts at one position.
#[derive(Debug, Clone, Default)]
pub(crate) struct InferredMembers {
    nodes: Vec<(String, InferredField)>,
    places: HashMap<String, usize>,
    /// The indexes of members in the order in which they first occurred.
    order: Vec<usize>,
}

impl InferredMembers {
    /// The members of rows, in the order in which they first occurred.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &(String, InferredField)> {
        self.order.iter().filter_map(|place| self.nodes.get(*place))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    fn place(&mut self, name: &str) -> Result<usize> {
        if let Some(place) = self.places.get(name) {
            return Ok(*place);
        }
        if self.nodes.len() >= MAX_MEMBERS {
            return Err(Error::limit(format!(
                "a dict with more than {MAX_MEMBERS} different names cannot be a column; use a list of [key, value]"
            )));
        }
        self.places.insert(name.to_owned(), self.nodes.len());
        self.nodes.push((name.to_owned(), InferredField::default()));
        Ok(self.nodes.len() - 1)
    }

    fn observed(&mut self, name: &str) -> Result<&mut InferredField> {
        let place = self.place(name)?;
        let node = &mut self.nodes[place].1;
        if !std::mem::replace(&mut node.seen, true) {
            self.order.push(place);
        }
        Ok(node)
    }
}

/// The numbers that were seen.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Range {
    pub(crate) ints: Option<(i128, i128)>,
    pub(crate) floats: bool,
    /// An integer that no float64 represents exactly.
    pub(crate) inexact: Option<i128>,
}

impl Range {
    fn int(value: i128) -> Self {
        let inexact = exact_f64(value).is_none().then_some(value);
        Self { ints: Some((value, value)), floats: false, inexact }
    }

    fn float() -> Self {
        Self { floats: true, ..Self::default() }
    }

    fn unite(&mut self, other: Self) {
        self.ints = match (self.ints, other.ints) {
            (Some((low, high)), Some((other_low, other_high))) => {
                Some((low.min(other_low), high.max(other_high)))
            }
            (one, other) => one.or(other),
        };
        self.floats |= other.floats;
        self.inexact = self.inexact.or(other.inexact);
    }

    /// Whether no type can represent these numbers, whatever comes later.
    fn has_no_type(&self) -> bool {
        let (low, high) = self.ints.unwrap_or((0, 0));
        let is_integer = i64::try_from(low).is_ok() && i64::try_from(high).is_ok()
            || u64::try_from(low).is_ok() && u64::try_from(high).is_ok();
        self.inexact.is_some() && (self.floats || !is_integer)
    }
}

impl InferredType {
    pub(crate) fn empty_dict() -> Self {
        Self::Dict(InferredMembers::default())
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Number(range) | Self::Scalar(_, range) if range.floats => "float",
            Self::Number(_) | Self::Scalar(..) => "integer",
            Self::Text => "string",
            Self::Bytes => "bytes",
            Self::Media => "media",
            Self::List(_) => "list",
            Self::Dict(_) => "dict",
            Self::Array(..) => "numpy array",
            Self::Json => "JSON text",
        }
    }
}

impl InferredField {
    /// Records that `path` below this node is media.
    pub(crate) fn mark_media(&mut self, path: &[Option<String>], media: &MediaFeature) {
        match path.split_first() {
            None => self.media = Some(media.clone()),
            Some((None, rest)) => {
                if let InferredType::Null = self.kind {
                    self.kind = InferredType::List(Box::default());
                }
                if let InferredType::List(element) = &mut self.kind {
                    element.mark_media(rest, media);
                }
            }
            Some((Some(name), rest)) => {
                if let InferredType::Null = self.kind {
                    self.kind = InferredType::empty_dict();
                }
                if let InferredType::Dict(members) = &mut self.kind
                    && let Ok(place) = members.place(name)
                {
                    members.nodes[place].1.mark_media(rest, media);
                }
            }
        }
    }

    pub(crate) fn observe(&mut self, value: &Value, mixed_json: bool) -> Result<()> {
        self.observe_at(value, mixed_json, Nesting::ROW)
    }

    /// Like [`Self::observe`] for a row, but marks columns without a common type instead of failing.
    pub(crate) fn observe_columns(&mut self, row: &[(String, Value)], mixed_json: bool) -> Result<()> {
        let InferredType::Dict(columns) = &mut self.kind else { return Ok(()) };
        for (name, value) in row {
            let column = columns.observed(name)?;
            if column.is_left_out {
                continue;
            }
            match column.observe_at(value, mixed_json, Nesting::ROW.in_dict()) {
                Err(error) if lacks_type(&error) => column.is_left_out = true,
                observed => observed.map_err(|error| error.in_column(name))?,
            }
        }
        Ok(())
    }

    fn observe_at(&mut self, value: &Value, mixed_json: bool, place: Nesting) -> Result<()> {
        let matched = match (&mut self.kind, value) {
            (_, Value::Null) => true,
            (InferredType::Json, _) => crate::arrow::json_string::to_json(value).map(|_| true)?,
            (_, Value::Dict(members)) if self.media.is_some() && is_media_dict(members) => {
                self.kind = InferredType::Media;
                true
            }
            (InferredType::Media, Value::Dict(members)) => is_media_dict(members),
            (kind @ InferredType::Null, _) => {
                let found = first(value)?;
                if place.holds(&found) {
                    *kind = found;
                    return match kind {
                        InferredType::List(_) | InferredType::Dict(_) => {
                            self.observe_at(value, mixed_json, place)
                        }
                        _ => self.require_type(mixed_json),
                    };
                }
                if !mixed_json {
                    return Err(too_deep());
                }
                false
            }
            (InferredType::List(element), Value::List(items)) => {
                for (at, item) in items.iter().enumerate() {
                    let observed = element.observe_at(item, mixed_json, place.in_list());
                    observed.map_err(|error| in_nested(error, place, &format!("[{at}]")))?;
                }
                true
            }
            (InferredType::Dict(known), Value::Dict(members)) => {
                for (name, value) in members {
                    let observed = known
                        .observed(name)
                        .and_then(|member| member.observe_at(value, mixed_json, place.in_dict()));
                    observed.map_err(|error| in_nested(error, place, name))?;
                }
                true
            }
            (kind, value) => unite(kind, first(value)?),
        };
        if matched {
            return self.require_type(mixed_json);
        }
        if mixed_json && !place.is_row() {
            crate::arrow::json_string::to_json(value)?;
            self.kind = InferredType::Json;
            return Ok(());
        }
        Err(Error::mismatch(format!(
            "rows mix kinds: {} before, {} here; make them the same, or keep the column as JSON text: jinx convert --mixed json, jinx.convert(..., mixed=\"json\")",
            self.kind.name(),
            describe(value)
        )))
    }

    /// Fails at the row that decides that numbers have no common type, not after the last row.
    fn require_type(&self, mixed_json: bool) -> Result<()> {
        match &self.kind {
            InferredType::Number(range) if !mixed_json && range.has_no_type() => number(*range).map(|_| ()),
            _ => Ok(()),
        }
    }
}

fn is_media_dict(members: &[(String, Value)]) -> bool {
    !members.is_empty()
        && members.iter().all(|(name, value)| match (name.as_str(), value) {
            ("bytes" | "path", Value::Null) | ("path", Value::Str(_)) => true,
            ("bytes", Value::Blob { payload, .. }) => *payload == Payload::Raw,
            _ => false,
        })
}

/// The kind of a single value; lists and dicts are still empty.
fn first(value: &Value) -> Result<InferredType> {
    Ok(match value {
        Value::Null => InferredType::Null,
        Value::Bool(_) => InferredType::Bool,
        Value::Int(value) => InferredType::Number(Range::int((*value).into())),
        // An integer beyond i128 counts as the maximum of i128: both are outside the range of every integer type.
        Value::BigInt(digits) => InferredType::Number(Range::int(digits.parse().unwrap_or(i128::MAX))),
        Value::Float(_) => InferredType::Number(Range::float()),
        Value::Scalar(dtype, number) => InferredType::Scalar(
            *dtype,
            match number {
                Number::Int(value) => Range::int((*value).into()),
                Number::Uint(value) => Range::int((*value).into()),
                Number::Float(_) => Range::float(),
            },
        ),
        Value::Str(_) => InferredType::Text,
        Value::Blob { payload: Payload::Raw, media: false, path: None, .. } | Value::Range(_) => {
            InferredType::Bytes
        }
        Value::Blob { payload: Payload::Raw, .. } => InferredType::Media,
        Value::Blob { payload: Payload::Npy, data, .. } => {
            let array = Npy::parse(data)?;
            InferredType::Array(array.element, array.dimensions.len())
        }
        Value::Blob { payload: Payload::Np, data, .. } => match Npy::scalar(data)?.element {
            Element::Bool => InferredType::Bool,
            Element::Float(8) => InferredType::Number(Range::float()),
            other => InferredType::Array(other, 0),
        },
        Value::Blob { .. } => {
            return Err(Error::unsupported(format!("{} has no Arrow form", describe(value))));
        }
        Value::List(_) => InferredType::List(Box::default()),
        Value::Dict(_) => InferredType::empty_dict(),
    })
}

/// Widens `kind` so that it also covers `other`; returns false if the two cannot be combined.
fn unite(kind: &mut InferredType, other: InferredType) -> bool {
    match (&mut *kind, other) {
        (InferredType::Bool, InferredType::Bool)
        | (InferredType::Text, InferredType::Text)
        | (InferredType::Bytes, InferredType::Bytes) => true,
        (InferredType::Media, InferredType::Media | InferredType::Bytes) => true,
        (InferredType::Bytes, InferredType::Media) => {
            *kind = InferredType::Media;
            true
        }
        (InferredType::Array(element, dimensions), InferredType::Array(other, others)) => {
            (*element, *dimensions) == (other, others)
        }
        (InferredType::Scalar(dtype, range), InferredType::Scalar(other, others)) if *dtype == other => {
            range.unite(others);
            true
        }
        (
            InferredType::Number(range) | InferredType::Scalar(_, range),
            InferredType::Number(others) | InferredType::Scalar(_, others),
        ) => {
            let mut united = *range;
            united.unite(others);
            *kind = InferredType::Number(united);
            true
        }
        _ => false,
    }
}
