//! Recognises contents by their first bytes: what not to compress again, and the type of media.

/// Whether `data` is already in a compressed format, so that zstd would only cost time.
pub fn is_compressed_media(data: &[u8]) -> bool {
    const ARCHIVES: [&[u8]; 5] =
        [b"\x1f\x8b\x08", b"PK\x03\x04", b"PK\x05\x06", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0"];
    if ARCHIVES.iter().any(|magic| data.starts_with(magic)) || is_bzip2(data) {
        return true;
    }
    match mime(data) {
        Some("image/bmp" | "image/tiff" | "audio/wav" | "application/pdf") | None => false,
        Some(_) => true,
    }
}

/// The media type of images, audio and video by their magic number, or `None`.
pub fn mime(data: &[u8]) -> Option<&'static str> {
    const MAGICS: [(&[u8], &str); 11] = [
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"II*\0", "image/tiff"),
        (b"MM\0*", "image/tiff"),
        (b"\xff\x0a", "image/jxl"),
        (b"fLaC", "audio/flac"),
        (b"ID3", "audio/mpeg"),
        (b"OggS", "audio/ogg"),
        (b"%PDF-", "application/pdf"),
    ];
    MAGICS
        .into_iter()
        .find(|(magic, _)| data.starts_with(magic))
        .map(|(_, mime)| mime)
        .or_else(|| riff(data))
        .or_else(|| iso_media(data))
        .or_else(|| matroska(data))
        .or_else(|| is_bmp(data).then_some("image/bmp"))
        .or_else(|| is_mpeg_audio(data).then_some("audio/mpeg"))
}

fn riff(data: &[u8]) -> Option<&'static str> {
    if !data.starts_with(b"RIFF") {
        return None;
    }
    match data.get(8..12)? {
        b"WEBP" => Some("image/webp"),
        b"WAVE" => Some("audio/wav"),
        b"AVI " => Some("video/x-msvideo"),
        _ => None,
    }
}

fn iso_media(data: &[u8]) -> Option<&'static str> {
    if data.get(4..8)? != b"ftyp" {
        return None;
    }
    Some(match data.get(8..12)? {
        b"qt  " => "video/quicktime",
        b"M4A " | b"M4B " => "audio/mp4",
        b"avif" | b"avis" => "image/avif",
        b"heic" | b"heix" | b"mif1" => "image/heic",
        _ => "video/mp4",
    })
}

fn matroska(data: &[u8]) -> Option<&'static str> {
    if !data.starts_with(b"\x1a\x45\xdf\xa3") {
        return None;
    }
    // The first header contains the document type.
    let header = data.get(..data.len().min(64))?;
    let webm = memchr::memmem::find(header, b"webm").is_some();
    Some(if webm { "video/webm" } else { "video/x-matroska" })
}

/// Whether this is a BMP: "BM" alone is too weak, so the reserved field and the size of the second header must also
/// fit.
fn is_bmp(data: &[u8]) -> bool {
    data.starts_with(b"BM")
        && data.get(6..10) == Some(&[0; 4])
        && matches!(data.get(14..18), Some([12 | 40 | 52 | 56 | 64 | 108 | 124, 0, 0, 0]))
}

/// Whether this is a frame header of MPEG audio layer III with a valid bit rate and sampling rate.
fn is_mpeg_audio(data: &[u8]) -> bool {
    let &[0xff, version, rates, ..] = data else {
        return false;
    };
    matches!(version, 0xfa | 0xfb | 0xf2 | 0xf3 | 0xe2 | 0xe3)
        && !matches!(rates >> 4, 0 | 15)
        && (rates >> 2) & 3 != 3
}

fn is_bzip2(data: &[u8]) -> bool {
    matches!(data, [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_are_told_apart() {
        let table: [(&[u8], Option<&str>, bool); 22] = [
            (b"\xff\xd8\xff\xe0\0\x10JFIF", Some("image/jpeg"), true),
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", Some("image/png"), true),
            (b"GIF89a\x01\0", Some("image/gif"), true),
            (b"RIFF\x10\0\0\0WEBPVP8 ", Some("image/webp"), true),
            (b"RIFF\x10\0\0\0WAVEfmt ", Some("audio/wav"), false),
            (b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0", Some("image/bmp"), false),
            (b"BMW is a car, not an image", None, false),
            (b"II*\0\x08\0\0\0", Some("image/tiff"), false),
            (b"\0\0\0\x18ftypisom", Some("video/mp4"), true),
            (b"\0\0\0\x14ftypqt  ", Some("video/quicktime"), true),
            (b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm", Some("video/webm"), true),
            (b"\x1a\x45\xdf\xa3\x9f\x42\x82\x88matroska", Some("video/x-matroska"), true),
            (b"OggS\0\x02", Some("audio/ogg"), true),
            (b"fLaC\0\0\0\x22", Some("audio/flac"), true),
            (b"ID3\x03\0", Some("audio/mpeg"), true),
            (b"\xff\xfb\x90\x64", Some("audio/mpeg"), true),
            (b"\xff\xfb\xff\xff", None, false),
            (b"\x1f\x8b\x08\0", None, true),
            (b"PK\x03\x04", None, true),
            (b"BZh91AY&SY", None, true),
            (b"\x93NUMPY\x01\0", None, false),
            (b"", None, false),
        ];
        for (data, expected, compressed) in table {
            assert_eq!(mime(data), expected, "{data:?}");
            assert_eq!(is_compressed_media(data), compressed, "{data:?}");
        }
    }
}
