//! The types that the floats in an indexed column have in their rows; the index itself stores all as float64.

use crate::expression::tree::NarrowFloat;
use crate::fields::FieldInfo;

/// The name of float32 scalars among the kinds of values.
const FLOAT32: &str = "float32";

/// The types of the floats at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FloatTypes {
    /// Floats of 64 bits, as expressions use them.
    Wide,
    /// All are of this type.
    Narrow(NarrowFloat),
    /// Only a row shows the type of its number.
    Mixed,
}

impl FloatTypes {
    /// The types at a path, according to the statistics of all values.
    pub fn at(fields: &[FieldInfo], path: &[String]) -> Self {
        let is_prefix = |field: &FieldInfo| {
            field.path.len() <= path.len()
                && field.path.iter().zip(path).all(|(name, wanted)| name.as_ref() == Some(wanted))
        };
        let mut types = Self::Wide;
        for field in fields.iter().filter(|field| is_prefix(field)) {
            if field.path.len() < path.len() {
                // Paths below an open path are not listed.
                if field.open {
                    return Self::Mixed;
                }
                continue;
            }
            if field.kinds.contains_key(FLOAT32) {
                let is_other = |kind: &String| kind != FLOAT32 && kind != "null";
                types = match field.kinds.keys().any(is_other) {
                    true => Self::Mixed,
                    false => Self::Narrow(NarrowFloat::Float32),
                };
            }
        }
        types
    }
}

/// Whether any value at a path is an integer, according to the statistics of all values.
pub fn has_integers(fields: &[FieldInfo], path: &[String]) -> bool {
    let is_here = |field: &&FieldInfo| {
        field.path.len() == path.len()
            && field.path.iter().zip(path).all(|(name, wanted)| name.as_ref() == Some(wanted))
    };
    let is_integer = |kind: &String| kind.starts_with("int") || kind.starts_with("uint");
    fields.iter().filter(is_here).any(|field| field.kinds.keys().any(is_integer))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(path: &[&str], kinds: &[&str], open: bool) -> FieldInfo {
        let path = path.iter().map(|name| Some((*name).to_owned())).collect();
        let kinds = kinds.iter().map(|kind| ((*kind).to_owned(), 1.into())).collect();
        FieldInfo { path, kinds, open, ..FieldInfo::default() }
    }

    #[test]
    fn types_are_those_of_all_values() {
        let fields = [
            field(&["wide"], &["float", "int"], false),
            field(&["narrow"], &["float32", "null"], false),
            field(&["mixed"], &["float32", "float"], false),
            field(&["d"], &["dict"], false),
            field(&["d", "narrow"], &["float32"], false),
            field(&["open"], &["dict"], true),
        ];
        let at = |path: &[&str]| {
            FloatTypes::at(&fields, &path.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        };
        let narrow = FloatTypes::Narrow(NarrowFloat::Float32);
        assert_eq!([at(&["wide"]), at(&["other"]), at(&["d"])], [FloatTypes::Wide; 3]);
        assert_eq!([at(&["narrow"]), at(&["d", "narrow"])], [narrow; 2]);
        assert_eq!([at(&["mixed"]), at(&["open", "a"])], [FloatTypes::Mixed; 2]);
        assert_eq!(at(&["narrow", "below"]), FloatTypes::Wide);
    }
}
