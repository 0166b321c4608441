//! File-compressed shards: decoded into memory, into a cache directory, or piece by piece.

use crate::compression::{Algorithm, Compression};
use crate::hash::Hashers;
use crate::index_json::ShardInfo;
use crate::read::directory_path::DirectoryPath;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::codec;
use jinx_core::error::{Error, Result};
use jinx_core::io::{Access, FileOps, Source, mark_unfinished, sweep_unfinished};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of bytes decoded between two writes to the cache.
const STEP_BYTES: usize = 1 << 20;

/// A number that distinguishes the temporary files of one process.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Reads a shared file from its beginning.
struct Cursor {
    source: Arc<Source>,
    at: u64,
}

impl Read for Cursor {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let left = self.source.len() - self.at;
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(out.len());
        let bytes = self
            .source
            .slice(self.at, to_u64(length))
            .map_err(|error| std::io::Error::new(std::io::ErrorKind::InvalidData, error))?;
        out[..length].copy_from_slice(&bytes);
        self.at += to_u64(length);
        Ok(length)
    }
}

/// The algorithm of a shard that is compressed as a file.
pub(crate) fn algorithm(info: &ShardInfo) -> Option<Algorithm> {
    match info.compression {
        Compression::File(setting) => Some(setting.algorithm),
        _ => None,
    }
}

/// The compressed file of a shard: its size is compared with the index and, on request, its hashes too.
pub(crate) fn open_zip(info: &ShardInfo, directory: DirectoryPath<'_>, verify: bool) -> Result<Source> {
    let zip = info.zip.as_ref().ok_or_else(|| Error::corrupt("a compressed shard without zip_data"))?;
    let source = directory.open(zip, Access::Pread)?;
    let (actual, listed) = (source.len(), zip.bytes);
    let what = || format!("{actual} bytes, the index says {listed}");
    match actual {
        actual if actual < listed => return Err(Error::truncated(what()).in_file(source.path())),
        actual if actual > listed => return Err(Error::corrupt(what()).in_file(source.path())),
        _ => {}
    }
    if verify {
        check_hashes(&source, &zip.hashes)?;
    }
    Ok(source)
}

/// Compares a file with its hashes.
pub(crate) fn check_hashes(
    source: &Source,
    listed: &std::collections::BTreeMap<String, String>,
) -> Result<()> {
    let mut hashers = Hashers::of(listed.keys().map(String::as_str));
    if hashers.is_empty() {
        return Ok(());
    }
    let mut at = 0;
    while at < source.len() {
        let length = (source.len() - at).min(to_u64(STEP_BYTES));
        hashers.update(&source.read_vec(at, length)?);
        at += length;
    }
    hashers.check(listed).map_err(|error| error.in_file(source.path()))
}

/// The shard's bytes as a stream in constant memory, except that a snappy block is decoded as a whole.
pub(crate) fn stream(source: Source, info: &ShardInfo) -> Result<Box<dyn Read + Send>> {
    let algorithm = algorithm(info).ok_or_else(|| Error::invalid("the shard is not compressed"))?;
    match algorithm.stream() {
        Some(codec) => codec::reader(codec, Cursor { source: Arc::new(source), at: 0 }),
        None => {
            let input = source.slice(0, source.len())?;
            Ok(Box::new(std::io::Cursor::new(algorithm.decode(&input, info.raw.bytes)?)))
        }
    }
}

/// The whole shard in memory; on request, the hashes of its decoded bytes are checked.
pub(crate) fn to_memory(
    info: &ShardInfo,
    directory: DirectoryPath<'_>,
    verify: bool,
    max: u64,
) -> Result<(Vec<u8>, PathBuf)> {
    let source = open_zip(info, directory, verify)?;
    let path = source.path().to_owned();
    let decode = || {
        if info.raw.bytes > max.max(u64::from(u32::MAX)) {
            return Err(Error::limit(format!("a shard of {} bytes", info.raw.bytes)));
        }
        let algorithm = algorithm(info).ok_or_else(|| Error::invalid("the shard is not compressed"))?;
        let input = source.slice(0, source.len())?;
        let bytes = algorithm.decode(&input, info.raw.bytes)?;
        if verify {
            let mut hashers = Hashers::of(info.raw.hashes.keys().map(String::as_str));
            hashers.update(&bytes);
            hashers.check(&info.raw.hashes)?;
        }
        Ok(bytes)
    };
    decode().map(|bytes| (bytes, path.clone())).map_err(|error| error.in_file(&path))
}

/// Decodes the shard to `target`, whose directory must exist, unless there is already a file of the right size. Returns
/// whether it did. Nothing appears there if `is_same` fails, which is called once the file is decoded.
pub(crate) fn to_file(
    ops: &dyn FileOps,
    info: &ShardInfo,
    directory: DirectoryPath<'_>,
    target: &Path,
    verify: bool,
    is_same: &dyn Fn() -> Result<()>,
) -> Result<bool> {
    if target.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() == info.raw.bytes) {
        return Ok(false);
    }
    let source = open_zip(info, directory, verify)?;
    let path = source.path().to_owned();
    let parent =
        target.parent().ok_or_else(|| Error::invalid("this is not the name of a file").in_file(target))?;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let prefix = format!(".{}.", target.file_name().unwrap_or_default().to_string_lossy());
    sweep_unfinished(ops, parent, |name| name.starts_with(&prefix) && name.ends_with(".tmp"));
    let work = parent.join(format!("{prefix}{}.{number}.tmp", process::id()));
    let decoded = decode_into(ops, source, info, &path, &work, verify)
        .and_then(|()| is_same())
        .and_then(|()| ops.rename(&work, target).map_err(|error| Error::io(target, &error)));
    if decoded.is_err() {
        let _ = ops.remove(&work);
    }
    decoded.map(|()| true)
}

fn decode_into(
    ops: &dyn FileOps,
    source: Source,
    info: &ShardInfo,
    path: &Path,
    work: &Path,
    verify: bool,
) -> Result<()> {
    let here = |error: Error| error.in_file(path);
    let mut reader = stream(source, info).map_err(here)?;
    let mut out = ops.create(work).map_err(|error| Error::io(work, &error))?;
    mark_unfinished(&out);
    let mut hashers = Hashers::of(info.raw.hashes.keys().map(String::as_str).filter(|_| verify));
    let mut buffer = vec![0; STEP_BYTES];
    let mut written = 0u64;
    loop {
        let got = reader.read(&mut buffer).map_err(|error| here(error.into()))?;
        if got == 0 {
            break;
        }
        written += to_u64(got);
        // Check before writing, so that a decompression bomb never fills the disk.
        if written > info.raw.bytes {
            let what = format!("decodes to more than the {} bytes in the index", info.raw.bytes);
            return Err(here(Error::corrupt(what)));
        }
        hashers.update(&buffer[..got]);
        out.write_all(&buffer[..got]).map_err(|error| Error::io(work, &error))?;
    }
    if written < info.raw.bytes {
        let what = format!("decodes to {written} bytes, the index says {}", info.raw.bytes);
        return Err(here(Error::truncated(what)));
    }
    hashers.check(&info.raw.hashes).map_err(here)
}

/// Fills `out` from `reader`.
///
/// # Errors
/// `Truncated` when `reader` ends early.
pub(crate) fn read_exactly(reader: &mut dyn Read, out: &mut [u8]) -> Result<()> {
    let mut got = 0;
    while got < out.len() {
        match reader.read(&mut out[got..]) {
            Ok(0) => return Err(Error::truncated("the decoded shard ends early")),
            Ok(more) => got += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Reads `length` more bytes, in steps, so that a false length does not allocate memory.
pub(crate) fn read_vec(reader: &mut dyn Read, length: u64) -> Result<Vec<u8>> {
    let wanted = to_usize(length, "a length")?;
    let mut bytes: Vec<u8> = Vec::new();
    while bytes.len() < wanted {
        let start = bytes.len();
        let step = (wanted - start).min(STEP_BYTES.max(start));
        bytes.try_reserve_exact(step).map_err(|_| Error::limit(format!("no memory for {length} bytes")))?;
        bytes.resize(start + step, 0);
        read_exactly(reader, &mut bytes[start..])?;
    }
    Ok(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::index_json::{INDEX_NAME, parse};
    use crate::write::writer::{Settings, Writer};
    use jinx_core::io::RealOps;
    use jinx_core::io::fs_calls::Call;
    use std::fs;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn any_failing_call_leaves_no_shard_or_a_whole_one() {
        let place = tempfile::tempdir().unwrap();
        let source = place.path().join("d");
        let settings = Settings {
            columns: [("text".to_owned(), "str".to_owned())].into(),
            compression: Some("zstd".to_owned()),
            hashes: Vec::new(),
            size_limit: None,
            overwrite: false,
            threads: 1,
        };
        let mut writer = Writer::create(&source, settings).unwrap();
        writer.push(&writer.encoder().unwrap().encode(&["a".repeat(100)]).unwrap()).unwrap();
        writer.finish().unwrap();
        let info = parse(&fs::read(source.join(INDEX_NAME)).unwrap()).unwrap().remove(0);
        let directory = DirectoryPath { base: Path::new(""), directory: &source, store: None };
        let cache = place.path().join("cache");
        fs::create_dir(&cache).unwrap();
        let target = cache.join("shard");
        for number in 0.. {
            let calls = AtomicUsize::new(0);
            let ops = |_: Call<'_>| match calls.fetch_add(1, Ordering::Relaxed) {
                at if at == number => Err(std::io::Error::other("injected")),
                _ => Ok(()),
            };
            let is_new = to_file(&ops, &info, directory, &target, true, &|| Ok(()));
            let has_failed = calls.load(Ordering::Relaxed) > number;
            assert_eq!(is_new.is_err(), has_failed, "{number}");
            assert_eq!(fs::read_dir(&cache).unwrap().count(), usize::from(!has_failed), "{number}");
            if !has_failed {
                assert_eq!(number, 2, "the file is made and renamed");
                break;
            }
        }
        assert_eq!(fs::metadata(&target).unwrap().len(), info.raw.bytes);
        assert!(!to_file(&RealOps, &info, directory, &target, true, &|| Ok(())).unwrap());
    }
}
