//! Detects the format of a file by its content, and suggests a command for it.

use jinx_core::checked_math::to_u64;
use jinx_core::codec::{self, Codec};
use jinx_core::error::Result;
use jinx_core::io::{Access, Source};
use jinx_core::limits::MAX_TRAILER_BYTES;
use std::path::Path;

/// The number of leading bytes that are examined: a tar has its magic at byte 257.
const HEAD_BYTES: u64 = 512;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A main file: it ends with the offset of a footer.
    Jinx,
    /// A sidecar of JINX 1.1.
    Sidecar,
    Parquet,
    Arrow,
    Compressed(Codec),
    Zip,
    Tar,
    /// A few lines of text that stand for a file which git stores elsewhere.
    GitLfs,
    Jsonl,
    JsonArray,
    Msgpack,
    MdsIndex,
    Mds,
    Empty,
    Unknown,
}

/// Looks at the first and last bytes of `path`.
///
/// # Errors
/// The errors of [`Source::open`].
pub fn sniff(path: &Path) -> Result<FileKind> {
    sniff_source(&Source::open(path, Access::Pread)?)
}

/// Like [`sniff`], for an open file.
///
/// # Errors
/// I/O errors.
pub fn sniff_source(source: &Source) -> Result<FileKind> {
    let total = source.len();
    let head = source.read_vec(0, total.min(HEAD_BYTES))?;
    let tail_len = total.min(to_u64(MAX_TRAILER_BYTES));
    let tail = source.read_vec(total - tail_len, tail_len)?;
    Ok(kind_of(&head, &tail, source.path()))
}

fn kind_of(head: &[u8], tail: &[u8], path: &Path) -> FileKind {
    if head.is_empty() {
        return FileKind::Empty;
    }
    for (magic, kind) in [
        (b"\x89BINX\r\n\x1a".as_slice(), FileKind::Sidecar),
        (b"PAR1", FileKind::Parquet),
        (b"ARROW1", FileKind::Arrow),
        (b"FEA1", FileKind::Arrow),
        // An Arrow stream begins with its first message.
        (b"\xff\xff\xff\xff", FileKind::Arrow),
        (b"PK\x03\x04", FileKind::Zip),
        (b"version https://git-lfs", FileKind::GitLfs),
    ] {
        if head.starts_with(magic) {
            return kind;
        }
    }
    if let Some(codec) = codec::sniff(head) {
        return FileKind::Compressed(codec);
    }
    if head.get(257..262) == Some(b"ustar") {
        return FileKind::Tar;
    }
    if ends_with_offset(tail) {
        return FileKind::Jinx;
    }
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let is_index = path.file_name().is_some_and(|name| name == "index.json");
    match (text.first(), head.first()) {
        (Some(b'{'), _) if is_index => FileKind::MdsIndex,
        (Some(b'{'), _) => FileKind::Jsonl,
        (Some(b'['), _) => FileKind::JsonArray,
        _ if path.extension().is_some_and(|ext| ext == "mds") => FileKind::Mds,
        // A PNG begins with a byte that MessagePack reads as a map.
        (_, Some(0x80..=0x8f | 0xde | 0xdf)) if !head.starts_with(b"\x89PNG") => FileKind::Msgpack,
        _ => FileKind::Unknown,
    }
}

/// Whether a file ends as a main file does: `}` of the footer, then digits on a line of their own.
fn ends_with_offset(tail: &[u8]) -> bool {
    let text = tail.trim_ascii_end();
    let Some(start) = memchr::memrchr(b'\n', text) else { return false };
    let digits = &text[start + 1..];
    text[..start].trim_ascii_end().last() == Some(&b'}')
        && (1..=20).contains(&digits.len())
        && digits.iter().all(u8::is_ascii_digit)
}

impl FileKind {
    /// The usual name of the format, with its article.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jinx => "a JINX file",
            Self::Sidecar => "the sidecar of a JINX file",
            Self::Parquet => "a Parquet file",
            Self::Arrow => "an Arrow IPC file",
            Self::Compressed(Codec::Gzip) => "a gzip-compressed file",
            Self::Compressed(Codec::Zstd) => "a zstd-compressed file",
            Self::Compressed(Codec::Bzip2) => "a bzip2-compressed file",
            Self::Compressed(Codec::Lz4) => "an lz4-compressed file",
            Self::Compressed(Codec::Snappy) => "a snappy-compressed file",
            Self::Compressed(Codec::Xz | Codec::Lzma) => "an xz-compressed file",
            Self::Compressed(Codec::Brotli) => "a brotli-compressed file",
            Self::Zip => "a ZIP archive",
            Self::Tar => "a tar archive",
            Self::GitLfs => "a Git LFS pointer, not the data",
            Self::Jsonl => "a JSON Lines file",
            Self::JsonArray => "a JSON array",
            Self::Msgpack => "a MessagePack file",
            Self::MdsIndex => "the index of an MDS dataset",
            Self::Mds => "a shard of an MDS dataset",
            Self::Empty => "an empty file",
            Self::Unknown => "not a format that jinx knows",
        }
    }

    /// How to get the data, if there is a way.
    pub fn hint(self, path: &Path) -> Option<String> {
        let convert = |from: &str, ending: &str| {
            let known = path.to_string_lossy().ends_with(ending);
            let from =
                if known || from.is_empty() { String::new() } else { format!(" --input-format {from}") };
            Some(format!("run: jinx convert {} {}{from}", quoted(path), quoted(&target(path))))
        };
        let directory =
            path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
        match self {
            Self::Parquet => convert("parquet", ".parquet"),
            Self::Arrow => convert("arrow", ".arrow"),
            Self::Compressed(_) => convert("", ""),
            Self::Msgpack => convert("msgpack", ".msgpack"),
            // The name of a main file, but lines of JSON: its writer was probably stopped.
            Self::Jsonl if path.extension().is_some_and(|ext| ext == "jinx") => {
                Some(format!("if its writer was stopped, run: jinx repair {}", quoted(path)))
            }
            Self::Jsonl => convert("jsonl", ".jsonl"),
            Self::MdsIndex | Self::Mds => {
                let out = directory.file_name().map_or_else(|| "out".into(), |name| name.to_string_lossy());
                Some(format!(
                    "run: jinx convert {} {}",
                    quoted(directory),
                    quoted(Path::new(&format!("{out}.jinx")))
                ))
            }
            Self::JsonArray => convert("jsonl", ".json"),
            Self::Tar => convert("tar", ".tar"),
            Self::Sidecar => Some(format!("open {} instead", quoted(&path.with_extension("jinx")))),
            Self::GitLfs => Some("run: git lfs pull".to_owned()),
            Self::Zip => Some("unpack it first".to_owned()),
            Self::Jinx | Self::Empty | Self::Unknown => None,
        }
    }
}

/// The output name that a conversion would have: `in.jsonl.gz` becomes `in.jinx`.
fn target(path: &Path) -> std::path::PathBuf {
    let mut out = path.to_owned();
    if out.extension().and_then(|ext| ext.to_str()).is_some_and(|ext| Codec::from_ext(ext).is_some()) {
        out.set_extension("");
    }
    let named = out.with_extension("jinx");
    // Do not convert a file with a misleading suffix onto itself.
    if named == path { out.with_extension("converted.jinx") } else { named }
}

/// A path, quoted for a shell.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:@,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn kind(bytes: &[u8], name: &str) -> FileKind {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        sniff(&path).unwrap()
    }

    #[test]
    fn tells_files_by_their_content() {
        let mut tar = vec![b'a'; 600];
        tar[257..262].copy_from_slice(b"ustar");
        for (bytes, expected) in [
            (b"{\"a\":1}\n{\"index.npy\":\"\"}\n8\n".as_slice(), FileKind::Jinx),
            (b"\x89BINX\r\n\x1a\x01", FileKind::Sidecar),
            (b"PAR1\x15", FileKind::Parquet),
            (b"ARROW1\0\0", FileKind::Arrow),
            (b"\xff\xff\xff\xff\x10\0\0\0", FileKind::Arrow),
            (b"\x1f\x8b\x08\0", FileKind::Compressed(Codec::Gzip)),
            (b"\x28\xb5\x2f\xfd", FileKind::Compressed(Codec::Zstd)),
            (b"BZh9", FileKind::Compressed(Codec::Bzip2)),
            (b"\xfd7zXZ\0", FileKind::Compressed(Codec::Xz)),
            (b"PK\x03\x04", FileKind::Zip),
            (&tar, FileKind::Tar),
            (b"version https://git-lfs.github.com/spec/v1\n", FileKind::GitLfs),
            (b"\xef\xbb\xbf\n{\"a\":1}\n", FileKind::Jsonl),
            (b" [1]", FileKind::JsonArray),
            (b"\x81\xa1a\x01", FileKind::Msgpack),
            (b"\x89PNG\r\n", FileKind::Unknown),
            (b"", FileKind::Empty),
            (b"12\n", FileKind::Unknown),
        ] {
            assert_eq!(kind(bytes, "x"), expected, "{bytes:?}");
        }
        assert_eq!(kind(b"{\"shards\":[]}", "index.json"), FileKind::MdsIndex);
        assert_eq!(kind(b"\x02\0\0\0", "shard.00000.mds"), FileKind::Mds);
    }

    #[test]
    fn hints_are_commands_that_can_be_pasted() {
        let hint = |kind: FileKind, path: &str| kind.hint(Path::new(path)).unwrap_or_default();
        assert_eq!(hint(FileKind::Parquet, "in.parquet"), "run: jinx convert in.parquet in.jinx");
        assert_eq!(
            hint(FileKind::Parquet, "my data"),
            "run: jinx convert 'my data' 'my data.jinx' --input-format parquet"
        );
        assert_eq!(
            hint(FileKind::Compressed(Codec::Gzip), "d/a.jsonl.gz"),
            "run: jinx convert d/a.jsonl.gz d/a.jinx"
        );
        assert_eq!(hint(FileKind::MdsIndex, "d/mds/index.json"), "run: jinx convert d/mds mds.jinx");
        assert_eq!(hint(FileKind::Sidecar, "a.binx"), "open a.jinx instead");
        assert_eq!(
            hint(FileKind::Parquet, "a.jinx"),
            "run: jinx convert a.jinx a.converted.jinx --input-format parquet"
        );
    }
}
