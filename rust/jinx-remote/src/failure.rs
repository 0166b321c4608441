//! Converts store errors to our errors: one line that says what to do, without secrets.

use jinx_core::Error;
use jinx_core::error::Cause;
use std::error::Error as StdError;
use std::io::ErrorKind;

/// The maximum number of bytes of a foreign message that are shown.
const MAX_DETAIL_BYTES: usize = 300;

/// The error if the system refuses to start a thread.
pub(crate) fn no_thread(error: &std::io::Error) -> Error {
    Error::new(Cause::Io(error.kind()), format!("no thread for the network: {error}"))
}

pub(crate) fn replaced() -> Error {
    Error::mismatch("the object was replaced after it was opened; open the dataset again")
}

pub(crate) fn exists() -> Error {
    Error::new(Cause::Io(ErrorKind::AlreadyExists), "the object exists already")
}

/// The error for a store that answered with an error or did not answer.
pub(crate) fn failure(error: &object_store::Error) -> Error {
    use object_store::Error as Store;
    match error {
        Store::NotFound { .. } => Error::new(Cause::Io(ErrorKind::NotFound), "there is no such object"),
        Store::Precondition { .. } | Store::NotModified { .. } => replaced(),
        Store::AlreadyExists { .. } => exists(),
        Store::PermissionDenied { source, .. } | Store::Unauthenticated { source, .. } => {
            let what = format!(
                "access denied ({}); credentials come from the environment, or from storage=; \
                 storage={{\"anonymous\": True}} reads public data",
                detail(source.as_ref())
            );
            Error::new(Cause::Io(ErrorKind::PermissionDenied), what)
        }
        Store::NotSupported { source } => Error::unsupported(detail(source.as_ref())),
        Store::InvalidPath { .. } => Error::invalid("the URL has a part that no object can have"),
        Store::Generic { source, .. } => generic(source.as_ref()),
        other => Error::new(Cause::Io(ErrorKind::Other), shown(&other.to_string())),
    }
}

fn generic(source: &(dyn StdError + 'static)) -> Error {
    let all = chain(source);
    let has = |text: &str| all.contains(text);
    if has("non-partial response") {
        let what =
            "the server ignores ranges and would send the whole object; copy the dataset to another store";
        return Error::unsupported(what);
    }
    if has("Requested") && has("got") || has("CONTENT_RANGE") || has("Content-Range") {
        return Error::corrupt("the server sent another range than was asked for");
    }
    if has("is not a valid") || has("Missing credentials") || has("metadata endpoint") {
        let what = format!("no credentials were found ({}); set them in the environment", shown(&all));
        return Error::new(Cause::Io(ErrorKind::PermissionDenied), what);
    }
    let kind = if has("timed out") || has("timeout") { ErrorKind::TimedOut } else { ErrorKind::Other };
    Error::new(Cause::Io(kind), format!("the store failed: {}", detail(source)))
}

/// Why the store failed: its status, its code and the number of the request, as far as it returned them.
fn detail(source: &(dyn StdError + 'static)) -> String {
    let all = chain(source);
    let Some((_, status)) = all.split_once("status code: ") else { return shown(&innermost(source)) };
    let status = status.split([':', '\n', '<']).next().unwrap_or_default().trim();
    let tag = |name: &str| {
        let (_, rest) = all.split_once(&format!("<{name}>"))?;
        rest.split_once('<').map(|(text, _)| text.to_owned())
    };
    let code = tag("Code").map(|code| format!(" {code}")).unwrap_or_default();
    let request = tag("RequestId").map(|id| format!(", request {id}")).unwrap_or_default();
    shown(&format!("{status}{code}{request}"))
}

/// The message of the innermost cause.
fn innermost(error: &(dyn StdError + 'static)) -> String {
    let mut error = error;
    while let Some(cause) = error.source() {
        error = cause;
    }
    error.to_string()
}

/// The messages of an error and of its causes, without repetitions.
fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let more = cause.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        next = cause.source();
    }
    text
}

/// A foreign message for use in ours: one line of limited length, without the queries of URLs, which contain
/// signatures.
fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len().min(MAX_DETAIL_BYTES));
    for word in text.split_whitespace() {
        let word = word.split_once('?').filter(|(url, _)| url.contains("://")).map_or(word, |(url, _)| url);
        if shown.len() + word.len() > MAX_DETAIL_BYTES {
            shown.push_str(" ...");
            break;
        }
        if !shown.is_empty() {
            shown.push(' ');
        }
        shown.push_str(word);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied(text: &str) -> String {
        let error = object_store::Error::PermissionDenied { path: "a".into(), source: text.into() };
        failure(&error).to_string()
    }

    #[test]
    fn messages_are_one_line_and_show_no_signature() {
        let text = "Error performing GET https://b.s3.amazonaws.com/k?X-Amz-Signature=secret in 1s - Server returned \
                    non-2xx status code: 403 Forbidden: <Error>\n<Code>AccessDenied</Code><RequestId>77</RequestId>";
        let message = denied(text);
        assert!(message.contains("403 Forbidden AccessDenied, request 77"), "{message}");
        let other = denied("GET https://b/k?X-Amz-Signature=secret\nfailed");
        assert!(other.contains("GET https://b/k failed"), "{other}");
        for message in [message, other, denied(&"x?".repeat(9000))] {
            assert!(
                !message.contains("secret") && !message.contains('\n') && message.len() < 800,
                "{message}"
            );
        }
    }
}
