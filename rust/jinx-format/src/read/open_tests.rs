use super::*;
use crate::write::dataset::DatasetWriter;
use crate::write::options::WriteOptions;
use jinx_core::Cause;
use jinx_core::value::Value;
use proptest::prelude::*;

fn write(path: &Path, rows: usize, shard_bytes: Option<u64>) {
    let mut writer =
        DatasetWriter::create(path, WriteOptions { shard_bytes, ..WriteOptions::default() }).unwrap();
    let row = |i: usize| Value::Dict(vec![("i".into(), Value::Int(i64::try_from(i).unwrap()))]);
    writer.write_values(&(0..rows).map(row).collect::<Vec<_>>()).unwrap();
    writer.close().unwrap();
}

fn names(path: &Path) -> Vec<String> {
    let shards = resolve(path).unwrap();
    shards.iter().map(|shard| shard.path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn a_manifest_decides() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("data");
    write(&directory, 10, Some(30));
    let shards = resolve(&directory).unwrap();
    assert!(shards.len() > 1);
    assert_eq!(shards.iter().map(|shard| shard.samples.unwrap()).sum::<u64>(), 10);
    for shard in &shards {
        shard.open(&OpenOptions::default()).unwrap();
    }
    std::fs::copy(&shards[0].path, directory.join("shard-99999.jinx")).unwrap();
    assert_eq!(resolve(&directory).unwrap().len(), shards.len());
    std::fs::copy(&shards[1].path, &shards[0].path).unwrap();
    let swapped = shards[0].open(&OpenOptions::default()).map(drop).and(resolve(&directory).map(drop));
    assert!(swapped.is_err());
    std::fs::remove_file(&shards[1].path).unwrap();
    std::fs::remove_file(&shards[0].path).unwrap();
    let error = resolve(&directory).unwrap_err();
    assert_eq!(error.cause(), Cause::Mismatch);
    assert!(error.to_string().contains("shard-00000.jinx"), "{error}");
}

#[test]
fn without_a_manifest_names_decide() {
    let root = tempfile::tempdir().unwrap();
    for name in ["shard-10.jinx", "shard-9.jinx", "shard-100000.jinx", "other.jinx"] {
        write(&root.path().join(name), 1, None);
    }
    std::fs::write(root.path().join(".hidden.jinx"), "").unwrap();
    assert_eq!(names(root.path()), ["shard-9.jinx", "shard-10.jinx", "shard-100000.jinx"]);
    for name in ["shard-10.jinx", "shard-9.jinx", "shard-100000.jinx"] {
        std::fs::remove_file(root.path().join(name)).unwrap();
    }
    assert_eq!(names(root.path()), ["other.jinx"]);
    assert_eq!(names(&root.path().join("other.jinx")), ["other.jinx"]);
}

#[test]
fn directories_without_data_say_what_is_there() {
    let root = tempfile::tempdir().unwrap();
    let message = |path: &Path| resolve(path).unwrap_err().to_string();
    assert!(message(root.path()).contains("no .jinx file"));
    std::fs::write(root.path().join("index.json"), "{\"shards\":[]}").unwrap();
    assert!(message(root.path()).contains("MDS dataset; run: jinx convert"));
    write(&root.path().join("train"), 1, None);
    write(&root.path().join("test"), 1, None);
    assert!(message(root.path()).contains("the splits test, train; open one of them"));
    let missing = resolve(&root.path().join("nothing")).unwrap_err();
    assert_eq!(missing.cause(), Cause::Io(std::io::ErrorKind::NotFound));
}

proptest! {
    #[test]
    fn natural_order_is_an_order(a in "[0-2a]{0,5}", b in "[0-2a]{0,5}", c in "[0-2a]{0,5}") {
        prop_assert_eq!(natural(&a, &b), natural(&b, &a).reverse());
        prop_assert_eq!(natural(&a, &b) == Ordering::Equal, a == b);
        let mut names = [&a, &b, &c];
        names.sort_by(|a, b| natural(a, b));
        prop_assert!(natural(names[0], names[2]) != Ordering::Greater);
    }
}
