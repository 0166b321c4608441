//! URLs of the bases of saved views. None but `file://` is opened unless the user names it.

use jinx_core::error::{Error, Result};
use jinx_core::io::plain_path;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

const SCHEMES: [&str; 6] = ["s3", "gs", "az", "https", "hf", "file"];
/// The maximum length of a version: ETags and revisions have less than half of this.
const MAX_VERSION_BYTES: usize = 256;

/// Checks a URL in a view, and splits it into scheme, host or bucket, and the rest with its `/`.
///
/// # Errors
/// `Corrupt` for what is not a plain URL, and for user info, queries and fragments, which may hold secrets;
/// `Unsupported` for another scheme.
pub(crate) fn parse(url: &str) -> Result<(&str, &str, &str)> {
    // Show no URL in the message, because it may contain a secret.
    let malformed = |fault: &str| Error::corrupt(format!("the location of a base {fault}"));
    if plain_path(url, "").is_err() {
        return Err(malformed("is empty, longer than 4096 bytes or not plain text"));
    }
    let is_scheme_byte =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"+-.".contains(&byte);
    let (scheme, rest) = url.split_once("://").ok_or_else(|| malformed("is not a URL"))?;
    if !scheme.bytes().all(is_scheme_byte) || !scheme.starts_with(|first: char| first.is_ascii_lowercase()) {
        return Err(malformed("is not a URL"));
    }
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    if host.contains('@') || rest.contains(['?', '#']) {
        return Err(malformed("has user info, a query or a fragment; it must not hold secrets"));
    }
    if rest.contains('\\')
        || rest.chars().any(char::is_whitespace)
        || decoded(path).is_none_or(|bytes| bytes.contains(&0))
    {
        return Err(malformed("has a blank, a backslash, an incomplete escape or a NUL"));
    }
    if path.split('/').any(|part| matches!(part, "." | "..")) {
        return Err(malformed("has a '.' or '..'"));
    }
    if (scheme == "file") != host.is_empty() || (scheme == "file" && path.len() < 2) {
        return Err(malformed("names no host or bucket, or a host of a file"));
    }
    if !SCHEMES.contains(&scheme) {
        return Err(Error::unsupported(format!("a base at a {scheme}:// URL; use a newer jinx")));
    }
    Ok((scheme, host, path))
}

/// Checks the ETag or revision of a base.
///
/// # Errors
/// `Corrupt` for anything but 1 to 256 visible ASCII characters.
pub(crate) fn check_version(version: &str) -> Result<()> {
    let is_plain = version.bytes().all(|byte| byte.is_ascii_graphic());
    match is_plain && (1..=MAX_VERSION_BYTES).contains(&version.len()) {
        true => Ok(()),
        false => Err(Error::corrupt("the version of a base is not 1 to 256 visible ASCII characters")),
    }
}

/// The file of a `file://` URL.
///
/// # Errors
/// The errors of [`parse`]; `Unsupported` for the other schemes.
pub fn local_path(url: &str) -> Result<PathBuf> {
    let (scheme, _, path) = parse(url)?;
    if scheme != "file" {
        return Err(Error::unsupported("only file:// URLs name files of this machine"));
    }
    Ok(PathBuf::from(OsString::from_vec(decoded(path).unwrap_or_default())))
}

/// A URL's path with its escapes decoded; `None` for an incomplete escape.
fn decoded(path: &str) -> Option<Vec<u8>> {
    let mut parts = path.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    Some(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use jinx_core::Cause;
    use std::path::Path;

    #[test]
    fn urls_of_bases() {
        let good = [
            "s3://bucket/a/b.jinx",
            "gs://bucket",
            "az://container/a.jinx",
            "https://host:8443/a%20b.jinx",
            "hf://datasets/user/repo@main/data.jinx",
            "file:///data/laion.jinx",
            "s3://bucket/データ/x@y.jinx",
        ];
        for url in good {
            assert!(parse(url).is_ok(), "{url}");
        }
        let corrupt = [
            "",
            "laion.jinx",
            "/data/laion.jinx",
            "://bucket/a",
            "S3://bucket/a",
            "1s3://bucket/a",
            "s3:bucket/a",
            "s3:///a.jinx",
            "https://user:hunter2@host/a.jinx",
            "s3://key@bucket/a.jinx",
            "https://host/a.jinx?X-Amz-Signature=hunter2",
            "https://host?sig=hunter2",
            "https://host/a.jinx#part",
            "https://host/../a.jinx",
            "https://host/./a.jinx",
            "https://host/a b.jinx",
            "https://host/a\\b.jinx",
            "https://host/a%2.jinx",
            "https://host/a%zz.jinx",
            "https://host/a%+1.jinx",
            "file:///a%00b",
            "https://host/a\u{202e}b.jinx",
            "file://host/a.jinx",
            "file:///",
            "file://",
            "unknown://user:hunter2@host/a",
        ];
        for url in corrupt {
            let error = parse(url).unwrap_err();
            assert_eq!(error.cause(), Cause::Corrupt, "{url}");
            assert!(!error.what().contains("hunter2"), "{error}");
        }
        for url in ["http://host/a.jinx", "ftp://host/a.jinx", "gopher+x://host/a"] {
            assert_eq!(parse(url).unwrap_err().cause(), Cause::Unsupported, "{url}");
        }
    }

    #[test]
    fn files_open_and_others_say_what_they_need() {
        assert_eq!(local_path("file:///data/a%20b%25.jinx").unwrap(), Path::new("/data/a b%.jinx"));
        let error = local_path("s3://bucket/a.jinx").unwrap_err();
        assert_eq!(error.cause(), Cause::Unsupported);
        assert!(error.what().contains("only file://"), "{error}");
    }

    #[test]
    fn versions_are_visible_ascii() {
        for version in ["\"33a64df5\"", "W/\"0815\"", "a1b2c3", &"x".repeat(256)] {
            assert!(check_version(version).is_ok());
        }
        for version in ["", "a b", "a\n", "é", &"x".repeat(257)] {
            assert_eq!(check_version(version).unwrap_err().cause(), Cause::Corrupt);
        }
    }
}
