//! Finds and replaces links in texts.

use crate::per_text::map;
use jinx_core::Result;

/// Replaces the links in each text; `None` for a text without links.
///
/// A link starts with `http://`, `https://`, `ftp://` or `www.`, in upper or lower case, and not directly after a
/// letter or digit. It ends before white space, a quotation mark, an angle bracket, or Chinese or Japanese punctuation.
/// Punctuation at its end is not part of it, nor is a closing bracket that it does not open.
///
/// # Errors
/// The errors of `per_text::fill`.
pub fn replace(texts: &[&str], replacement: &str, threads: usize) -> Result<Vec<Option<String>>> {
    map(texts, None, threads, || (), |(), text| without_links(text, replacement))
}

fn without_links(text: &str, replacement: &str) -> Option<String> {
    let mut out: Option<String> = None;
    let mut copied = 0;
    let mut from = 0;
    while let Some((start, stop)) = next_link(text, from) {
        let out = out.get_or_insert_with(|| String::with_capacity(text.len()));
        out.push_str(&text[copied..start]);
        out.push_str(replacement);
        copied = stop;
        from = stop;
    }
    out.map(|mut out| {
        out.push_str(&text[copied..]);
        out
    })
}

/// The start and the end of the first link at or after `from`.
fn next_link(text: &str, mut from: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    loop {
        let at = from
            + bytes
                .get(from..)?
                .iter()
                .position(|byte| matches!(byte, b'h' | b'H' | b'f' | b'F' | b'w' | b'W'))?;
        from = at + 1;
        let Some(prefix) = prefix_length(&bytes[at..]) else { continue };
        let begins =
            !text[..at].chars().next_back().is_some_and(|before| before.is_alphanumeric() || before == '_');
        if begins {
            let stop = at + prefix + length_of_rest(&text[at + prefix..]);
            if stop > at + prefix {
                return Some((at, stop));
            }
        }
    }
}

/// The length of `http://` or another start of a link, if `bytes` starts with one.
fn prefix_length(bytes: &[u8]) -> Option<usize> {
    let begins =
        |prefix: &[u8]| bytes.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    for scheme in [&b"https://"[..], b"http://", b"ftp://"] {
        if begins(scheme) {
            return Some(scheme.len());
        }
    }
    if !begins(b"www") {
        return None;
    }
    let digits = bytes.iter().skip(3).take(3).take_while(|byte| byte.is_ascii_digit()).count();
    (bytes.get(3 + digits) == Some(&b'.')).then_some(4 + digits)
}

fn length_of_rest(text: &str) -> usize {
    let end = text.find(ends_link).unwrap_or(text.len());
    let mut link = &text[..end];
    while let Some(last) = link.chars().next_back() {
        let closes = match last {
            ')' => is_unopened(link, '(', ')'),
            ']' => is_unopened(link, '[', ']'),
            '}' => is_unopened(link, '{', '}'),
            '.' | ',' | ';' | ':' | '!' | '?' | '\'' | '*' | '_' | '…' | '’' => true,
            _ => false,
        };
        if !closes {
            break;
        }
        link = &link[..link.len() - last.len_utf8()];
    }
    link.len()
}

fn is_unopened(link: &str, open: char, close: char) -> bool {
    link.matches(close).count() > link.matches(open).count()
}

fn ends_link(character: char) -> bool {
    character.is_whitespace()
        || character.is_control()
        || matches!(character, '<' | '>' | '"' | '`' | '“' | '”' | '«' | '»')
        || matches!(character, '\u{3000}'..='\u{303F}' | '\u{FF00}'..='\u{FFEF}')
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation)]
mod tests {
    use super::*;

    fn cleaned(text: &str) -> String {
        replace(&[text], "*", 1).unwrap().remove(0).unwrap_or_else(|| text.to_owned())
    }

    #[test]
    fn links_of_all_kinds() {
        assert_eq!(cleaned("see https://a.org/b?c=d#e now"), "see * now");
        assert_eq!(
            cleaned("HTTP://A.ORG and ftp://x/y.tar and www.b.com and WWW2.b.com"),
            "* and * and * and *"
        );
        assert_eq!(cleaned("(http://a.org/x_(y))."), "(*).");
        assert_eq!(cleaned("<a href=\"http://a.org\">http://a.org</a>"), "<a href=\"*\">*</a>");
        assert_eq!(cleaned("看http://a.com，很好"), "看http://a.com，很好");
        assert_eq!(cleaned("看 http://a.com，很好"), "看 *，很好");
        assert_eq!(cleaned("Is it www.a.com?"), "Is it *?");
    }

    #[test]
    fn what_is_no_link_stays() {
        for text in ["", "www.", "http://", "ahttp://b.c", "wwww.a.b", "how www works", "http:/a.b", "ftp//x"]
        {
            assert_eq!(replace(&[text], "*", 1).unwrap(), [None], "{text}");
        }
    }

    #[test]
    fn the_time_is_linear_in_the_text() {
        let text = "www.".repeat(200_000) + &"(".repeat(100_000) + &")".repeat(100_000);
        assert!(replace(&[&text], "", 1).unwrap()[0].is_some());
    }
}
