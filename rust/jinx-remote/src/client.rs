//! Connections to stores, with credentials from the environment.

use crate::aws_profile;
use crate::http::{Connector, is_this_machine};
use crate::location::{ObjectUrl, Scheme};
use crate::settings::Settings;
use jinx_core::{Error, Result};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::ClientOptions;
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::{BackoffConfig, ObjectStore, RetryConfig};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// Creates a client for the bucket or host of a URL.
///
/// # Errors
/// `Invalid` for an option that the store does not know, and for a connection without TLS that is not allowed.
pub(crate) fn connect(url: &ObjectUrl, settings: &Settings) -> Result<Arc<dyn ObjectStore>> {
    match url.scheme {
        Scheme::S3 => s3(url, settings),
        Scheme::Gs => gcs(url, settings),
        Scheme::Az => azure(url, settings),
        Scheme::Http => http(url, settings),
    }
}

/// Fails for web servers, which cannot be written to.
///
/// # Errors
/// `Unsupported`.
pub(crate) fn writable(scheme: Scheme) -> Result<()> {
    match scheme {
        Scheme::Http => Err(Error::unsupported("web servers are only read; write to s3://, gs:// or az://")),
        Scheme::S3 | Scheme::Gs | Scheme::Az => Ok(()),
    }
}

/// Sets the options given by the user. The builders have the same methods, but no trait in common.
macro_rules! configured {
    ($builder:expr, $options:expr, $settings:expr) => {{
        let builder =
            $options.into_iter().fold($builder, |builder, (key, value)| builder.with_config(key, value));
        if $settings.anonymous { builder.with_skip_signature(true) } else { builder }
    }};
}

/// Builds a client, with the settings that all clients share.
macro_rules! built {
    ($builder:expr, $endpoint:expr, $settings:expr, $connector:expr) => {{
        let builder = $builder.with_client_options(client_options($endpoint, $settings)?);
        let client = builder.with_retry(retries($settings)).with_http_connector($connector).build();
        client.map_err(|error| unusable(&error))?
    }};
}

fn s3(url: &ObjectUrl, settings: &Settings) -> Result<Arc<dyn ObjectStore>> {
    let mut builder = AmazonS3Builder::from_env().with_url(&url.root);
    for (name, value) in aws_profile::options() {
        if let Ok(key) = name.parse() {
            builder = builder.with_config(key, value);
        }
    }
    builder = configured!(builder, keys::<AmazonS3ConfigKey>(settings, "s3")?, settings);
    let endpoint = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint]
        .iter()
        .find_map(|key| builder.get_config_value(key));
    Ok(Arc::new(built!(builder, endpoint.as_deref(), settings, Connector::new(settings))))
}

fn gcs(url: &ObjectUrl, settings: &Settings) -> Result<Arc<dyn ObjectStore>> {
    let mut builder = GoogleCloudStorageBuilder::from_env().with_url(&url.root);
    builder = configured!(builder, keys::<GoogleConfigKey>(settings, "gs")?, settings);
    let endpoint = builder.get_config_value(&GoogleConfigKey::BaseUrl);
    Ok(Arc::new(built!(builder, endpoint.as_deref(), settings, Connector::new(settings))))
}

fn azure(url: &ObjectUrl, settings: &Settings) -> Result<Arc<dyn ObjectStore>> {
    let mut builder = MicrosoftAzureBuilder::from_env().with_url(&url.root);
    builder = configured!(builder, keys::<AzureConfigKey>(settings, "az")?, settings);
    let endpoint = builder.get_config_value(&AzureConfigKey::Endpoint);
    Ok(Arc::new(built!(builder, endpoint.as_deref(), settings, Connector::new(settings))))
}

fn http(url: &ObjectUrl, settings: &Settings) -> Result<Arc<dyn ObjectStore>> {
    let connector = Connector::new(settings).with_token(hub_token(&url.root));
    Ok(Arc::new(built!(HttpBuilder::new().with_url(&url.root), Some(&url.root), settings, connector)))
}

/// The user's Hugging Face Hub token, for URLs of the Hub.
fn hub_token(root: &str) -> Option<String> {
    let endpoint = std::env::var("HF_ENDPOINT").unwrap_or_else(|_| "https://huggingface.co".to_owned());
    if root != endpoint.trim_end_matches('/') {
        return None;
    }
    if let Some(token) = std::env::var("HF_TOKEN").ok().filter(|token| !token.is_empty()) {
        return Some(token);
    }
    let home = std::env::var_os("HF_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cache").join("huggingface")))?;
    let token = std::fs::read_to_string(home.join("token")).ok()?;
    Some(token.trim().to_owned()).filter(|token| !token.is_empty())
}

/// The options of a store that were given by the user.
fn keys<K: FromStr>(settings: &Settings, scheme: &str) -> Result<Vec<(K, String)>> {
    let known = |(name, value): (&String, &String)| {
        let key = name.to_ascii_lowercase().parse();
        let unknown = |_| Error::invalid(format!("storage: {scheme}:// has no option {name:?}"));
        key.map(|key| (key, value.clone())).map_err(unknown)
    };
    settings.options.iter().map(known).collect()
}

/// Refuses connections without TLS, except to this machine or if they are allowed.
fn client_options(endpoint: Option<&str>, settings: &Settings) -> Result<ClientOptions> {
    let plain = endpoint.and_then(|endpoint| endpoint.strip_prefix("http://"));
    let Some(rest) = plain else { return Ok(ClientOptions::new()) };
    let host = rest.split('/').next().unwrap_or_default();
    let host = host.rsplit_once(':').filter(|(_, port)| !port.contains(']')).map_or(host, |(host, _)| host);
    let in_environment =
        std::env::var("AWS_ALLOW_HTTP").is_ok_and(|value| value.eq_ignore_ascii_case("true"));
    if is_this_machine(host) || settings.allow_http || in_environment {
        return Ok(ClientOptions::new().with_allow_http(true));
    }
    let what = format!(
        "http://{host} is not encrypted; use https://, or allow it with storage={{\"allow_http\": True}}"
    );
    Err(Error::invalid(what))
}

fn retries(settings: &Settings) -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(15),
            base: 2.0,
        },
        max_retries: settings.retries,
        retry_timeout: settings.retry_time,
    }
}

/// The error for options that a client cannot be created with. Their values may be secrets, so they are not shown.
fn unusable(error: &object_store::Error) -> Error {
    let text = error.to_string();
    let first = text.split(['\n', '"']).next().unwrap_or_default();
    Error::invalid(format!("the store cannot be used with these options: {first}"))
}
