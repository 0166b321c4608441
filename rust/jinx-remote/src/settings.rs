//! Options for accessing stores. The defaults come from the environment.

use jinx_core::{Error, Result};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// The maximum number of retries of a request.
const RETRIES: usize = 10;
/// No retry starts after this many seconds.
const RETRY_SECONDS: u64 = 60;
/// A connection attempt, or a body of which nothing more arrives, is given up after this many seconds.
const STALL_SECONDS: f64 = 5.0;
const MEMORY_BYTES: u64 = 512 << 20;

/// The environment variable with the directory of the cache.
const CACHE_VARIABLE: &str = "JINX_CACHE";
/// The name that means no cache.
const NO_CACHE: &str = "off";

/// The directory of the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CachePlace {
    /// The directory in the environment variable, or a directory in the home directory.
    Default,
    At(PathBuf),
    /// Keeps nothing on disk.
    Off,
}

impl CachePlace {
    fn from_name(name: &str) -> Self {
        match name {
            NO_CACHE => Self::Off,
            "" => Self::Default,
            path => Self::At(PathBuf::from(path)),
        }
    }

    /// The directory; `None` if there is no cache.
    pub fn directory(&self) -> Option<PathBuf> {
        match self {
            Self::Off => None,
            Self::At(path) => Some(path.clone()),
            Self::Default => match std::env::var_os(CACHE_VARIABLE).filter(|name| !name.is_empty()) {
                Some(name) if name == NO_CACHE => None,
                Some(name) => Some(PathBuf::from(name)),
                None => std::env::home_dir().map(|home| home.join(".cache").join("jinx")),
            },
        }
    }
}

/// Options for accessing stores: what the user passed as `storage=`.
///
/// It holds no secrets that the user did not give, and is equal if it leads to the same connections.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Do not sign requests.
    pub anonymous: bool,
    /// Allow connections without TLS to hosts other than this machine.
    pub allow_http: bool,
    pub retries: usize,
    pub retry_time: Duration,
    pub stall_time: Duration,
    /// The maximum number of bytes to keep in memory, in each process, including maps of chunks in the cache.
    pub memory_bytes: u64,
    /// Where chunks are kept on disk.
    pub cache: CachePlace,
    /// The maximum number of bytes in the cache; by default half of the free space.
    pub cache_bytes: Option<u64>,
    /// Options of the store, by their names in `object_store`, such as `region` and `endpoint`.
    pub options: BTreeMap<String, String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            anonymous: false,
            allow_http: false,
            retries: RETRIES,
            retry_time: Duration::from_secs(RETRY_SECONDS),
            stall_time: Duration::from_secs_f64(STALL_SECONDS),
            memory_bytes: MEMORY_BYTES,
            cache: CachePlace::Default,
            cache_bytes: None,
            options: BTreeMap::new(),
        }
    }
}

impl Settings {
    /// Sets an option by name; names that are not ours are passed to the store.
    ///
    /// # Errors
    /// `Invalid` for a value that the option cannot have.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let wrong = || Error::invalid(format!("storage: {name} cannot be {value:?}"));
        let seconds = || {
            let number: f64 = value.parse().map_err(|_| wrong())?;
            Duration::try_from_secs_f64(number).ok().filter(|time| !time.is_zero()).ok_or_else(wrong)
        };
        let truth = || match value.to_ascii_lowercase().as_str() {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => Err(wrong()),
        };
        match name {
            "anonymous" => self.anonymous = truth()?,
            "allow_http" => self.allow_http = truth()?,
            "retries" => self.retries = value.parse().map_err(|_| wrong())?,
            "retry_time" => self.retry_time = seconds()?,
            "stall_time" => self.stall_time = seconds()?,
            "memory" => self.memory_bytes = value.parse().map_err(|_| wrong())?,
            "cache" => self.cache = CachePlace::from_name(value),
            "cache_size" => self.cache_bytes = Some(value.parse().map_err(|_| wrong())?),
            _ => {
                self.options.insert(name.to_owned(), value.to_owned());
            }
        }
        Ok(())
    }

    /// A text that is the same for settings that share connections. It may hold secrets.
    pub(crate) fn key(&self) -> String {
        format!("{self:?}")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn options_are_ours_or_the_stores() {
        let mut settings = Settings::default();
        for (name, value) in
            [("anonymous", "True"), ("retries", "2"), ("stall_time", "0.5"), ("region", "eu")]
        {
            settings.set(name, value).unwrap();
        }
        assert!(settings.anonymous);
        assert_eq!((settings.retries, settings.stall_time), (2, Duration::from_millis(500)));
        assert_eq!(settings.options.get("region").map(String::as_str), Some("eu"));
        for (name, value) in
            [("retries", "-1"), ("stall_time", "0"), ("stall_time", "nan"), ("allow_http", "maybe")]
        {
            assert!(settings.set(name, value).is_err(), "{name}={value}");
        }
        assert_ne!(settings.key(), Settings::default().key());
    }
}
