//! One sample: `LazyDict`, the source of its undecoded values, and how it is displayed, written and pickled.

pub mod decoded;
pub mod decoders;
pub mod extract;
pub mod lazy_dict;
pub mod lazy_dict_methods;
pub mod pickle;
pub mod repr;
pub mod stored;
pub mod stored_columns;
