//! `repair` saves every intact sample and says what was lost.
#![allow(clippy::unwrap_used, clippy::panic, clippy::cast_precision_loss, clippy::cast_possible_wrap)]

mod sample;

use jinx_core::value::Value;
use jinx_format::footer::ArrayRef;
use jinx_format::read::shard::{OpenOptions, Shard};
use jinx_format::repair::{RepairReport, repair};
use jinx_format::verify::verify;
use proptest::prelude::*;
use sample::{options, read, rows, write};
use std::path::{Path, PathBuf};

struct Pair {
    directory: tempfile::TempDir,
    rows: Vec<Value>,
}

impl Pair {
    fn new(count: usize, sidecar: bool) -> Self {
        let mut rows = rows(count);
        if !sidecar {
            // Only the footer says that an inline struct is a media value.
            for row in &mut rows {
                let Value::Dict(members) = row else { continue };
                members.retain(|(name, _)| name != "image");
            }
        }
        let pair = Self { directory: tempfile::tempdir().unwrap(), rows };
        write(&pair.path(), &pair.rows, options(sidecar, Some(3)));
        pair
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("a.jinx")
    }

    fn side(&self) -> PathBuf {
        self.directory.path().join("a.binx")
    }

    fn change(file: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = std::fs::read(file).unwrap();
        change(&mut bytes);
        std::fs::write(file, bytes).unwrap();
    }

    /// Repairs the pair; checks that the result is whole, and that the input was left alone.
    fn repaired(&self) -> (RepairReport, Vec<Value>) {
        let before = (std::fs::read(self.path()).ok(), std::fs::read(self.side()).ok());
        let dry = repair(&self.path(), None, true).unwrap();
        let report = repair(&self.path(), None, false).unwrap();
        assert_eq!((std::fs::read(self.path()).ok(), std::fs::read(self.side()).ok()), before);
        assert_eq!((dry.kept, &dry.lost, &dry.out), (report.kept, &report.lost, &None));
        let out = report.out.clone().unwrap();
        assert_eq!(verify(&out, &mut |_, _| Ok(())).unwrap(), []);
        let rows = read(&out);
        assert_eq!(rows.len() as u64, report.kept);
        std::fs::remove_file(&out).unwrap();
        let _ = std::fs::remove_file(out.with_extension("binx"));
        (report, rows)
    }
}

type Change = dyn Fn(&mut Vec<u8>);

fn footer_at(bytes: &[u8]) -> usize {
    bytes.windows(12).position(|part| part == b"\n{\"index.npy").unwrap() + 1
}

#[test]
fn a_writer_that_died_leaves_everything_it_wrote() {
    for sidecar in [true, false] {
        let pair = Pair::new(20, sidecar);
        let named = |name: &str| pair.directory.path().join(name);
        std::fs::rename(pair.path(), named(".a.jinx.tmp")).unwrap();
        Pair::change(&named(".a.jinx.tmp"), |bytes| bytes.truncate(footer_at(bytes)));
        if sidecar {
            std::fs::rename(pair.side(), named(".a.binx.tmp")).unwrap();
            Pair::change(&named(".a.binx.tmp"), |bytes| bytes[..64].fill(0));
        }
        let (report, rows) = pair.repaired();
        assert_eq!(rows, pair.rows);
        assert_eq!((report.samples, report.lost), (20, vec![]));
    }
}

#[test]
fn samples_with_members_like_those_of_a_footer_are_kept() {
    let text = |name: &str, text: &str| (name.to_owned(), Value::Str(text.to_owned()));
    let count = |name: &str| (name.to_owned(), Value::Int(5));
    let line = b"{\"index.npy\":[1,2]}";
    let samples: [Vec<(String, Value)>; 4] = [
        vec![count("id"), text("digest", "0a1b2c3d")],
        vec![count("num_samples"), text("digest", "0a1b2c3d4e5f6789")],
        vec![count("num_samples"), text("columns", "c"), text("digest", "")],
        vec![text("text", "\"line_hash\":{ \"fields\":[{\"path\": ,\"digest\":\""), text("digest", "0")],
    ];
    for sample in samples {
        let pair =
            Pair { directory: tempfile::tempdir().unwrap(), rows: vec![Value::Dict(sample.clone()); 10] };
        write(&pair.path(), &pair.rows, options(false, None));
        Pair::change(&pair.path(), |bytes| bytes.truncate(footer_at(bytes)));
        let (report, rows) = pair.repaired();
        assert_eq!((report.kept, report.lost.as_slice()), (10, [].as_slice()), "{sample:?}");
        assert_eq!(rows, pair.rows);
        // A footer that was cut is no sample, and nothing that was lost.
        Pair::change(&pair.path(), |bytes| bytes.extend_from_slice(&line[..line.len() - 3]));
        assert_eq!((pair.repaired().0.samples, pair.repaired().0.lost), (10, vec![]));
    }
}

#[test]
fn lines_reach_the_disk_with_their_values() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jinx");
    let image: Vec<u8> =
        (0..200_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0]).collect();
    let row = |i: i64| {
        let data = bytes::Bytes::from([&i.to_le_bytes(), image.as_slice()].concat());
        let blob =
            Value::Blob { payload: jinx_core::row_events::Payload::Raw, data, media: false, path: None };
        Value::Dict(vec![("id".into(), Value::Int(i)), ("image".into(), blob)])
    };
    let mut writer = jinx_format::write::dataset::DatasetWriter::create(&path, options(true, None)).unwrap();
    for i in 0..100 {
        writer.write_values(&[row(i)]).unwrap();
    }
    // What a writer that is killed here leaves.
    for (from, to) in [(".a.jinx.tmp", "dead.jinx"), (".a.binx.tmp", "dead.binx")] {
        std::fs::copy(directory.path().join(from), directory.path().join(to)).unwrap();
    }
    drop(writer);
    let report = repair(&directory.path().join("dead.jinx"), None, true).unwrap();
    assert!(report.kept >= 75, "of 100 rows of 200 kB, {} were saved", report.kept);
}

#[test]
fn a_file_of_another_format_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.parquet");
    std::fs::write(&path, b"PAR1\x15\x04\n\nPAR1").unwrap();
    let error = repair(&path, None, false).unwrap_err();
    assert_eq!(error.cause(), jinx_core::Cause::Unsupported);
    assert!(error.to_string().contains("this is a Parquet file"), "{error}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn a_damaged_footer_costs_no_sample() {
    let pair = Pair::new(20, true);
    Pair::change(&pair.path(), |bytes| {
        let at = footer_at(bytes);
        bytes[at + 30] ^= 1;
    });
    let (report, rows) = pair.repaired();
    assert_eq!(rows, pair.rows);
    assert!(report.lost.is_empty());
    assert!(report.damage[0].contains("digest"), "{:?}", report.damage);
}

#[test]
fn a_damaged_line_costs_that_sample_only() {
    let pair = Pair::new(20, true);
    Pair::change(&pair.path(), |bytes| {
        let at = bytes.windows(7).position(|part| part == b"\"id\":13").unwrap();
        bytes[at + 6] = b'4';
    });
    let (report, rows) = pair.repaired();
    assert_eq!(report.lost[0].line, Some(13));
    assert_eq!((report.samples, report.kept, report.lost.len()), (20, 19, 1));
    assert_eq!(rows[13], pair.rows[14]);
}

fn at_13(bytes: &[u8]) -> usize {
    bytes.windows(7).position(|part| part == b"\"id\":13").unwrap()
}

#[test]
fn lines_are_compared_with_their_checksums_wherever_the_footer_is() {
    let changes: [&Change; 6] = [
        // The footer moves by one byte.
        &|bytes| {
            bytes.remove(at_13(bytes) + 5);
        },
        // The newline between the last line and the footer is lost.
        &|bytes| {
            let at = at_13(bytes);
            bytes[at + 6] = b'4';
            let footer = footer_at(bytes);
            bytes.remove(footer - 1);
        },
        // This newline is another byte.
        &|bytes| {
            let at = at_13(bytes);
            bytes[at + 6] = b'4';
            let footer = footer_at(bytes);
            bytes[footer - 1] ^= 0x40;
        },
        // The end of the trailer is lost.
        &|bytes| {
            let at = at_13(bytes);
            bytes[at + 6] = b'4';
            bytes.truncate(bytes.len() - 2);
        },
        // The whole trailer is lost, and the newline before it.
        &|bytes| {
            let at = at_13(bytes);
            bytes[at + 6] = b'4';
            let end = bytes.trim_ascii_end().iter().rposition(|byte| *byte == b'\n').unwrap();
            bytes.truncate(end);
        },
        // The newline between footer and trailer is lost.
        &|bytes| {
            let at = at_13(bytes);
            bytes[at + 6] = b'4';
            let end = bytes.trim_ascii_end().iter().rposition(|byte| *byte == b'\n').unwrap();
            bytes.remove(end);
        },
    ];
    for sidecar in [true, false] {
        for (number, change) in changes.iter().enumerate() {
            let pair = Pair::new(20, sidecar);
            Pair::change(&pair.path(), change);
            let (report, rows) = pair.repaired();
            assert_eq!((report.samples, report.kept, report.unchecked), (20, 19, 0), "{number} {report:?}");
            assert_eq!((report.lost[0].line, report.lost.len()), (Some(13), 1), "{number}");
            assert!(rows.iter().all(|row| pair.rows.contains(row)), "{number}");
        }
    }
}

#[test]
fn samples_without_a_checksum_to_compare_with_are_counted() {
    let pair = Pair::new(20, true);
    assert_eq!(pair.repaired().0.unchecked, 0);
    Pair::change(&pair.path(), |bytes| {
        let at = footer_at(bytes);
        bytes[at + 30] ^= 1;
    });
    let report = pair.repaired().0;
    assert_eq!((report.kept, report.unchecked), (20, 20));
}

#[test]
fn a_pointer_whose_name_is_damaged_and_pieces_of_a_footer_are_no_samples() {
    let pair = Pair::new(20, true);
    Pair::change(&pair.path(), |bytes| {
        let footer = footer_at(bytes);
        let text = String::from_utf8(bytes[footer..].to_vec()).unwrap();
        let members = &text[text.find("\"num_samples\"").unwrap()..text.find(",\"meta\"").unwrap()];
        let pieces = format!("{{\"id\":3,{members}}}\n12\n");
        bytes.truncate(footer);
        bytes.extend_from_slice(b"{\"im\":{\"offset\":64,\"length\":100,\"x\":\"ddc1ea34dc8a8791\"}}\n");
        bytes.extend_from_slice(pieces.as_bytes());
    });
    let (report, rows) = pair.repaired();
    assert_eq!(rows, pair.rows);
    assert_eq!(report.lost.len(), 1, "{report:?}");
    assert!(report.lost[0].reason.contains("pointer"), "{report:?}");
}

#[test]
fn a_sidecar_without_its_tail_costs_the_last_values() {
    let pair = Pair::new(20, true);
    let length = std::fs::metadata(pair.side()).unwrap().len();
    Pair::change(&pair.side(), |bytes| bytes.truncate(usize::try_from(length / 2).unwrap()));
    let (report, rows) = pair.repaired();
    assert!(report.kept >= 14 && report.kept < 20, "{report:?}");
    assert!(rows.iter().all(|row| pair.rows.contains(row)));
    assert!(
        report.lost.iter().all(|lost| lost.line.is_some() && lost.reason.contains("column")),
        "{report:?}"
    );
}

#[test]
fn a_sidecar_that_is_gone_costs_what_was_in_it() {
    let pair = Pair::new(20, true);
    std::fs::remove_file(pair.side()).unwrap();
    let (report, rows) = pair.repaired();
    assert_eq!((report.kept, report.lost.len()), (10, 10));
    assert!(rows.iter().all(|row| pair.rows.contains(row)));
}

#[test]
fn a_damaged_header_of_the_sidecar_costs_nothing() {
    let pair = Pair::new(20, true);
    Pair::change(&pair.side(), |bytes| bytes[20] ^= 4);
    let (report, rows) = pair.repaired();
    assert_eq!(rows, pair.rows);
    assert!(report.lost.is_empty() && !report.damage.is_empty());
}

#[test]
fn an_index_in_a_damaged_sidecar_is_made_again() {
    let pair = Pair { directory: tempfile::tempdir().unwrap(), rows: rows(8200) };
    write(&pair.path(), &pair.rows, options(true, Some(3)));
    let length = std::fs::metadata(pair.side()).unwrap().len();
    Pair::change(&pair.side(), |bytes| bytes.truncate(usize::try_from(length - 150_000).unwrap()));
    let (report, rows) = pair.repaired();
    assert_eq!(report.lost, vec![]);
    assert!(rows == pair.rows);
}

#[test]
fn existing_outputs_and_missing_inputs_are_errors() {
    let pair = Pair::new(2, false);
    write(&pair.directory.path().join("a.repaired.jinx"), &rows(1), options(false, None));
    assert!(repair(&pair.path(), None, false).is_err());
    assert!(repair(&pair.directory.path().join("b.jinx"), None, false).is_err());
}

#[test]
fn a_flipped_bit_in_the_version_costs_nothing() {
    let pair = Pair::new(6, true);
    Pair::change(&pair.path(), |bytes| {
        let version = b"\"version\":\"1.1\"";
        let at = bytes.windows(version.len()).position(|window| window == version).unwrap();
        bytes[at + version.len() - 4] ^= 1;
    });
    assert_eq!(pair.repaired().1, pair.rows);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_cut_file_keeps_what_is_before_the_cut(at in any::<prop::sample::Index>(), sidecar: bool) {
        let pair = Pair::new(6, sidecar);
        let mut end = 0;
        Pair::change(&pair.path(), |bytes| {
            bytes.truncate(at.index(bytes.len()));
            end = bytes.iter().filter(|byte| **byte == b'\n').count();
        });
        let (_, rows) = pair.repaired();
        prop_assert!(rows.len() >= end.min(6));
        prop_assert_eq!(&rows[..], &pair.rows[..rows.len()]);
    }

    #[test]
    fn a_flipped_bit_costs_at_most_one_sample(at in any::<prop::sample::Index>(), bit in 0u8..8, in_side: bool) {
        let pair = Pair::new(6, true);
        let file = if in_side { pair.side() } else { pair.path() };
        Pair::change(&file, |bytes| {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        });
        let (report, rows) = pair.repaired();
        // A flipped newline joins two lines.
        prop_assert!(report.kept >= 4, "{:?}", report);
        prop_assert!(rows.iter().all(|row| pair.rows.contains(row)), "{:?}", report);
    }
}

/// More rows than one chunk of their checksums has.
#[test]
fn a_damaged_chunk_of_checksums_leaves_the_others_to_compare_with() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jinx");
    let rows: Vec<Value> =
        (0..140_000).map(|i| Value::Dict(vec![("n".into(), Value::Int(100_000 + i))])).collect();
    write(&path, &rows, options(true, None));
    let options = OpenOptions::default();
    let shard = Shard::open(&path, &options).unwrap();
    let Some(ArrayRef::Sidecar { offset, .. }) = shard.footer().line_hash else { panic!("inline") };
    let ArrayRef::Sidecar { offset: column, .. } = shard.footer().columns[0].data else { panic!("inline") };
    let flip = |at: u64| {
        Pair::change(&path.with_extension("binx"), |bytes| bytes[usize::try_from(at).unwrap()] ^= 1);
    };
    // A checksum in the second chunk, and a cell in the first one; a number in a line of each.
    flip(offset + 8 * 131_072);
    flip(column + 3);
    let line = b"{\"n\":100000}\n".len();
    Pair::change(&path, |bytes| {
        bytes[20 * line + 5] = b'9';
        bytes[131_080 * line + 5] = b'9';
    });
    let report = repair(&path, None, true).unwrap();
    let damage = report.damage.join("; ");
    assert!(damage.contains("line_hash: its bytes 1048576 to 1120000 do not match"), "{damage}");
    assert!(damage.contains("the column 'n': "), "{damage}");
    let lost: Vec<_> = report.lost.iter().map(|lost| lost.line.unwrap()).collect();
    // Nothing tells that the other number is not the one that was written.
    assert_eq!((report.kept, lost), (139_999, vec![20]));
}
