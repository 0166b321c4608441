//! Replaces e-mail and IP addresses in texts.

use crate::per_text::map;
use jinx_core::Result;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Replaces the e-mail addresses in each text; `None` for a text that has none.
///
/// An address consists of ASCII letters, ASCII digits and `.-+_%`, an `@`, and a domain of at least two labels. The
/// last label has at least two letters. A dot or hyphen at the end is not part of the address.
///
/// # Errors
/// The errors of `per_text::fill`.
pub fn replace_emails(texts: &[&str], replacement: &str, threads: usize) -> Result<Vec<Option<String>>> {
    map(texts, None, threads, || (), |(), text| replaced(text, replacement, next_email))
}

/// Replaces the IP addresses of version 4 and 6 in each text; `None` for a text that has none.
///
/// Only valid addresses are replaced: not `999.1.1.1`, a version number of five parts, or a time of day.
///
/// # Errors
/// The errors of `per_text::fill`.
pub fn replace_ips(texts: &[&str], replacement: &str, threads: usize) -> Result<Vec<Option<String>>> {
    map(texts, None, threads, || (), |(), text| replaced(text, replacement, next_ip))
}

fn replaced(
    text: &str,
    replacement: &str,
    next: impl Fn(&str, usize) -> Option<(usize, usize)>,
) -> Option<String> {
    let mut out: Option<String> = None;
    let mut copied = 0;
    while let Some((start, stop)) = next(text, copied) {
        let out = out.get_or_insert_with(|| String::with_capacity(text.len()));
        out.push_str(&text[copied..start]);
        out.push_str(replacement);
        copied = stop;
    }
    out.map(|mut out| {
        out.push_str(&text[copied..]);
        out
    })
}

fn next_email(text: &str, from: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut at = from;
    let mut least = from;
    loop {
        at += bytes.get(at..)?.iter().position(|&byte| byte == b'@')?;
        let local = bytes[least..at].iter().rev().take_while(|&&byte| is_local(byte)).count();
        let mut start = at - local;
        while bytes.get(start) == Some(&b'.') {
            start += 1;
        }
        let domain = domain_length(&bytes[at + 1..]);
        if start < at && domain > 0 {
            return Some((start, at + 1 + domain));
        }
        at += 1;
        least = at; // no address contains another @, so that a text with many @ is read only once
    }
}

fn is_local(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+' | b'_' | b'%')
}

/// The length of the domain at the start of `bytes`; 0 if there is none.
fn domain_length(bytes: &[u8]) -> usize {
    let run = bytes
        .iter()
        .take_while(|&&byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
        .take(254)
        .count();
    let run = &bytes[..run];
    let mut length = 0;
    let mut end = 0;
    for (at, label) in run.split(|&byte| byte == b'.').enumerate() {
        if label.is_empty() || label.starts_with(b"-") {
            break;
        }
        end += label.len();
        let letters = label.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        if at > 0 && letters >= 2 {
            length = if label.contains(&b'-') { end } else { end - (label.len() - letters) };
            while run[..length].ends_with(b"-") {
                length -= 1;
            }
        }
        end += 1;
    }
    length
}

fn next_ip(text: &str, from: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        at += bytes.get(at..)?.iter().position(|&byte| is_of_ip(byte))?;
        let length = bytes[at..].iter().take_while(|&&byte| is_of_ip(byte)).count();
        let (start, stop) = (at, at + length);
        at = stop;
        let Some(span) = address_in(&text[start..stop]) else { continue };
        let is_of_word = |edge: Option<char>| {
            edge.is_some_and(|character| character.is_alphanumeric() || character == '_')
        };
        let continues_before = span.0 == 0 && is_of_word(text[..start].chars().next_back());
        let continues_after = span.1 == length && is_of_word(text[stop..].chars().next());
        if !continues_before && !continues_after {
            return Some((start + span.0, start + span.1));
        }
    }
}

fn is_of_ip(byte: u8) -> bool {
    byte.is_ascii_hexdigit() || matches!(byte, b'.' | b':')
}

/// Finds the address in a run of hexadecimal digits, dots and colons, leaving out a port and surrounding punctuation.
fn address_in(run: &str) -> Option<(usize, usize)> {
    if !run.bytes().any(|byte| matches!(byte, b'.' | b':')) {
        return None;
    }
    let front = run.len() - run.trim_start_matches('.').len();
    let whole = run[front..].trim_end_matches('.');
    for candidate in [whole, whole.trim_end_matches(':'), whole.trim_start_matches(':')] {
        let parts = candidate.split(':').filter(|part| !part.is_empty()).count();
        if candidate.parse::<Ipv6Addr>().is_ok() && parts > 0 {
            let start = front + whole.find(candidate).unwrap_or(0);
            return Some((start, start + candidate.len()));
        }
    }
    let start = whole.len() - whole.trim_start_matches(':').len();
    let host = whole[start..].split(':').next().unwrap_or_default();
    host.parse::<Ipv4Addr>().is_ok().then_some((front + start, front + start + host.len()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation)]
mod tests {
    use super::*;

    fn with(replaced: Vec<Option<String>>, text: &str) -> String {
        replaced.into_iter().next().flatten().unwrap_or_else(|| text.to_owned())
    }

    #[test]
    fn emails() {
        for (text, wanted) in [
            ("write to a.b+c@ex-ample.co.uk.", "write to *."),
            ("<A@B.COM>, c@d.org", "<*>, *"),
            ("a@b", "a@b"),
            ("@a.org a@ .org", "@a.org a@ .org"),
            ("你好a@b.cn你好", "你好*你好"),
            ("a@b@c.de", "a@*"),
            ("x@1.2.3", "x@1.2.3"),
            ("x@mail.com-", "*-"),
            ("x@mail.de2", "*2"),
        ] {
            assert_eq!(with(replace_emails(&[text], "*", 1).unwrap(), text), wanted, "{text}");
        }
    }

    #[test]
    fn ips() {
        for (text, wanted) in [
            ("at 10.0.0.1, 255.255.255.255.", "at *, *."),
            ("999.1.1.1 and 1.2.3.4.5 and 1.2.3", "999.1.1.1 and 1.2.3.4.5 and 1.2.3"),
            ("http://127.0.0.1:8080/x", "http://*:8080/x"),
            ("fe80::1 or 2001:db8:0:0:0:0:2:1.", "* or *."),
            ("it is 12:30:15, std::vec :: face a::b", "it is 12:30:15, std::vec :: face *"),
            ("v1.2.3.4 x1.1.1.1", "v1.2.3.4 x1.1.1.1"),
            ("host:10.1.1.1:", "host:*:"),
        ] {
            assert_eq!(with(replace_ips(&[text], "*", 1).unwrap(), text), wanted, "{text}");
        }
    }

    #[test]
    fn the_time_is_linear_in_the_text() {
        let text = "a@".repeat(300_000) + &"1.".repeat(300_000) + &"::".repeat(100_000);
        assert_eq!(replace_emails(&[&text], "", 1).unwrap(), [None]);
        assert_eq!(replace_ips(&[&text], "", 1).unwrap(), [None]);
    }
}
