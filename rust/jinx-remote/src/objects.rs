//! Single objects, for programs that keep their own state in a store: conditional writes, listing and removal.

use crate::client::writable;
use crate::failure::{exists, failure, replaced};
use crate::fetcher::Target;
use crate::location::Scheme;
use crate::mark::{Mark, head};
use crate::store::RemoteStore;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use jinx_core::checked_math::to_u64;
use jinx_core::error::Cause;
use jinx_core::io::Condition;
use jinx_core::{Error, Result};
use object_store::path::Path as Key;
use object_store::{
    GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutResult,
    UpdateVersion,
};
use std::io::ErrorKind;
use std::ops::Range;
use std::sync::Arc;

/// The number of attempts for a conditional write with an unknown outcome.
const ATTEMPTS: usize = 3;

/// The state of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectState {
    pub url: String,
    pub size: u64,
    /// Distinguishes this state from others: the `ETag`, or the generation in Google Cloud Storage. Empty for
    /// directories.
    pub tag: String,
    /// Seconds since 1970, according to the clock of the store.
    pub modified: f64,
}

impl RemoteStore {
    /// The state of an object.
    ///
    /// # Errors
    /// `Io(NotFound)`; errors of the network and of the store.
    pub fn state(&self, url: &str) -> Result<ObjectState> {
        let target = self.target(url)?;
        let meta =
            self.wait(
                url,
                |client, key| async move { client.head(&key).await.map_err(|error| failure(&error)) },
            )?;
        Ok(state_of(&target, &meta))
    }

    /// The bytes of an object or of a range in it, and the object's tag. With `tag`, they are those of that state.
    ///
    /// # Errors
    /// `Io(NotFound)`; `Mismatch` for another state; errors of the network and of the store.
    pub fn get(&self, url: &str, range: Option<Range<u64>>, tag: Option<&str>) -> Result<(Bytes, String)> {
        let scheme = self.target(url)?.url.scheme;
        let tag = tag.map(str::to_owned);
        self.wait(url, |client, key| get(client, key, scheme, range, tag))
    }

    /// Writes bytes as an object if a condition holds, and returns the new tag. It is exact when answers are lost: each
    /// call marks what it writes, and finds its own mark when it tries again.
    ///
    /// # Errors
    /// `Io(AlreadyExists)` when another call has written the object; `Mismatch` when it has another tag, or is gone;
    /// errors of the network and of the store.
    pub fn put(&self, url: &str, bytes: Bytes, condition: &Condition) -> Result<String> {
        let (scheme, condition) = (self.target(url)?.url.scheme, condition.clone());
        self.wait(url, |client, key| async move {
            writable(scheme)?;
            put(client, key, scheme, bytes, condition).await
        })
    }

    /// The objects below a URL, sorted. Unless `recursive`, those directly below it, and the directories, whose URLs end
    /// with `/`.
    ///
    /// # Errors
    /// `Unsupported` for a store that cannot list; errors of the network and of the store.
    pub fn list_objects(&self, url: &str, recursive: bool) -> Result<Vec<ObjectState>> {
        let target = self.target(url)?;
        if target.url.scheme == Scheme::Http {
            return Err(Error::unsupported("web servers do not list directories").in_file(url));
        }
        let (objects, directories) = self.wait(url, |client, key| async move {
            let prefix = Some(&key).filter(|key| !key.as_ref().is_empty());
            let listed = if recursive {
                client.list(prefix).try_collect().await.map(|objects: Vec<_>| (objects, Vec::new()))
            } else {
                client.list_with_delimiter(prefix).await.map(|found| (found.objects, found.common_prefixes))
            };
            listed.map_err(|error| failure(&error))
        })?;
        let mut found: Vec<_> = objects.iter().map(|meta| state_of(&target, meta)).collect();
        found.extend(directories.iter().map(|key| ObjectState {
            url: format!("{}/{key}/", target.url.root),
            size: 0,
            tag: String::new(),
            modified: 0.0,
        }));
        found.sort_by(|a, b| a.url.cmp(&b.url));
        Ok(found)
    }

    /// Checks that an object meets a condition.
    ///
    /// # Errors
    /// The errors of [`RemoteStore::put`].
    pub(crate) fn require(&self, url: &str, condition: &Condition) -> Result<()> {
        match (condition, self.tag_of(url)?) {
            (Condition::Absent, Some(_)) => Err(exists().in_file(url)),
            (Condition::Matches(expected), found) if found.as_ref() != Some(expected) => {
                Err(replaced().in_file(url))
            }
            _ => Ok(()),
        }
    }

    /// The tag of an object; `None` if there is no object.
    pub(crate) fn tag_of(&self, url: &str) -> Result<Option<String>> {
        match self.state(url) {
            Ok(state) => Ok(Some(state.tag)),
            Err(error) if error.cause() == Cause::Io(ErrorKind::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes those of the objects that exist; all are in one store.
    ///
    /// # Errors
    /// Errors of the network and of the store.
    pub(crate) fn remove(&self, urls: &[String]) -> Result<()> {
        let Some(first) = urls.first() else { return Ok(()) };
        let mut keys = Vec::new();
        for url in urls {
            let target = self.target(url)?;
            writable(target.url.scheme).map_err(|error| error.in_file(url))?;
            keys.push(Ok(target.key));
        }
        self.wait(first, |client, _| remove(client, keys))
    }
}

/// Removes objects; uses a single request for many of them if the store supports it.
async fn remove(client: Arc<dyn ObjectStore>, keys: Vec<object_store::Result<Key>>) -> Result<()> {
    let mut removed = client.delete_stream(stream::iter(keys).boxed());
    while let Some(answer) = removed.next().await {
        match answer {
            Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
            Err(error) => return Err(failure(&error)),
        }
    }
    Ok(())
}

fn state_of(target: &Target, meta: &ObjectMeta) -> ObjectState {
    let modified = meta.last_modified.timestamp_micros();
    ObjectState {
        url: format!("{}/{}", target.url.root, meta.location),
        size: meta.size,
        tag: tag(target.url.scheme, &meta.e_tag, &meta.version),
        // A float holds the microseconds of this century exactly.
        #[expect(clippy::cast_precision_loss)]
        modified: modified as f64 / 1e6,
    }
}

/// The tag that conditional writes are compared with.
fn tag(scheme: Scheme, e_tag: &Option<String>, version: &Option<String>) -> String {
    let tag = if scheme == Scheme::Gs { version.as_ref().or(e_tag.as_ref()) } else { e_tag.as_ref() };
    tag.cloned().unwrap_or_default()
}

async fn get(
    client: Arc<dyn ObjectStore>,
    key: Key,
    scheme: Scheme,
    range: Option<Range<u64>>,
    wanted: Option<String>,
) -> Result<(Bytes, String)> {
    if range.as_ref().is_some_and(Range::is_empty) {
        return Ok((Bytes::new(), wanted.unwrap_or_default()));
    }
    let if_match = wanted.clone().filter(|_| scheme != Scheme::Gs);
    let options = GetOptions { range: range.map(GetRange::Bounded), if_match, ..GetOptions::default() };
    let answer = client.get_opts(&key, options).await.map_err(|error| failure(&error))?;
    let found = tag(scheme, &answer.meta.e_tag, &answer.meta.version);
    // Some servers ignore the condition, so check it again.
    if wanted.is_some_and(|wanted| wanted != found) {
        return Err(replaced());
    }
    let length = answer.range.end - answer.range.start;
    let bytes = answer.bytes().await.map_err(|error| failure(&error))?;
    if to_u64(bytes.len()) != length {
        return Err(Error::truncated(format!("the store sent {} of {length} bytes", bytes.len())));
    }
    Ok((bytes, found))
}

async fn put(
    client: Arc<dyn ObjectStore>,
    key: Key,
    scheme: Scheme,
    bytes: Bytes,
    condition: Condition,
) -> Result<String> {
    let written = |result: PutResult| tag(scheme, &result.e_tag, &result.version);
    let mode = match &condition {
        Condition::Always => {
            let put = client.put(&key, bytes.into()).await;
            return put.map(written).map_err(|error| failure(&error));
        }
        Condition::Absent => PutMode::Create,
        Condition::Matches(tag) if tag.is_empty() => {
            return Err(Error::invalid("an empty tag matches no object"));
        }
        Condition::Matches(tag) => PutMode::Update(match scheme {
            Scheme::Gs => UpdateVersion { e_tag: None, version: Some(tag.clone()) },
            _ => UpdateVersion { e_tag: Some(tag.clone()), version: None },
        }),
    };
    let mark = Mark::new();
    let mut attempts = ATTEMPTS;
    loop {
        attempts -= 1;
        let options =
            PutOptions { mode: mode.clone(), attributes: mark.attributes(), ..PutOptions::default() };
        let refused = match client.put_opts(&key, bytes.clone().into(), options).await {
            Ok(result) => return Ok(written(result)),
            Err(error) => error,
        };
        let is_conflict = is_conflict(&refused);
        if !is_conflict && !is_unknown(&failure(&refused)) {
            return Err(failure(&refused));
        }
        // An earlier attempt, by this loop or by the client, may have written the object.
        let found = head(client.as_ref(), &key).await;
        if let Some(found) = found.as_ref().filter(|found| mark.is_in(found)) {
            return Ok(tag(scheme, &found.meta.e_tag, &found.meta.version));
        }
        match condition {
            Condition::Matches(_) if is_conflict => return Err(replaced()),
            // The object may have been removed again.
            Condition::Absent if is_conflict && found.is_some() => return Err(exists()),
            _ if attempts == 0 => return Err(failure(&refused)),
            _ => {}
        }
    }
}

fn is_conflict(error: &object_store::Error) -> bool {
    use object_store::Error as Store;
    matches!(error, Store::AlreadyExists { .. } | Store::Precondition { .. })
}

/// Whether a write that failed may have succeeded in the store.
fn is_unknown(error: &Error) -> bool {
    matches!(error.cause(), Cause::Io(ErrorKind::Other | ErrorKind::TimedOut))
}
