//! What is known about one field, and how another value changes it.

use crate::build::describe;
use crate::features::MediaFeature;
use crate::npy::{Element, Npy};
use jinx_core::error::{Error, Result};
use jinx_core::limits::MAX_DEPTH;
use jinx_core::sink::{Dtype, Number, Payload};
use jinx_core::value::Value;
use std::collections::HashMap;

/// Dicts that are used as maps have ever new names; a schema with more members serves nobody.
const MAX_MEMBERS: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// The feature, where the caller says that media lie here.
    pub(super) media: Option<MediaFeature>,
    /// Whether any row had it; a field that is only announced is no column.
    seen: bool,
}

#[derive(Debug, Default)]
pub(super) enum Kind {
    #[default]
    Null,
    Bool,
    Number(Range),
    /// Only numpy scalars of one dtype so far.
    Scalar(Dtype, Range),
    Text,
    Bytes,
    Media,
    List(Box<Node>),
    Dict(Members),
    /// Numpy arrays of one dtype and number of dimensions.
    Array(Element, usize),
    /// Mixed kinds that are kept as JSON text.
    Json,
}

/// The members of all dicts at one place.
#[derive(Debug, Default)]
pub(super) struct Members {
    nodes: Vec<(String, Node)>,
    places: HashMap<String, usize>,
    /// Places in the order in which rows first had them.
    order: Vec<usize>,
}

impl Members {
    /// The members that rows had, in the order in which they came.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(String, Node)> {
        self.order.iter().filter_map(|place| self.nodes.get(*place))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    fn place(&mut self, name: &str) -> Result<usize> {
        if let Some(place) = self.places.get(name) {
            return Ok(*place);
        }
        if self.nodes.len() >= MAX_MEMBERS {
            return Err(Error::limit(format!(
                "a dict with more than {MAX_MEMBERS} different names is no column; use a list of [key, value]"
            )));
        }
        self.places.insert(name.to_owned(), self.nodes.len());
        self.nodes.push((name.to_owned(), Node::default()));
        Ok(self.nodes.len() - 1)
    }

    fn observed(&mut self, name: &str) -> Result<&mut Node> {
        let place = self.place(name)?;
        let node = &mut self.nodes[place].1;
        if !std::mem::replace(&mut node.seen, true) {
            self.order.push(place);
        }
        Ok(node)
    }
}

/// The numbers seen.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Range {
    pub(super) ints: Option<(i128, i128)>,
    pub(super) floats: bool,
    /// An integer that no float64 equals.
    pub(super) inexact: Option<i128>,
}

impl Range {
    fn int(value: i128) -> Self {
        let inexact = crate::build::exact_f64(value).is_none().then_some(value);
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
}

impl Kind {
    pub(super) fn empty_dict() -> Self {
        Self::Dict(Members::default())
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Number(range) | Self::Scalar(_, range) if range.floats => "float",
            Self::Number(_) | Self::Scalar(..) => "integer",
            Self::Text => "text",
            Self::Bytes => "bytes",
            Self::Media => "media",
            Self::List(_) => "list",
            Self::Dict(_) => "dict",
            Self::Array(..) => "numpy array",
            Self::Json => "JSON text",
        }
    }
}

impl Node {
    /// Notes that media lie at `path` below this node.
    pub(super) fn mark_media(&mut self, path: &[Option<String>], media: &MediaFeature) {
        match path.split_first() {
            None => self.media = Some(media.clone()),
            Some((None, rest)) => {
                if let Kind::Null = self.kind {
                    self.kind = Kind::List(Box::default());
                }
                if let Kind::List(element) = &mut self.kind {
                    element.mark_media(rest, media);
                }
            }
            Some((Some(name), rest)) => {
                if let Kind::Null = self.kind {
                    self.kind = Kind::empty_dict();
                }
                if let Kind::Dict(members) = &mut self.kind
                    && let Ok(place) = members.place(name)
                {
                    members.nodes[place].1.mark_media(rest, media);
                }
            }
        }
    }

    pub(super) fn observe(&mut self, value: &Value, mixed_json: bool) -> Result<()> {
        self.observe_at(value, mixed_json, 0)
    }

    fn observe_at(&mut self, value: &Value, mixed_json: bool, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(Error::limit(format!("values nested deeper than {MAX_DEPTH}")));
        }
        let matched = match (&mut self.kind, value) {
            (_, Value::Null) => true,
            (Kind::Json, _) => crate::json_text::to_json(value).map(|_| true)?,
            (_, Value::Dict(members)) if self.media.is_some() && is_media_dict(members) => {
                self.kind = Kind::Media;
                true
            }
            (Kind::Media, Value::Dict(members)) => is_media_dict(members),
            (kind @ Kind::Null, _) => {
                *kind = first(value)?;
                return match kind {
                    Kind::List(_) | Kind::Dict(_) => self.observe_at(value, mixed_json, depth),
                    _ => Ok(()),
                };
            }
            (Kind::List(element), Value::List(items)) => {
                for (at, item) in items.iter().enumerate() {
                    let observed = element.observe_at(item, mixed_json, depth + 1);
                    observed.map_err(|error| error.in_field(&format!("[{at}]")))?;
                }
                true
            }
            (Kind::Dict(known), Value::Dict(members)) => {
                for (name, value) in members {
                    let observed = known
                        .observed(name)
                        .and_then(|member| member.observe_at(value, mixed_json, depth + 1));
                    observed.map_err(|error| error.in_field(name))?;
                }
                true
            }
            (kind, value) => unite(kind, first(value)?),
        };
        if matched {
            return Ok(());
        }
        if mixed_json && depth > 0 {
            crate::json_text::to_json(value)?;
            self.kind = Kind::Json;
            return Ok(());
        }
        Err(Error::mismatch(format!(
            "rows mix kinds: {} before, {} here; make them the same, or keep the field as JSON text (mixed=\"json\", --mixed json)",
            self.kind.name(),
            describe(value)
        )))
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

/// The kind of one value alone; lists and dicts are still empty.
fn first(value: &Value) -> Result<Kind> {
    Ok(match value {
        Value::Null => Kind::Null,
        Value::Bool(_) => Kind::Bool,
        Value::Int(value) => Kind::Number(Range::int((*value).into())),
        // Past i128 any bound beyond u64 gives the same error.
        Value::BigInt(digits) => Kind::Number(Range::int(digits.parse().unwrap_or(i128::MAX))),
        Value::Float(_) => Kind::Number(Range::float()),
        Value::Scalar(dtype, number) => Kind::Scalar(
            *dtype,
            match number {
                Number::Int(value) => Range::int((*value).into()),
                Number::Uint(value) => Range::int((*value).into()),
                Number::Float(_) => Range::float(),
            },
        ),
        Value::Str(_) => Kind::Text,
        Value::Blob { payload: Payload::Raw, media: false, path: None, .. } => Kind::Bytes,
        Value::Blob { payload: Payload::Raw, .. } => Kind::Media,
        Value::Blob { payload: Payload::Npy, data, .. } => {
            let array = Npy::parse(data)?;
            Kind::Array(array.element, array.dimensions.len())
        }
        Value::Blob { payload: Payload::Np, data, .. } => match Npy::scalar(data)?.element {
            Element::Bool => Kind::Bool,
            Element::Float(8) => Kind::Number(Range::float()),
            other => Kind::Array(other, 0),
        },
        Value::Blob { .. } => {
            return Err(Error::unsupported(format!("{} has no Arrow form", describe(value))));
        }
        Value::List(_) => Kind::List(Box::default()),
        Value::Dict(_) => Kind::empty_dict(),
    })
}

/// Widens `kind` to hold `other` as well; false when they do not mix.
fn unite(kind: &mut Kind, other: Kind) -> bool {
    match (&mut *kind, other) {
        (Kind::Bool, Kind::Bool) | (Kind::Text, Kind::Text) | (Kind::Bytes, Kind::Bytes) => true,
        (Kind::Media, Kind::Media | Kind::Bytes) => true,
        (Kind::Bytes, Kind::Media) => {
            *kind = Kind::Media;
            true
        }
        (Kind::Array(element, dimensions), Kind::Array(other, others)) => {
            (*element, *dimensions) == (other, others)
        }
        (Kind::Scalar(dtype, range), Kind::Scalar(other, others)) if *dtype == other => {
            range.unite(others);
            true
        }
        (Kind::Number(range) | Kind::Scalar(_, range), Kind::Number(others) | Kind::Scalar(_, others)) => {
            let mut united = *range;
            united.unite(others);
            *kind = Kind::Number(united);
            true
        }
        _ => false,
    }
}
