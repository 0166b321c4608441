//! File names and paths that were read from a file.

use crate::error::{Error, Result};
use crate::limits::{MAX_NAME_BYTES, MAX_PATH_BYTES};

/// Accepts `name` if it can only name a file inside a directory, on every system to which a dataset may be copied.
///
/// `what` says where the name came from, for the message.
///
/// # Errors
/// `Corrupt` for an empty name, `.` and `..`, separators (`/` and `\`), drive letters, control characters, marks that
/// reorder text, blanks at either end, a dot at the end, and more than 255 bytes.
pub fn plain_component<'a>(name: &'a str, what: &str) -> Result<&'a str> {
    match fault(name) {
        None => Ok(name),
        Some(fault) => {
            let shown: String = name.chars().take(60).collect();
            Err(Error::corrupt(format!("{what} {shown:?} is not a plain file name: it {fault}")))
        }
    }
}

/// Accepts `path`, relative or absolute, if it can be shown in a message unchanged.
///
/// # Errors
/// `Corrupt` for an empty path, control characters, marks that reorder text, and more than 4096 bytes.
pub fn plain_path<'a>(path: &'a str, what: &str) -> Result<&'a str> {
    let fault = if path.is_empty() {
        "is empty"
    } else if path.len() > MAX_PATH_BYTES {
        "has more than 4096 bytes"
    } else if path.chars().any(|c| c.is_control() || reorders_text(c)) {
        "contains a control character or a mark that hides how it reads"
    } else {
        return Ok(path);
    };
    let shown: String = path.chars().take(60).collect();
    Err(Error::corrupt(format!("{what} {shown:?} {fault}")))
}

fn fault(name: &str) -> Option<&'static str> {
    let bytes = name.as_bytes();
    if name.is_empty() {
        Some("is empty")
    } else if bytes.len() > MAX_NAME_BYTES {
        Some("has more than 255 bytes")
    } else if bytes.contains(&b'/') || bytes.contains(&b'\\') {
        Some("contains a path separator")
    } else if name.chars().any(char::is_control) {
        Some("contains a control character")
    } else if name.chars().any(reorders_text) {
        Some("contains a mark that hides how it reads")
    } else if name.trim() != name {
        Some("begins or ends with a blank")
    } else if name.ends_with('.') {
        // This covers `.` and `..`; Windows drops the dots at the end of any other name.
        Some("ends with a dot")
    } else if bytes.first().is_some_and(u8::is_ascii_alphabetic) && bytes.get(1) == Some(&b':') {
        Some("begins with a drive letter")
    } else {
        None
    }
}

/// Whether it is a bidirectional override or isolate, a line separator, or the byte-order mark. Joiners stay legal:
/// scripts need them.
fn reorders_text(c: char) -> bool {
    matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}' | '\u{FEFF}')
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::error::Cause;

    const EVIL: &[&str] = &[
        "",
        ".",
        "..",
        "...",
        "....",
        "/",
        "//",
        "\\",
        "\\\\",
        "/etc/passwd",
        "//host/share",
        "\\\\host\\share",
        "\\\\?\\C:\\x",
        "\\\\.\\pipe\\x",
        "../x",
        "..\\x",
        "./x",
        ".\\x",
        "x/",
        "x\\",
        "x/.",
        "x/..",
        "x/../y",
        "x\\..\\y",
        "a/b",
        "a\\b",
        "a/b/c.binx",
        "shard/../../x",
        "..//..//x",
        "C:",
        "c:x",
        "C:\\x",
        "C:/x",
        "z:.",
        "D:evil.binx",
        "\0",
        "x\0",
        "x\0.binx",
        "\0x",
        "x\n",
        "\nx",
        "x\ny",
        "x\ry",
        "x\ty",
        "x\u{1b}[2Jy",
        "x\u{7}",
        "x\u{7f}",
        "x\u{85}y",
        "x\u{9b}y",
        " ",
        "  ",
        " x",
        "x ",
        "x.binx ",
        "\tx",
        "x\u{a0}",
        "\u{3000}x",
        "\u{2003}x",
        "x.",
        "x..",
        ". .",
        ".. ",
        " ..",
        "x\u{202e}xnib.",
        "\u{feff}x",
        "x\u{2066}y",
        "x\u{2028}y",
        "%2e%2e/x",
        "~/x",
        "file:///x",
        "http://h/x",
    ];

    const FINE: &[&str] = &[
        "a",
        "train.binx",
        "shard-00000.binx",
        "a b.binx",
        "..a",
        ".hidden",
        "a..b",
        "été.binx",
        "データ.binx",
        "👩\u{200d}🔬.binx",
        "run-12:30:00.binx",
        "-rf",
        "~",
        "$HOME",
        "a;b",
        "%2e%2e",
        "con",
        "1:x",
    ];

    #[test]
    fn evil_names_are_corrupt() {
        assert!(EVIL.len() >= 60);
        for name in EVIL {
            let error = plain_component(name, "sidecar name").unwrap_err();
            assert_eq!(error.cause(), Cause::Corrupt, "{name:?}");
            assert!(error.to_string().starts_with("sidecar name"), "{error}");
            assert!(!error.to_string().contains(char::is_control), "{error}");
        }
    }

    #[test]
    fn plain_names_pass() {
        for name in FINE {
            assert_eq!(plain_component(name, "name").unwrap(), *name);
        }
    }

    #[test]
    fn paths_are_shown_as_they_are() {
        for path in ["a.jinx", "../a b/c.", "/srv/データ/x", "C:\\x"] {
            assert_eq!(plain_path(path, "path").unwrap(), path);
        }
        for path in ["", "a\0b", "../a\nb", "x\u{1b}[2Jy", "x\u{202e}y", &"a/".repeat(2049)] {
            let error = plain_path(path, "path").unwrap_err();
            assert_eq!(error.cause(), Cause::Corrupt, "{path:?}");
            assert!(!error.to_string().contains(char::is_control) && error.to_string().len() < 300);
        }
    }

    #[test]
    fn length_is_counted_in_bytes() {
        assert!(plain_component(&"a".repeat(255), "name").is_ok());
        assert!(plain_component(&"a".repeat(256), "name").is_err());
        assert!(plain_component(&"é".repeat(128), "name").is_err());
        assert!(plain_component(&"/".repeat(1 << 20), "name").unwrap_err().to_string().len() < 300);
    }
}
