//! Hugging Face's feature types: which columns contain media, from the schema's `huggingface` metadata.

use arrow_schema::{DataType, Schema};
use jinx_format::fields::FieldInfo;
use serde_json::Value as Json;

/// The schema metadata key under which `datasets` keeps its features.
pub const METADATA_KEY: &str = "huggingface";
/// The maximum nesting of features, as for types; deeper features are ignored and stay plain structs.
const MAX_NESTING: usize = 64;

/// A feature whose values are files: a struct of `bytes` and `path` in Arrow, bytes in a row.
#[derive(Debug, Clone, PartialEq)]
pub struct MediaFeature {
    /// `Image`, `Audio` or `Video`.
    pub kind: String,
    /// The feature as `datasets` wrote it, with options such as `mode` or `sampling_rate`.
    pub feature_json: Json,
}

impl MediaFeature {
    /// A feature without options; `kind` is `Image`, `Audio` or `Video`.
    pub(crate) fn of(kind: &str) -> Self {
        Self { kind: kind.to_owned(), feature_json: serde_json::json!({"_type": kind}) }
    }
}

/// The path of media: names from the outside in, with `None` for every element of a list.
pub type MediaPath = (Vec<Option<String>>, MediaFeature);

/// The media columns of a schema; other columns can be read without a feature.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Features {
    columns: Vec<(String, Node)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    Media(MediaFeature),
    List(Box<Self>),
    Dict(Vec<(String, Self)>),
}

impl Node {
    pub(crate) fn member(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Dict(members) => find(members, name),
            _ => None,
        }
    }

    pub(crate) fn element(&self) -> Option<&Self> {
        match self {
            Self::List(element) => Some(element),
            _ => None,
        }
    }
}

/// The media fields of a JINX footer.
pub fn media_of(fields: &[FieldInfo]) -> Vec<MediaPath> {
    let media = fields.iter().filter_map(|field| {
        let kind = field.media.as_ref()?.kind.clone();
        let plain = MediaFeature::of(&kind);
        let feature_json = field.feature.clone().filter(Json::is_object).unwrap_or(plain.feature_json);
        Some((field.path.clone(), MediaFeature { kind, feature_json }))
    });
    media.collect()
}

fn find<'a>(members: &'a [(String, Node)], name: &str) -> Option<&'a Node> {
    members.iter().find(|(member, _)| member == name).map(|(_, node)| node)
}

impl Features {
    /// The media features of `schema`. Metadata that is absent, broken or does not fit the Arrow types is
    /// ignored: the columns then stay structs, and nothing is lost.
    pub fn from_schema(schema: &Schema) -> Self {
        let info =
            schema.metadata().get(METADATA_KEY).and_then(|text| serde_json::from_str::<Json>(text).ok());
        let features = info.as_ref().and_then(|info| info.get("info")?.get("features"));
        let columns = schema
            .fields()
            .iter()
            .filter_map(|field| {
                let node = align(features?.get(field.name())?, field.data_type(), MAX_NESTING)?;
                Some((field.name().clone(), node))
            })
            .collect();
        Self { columns }
    }

    /// All paths of media.
    pub fn media_paths(&self) -> Vec<MediaPath> {
        let mut paths = Vec::new();
        for (name, node) in &self.columns {
            collect(node, &mut vec![Some(name.clone())], &mut paths);
        }
        paths
    }

    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    pub(crate) fn column(&self, name: &str) -> Option<&Node> {
        find(&self.columns, name)
    }
}

fn collect(node: &Node, path: &mut Vec<Option<String>>, paths: &mut Vec<MediaPath>) {
    match node {
        Node::Media(media) => paths.push((path.clone(), media.clone())),
        Node::List(element) => {
            path.push(None);
            collect(element, path, paths);
            path.pop();
        }
        Node::Dict(members) => {
            for (name, member) in members {
                path.push(Some(name.clone()));
                collect(member, path, paths);
                path.pop();
            }
        }
    }
}

/// The media in `feature`, as far as the Arrow type has the same shape.
fn align(feature: &Json, data_type: &DataType, depth: usize) -> Option<Node> {
    let depth = depth.checked_sub(1)?;
    if let Json::Array(items) = feature {
        let element = align(items.first()?, element_type(data_type)?, depth)?;
        return Some(Node::List(Box::new(element)));
    }
    let members = feature.as_object()?;
    match members.get("_type").and_then(Json::as_str) {
        Some(kind @ ("Image" | "Audio" | "Video")) => is_media_struct(data_type)
            .then(|| Node::Media(MediaFeature { kind: kind.to_owned(), feature_json: feature.clone() })),
        Some("Sequence" | "List" | "LargeList") => {
            let inner = members.get("feature")?;
            if let Some(element) = element_type(data_type) {
                return Some(Node::List(Box::new(align(inner, element, depth)?)));
            }
            // A Sequence of dicts is stored as a dict of lists.
            dict(inner.as_object()?, data_type, |member, member_type| {
                Some(Node::List(Box::new(align(member, element_type(member_type)?, depth)?)))
            })
        }
        Some(_) => None,
        None => dict(members, data_type, |member, member_type| align(member, member_type, depth)),
    }
}

fn dict(
    members: &serde_json::Map<String, Json>,
    data_type: &DataType,
    align_member: impl Fn(&Json, &DataType) -> Option<Node>,
) -> Option<Node> {
    let DataType::Struct(fields) = data_type else {
        return None;
    };
    let nodes: Vec<_> = fields
        .iter()
        .filter_map(|field| {
            Some((field.name().clone(), align_member(members.get(field.name())?, field.data_type())?))
        })
        .collect();
    (!nodes.is_empty()).then_some(Node::Dict(nodes))
}

fn element_type(data_type: &DataType) -> Option<&DataType> {
    match data_type {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::ListView(field)
        | DataType::LargeListView(field) => Some(field.data_type()),
        _ => None,
    }
}

/// Whether a type is exactly a struct of binary `bytes` and text `path`, in any order.
pub(crate) fn is_media_struct(data_type: &DataType) -> bool {
    let DataType::Struct(fields) = data_type else {
        return false;
    };
    let has = |name: &str, fits: fn(&DataType) -> bool| {
        fields.iter().any(|field| field.name() == name && fits(field.data_type()))
    };
    fields.len() == 2
        && has("bytes", |kind| {
            matches!(kind, DataType::Binary | DataType::LargeBinary | DataType::BinaryView)
        })
        && has("path", |kind| matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View))
}
