//! Requests ranges of objects from stores, and compares every answer with the version that was opened.

use crate::access_pattern::CHUNK_BYTES;
use crate::body::{Body, InMemory};
use crate::chunk::CachedChunk;
use crate::client::connect;
use crate::failure::{failure, replaced};
use crate::location::{ObjectUrl, Scheme};
use crate::process::{Process, locked};
use crate::settings::Settings;
use crate::spans::{ObjectId, Span};
use crate::statistics::{COUNTERS, Counters};
use bytes::Bytes;
use futures_util::StreamExt;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::{Error, Result};
use object_store::path::Path as Key;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};
use twox_hash::XxHash3_128;

const TURNS_OF_CHUNK: usize = 4;
/// How long to wait before a body that ended early is resumed; each time twice as long, up to the longest pause.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// An object in a store.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) url: ObjectUrl,
    pub(crate) key: Key,
    pub(crate) settings: Arc<Settings>,
    /// Objects with the same key share connections.
    connections: u128,
}

impl Target {
    pub(crate) fn new(url: &str, settings: &Arc<Settings>) -> Result<Self> {
        let url = ObjectUrl::parse(url)?;
        let invalid = |_| Error::invalid("the URL has a part that no object can have");
        // Keys of stores are plain text; those of web servers are already parts of a URL.
        let key = match url.scheme {
            Scheme::Http => Key::from_url_path(&url.key),
            _ => Key::parse(&url.key),
        };
        let connections = format!("{} {} {}", url.root, settings.key(), environment());
        let connections = XxHash3_128::oneshot(connections.as_bytes());
        Ok(Self { key: key.map_err(invalid)?, url, settings: Arc::clone(settings), connections })
    }

    /// This process's connections to the store.
    pub(crate) fn client(&self, process: &Process) -> Result<Arc<dyn ObjectStore>> {
        if let Some(client) = locked(&process.clients).get(&self.connections) {
            return Ok(Arc::clone(client));
        }
        let client = connect(&self.url, &self.settings)?;
        Ok(Arc::clone(locked(&process.clients).entry(self.connections).or_insert(client)))
    }
}

/// The environment variables that affect how stores are accessed: a program may change them between opening two
/// datasets.
fn environment() -> String {
    let is_ours =
        |name: &str| ["AWS_", "AZURE_", "GOOGLE_", "HF_"].iter().any(|start| name.starts_with(start));
    let variables = std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_ours));
    let mut lines: Vec<String> = variables.map(|(name, value)| format!("{name:?}={value:?}")).collect();
    lines.sort();
    lines.join("\n")
}

/// The state of an object when it was opened.
#[derive(Debug, Clone)]
pub(crate) struct Pinned {
    pub(crate) size: u64,
    tag: Option<String>,
    meta: ObjectMeta,
}

impl Pinned {
    pub(crate) fn new(meta: ObjectMeta) -> Self {
        Self { size: meta.size, tag: meta.e_tag.clone(), meta }
    }

    /// The tag, or a substitute for it.
    pub(crate) fn version(&self) -> String {
        let modified = || self.meta.last_modified.timestamp_millis();
        self.tag.clone().unwrap_or_else(|| format!("{}-{}", self.size, modified()))
    }

    pub(crate) fn id(&self, url: &ObjectUrl) -> ObjectId {
        let text = format!("{}/{}\n{}\n{}", url.root, url.key, self.version(), self.size);
        XxHash3_128::oneshot(text.as_bytes())
    }

    /// The tag, if it is different for each state: a weak tag is not, and never matches.
    fn strong_tag(&self) -> Option<&String> {
        self.tag.as_ref().filter(|tag| !tag.is_empty() && !tag.starts_with("W/"))
    }

    fn options(&self, range: Range<u64>) -> GetOptions {
        let mut options = GetOptions { range: Some(GetRange::Bounded(range)), ..GetOptions::default() };
        match self.strong_tag() {
            Some(tag) => options.if_match = Some(tag.clone()),
            None if self.meta.last_modified.timestamp() > 0 => {
                options.if_unmodified_since = Some(self.meta.last_modified);
            }
            None => {}
        }
        options
    }

    /// # Errors `Mismatch` for another state: some servers ignore the conditions of a request.
    pub(crate) fn check(&self, meta: &ObjectMeta) -> Result<()> {
        let is_same = meta.size == self.size
            && meta.e_tag == self.tag
            && (self.strong_tag().is_some() || meta.last_modified == self.meta.last_modified);
        if is_same { Ok(()) } else { Err(replaced()) }
    }
}

/// Fetches a range of a pinned object.
///
/// # Errors
/// The errors of [`receive`].
pub(crate) async fn fetch(
    client: &Arc<dyn ObjectStore>,
    key: &Key,
    pinned: &Pinned,
    range: Range<u64>,
    settings: &Settings,
) -> Result<Bytes> {
    let mut body = InMemory::new(to_usize(range.end - range.start, "a length")?);
    receive(client, key, pinned, range, settings, &mut body).await?;
    Ok(body.bytes())
}

/// Fetches a range of a pinned object into `body`, which gets exactly this range, or an error is returned. An answer
/// that ends early, as if that were all, is resumed where it ended: as often and as long as a request is retried.
///
/// # Errors
/// `Truncated` for a store that keeps sending less, `Corrupt` for one that sends more, and the errors of stores and of
/// `body`.
pub(crate) async fn receive(
    client: &Arc<dyn ObjectStore>,
    key: &Key,
    pinned: &Pinned,
    range: Range<u64>,
    settings: &Settings,
    body: &mut impl Body,
) -> Result<()> {
    let mut missing = range.clone();
    receive_once(client, key, pinned, &mut missing, body).await?;
    let (mut pause, until) = (FIRST_PAUSE, Instant::now() + settings.retry_time);
    for _ in 0..settings.retries {
        if missing.is_empty() || Instant::now() + pause > until {
            break;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
        receive_once(client, key, pinned, &mut missing, body).await?;
    }
    match missing.is_empty() {
        true => Ok(()),
        false => Err(ends_early(missing.start - range.start, range.end - range.start).at_byte(range.start)),
    }
}

/// Requests a range, and removes from it what the store sends.
async fn receive_once(
    client: &Arc<dyn ObjectStore>,
    key: &Key,
    pinned: &Pinned,
    missing: &mut Range<u64>,
    body: &mut impl Body,
) -> Result<()> {
    let answer = client.get_opts(key, pinned.options(missing.clone())).await;
    let answer = answer.map_err(|error| failure(&error))?;
    pinned.check(&answer.meta)?;
    let mut parts = answer.into_stream();
    while let Some(part) = parts.next().await {
        let part = part.map_err(|error| failure(&error))?;
        let length = to_u64(part.len());
        if length > missing.end - missing.start {
            return Err(Error::corrupt("the store sent more bytes than were asked for").at_byte(missing.end));
        }
        missing.start += length;
        Counters::add(&COUNTERS.fetched_bytes, length);
        body.push(part).await?;
    }
    Ok(())
}

fn ends_early(received: u64, length: u64) -> Error {
    Error::truncated(format!("the store sent {received} of {length} bytes"))
}

/// The origin from which a span is fetched.
#[derive(Clone)]
pub(crate) struct Origin {
    process: &'static Process,
    client: Arc<dyn ObjectStore>,
    key: Key,
    pinned: Arc<Pinned>,
    settings: Arc<Settings>,
}

impl Origin {
    pub(crate) fn new(process: &'static Process, target: &Target, pinned: &Arc<Pinned>) -> Result<Self> {
        let (client, key, pinned) = (target.client(process)?, target.key.clone(), Arc::clone(pinned));
        Ok(Self { process, client, key, pinned, settings: Arc::clone(&target.settings) })
    }

    /// Fetches a range after waiting for its turn.
    pub(crate) async fn fetch(&self, range: Range<u64>) -> Result<Bytes> {
        let _turn = self.process.turns.next(turns_of(&range)).await;
        fetch(&self.client, &self.key, &self.pinned, range, &self.settings).await
    }

    /// Like [`Origin::fetch`], into `body`.
    pub(crate) async fn receive(&self, range: Range<u64>, body: &mut impl Body) -> Result<()> {
        let _turn = self.process.turns.next(turns_of(&range)).await;
        receive(&self.client, &self.key, &self.pinned, range, &self.settings, body).await
    }
}

/// The number of requests that a range counts as: 16 chunks use a network fully, as 64 small ranges do.
fn turns_of(range: &Range<u64>) -> usize {
    if range.end - range.start >= CHUNK_BYTES / 2 { TURNS_OF_CHUNK } else { 1 }
}

/// Fetches a span in the background; those who wait for it get the bytes or the error. A span that is a chunk goes
/// through the cache.
pub(crate) fn fetch_span(origin: Origin, span: Arc<Span>, cached: Option<CachedChunk>) {
    origin.process.runtime.clone().spawn(async move {
        let answer = match cached {
            Some(chunk) => chunk.get(origin).await,
            None => origin.fetch(span.range.clone()).await,
        };
        span.finish(answer);
    });
}

/// The last bytes of an object, and its state.
pub(crate) async fn fetch_end(
    client: Arc<dyn ObjectStore>,
    key: Key,
    most: u64,
    has_suffix_ranges: bool,
    settings: &Settings,
) -> Result<(Pinned, Range<u64>, Bytes)> {
    let suffix = GetOptions { range: Some(GetRange::Suffix(most)), ..GetOptions::default() };
    if has_suffix_ranges {
        match client.get_opts(&key, suffix).await {
            Ok(answer) => {
                let (range, pinned) = (answer.range.clone(), Pinned::new(answer.meta.clone()));
                let bytes = match answer.bytes().await {
                    Ok(bytes) if to_u64(bytes.len()) == range.end - range.start => {
                        Counters::add(&COUNTERS.fetched_bytes, to_u64(bytes.len()));
                        bytes
                    }
                    // A body that ends early is not resumed, because the store resumes only ranges with a known begin.
                    _ => fetch(&client, &key, &pinned, range.clone(), settings).await?,
                };
                return whole(pinned, range, bytes);
            }
            // An empty object has no last byte.
            Err(error) if error.to_string().contains("416") => {}
            Err(error) => return Err(failure(&error)),
        }
    }
    let pinned = Pinned::new(client.head(&key).await.map_err(|error| failure(&error))?);
    let range = pinned.size.saturating_sub(most)..pinned.size;
    if range.is_empty() {
        return Ok((pinned, range, Bytes::new()));
    }
    let bytes = fetch(&client, &key, &pinned, range.clone(), settings).await?;
    whole(pinned, range, bytes)
}

fn whole(pinned: Pinned, range: Range<u64>, bytes: Bytes) -> Result<(Pinned, Range<u64>, Bytes)> {
    if to_u64(bytes.len()) == range.end - range.start && range.end == pinned.size {
        return Ok((pinned, range, bytes));
    }
    Err(ends_early(to_u64(bytes.len()), range.end - range.start))
}
