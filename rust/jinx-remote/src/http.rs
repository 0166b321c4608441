//! The HTTP client for all stores: limited waiting times, safe redirects, counted requests.

use crate::process::Process;
use crate::settings::Settings;
use crate::statistics::{COUNTERS, Counters};
use crate::tls::configuration;
use async_trait::async_trait;
use chrono::DateTime;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use reqwest::StatusCode;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::redirect::{Attempt, Policy};
use rustls::ClientConfig;
use std::net::IpAddr;
use std::time::{Duration, UNIX_EPOCH};

const MAX_REDIRECTS: usize = 5;
/// Cloud machines get their credentials from this address; elsewhere nothing answers there.
const METADATA_HOST: &str = "169.254.169.254";
const METADATA_TIME: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Connector {
    stall_time: Duration,
    /// The maximum pause that a store may request.
    longest_pause: Duration,
    /// The `Authorization` header for all requests. It is not sent to the hosts of redirects.
    authorization: Option<HeaderValue>,
}

impl Connector {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            stall_time: settings.stall_time,
            // The longest pause must leave time for the request after it.
            longest_pause: if settings.retries == 0 { Duration::ZERO } else { settings.retry_time / 2 },
            authorization: None,
        }
    }

    /// Sends a token with every request.
    #[must_use]
    pub(crate) fn with_token(mut self, token: Option<String>) -> Self {
        self.authorization = token.and_then(|token| HeaderValue::from_str(&format!("Bearer {token}")).ok());
        if let Some(value) = &mut self.authorization {
            value.set_sensitive(true);
        }
        self
    }

    fn client(&self, tls: ClientConfig) -> reqwest::Result<reqwest::Client> {
        reqwest::Client::builder()
            .http1_only()
            .tls_backend_preconfigured(tls)
            .connect_timeout(self.stall_time)
            // No limit on the time for the whole body, which may be long, but only on the wait for its next part.
            .read_timeout(self.stall_time)
            .redirect(Policy::custom(followed))
            .default_headers(self.authorization.iter().map(|value| (AUTHORIZATION, value.clone())).collect())
            .user_agent(concat!("jinx/", env!("CARGO_PKG_VERSION")))
            .build()
    }
}

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let generic = |source| object_store::Error::Generic { store: "HTTP", source };
        let tls = configuration().map_err(|error| generic(error.into()))?;
        let client = self.client(tls).map_err(|error| generic(error.into()))?;
        Ok(HttpClient::new(Counting { client, longest_pause: self.longest_pause }))
    }
}

/// Follows a redirect, unless it leads to an unencrypted connection or from a public host to a private one.
fn followed(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let Some(from) = attempt.previous().last() else { return attempt.follow() };
    if attempt.previous().len() > MAX_REDIRECTS {
        return attempt.error("too many redirects");
    }
    if from.scheme() == "https" && attempt.url().scheme() != "https" {
        return attempt.error("a redirect to an unencrypted connection is refused");
    }
    let is_private = |host: Option<&str>| host.is_some_and(is_private);
    if is_private(attempt.url().host_str()) && !is_private(from.host_str()) {
        return attempt.error("a redirect from a public to a private host is refused");
    }
    attempt.follow()
}

/// Whether a host is this machine or in a private network, judging only by its name.
pub(crate) fn is_private(host: &str) -> bool {
    match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) => {
            ip.is_loopback() || ip.is_private() || ip.is_link_local() || ip.is_unspecified()
        }
        Ok(IpAddr::V6(ip)) => {
            ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local() || ip.is_unspecified()
        }
        Err(_) => is_this_machine(host) || host.ends_with(".internal") || host.ends_with(".local"),
    }
}

pub(crate) fn is_this_machine(host: &str) -> bool {
    host == "localhost" || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[derive(Debug)]
struct Counting {
    client: reqwest::Client,
    longest_pause: Duration,
}

#[async_trait]
impl HttpService for Counting {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        Counters::add(&COUNTERS.requests, 1);
        let answer = if request.uri().host() == Some(METADATA_HOST) {
            let silent = || std::io::Error::other("no metadata endpoint answers here");
            tokio::time::timeout(METADATA_TIME, self.client.call(request))
                .await
                // Errors of this kind are not retried.
                .unwrap_or_else(|_| Err(HttpError::new(HttpErrorKind::Unknown, silent())))
        } else {
            self.client.call(request).await
        };
        if answer
            .as_ref()
            .map_or(true, |answer| answer.status().is_client_error() || answer.status().is_server_error())
        {
            Counters::add(&COUNTERS.failures, 1);
        }
        if let (Ok(answer), Ok(process)) = (&answer, Process::here()) {
            match is_overloaded(answer.status()) {
                true => {
                    process.turns.complain();
                    // The caller repeats the request after the pause.
                    if let Some(pause) = pause_of(answer.headers()) {
                        tokio::time::sleep(pause.min(self.longest_pause)).await;
                    }
                }
                false => process.turns.praise(),
            }
        }
        answer
    }
}

/// Whether a store reports too many requests.
fn is_overloaded(status: StatusCode) -> bool {
    matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE)
}

/// The pause requested by an answer: a number of seconds, or a time.
fn pause_of(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse::<u64>() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => {
            let time = DateTime::parse_from_rfc2822(text).ok()?;
            let now = UNIX_EPOCH.elapsed().ok()?;
            Duration::from_secs(u64::try_from(time.timestamp()).ok()?).checked_sub(now)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_hosts_are_known_by_their_names() {
        for host in
            ["localhost", "127.0.0.1", "[::1]", "10.1.2.3", "192.168.0.1", "169.254.169.254", "a.internal"]
        {
            assert!(is_private(host), "{host}");
        }
        for host in ["example.com", "8.8.8.8", "[2606:4700::1]", "localhost.example.com"] {
            assert!(!is_private(host), "{host}");
        }
        assert!(is_this_machine("127.0.0.2") && !is_this_machine("10.0.0.1"));
    }

    #[test]
    fn a_pause_is_a_number_of_seconds_or_a_time() {
        let pause = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_static(text));
            pause_of(&headers)
        };
        assert_eq!(pause(" 120 "), Some(Duration::from_secs(120)));
        assert_eq!(pause("Wed, 21 Oct 2015 07:28:00 GMT"), None, "it is over");
        let long = pause("Sat, 21 Oct 2215 07:28:00 GMT");
        assert!(long.is_some_and(|pause| pause > Duration::from_secs(3600)));
        for text in ["soon", "-1", "", "1e99"] {
            assert_eq!(pause(text), None, "{text:?}");
        }
        assert_eq!(pause_of(&HeaderMap::new()), None);
    }
}
