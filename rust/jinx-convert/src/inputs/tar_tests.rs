use super::*;
use jinx_core::value::{TreeBuilder, Value};
use std::io::Cursor;

fn tar_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, data) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(to_u64(data.len()));
        header.set_mode(0o644);
        builder.append_data(&mut header, path, *data).unwrap();
    }
    builder.into_inner().unwrap()
}

fn rows(tar: Vec<u8>) -> Result<Vec<Vec<(String, Value)>>> {
    let mut source = TarSamples::new(Input::new(Cursor::new(tar), Path::new("a.tar"), None)?)?;
    let mut samples = Vec::new();
    while let Some(chunk) = source.next_chunk()? {
        for i in 0..chunk.len() {
            let mut tree = TreeBuilder::default();
            chunk.emit(i, &mut tree)?;
            match tree.take()? {
                Value::Dict(members) => samples.push(members),
                other => unreachable!("{other:?}"),
            }
        }
    }
    Ok(samples)
}

#[test]
fn files_with_one_name_are_a_sample() {
    let long = format!("d/{}", "k".repeat(150));
    let first = format!("{long}.txt");
    let samples = rows(tar_of(&[
        ("./a/0.JPG", b"\xff\xd8\xff\xe0jpeg"),
        ("./a/0.json", br#"{"x":[1]}"#),
        ("a/0.cls", b"7\n"),
        ("a/.hidden", b""),
        (&first, "é".as_bytes()),
        ("d/1.seg.png", b"not a png"),
    ]));
    let samples = samples.unwrap();
    assert_eq!(samples.len(), 3);
    let names: Vec<&str> = samples[0].iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, [KEY, "jpg", "json", "cls"]);
    assert_eq!(samples[0][0].1, Value::Str("a/0".into()));
    assert_eq!(samples[0][2].1, Value::Dict(vec![("x".into(), Value::List(vec![Value::Int(1)]))]));
    assert_eq!(samples[0][3].1, Value::Int(7));
    assert_eq!(samples[1], [(KEY.to_owned(), Value::Str(long)), ("txt".to_owned(), Value::Str("é".into()))]);
    assert!(matches!(&samples[2][1], (name, Value::Blob { .. }) if name == "seg.png"));
}

#[test]
fn many_samples_come_in_order() {
    let names: Vec<String> = (0..3000).map(|i| format!("{i}.txt")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), name.as_bytes())).collect();
    let samples = rows(tar_of(&files)).unwrap();
    assert_eq!(samples.len(), 3000);
    assert!(samples.iter().zip(&names).all(|(row, name)| row[1].1 == Value::Str(name.clone())));
}

#[test]
fn what_is_wrong_is_named() {
    let text = |tar: Vec<u8>| rows(tar).unwrap_err().to_string();
    assert!(text(tar_of(&[("0.cls", b"cat")])).contains("a.tar: sample 0, column 'cls': a file that should"));
    assert!(text(tar_of(&[("0.json", b"{")])).contains("sample 0, column 'json': not valid JSON"));
    assert!(text(tar_of(&[("0.a", b"1"), ("0.a", b"2")])).contains("'0' has two files with the suffix .a"));
    let whole = tar_of(&[("0.a", &[1; 2000])]);
    assert!(text(whole[..1500].to_vec()).contains("a.tar: the tar ends inside 0.a"));
    assert!(text(vec![b'x'; 1024]).starts_with("a.tar: not a whole tar archive"));
}

#[test]
fn only_zeros_follow_the_end_mark() {
    let first = tar_of(&[("0.txt", b"a")]);
    let padded = [first.clone(), vec![0; 200_000]].concat();
    assert_eq!(rows(padded).unwrap().len(), 1);
    for (zeros, rest) in [(0, tar_of(&[("1.txt", b"b")])), (100_000, vec![1])] {
        let error = rows([first.clone(), vec![0; zeros], rest].concat()).unwrap_err();
        assert_eq!(error.cause(), Cause::Corrupt);
        assert!(error.to_string().starts_with("a.tar: other bytes follow the end mark of the tar"));
    }
}

#[test]
fn damage_and_missing_ends_have_their_causes() {
    let cause = |tar: &[u8]| rows(tar.to_vec()).unwrap_err().cause();
    let whole = tar_of(&[("0.a", &[1; 600]), ("1.a", &[2; 600])]);
    for end in [0, 3, 600, 1100, 2 * 512, 3 * 512, 6 * 512] {
        assert_eq!(cause(&whole[..end]), Cause::Truncated, "{end}");
    }
    assert_eq!(rows(whole[..7 * 512].to_vec()).unwrap().len(), 2);
    let mut damaged = whole.clone();
    damaged[3 * 512 + 130] ^= 1;
    assert_eq!(cause(&damaged), Cause::Corrupt);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    io::Write::write_all(&mut packed, &whole).unwrap();
    let packed = packed.finish().unwrap();
    assert_eq!(rows(packed.clone()).unwrap().len(), 2);
    assert_eq!(cause(&packed[..packed.len() - 2]), Cause::Truncated);
    let mut damaged = packed;
    let crc = damaged.len() - 8;
    damaged[crc] ^= 1;
    assert_eq!(cause(&damaged), Cause::Corrupt);
}

#[test]
fn who_stops_early_leaves_no_thread() {
    let files: Vec<(&str, &[u8])> = vec![("0.bin", &[0; 1 << 20]); 1];
    let many: Vec<String> = (0..20).map(|i| format!("{i}.bin")).collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|name| (name.as_str(), files[0].1)).collect();
    let input = Input::new(Cursor::new(tar_of(&many)), Path::new("a.tar"), None).unwrap();
    let mut source = TarSamples::new(input).unwrap();
    let chunks = {
        source.next_chunk().unwrap();
        source.chunks.clone()
    };
    drop(source);
    // The sender goes when its thread ends; each chunk that is taken lets it continue.
    assert!(chunks.iter().count() < 20);
}
