//! Names in WebDataset tars: a file is `KEY.SUFFIX`, and the suffix states what it contains.

/// The column with a sample's name.
pub const KEY: &str = "__key__";
/// The suffix of the file that may describe its whole sample.
pub(crate) const SAMPLE: &str = "json";
const MAX_NAME_CHARS: usize = 80;

const TEXTS: [&str; 3] = ["txt", "text", "transcript"];
const NUMBERS: [&str; 7] = ["cls", "cls2", "class", "count", "index", "inx", "id"];
const JSON: [&str; 2] = ["json", "jsn"];
const IMAGES: [&str; 8] = ["jpg", "jpeg", "png", "webp", "gif", "bmp", "tif", "tiff"];
const SOUNDS: [&str; 6] = ["wav", "flac", "mp3", "ogg", "opus", "m4a"];
const VIDEOS: [&str; 5] = ["mp4", "webm", "mkv", "avi", "mov"];

/// The kind of a sample's file, according to the last part of its suffix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Number,
    Json,
    Npy,
    /// `Image`, `Audio` or `Video`.
    Media(&'static str),
    Bytes,
}

impl Kind {
    pub(crate) fn of(suffix: &str) -> Self {
        let last = suffix.rsplit('.').next().unwrap_or(suffix);
        let one_of = |names: &[&str]| names.contains(&last);
        match () {
            () if one_of(&TEXTS) => Self::Text,
            () if one_of(&NUMBERS) => Self::Number,
            () if one_of(&JSON) => Self::Json,
            () if last == "npy" => Self::Npy,
            () if one_of(&IMAGES) => Self::Media("Image"),
            () if one_of(&SOUNDS) => Self::Media("Audio"),
            () if one_of(&VIDEOS) => Self::Media("Video"),
            () => Self::Bytes,
        }
    }
}

/// The sample's name and the suffix of a file; `None` for hidden files and others that are not part of a sample.
pub(crate) fn split(path: &str) -> Option<(&str, String)> {
    let path = path.strip_prefix("./").unwrap_or(path);
    let start = path.rfind('/').map_or(0, |slash| slash + 1);
    let file = &path[start..];
    let dot = file.find('.').filter(|dot| *dot > 0)?;
    let is_note = file.starts_with("__") && file.ends_with("__");
    (!is_note).then(|| (&path[..start + dot], file[dot + 1..].to_lowercase()))
}

/// Whether files can have this name, and are read back with it.
pub(crate) fn is_key(key: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && part != "." && part != "..";
    let last = key.rsplit('/').next().unwrap_or(key);
    key.split('/').all(is_part)
        && !last.contains('.')
        && !last.starts_with("__")
        && key.chars().count() <= 4 * MAX_NAME_CHARS
        && !key.chars().any(|c| c.is_control() || c == '\\')
}

/// Whether a file can have this suffix, so that it is read back as a column with this name.
pub(crate) fn is_suffix(name: &str) -> bool {
    let is_part =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
    name.split('.').all(is_part) && name.to_lowercase() == *name && name.chars().count() <= MAX_NAME_CHARS
}
