//! Categories and searches of datasets, compared with plain loops over the same rows.
#![allow(clippy::unwrap_used, clippy::panic)]

use jinx_dataset::browse::{MISSING, Numbers, categories, search};
use jinx_dataset::{Dataset, Location, Options, open};
use jinx_format::read::columns::ColumnKind;
use std::fmt::Write as _;

fn dataset(lines: &str) -> (tempfile::TempDir, Dataset) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jsonl");
    std::fs::write(&path, lines).unwrap();
    let opened = open(&Location::Path(path), None, &Options::default()).unwrap();
    (directory, opened)
}

fn path(name: &str) -> Vec<String> {
    vec![name.to_owned()]
}

#[test]
fn few_strings_become_codes() {
    let mut lines = String::new();
    for i in 0..20_000 {
        match i % 4 {
            3 => writeln!(lines, "{{\"n\":{i}}}").unwrap(),
            kind => writeln!(lines, "{{\"kind\":\"k{kind}\",\"id\":\"{i}\",\"n\":{i}}}").unwrap(),
        }
    }
    let (_directory, all) = dataset(&lines);
    let found = categories(&all, &path("kind"), 100).unwrap().unwrap();
    assert_eq!(found.names, ["k0", "k1", "k2"]);
    let expected = |i: usize| if i % 4 == 3 { MISSING } else { u8::try_from(i % 4).unwrap() };
    assert!(found.codes.iter().enumerate().all(|(i, code)| *code == expected(i)));
    assert_eq!(found.codes.len(), 20_000);
    // Too many strings, and numbers.
    assert!(categories(&all, &path("id"), 100).unwrap().is_none());
    assert!(categories(&all, &path("kind"), 2).unwrap().is_none());
    assert!(categories(&all, &path("n"), 100).unwrap().is_none());
    let some = all.select(&[5, 3, 0]).unwrap();
    let found = categories(&some, &path("kind"), 100).unwrap().unwrap();
    assert_eq!((found.names, found.codes), (vec!["k1".to_owned(), "k0".to_owned()], vec![0, MISSING, 1]));
}

#[test]
fn numbers_without_an_index_are_read_from_rows() {
    let (_directory, all) = dataset("{\"a\":1}\n{\"a\":2.5,\"t\":\"x\"}\n{\"a\":null}\n{}\n");
    let numbers = Numbers::read(&all, &path("a"), ColumnKind::Value).unwrap().unwrap();
    assert_eq!((numbers.len(), numbers.missing(), numbers.range()), (4, 2, Some((1.0, 2.5))));
    assert_eq!(numbers.codes(&[2.0]).unwrap(), [0, 1, MISSING, MISSING]);
    assert!(Numbers::read(&all, &path("t"), ColumnKind::Value).unwrap().is_none());
    let lengths = Numbers::read(&all, &path("t"), ColumnKind::Length).unwrap().unwrap();
    assert_eq!((lengths.missing(), lengths.range()), (3, Some((1.0, 1.0))));
}

#[test]
fn a_search_finds_the_strings_of_rows_and_nothing_else() {
    let lines = [
        r#"{"text":"A Quick fox"}"#,
        r#"{"quick":1,"text":"no"}"#,
        r#"{"list":[{"deep":"very QUICK"}]}"#,
        r#"{"text":"\u0071uick"}"#,
        r#"{"text":"say \"hi\" to a\/b"}"#,
        r#"{"text":"日本語 text"}"#,
        r#"{"text":"\u65e5\u672c\u8a9e"}"#,
        r#"{"n":12345}"#,
    ];
    let (_directory, all) = dataset(&lines.join("\n"));
    let find = |word: &str| search(&all, word, 0..all.len(), 100).unwrap();
    assert_eq!(find("quick"), [0, 2, 3]);
    assert_eq!(find("QUICK FOX"), [0]);
    assert_eq!(find("\"hi\""), [4]);
    assert_eq!(find("a/b"), [4]);
    assert_eq!(find("日本"), [5, 6]);
    assert!(find("12345").is_empty() && find("text\":").is_empty());
    assert_eq!(search(&all, "quick", 1..8, 1).unwrap(), [2]);
    assert_eq!(search(&all.select(&[3, 1, 0]).unwrap(), "quick", 0..3, 9).unwrap(), [0, 2]);
    assert!(search(&all, "", 0..1, 1).is_err() && search(&all, "a", 0..9, 1).is_err());
}

#[test]
fn a_search_over_blocks_is_that_of_a_loop() {
    let word = |i: usize| if i % 997 == 5 { "Needle" } else { "hay" };
    let lines: String = (0..30_000).fold(String::new(), |mut all, i| {
        writeln!(all, "{{\"text\":\"{} {i}\"}}", word(i)).unwrap();
        all
    });
    let (_directory, all) = dataset(&lines);
    let expected: Vec<u64> = (0..30_000).filter(|i| i % 997 == 5).collect();
    assert_eq!(search(&all, "needle", 0..30_000, u64::MAX).unwrap(), expected);
    assert_eq!(search(&all, "needle", 0..30_000, 3).unwrap(), expected[..3]);
}
