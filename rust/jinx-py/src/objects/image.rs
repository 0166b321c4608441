//! Pixels of JPEG, PNG and WebP images, decoded without the GIL.
//!
//! Decodes 8-bit gray and RGB images, with or without alpha. The result equals `numpy.array(image)` with Pillow. Pillow
//! decodes all other images. It also gets damaged images, and reports what is wrong with them.

use image_webp::WebPDecoder;
use jinx_core::checked_math::{to_u64, to_usize};
use png::{BitDepth, ColorType};
use std::io::Cursor;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// Pixels row by row, each with `channels` values of 8 bits.
#[derive(Debug, PartialEq, Eq)]
pub struct Pixels {
    pub data: Vec<u8>,
    pub height: usize,
    pub width: usize,
    pub channels: usize,
}

/// Decodes an image of a supported format, if its pixels take at most `max_bytes`.
pub fn decode(data: &[u8], max_bytes: u64) -> Option<Pixels> {
    match data {
        [0xff, 0xd8, 0xff, ..] => jpeg(data, max_bytes),
        [0x89, b'P', b'N', b'G', ..] => png_image(data, max_bytes),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => webp(data, max_bytes),
        _ => None,
    }
}

impl Pixels {
    /// Allocates zeroed memory for an image, unless the image is too large.
    fn blank(width: usize, height: usize, channels: usize, max_bytes: u64) -> Option<Self> {
        let size = width.checked_mul(height)?.checked_mul(channels)?;
        let mut data = Vec::new();
        if to_u64(size) > max_bytes || data.try_reserve_exact(size).is_err() {
            return None;
        }
        data.resize(size, 0);
        Some(Self { data, height, width, channels })
    }
}

fn jpeg(data: &[u8], max_bytes: u64) -> Option<Pixels> {
    // Leave truncated files to Pillow, which rejects them: this decoder would return a partly gray image.
    let end = data.iter().rposition(|byte| *byte != 0)?;
    if !data[..=end].ends_with(&[0xff, 0xd9]) {
        return None;
    }
    let options = DecoderOptions::default().set_strict_mode(true);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(data), options);
    decoder.decode_headers().ok()?;
    let (channels, colors) = match decoder.input_colorspace()? {
        ColorSpace::Luma => (1, ColorSpace::Luma),
        ColorSpace::YCbCr | ColorSpace::RGB => (3, ColorSpace::RGB),
        _ => return None,
    };
    decoder.set_options(options.jpeg_set_out_colorspace(colors));
    let (width, height) = decoder.dimensions()?;
    let mut pixels = Pixels::blank(width, height, channels, max_bytes)?;
    if decoder.output_buffer_size() != Some(pixels.data.len()) {
        return None;
    }
    decoder.decode_into(&mut pixels.data).ok()?;
    Some(pixels)
}

fn png_image(data: &[u8], max_bytes: u64) -> Option<Pixels> {
    let limits = png::Limits { bytes: to_usize(max_bytes, "an image").ok()? };
    let mut reader = png::Decoder::new_with_limits(Cursor::new(data), limits).read_info().ok()?;
    let channels = match reader.output_color_type() {
        (ColorType::Grayscale, BitDepth::Eight) => 1,
        (ColorType::GrayscaleAlpha, BitDepth::Eight) => 2,
        (ColorType::Rgb, BitDepth::Eight) => 3,
        (ColorType::Rgba, BitDepth::Eight) => 4,
        _ => return None,
    };
    let (width, height) = reader.info().size();
    let side = |pixels: u32| usize::try_from(pixels).ok();
    let mut pixels = Pixels::blank(side(width)?, side(height)?, channels, max_bytes)?;
    if reader.output_buffer_size() != Some(pixels.data.len()) {
        return None;
    }
    reader.next_frame(&mut pixels.data).ok()?;
    reader.finish().ok()?;
    Some(pixels)
}

fn webp(data: &[u8], max_bytes: u64) -> Option<Pixels> {
    let mut decoder = WebPDecoder::new(Cursor::new(data)).ok()?;
    if decoder.is_animated() {
        return None;
    }
    decoder.set_memory_limit(to_usize(max_bytes, "an image").ok()?);
    let (width, height) = decoder.dimensions();
    let side = |pixels: u32| usize::try_from(pixels).ok();
    let channels = if decoder.has_alpha() { 4 } else { 3 };
    let mut pixels = Pixels::blank(side(width)?, side(height)?, channels, max_bytes)?;
    if decoder.output_buffer_size() != Some(pixels.data.len()) {
        return None;
    }
    decoder.read_image(&mut pixels.data).ok()?;
    Some(pixels)
}
