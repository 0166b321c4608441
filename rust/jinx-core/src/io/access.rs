//! How files are read, as chosen by the user.

use crate::error::{Error, Result};
use std::ffi::OsStr;

/// The environment variable that determines what [`Access::Auto`] does.
pub(crate) const ACCESS_VARIABLE: &str = "JINX_IO";

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// Maps files on local file systems; uses positioned reads elsewhere, and if mapping fails.
    #[default]
    Auto,
    /// Maps the file, or fails.
    Mmap,
    /// Positioned reads only: safe even if another process shrinks the file.
    Pread,
}

impl Access {
    /// `"auto"`, `"mmap"` or `"pread"`; any other name is an `Invalid` error.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "auto" => Ok(Self::Auto),
            "mmap" => Ok(Self::Mmap),
            "pread" => Ok(Self::Pread),
            _ => Err(Error::invalid(format!("io is {name:?}; it must be \"auto\", \"mmap\" or \"pread\""))),
        }
    }

    /// Whether bytes may be mapped without being asked to, as far as the environment says.
    pub fn may_map() -> bool {
        let access = Self::Auto.or_from_environment(std::env::var_os(ACCESS_VARIABLE).as_deref());
        !matches!(access, Ok(Self::Pread))
    }

    /// Replaces `Auto` by the value of the environment variable, if it is set.
    pub(crate) fn or_from_environment(self, variable: Option<&OsStr>) -> Result<Self> {
        match variable {
            Some(value) if self == Self::Auto => Self::from_name(&value.to_string_lossy()).map_err(|error| {
                Error::invalid(format!("environment variable {ACCESS_VARIABLE}: {}", error.what()))
            }),
            _ => Ok(self),
        }
    }
}
