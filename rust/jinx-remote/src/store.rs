//! Opens objects by URL.

use crate::cache::Cache;
use crate::client::writable;
use crate::download::download;
use crate::failure::failure;
use crate::fetcher::{Pinned, Target, fetch_end};
use crate::location::Scheme;
use crate::object::RemoteObject;
use crate::process::Process;
use crate::settings::{CachePlace, Settings};
use crate::statistics::{COUNTERS, Statistics};
use crate::upload::{PART_BYTES, send};
use bytes::Bytes;
use jinx_core::error::Cause;
use jinx_core::io::{Blocks, Condition, Store};
use jinx_core::{Error, Result, interrupt};
use object_store::ObjectStore;
use object_store::path::Path as Key;
use std::collections::HashMap;
use std::fs::File;
use std::future::Future;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// The number of bytes at the end of a main file that are fetched when it is opened: its footer, and its rows if there
/// are few.
const END_BYTES: u64 = 128 << 10;
/// The number of bytes at the end of a sidecar: its index, and its columns if they are short.
const SIDECAR_END_BYTES: u64 = 512 << 10;
/// The number of bytes of a sidecar's header.
const HEAD_BYTES: u64 = 64;
/// How long a caller waits before it checks whether the program wants to stop.
const WAIT: Duration = Duration::from_millis(50);
/// The maximum number of objects that are opened before they are needed.
const MAX_EARLY: usize = 256;

/// What is read when an object is opened.
struct Opened {
    pinned: Pinned,
    head: Bytes,
    tail: Range<u64>,
    tail_bytes: Bytes,
}

/// The stores that the URLs of a dataset refer to.
#[derive(Debug)]
pub struct RemoteStore {
    settings: Arc<Settings>,
    early: Early,
    cache: OnceLock<Option<Arc<Cache>>>,
}

/// Objects that are being opened, by their URLs.
type Opening = HashMap<String, Receiver<Result<Opened>>>;

/// Objects that are being opened in the process with this number.
#[derive(Default)]
struct Early(Mutex<(u32, Opening)>);

impl std::fmt::Debug for Early {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Early")
    }
}

impl RemoteStore {
    pub fn new(settings: Settings) -> Self {
        Self { settings: Arc::new(settings), early: Early::default(), cache: OnceLock::new() }
    }

    /// The cache on disk, if there is one.
    ///
    /// # Errors
    /// The errors of [`Cache::open`], if the user has named the directory.
    fn cache(&self) -> Result<Option<Arc<Cache>>> {
        if let Some(cache) = self.cache.get() {
            return Ok(cache.clone());
        }
        let open = |directory: PathBuf| Cache::open(&directory, self.settings.cache_bytes).map(Arc::new);
        let cache = match self.settings.cache.directory().map(open).transpose() {
            // Ignore this: not every machine has a writable home directory.
            Err(_) if self.settings.cache == CachePlace::Default => None,
            opened => opened?,
        };
        Ok(self.cache.get_or_init(|| cache).clone())
    }

    /// Sends a request for an object, and waits for the answer.
    pub(crate) fn wait<T, F>(
        &self,
        url: &str,
        request: impl FnOnce(Arc<dyn ObjectStore>, Key) -> F,
    ) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let (process, target) = (Process::here()?, self.target(url)?);
        let client = target.client(process)?;
        wait_for(process, request(client, target.key)).map_err(|error| error.in_file(url))
    }

    /// The object that a URL refers to.
    pub(crate) fn target(&self, url: &str) -> Result<Target> {
        Target::new(url, &self.settings).map_err(|error| error.in_file(url))
    }

    /// Begins to open an object: requests its last bytes, and for a sidecar also its first bytes.
    fn begin(&self, process: &'static Process, url: &str) -> Result<Receiver<Result<Opened>>> {
        let target = Target::new(url, &self.settings)?;
        let (client, key) = (target.client(process)?, target.key.clone());
        // Azure does not support suffix ranges.
        let has_suffix_ranges = target.url.scheme != Scheme::Az;
        let has_header = is_sidecar(url);
        let most = if has_header { SIDECAR_END_BYTES } else { END_BYTES };
        let settings = Arc::clone(&self.settings);
        let (sender, receiver) = channel();
        process.runtime.spawn(async move {
            let end = fetch_end(Arc::clone(&client), key.clone(), most, has_suffix_ranges, &settings);
            let opened = match has_header {
                false => end.await.map(|(pinned, tail, bytes)| (pinned, Bytes::new(), tail, bytes)),
                true => {
                    let head = head(Arc::clone(&client), key.clone());
                    let (end, head) = futures_util::future::join(end, head).await;
                    end.map(|(pinned, tail, bytes)| (pinned.clone(), matching(head, &pinned), tail, bytes))
                }
            };
            let opened =
                opened.map(|(pinned, head, tail, tail_bytes)| Opened { pinned, head, tail, tail_bytes });
            let _ = sender.send(opened);
        });
        Ok(receiver)
    }

    /// Begins to open an object that will be needed soon.
    fn begin_early(&self, process: &'static Process, url: &str) {
        let Ok(mut early) = self.early.0.try_lock() else { return };
        if early.0 != std::process::id() {
            *early = (std::process::id(), HashMap::new());
        }
        if early.1.len() < MAX_EARLY
            && !early.1.contains_key(url)
            && let Ok(receiver) = self.begin(process, url)
        {
            early.1.insert(url.to_owned(), receiver);
        }
    }

    fn taken(&self, url: &str) -> Option<Receiver<Result<Opened>>> {
        // After a fork, the lock may be held by a thread that does not exist in this process.
        let mut early = self.early.0.try_lock().ok()?;
        let receiver = early.1.remove(url);
        receiver.filter(|_| early.0 == std::process::id())
    }
}

/// The URL of the sidecar of a main file.
fn sidecar_of(url: &str) -> Option<String> {
    url.strip_suffix(".jinx").map(|stem| format!("{stem}.binx"))
}

fn is_sidecar(url: &str) -> bool {
    Path::new(url).extension().is_some_and(|extension| extension == "binx")
}

/// The first bytes of a sidecar, with the state of the object; `None` for a shorter object or on any failure: then
/// these bytes are read when they are needed.
async fn head(client: Arc<dyn ObjectStore>, key: Key) -> Option<(Pinned, Bytes)> {
    let options = object_store::GetOptions {
        range: Some(object_store::GetRange::Bounded(0..HEAD_BYTES)),
        ..object_store::GetOptions::default()
    };
    let answer = client.get_opts(&key, options).await.ok()?;
    let pinned = Pinned::new(answer.meta.clone());
    Some((pinned, answer.bytes().await.ok()?))
}

fn matching(head: Option<(Pinned, Bytes)>, pinned: &Pinned) -> Bytes {
    let head = head.filter(|(other, _)| other.version() == pinned.version() && other.size == pinned.size);
    head.map(|(_, bytes)| bytes).unwrap_or_default()
}

impl Store for RemoteStore {
    fn open(&self, url: &str) -> Result<Box<dyn Blocks>> {
        let process = Process::here()?;
        let receiver = match self.taken(url) {
            Some(receiver) => receiver,
            None => {
                let receiver = self.begin(process, url)?;
                // Most files have a sidecar, which is opened next.
                if let Some(sidecar) = sidecar_of(url) {
                    self.begin_early(process, &sidecar);
                }
                receiver
            }
        };
        let opened = received(&receiver)??;
        let target = Target::new(url, &self.settings)?;
        let tail = (opened.tail.start, opened.tail_bytes);
        Ok(Box::new(RemoteObject::new(target, opened.pinned, opened.head, tail, self.cache()?)))
    }

    fn will_open(&self, urls: &[&str]) {
        let Ok(process) = Process::here() else { return };
        for url in urls {
            self.begin_early(process, url);
        }
    }

    fn tag(&self, url: &str) -> Result<Option<String>> {
        self.tag_of(url)
    }

    fn put_file(&self, url: &str, file: &Path, condition: &Condition) -> Result<()> {
        let opened = File::open(file).map_err(|error| Error::io(file, &error))?;
        let length = opened.metadata().map_err(|error| Error::io(file, &error))?.len();
        if length <= PART_BYTES {
            let bytes = std::fs::read(file).map_err(|error| Error::io(file, &error))?;
            return self.put(url, bytes.into(), condition).map(drop);
        }
        writable(self.target(url)?.url.scheme).map_err(|error| error.in_file(url))?;
        self.require(url, condition)?;
        let upload = self.wait(url, |client, key| send(client, key, Arc::new(opened), length))?;
        if let Err(error) = self.require(url, condition) {
            self.wait(url, |_, _| async move {
                upload.abort().await;
                Ok(())
            })?;
            return Err(error);
        }
        self.wait(url, |_, _| upload.complete())
    }

    fn put_bytes(&self, url: &str, bytes: Vec<u8>, condition: &Condition) -> Result<()> {
        self.put(url, bytes.into(), condition).map(drop)
    }

    fn get_file(&self, url: &str, file: &Path) -> Result<()> {
        download(self.open(url)?.as_ref(), file).map_err(|error| error.in_file(url))
    }

    fn delete(&self, urls: &[String]) -> Result<()> {
        self.remove(urls)
    }

    fn list(&self, url: &str) -> Result<Vec<String>> {
        let process = Process::here()?;
        let target = Target::new(url, &self.settings)?;
        if target.url.scheme == Scheme::Http {
            let what =
                "web servers do not list directories; name a .jinx file, or a directory with jinx.json";
            return Err(Error::unsupported(what));
        }
        let client = target.client(process)?;
        let listed = wait_for(process, async move {
            client.list_with_delimiter(Some(&target.key)).await.map_err(|error| failure(&error))
        })?;
        let name = |meta: object_store::ObjectMeta| meta.location.filename().map(str::to_owned);
        Ok(listed.objects.into_iter().filter_map(name).collect())
    }
}

/// Runs a request, and waits for its result.
///
/// # Errors
/// The errors of the request; `Interrupted`.
pub(crate) fn wait_for<T: Send + 'static>(
    process: &Process,
    request: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    let (sender, receiver) = channel();
    process.runtime.spawn(async move {
        let _ = sender.send(request.await);
    });
    received(&receiver)?
}

fn received<T>(receiver: &Receiver<T>) -> Result<T> {
    loop {
        match receiver.recv_timeout(WAIT) {
            Ok(answer) => return Ok(answer),
            Err(RecvTimeoutError::Timeout) => interrupt::check()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::new(Cause::Internal, "the thread for the network has ended"));
            }
        }
    }
}

/// Statistics about what this process has read from stores.
pub fn statistics() -> Statistics {
    COUNTERS.now()
}
