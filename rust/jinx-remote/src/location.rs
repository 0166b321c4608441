//! URLs of objects. They are shown in messages, so they may hold no secrets.

use jinx_core::{Error, Result};

/// The kind of store that a URL refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    S3,
    Gs,
    Az,
    Http,
}

/// A URL of an object or a directory, split into its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectUrl {
    pub scheme: Scheme,
    /// The scheme and the bucket or host, such as `s3://bucket`.
    pub root: String,
    /// The key without the leading `/`.
    pub key: String,
}

impl ObjectUrl {
    /// Splits a URL into its parts.
    ///
    /// # Errors
    /// `Unsupported` for another scheme; `Invalid` for user info, queries and fragments, which may hold secrets, and for a
    /// URL without a bucket or host.
    pub fn parse(url: &str) -> Result<Self> {
        let (name, rest) = url.split_once("://").ok_or_else(|| Error::invalid("this is not a URL"))?;
        let scheme = match name.to_ascii_lowercase().as_str() {
            "s3" | "s3a" => Scheme::S3,
            "gs" | "gcs" => Scheme::Gs,
            "az" | "azure" | "abfs" | "abfss" => Scheme::Az,
            "http" | "https" => Scheme::Http,
            _ => return Err(Error::unsupported(format!("{name}:// URLs cannot be read"))),
        };
        let (host, key) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if host.is_empty() {
            return Err(Error::invalid("the URL names no bucket or host").in_file(url));
        }
        // The rest of the URL may be a secret.
        let refused = |what: &str| Error::invalid(what).in_file(format!("{name}://..."));
        if host.contains('@') && name != "abfs" && name != "abfss" {
            return Err(refused("a URL with user info is refused: give credentials in the environment"));
        }
        if rest.contains(['?', '#']) && scheme == Scheme::Http {
            let what = "a URL with a query or a fragment is refused: it may hold a signature, and names no neighbours";
            return Err(refused(what));
        }
        let root = format!("{name}://{host}");
        Ok(Self { scheme, root, key: key.trim_start_matches('/').to_owned() })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use jinx_core::Cause;

    #[test]
    fn splits_urls_and_refuses_those_that_may_hold_secrets() {
        let url = ObjectUrl::parse("s3://bucket/a/b%20c.jinx").unwrap();
        assert_eq!(
            (url.scheme, url.root.as_str(), url.key.as_str()),
            (Scheme::S3, "s3://bucket", "a/b%20c.jinx")
        );
        assert_eq!(ObjectUrl::parse("https://host:8080").unwrap().key, "");
        for (url, cause) in [
            ("ftp://host/a", Cause::Unsupported),
            ("s3:///a", Cause::Invalid),
            ("https://user:pass@host/a", Cause::Invalid),
            ("https://host/a?X-Amz-Signature=1", Cause::Invalid),
        ] {
            let error = ObjectUrl::parse(url).unwrap_err();
            assert_eq!(error.cause(), cause, "{url}");
            assert!(!error.to_string().contains("pass") && !error.to_string().contains("Amz"), "{error}");
        }
    }
}
