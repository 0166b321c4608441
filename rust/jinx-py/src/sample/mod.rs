//! One sample: `LazyDict`, the row behind it, and how it is shown, decoded and pickled.

pub mod decoded;
pub mod field;
pub mod lazy_dict;
pub mod lazy_dict_methods;
pub mod pickle;
pub mod repr;
pub mod row;
