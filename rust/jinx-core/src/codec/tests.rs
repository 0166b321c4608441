//! All codecs: round trips, each way to be bad, bombs, and the streaming readers.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::error::Cause;
use proptest::prelude::*;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

// The output of CPython 3.11 for `hello hello hello`.
#[rustfmt::skip]
const LZMA_ALONE: &[u8] = b"]\x00\x00\x04\x00\xff\xff\xff\xff\xff\xff\xff\xff\x004\x19I\xdb\x85\x5cgr<\xf9_\xff\xff\xf7B\x00\x00";
#[rustfmt::skip]
const XZ: &[u8] = b"\xfd7zXZ\x00\x00\x04\xe6\xd6\xb4F\x02\x00!\x01\x0c\x00\x00\x00\x8f\x98A\x9c\xe0\x00\x10\x00\x0c]\x004\x19I\xdb\x85\x5cgr*a\x00\x00\x00K\x88\xe6\xdaD\x80\x07v\x00\x01(\x11s;k\x17\x1f\xb6\xf3}\x01\x00\x00\x00\x00\x04YZ";
#[rustfmt::skip]
const BZ2: &[u8] = b"BZh91AY&SY\x9eb[\xfe\x00\x00\x02\x91\x00@\x00\x02D\xa0\x00!\x14`f\x82\x91\xef#G\x0b\xb9\x22\x9c(HO1-\xff\x00";
#[rustfmt::skip]
const GZIP: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcbH\xcd\xc9\xc9W\xc8@\x90\x00\x80\x88\xf9\xe5\x11\x00\x00\x00";

fn encode(codec: Codec, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    match codec {
        Codec::Zstd => return Compressor::zstd(3).unwrap().compress(data).unwrap(),
        Codec::Gzip => {
            let mut encoder = writer(codec, None, &mut out).unwrap();
            encoder.write_all(data).unwrap();
            encoder.finish().unwrap();
        }
        Codec::Brotli => {
            ::brotli::CompressorWriter::new(&mut out, 1 << 16, 3, 22).write_all(data).unwrap();
        }
        Codec::Bzip2 => {
            let mut encoder = ::bzip2::write::BzEncoder::new(&mut out, ::bzip2::Compression::fast());
            encoder.write_all(data).unwrap();
            encoder.finish().unwrap();
        }
        Codec::Lz4 => {
            let info = lz4_flex::frame::FrameInfo::new()
                .content_size(Some(data.len() as u64))
                .content_checksum(true)
                .block_checksums(true)
                .block_mode(lz4_flex::frame::BlockMode::Linked)
                .block_size(lz4_flex::frame::BlockSize::Max64KB);
            let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, &mut out);
            encoder.write_all(data).unwrap();
            encoder.finish().unwrap();
        }
        Codec::Lzma => {
            let options = liblzma::stream::LzmaOptions::new_preset(1).unwrap();
            let stream = liblzma::stream::Stream::new_lzma_encoder(&options).unwrap();
            let mut encoder = liblzma::write::XzEncoder::new_stream(&mut out, stream);
            encoder.write_all(data).unwrap();
            encoder.finish().unwrap();
        }
        Codec::Xz => {
            let mut encoder = liblzma::write::XzEncoder::new(&mut out, 1);
            encoder.write_all(data).unwrap();
            encoder.finish().unwrap();
        }
        Codec::Snappy => {
            let mut encoder = snap::write::FrameEncoder::new(&mut out);
            encoder.write_all(data).unwrap();
            encoder.flush().unwrap();
            drop(encoder);
            if data.is_empty() {
                // The encoder even omits the header of every stream.
                out.extend_from_slice(b"\xff\x06\0\0sNaPpY");
            }
        }
    }
    out
}

/// Like zstd in JINX 1.0: streamed, so without content size.
fn streamed_zstd(data: &[u8]) -> Vec<u8> {
    let mut encoder = writer(Codec::Zstd, Some(1), Vec::new()).unwrap();
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn cause(result: Result<Vec<u8>>) -> Cause {
    result.unwrap_err().cause()
}

fn sample() -> Vec<u8> {
    (0..40_000u32).flat_map(|i| (i * i / 7).to_le_bytes()).collect()
}

/// Decodes into uninitialized memory of this length.
fn decode_exactly(codec: Codec, packed: &[u8], length: usize) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(length);
    decode_into(codec, packed, (&mut out.spare_capacity_mut()[..length]).into()).map(|bytes| bytes.to_vec())
}

#[test]
fn names_and_suffixes_come_back() {
    for codec in Codec::ALL {
        assert_eq!(Codec::from_ext(codec.ext()), Some(codec));
        assert_eq!(Codec::from_name(codec.ext()), Some(codec));
        assert_eq!(Codec::from_name(codec.name()), Some(codec));
    }
    assert_eq!(Codec::from_name("pigz"), Some(Codec::Gzip));
    assert_eq!(Codec::from_ext("zstd"), None);
    assert_eq!(Codec::from_name("zip"), None);
}

#[test]
fn exact_limit_is_enough_and_one_less_is_not() {
    let data = sample();
    for codec in Codec::ALL {
        let packed = encode(codec, &data);
        assert_eq!(decode(codec, &packed, data.len() as u64).unwrap(), data, "{codec:?}");
        assert_eq!(cause(decode(codec, &packed, data.len() as u64 - 1)), Cause::Limit, "{codec:?}");
    }
    let packed = streamed_zstd(&data);
    assert_eq!(declared_len(Codec::Zstd, &packed), None);
    assert_eq!(decode(Codec::Zstd, &packed, data.len() as u64).unwrap(), data);
    assert_eq!(cause(decode(Codec::Zstd, &packed, data.len() as u64 - 1)), Cause::Limit);
}

#[test]
fn nothing_comes_back_as_nothing() {
    for codec in Codec::ALL {
        assert_eq!(decode(codec, &encode(codec, b""), 0).unwrap(), b"", "{codec:?}");
    }
}

#[test]
fn early_end_is_truncated_at_every_byte() {
    let data = b"all work and no play makes jack a dull boy, ".repeat(5);
    for codec in Codec::ALL {
        let packed = encode(codec, &data);
        // A snappy stream has no end mark: cut after its first chunk it is a shorter, empty stream.
        for cut in (0..packed.len()).filter(|&cut| !(codec == Codec::Snappy && cut == 10)) {
            assert_eq!(cause(decode(codec, &packed[..cut], MIB)), Cause::Truncated, "{codec:?} at {cut}");
        }
    }
    let packed = streamed_zstd(&data);
    for cut in 0..packed.len() {
        assert_eq!(cause(decode(Codec::Zstd, &packed[..cut], MIB)), Cause::Truncated, "{cut}");
    }
}

#[test]
fn bad_or_trailing_bytes_are_corrupt() {
    for codec in Codec::ALL {
        assert_eq!(cause(decode(codec, b"\xff\xffno such magic", MIB)), Cause::Corrupt, "{codec:?}");
        for garbage in [&b"x"[..], b"garbage", b"a long line of other bytes behind the end"] {
            let mut packed = encode(codec, b"data");
            packed.extend_from_slice(garbage);
            let expected =
                if codec == Codec::Snappy && garbage.len() < 4 { Cause::Truncated } else { Cause::Corrupt };
            assert_eq!(cause(decode(codec, &packed, MIB)), expected, "{codec:?} {garbage:?}");
        }
    }
}

#[test]
fn lz4_blocks_without_content_end_nothing() {
    let data = sample();
    for checksums in [false, true] {
        let info = lz4_flex::frame::FrameInfo::new().block_checksums(checksums).content_checksum(checksums);
        let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
        encoder.write_all(&data).unwrap();
        let frame = encoder.finish().unwrap();
        let checksum: &[u8] = if checksums { b"\x05\x5d\xcc\x02" } else { b"" };
        let empty_block = [b"\x00\x00\x00\x80", checksum].concat();
        let end = frame.len() - if checksums { 8 } else { 4 };
        for at in [7, end] {
            let padded = [&frame[..at], &empty_block, &empty_block, &frame[at..]].concat();
            assert_eq!(decode(Codec::Lz4, &padded, MIB).unwrap(), data, "at {at}");
            let two = [&padded[..], &frame].concat();
            assert_eq!(decode(Codec::Lz4, &two, MIB).unwrap(), [&data[..], &data].concat(), "at {at}");
            assert_eq!(decode_exactly(Codec::Lz4, &padded, data.len()).unwrap(), data);
        }
        // In place of the end mark, alone and before another frame.
        let unended = [&frame[..end], &empty_block].concat();
        assert_eq!(cause(decode(Codec::Lz4, &unended, MIB)), Cause::Truncated);
        assert!(decode(Codec::Lz4, &[&unended[..], &frame].concat(), MIB).is_err());
    }
}

#[test]
fn members_follow_each_other() {
    for codec in Codec::ALL.into_iter().filter(|&codec| !matches!(codec, Codec::Brotli | Codec::Lzma)) {
        let packed = [encode(codec, b"one "), encode(codec, b""), encode(codec, b"two")].concat();
        assert_eq!(decode(codec, &packed, MIB).unwrap(), b"one two", "{codec:?}");
        assert_eq!(decode_exactly(codec, &packed, 7).unwrap(), b"one two", "{codec:?}");
    }
    let skippable = b"\x5a\x2a\x4d\x18\x03\0\0\0abc";
    for codec in [Codec::Zstd, Codec::Lz4] {
        let packed = [&skippable[..], &encode(codec, b"one"), skippable].concat();
        assert_eq!(decode(codec, &packed, MIB).unwrap(), b"one", "{codec:?}");
        assert_eq!(cause(decode(codec, &skippable[..9], MIB)), Cause::Truncated, "{codec:?}");
    }
    for codec in [Codec::Gzip, Codec::Xz] {
        let padded = [&encode(codec, b"one")[..], &[0; 8], &encode(codec, b"two"), &[0; 4]].concat();
        assert_eq!(decode(codec, &padded, MIB).unwrap(), b"onetwo", "{codec:?}");
    }
}

#[test]
fn lzma_takes_both_containers() {
    // CPython: lzma.compress(b"hello hello hello", preset=0, format=FORMAT_ALONE), and the default container.
    let alone = LZMA_ALONE;
    assert_eq!(decode(Codec::Lzma, alone, MIB).unwrap(), b"hello hello hello");
    assert_eq!(cause(decode(Codec::Xz, alone, MIB)), Cause::Corrupt);
    assert_eq!(decode(Codec::Lzma, XZ, MIB).unwrap(), b"hello hello hello");
    assert_eq!(decode(Codec::Lzma, &[XZ, XZ].concat(), MIB).unwrap(), b"hello hello hello".repeat(2));
    assert_eq!(decode(Codec::Bzip2, BZ2, MIB).unwrap(), b"hello hello hello");
    assert_eq!(decode(Codec::Gzip, GZIP, MIB).unwrap(), b"hello hello hello");
    // With the length in the header instead of an end mark following it.
    let mut sized = alone.to_vec();
    sized[5..13].copy_from_slice(&17u64.to_le_bytes());
    assert_eq!(decode(Codec::Lzma, &sized, MIB).unwrap(), b"hello hello hello");
}

#[test]
fn decode_into_wants_the_exact_length() {
    let data = sample();
    for codec in Codec::ALL {
        let packed = encode(codec, &data);
        assert_eq!(decode_exactly(codec, &packed, data.len()).unwrap(), data, "{codec:?}");
        for wrong in [0, data.len() - 1, data.len() + 1] {
            let error = decode_exactly(codec, &packed, wrong).unwrap_err();
            assert_eq!(error.cause(), Cause::Corrupt, "{codec:?} {wrong}");
        }
        let error = decode_exactly(codec, &packed[..packed.len() / 2], data.len()).unwrap_err();
        assert_eq!(error.cause(), Cause::Truncated, "{codec:?}");
    }
}

#[test]
fn declared_length_is_believed_only_with_blocks_behind_it() {
    let data = sample();
    for codec in [Codec::Zstd, Codec::Lz4] {
        let packed = encode(codec, &data);
        assert_eq!(declared_len(codec, &packed), Some(data.len() as u64), "{codec:?}");
        assert_eq!(declared_len(codec, &packed[..packed.len() - 1]), None, "{codec:?}");
    }
    // An empty raw block under a content size of 2^60.
    let lie = [&b"\x28\xb5\x2f\xfd\xe0"[..], &(1u64 << 60).to_le_bytes(), b"\x01\0\0"].concat();
    assert_eq!(declared_len(Codec::Zstd, &lie), None);
    assert_eq!(cause(decode(Codec::Zstd, &lie, u64::MAX)), Cause::Limit);
}

#[test]
fn windows_beyond_the_cap_are_refused() {
    // zstd: window log 31 and an empty last block; xz: a dictionary of 1.5 GiB.
    assert_eq!(cause(decode(Codec::Zstd, b"\x28\xb5\x2f\xfd\0\xa8\x01\0\0", MIB)), Cause::Limit);
    let mut alone = LZMA_ALONE.to_vec();
    alone[1..5].copy_from_slice(&(3u32 << 29).to_le_bytes());
    assert_eq!(cause(decode(Codec::Lzma, &alone, MIB)), Cause::Limit);
}

#[test]
fn dictionaries_are_unsupported() {
    let frame = b"\x28\xb5\x2f\xfd\x21\x07\x01\x01\0\0x";
    assert_eq!(cause(decode(Codec::Zstd, frame, MIB)), Cause::Unsupported);
}

#[test]
fn bombs_stop_at_the_limit() {
    for codec in Codec::ALL {
        // 1 GiB of zeros as members of 16 MiB; one stream of 64 MiB where there are no members.
        let part = vec![0; 16 << 20];
        let bomb = match codec {
            Codec::Brotli | Codec::Lzma => encode(codec, &vec![0; 64 << 20]),
            _ => encode(codec, &part).repeat(64),
        };
        let start = Instant::now();
        assert_eq!(cause(decode(codec, &bomb, MIB)), Cause::Limit, "{codec:?}");
        assert!(start.elapsed() < Duration::from_secs(1), "{codec:?} took {:?}", start.elapsed());
    }
}

#[test]
fn raw_snappy_blocks() {
    let data = sample();
    let packed = snap::raw::Encoder::new().compress_vec(&data).unwrap();
    assert_eq!(decode_snappy_raw(&packed, data.len() as u64).unwrap(), data);
    assert_eq!(cause(decode_snappy_raw(&packed, 1)), Cause::Limit);
    assert_eq!(cause(decode_snappy_raw(b"", MIB)), Cause::Truncated);
    assert_eq!(cause(decode_snappy_raw(b"\x05\x10ab", MIB)), Cause::Truncated);
    assert_eq!(cause(decode_snappy_raw(b"\xff\xff\xff\x7f\0a", MIB << 10)), Cause::Corrupt);
    assert_eq!(cause(decode_snappy_raw(b"\x05\x05\x09\x09", MIB)), Cause::Corrupt);
    assert_eq!(decode_snappy_raw(b"\0", MIB).unwrap(), b"");
}

/// Hands out its bytes in small pieces, as a pipe may.
struct Trickle(Vec<u8>, usize);

impl Read for Trickle {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let n = buf.len().min(3).min(self.0.len() - self.1);
        buf[..n].copy_from_slice(&self.0[self.1..self.1 + n]);
        self.1 += n;
        Ok(n)
    }
}

#[test]
fn readers_stream_and_keep_the_cause() {
    let data = sample();
    for codec in Codec::ALL {
        let packed = encode(codec, &data);
        let mut out = Vec::new();
        reader(codec, Trickle(packed.clone(), 0)).unwrap().read_to_end(&mut out).unwrap();
        assert_eq!(out, data, "{codec:?}");
        let cut = packed[..packed.len() - 3].to_vec();
        let mut short = reader(codec, Trickle(cut, 0)).unwrap();
        let error = short.read_to_end(&mut out).unwrap_err();
        assert_eq!(Error::from(error).cause(), Cause::Truncated, "{codec:?}");
        assert!(short.read(&mut [0; 9]).is_err(), "{codec:?} ends cleanly after an error");
        if !matches!(codec, Codec::Brotli | Codec::Lzma) {
            assert_eq!(sniff(&packed), Some(codec));
        }
    }
    assert_eq!(sniff(b"{\"a\":1}"), None);
}

#[test]
fn writers_check_codec_and_level() {
    for codec in [Codec::Zstd, Codec::Gzip] {
        let mut encoder = writer(codec, Some(1), Vec::new()).unwrap();
        encoder.write_all(b"line\n").unwrap();
        encoder.flush().unwrap();
        encoder.write_all(b"line\n").unwrap();
        assert_eq!(decode(codec, &encoder.finish().unwrap(), MIB).unwrap(), b"line\nline\n");
        assert!(writer(codec, Some(99), Vec::new()).is_err());
    }
    assert!(writer(Codec::Gzip, Some(-1), Vec::new()).is_err());
    assert!(writer(Codec::Xz, None, Vec::new()).is_err());
    assert!(Compressor::zstd(23).is_err());
}

#[test]
fn compressor_is_reusable_and_deterministic() {
    let data = sample();
    let mut compressor = Compressor::zstd(3).unwrap();
    let first = compressor.compress(&data).unwrap();
    compressor.compress(b"something else").unwrap();
    assert_eq!(compressor.compress(&data).unwrap(), first);
    assert_eq!(declared_len(Codec::Zstd, &first), Some(data.len() as u64));
    // No checksum flag in the frame header.
    assert_eq!(first[4] & 4, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn round_trips(data in proptest::collection::vec(any::<u8>(), 0..3000), times in 1usize..40) {
        let data = data.repeat(times);
        for codec in Codec::ALL {
            let packed = encode(codec, &data);
            prop_assert_eq!(&decode(codec, &packed, data.len() as u64).unwrap(), &data);
            prop_assert_eq!(&decode_exactly(codec, &packed, data.len()).unwrap(), &data);
        }
        prop_assert_eq!(&decode(Codec::Zstd, &streamed_zstd(&data), data.len() as u64).unwrap(), &data);
    }

    #[test]
    fn damage_never_panics(
        data in proptest::collection::vec(any::<u8>(), 0..400),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        for codec in Codec::ALL {
            let mut packed = encode(codec, &data.repeat(5));
            packed.truncate(packed.len().saturating_sub(cut.index(4)));
            for (at, byte) in &damage {
                if packed.is_empty() {
                    break;
                }
                let at = at.index(packed.len());
                packed[at] ^= byte;
            }
            if let Ok(out) = decode(codec, &packed, 4096) {
                prop_assert!(out.len() <= 4096);
            }
            let _ = decode_exactly(codec, &packed, data.len() * 5);
            let _ = declared_len(codec, &packed);
            let _ = decode_snappy_raw(&packed, 4096);
        }
    }

    #[test]
    fn noise_never_panics(noise in proptest::collection::vec(any::<u8>(), 0..300)) {
        for codec in Codec::ALL {
            let _ = decode(codec, &noise, 4096);
            let _ = decode(codec, &[&encode(codec, b"")[..8.min(encode(codec, b"").len())], &noise].concat(), 4096);
        }
        let _ = (mime(&noise), is_compressed_media(&noise), sniff(&noise), decode_snappy_raw(&noise, 4096));
    }
}
