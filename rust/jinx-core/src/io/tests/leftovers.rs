//! The files that `clean` removes, and the files that it keeps.

use super::super::{DirectoryWriter, StreamOut, remove_leftovers};
use super::*;

fn put(directory: &Path, name: &str, text: &str) {
    fs::write(directory.join(name), text).unwrap();
}

fn swept(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = remove_leftovers(directory, &FirstWord)
        .unwrap()
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn stale_temporaries_go_and_living_or_foreign_ones_stay() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    for name in
        [".a.jinx.tmp", ".a.binx.tmp", ".b.binx.tmp", ".jinx.json.tmp", ".c.jinx.json.tmp", ".d.npy.jinx-tmp"]
    {
        put(path, name, "stale");
    }
    for name in [".x.tmp", "y.jinx.tmp", ".z.jinx.bak", ".profile", ".q.binx.123"] {
        put(path, name, "foreign");
    }
    fs::create_dir(path.join(".cache.tmp")).unwrap();
    put(&path.join(".cache.tmp"), "precious", "");
    let living = PairWriter::begin(&path.join("live.jinx"), false, FirstWord).unwrap();
    let work = DirectoryWriter::begin(&path.join("out"), false).unwrap();
    put(work.path(), "jinx.json", "{}");
    let single = StreamOut::create(&path.join("e.npy"), false).unwrap();
    let stale = [
        ".a.binx.tmp",
        ".a.jinx.tmp",
        ".b.binx.tmp",
        ".c.jinx.json.tmp",
        ".d.npy.jinx-tmp",
        ".jinx.json.tmp",
    ];
    assert_eq!(swept(path), stale);
    assert_eq!(swept(path), Vec::<String>::new());
    work.commit().unwrap();
    living.commit().unwrap();
    single.commit().unwrap();
    let rest = [
        ".cache.tmp",
        ".profile",
        ".q.binx.123",
        ".x.tmp",
        ".z.jinx.bak",
        "e.npy",
        "live.jinx",
        "out",
        "y.jinx.tmp",
    ];
    assert_eq!(names_in(path), rest);
}

#[test]
fn second_names_stay_while_a_main_file_needs_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let second = |stem: &str, id: &str| format!(".{stem}.binx.{id}");
    // Died between the renames: the second name is all the old main file has.
    put(path, "needed.jinx", &format!("{OLD} with"));
    put(path, "needed.binx", &format!("{NEW} media"));
    put(path, &second("needed", OLD), &format!("{OLD} media"));
    put(path, "first.jinx", "- with");
    put(path, "first.binx", &format!("{NEW} media"));
    put(path, ".first.binx.old", "- media");
    // Died after the commit.
    write_pair(&path.join("done.jinx"), NEW, true).unwrap();
    put(path, &second("done", OLD), &format!("{OLD} media"));
    put(path, ".done.binx.old", "- media");
    // Died before the renames.
    write_pair(&path.join("early.jinx"), OLD, true).unwrap();
    fs::hard_link(path.join("early.binx"), path.join(second("early", OLD))).unwrap();
    // The dataset of this sidecar was removed.
    put(path, &second("gone", OLD), &format!("{OLD} media"));
    let mut garbage =
        [second("done", OLD), ".done.binx.old".into(), second("early", OLD), second("gone", OLD)];
    garbage.sort();
    assert_eq!(swept(path), garbage);
    for (name, id) in [("needed", OLD), ("first", "-"), ("done", NEW), ("early", OLD)] {
        assert_eq!(read_pair(&path.join(format!("{name}.jinx"))), Ok(Some(id.to_owned())), "{name}");
    }
    assert_eq!(hidden_in(path), [".first.binx.old"], "the needed one is in its place again");
}

#[test]
fn work_directories_of_dead_writers_go_and_old_directories_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    for (name, file) in
        [(".a.tmp", "shard-00000.jinx"), (".b.tmp.old", "jinx.json"), (".c.tmp", "index.json")]
    {
        fs::create_dir(path.join(name)).unwrap();
        put(&path.join(name), file, "x");
    }
    put(path, ".a.tmp.lock", "");
    put(path, ".d.tmp.lock", "");
    assert_eq!(swept(path), [".a.tmp", ".a.tmp.lock", ".c.tmp", ".d.tmp.lock"]);
    assert_eq!(names_in(path), ["b"]);
    assert_eq!(names_in(&path.join("b")), ["jinx.json"]);
}
