//! Sidecars that other main files of the directory need: of renamed ones, and of copies.

use super::super::append::remove_unlisted;
use super::super::lock::Lock;
use super::super::remove_leftovers;
use super::*;
use crate::error::Cause;

/// A directory with a.jinx and a.binx, whose main file then got the name b.jinx.
fn renamed() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let main = directory.path().join("a.jinx");
    write_pair(&main, OLD, true).unwrap();
    fs::rename(&main, directory.path().join("b.jinx")).unwrap();
    (directory, main)
}

#[test]
fn a_sidecar_of_another_main_file_is_not_replaced() {
    for sidecar in [true, false] {
        let (directory, main) = renamed();
        let error = write_pair(&main, NEW, sidecar).unwrap_err();
        assert_eq!(error.cause(), Cause::Invalid);
        let said = error.to_string();
        assert!(said.contains("the sidecar of b.jinx; rename it to b.binx first"), "{said}");
        assert!(error.path().unwrap().ends_with("a.binx"));
        assert_eq!(names_in(directory.path()), ["a.binx", "b.jinx"]);
        assert_eq!(fs::read_to_string(directory.path().join("a.binx")).unwrap(), format!("{OLD} media"));
        fs::rename(directory.path().join("a.binx"), directory.path().join("b.binx")).unwrap();
        write_pair(&main, NEW, sidecar).unwrap();
        assert_eq!(read_pair(&directory.path().join("b.jinx")), Ok(Some(OLD.to_owned())));
    }
}

#[test]
fn a_main_file_that_is_renamed_while_its_name_is_written_keeps_its_sidecar() {
    let directory = tempfile::tempdir().unwrap();
    let main = directory.path().join("a.jinx");
    write_pair(&main, OLD, true).unwrap();
    let mut writer = PairWriter::begin(&main, true, FirstWord).unwrap();
    write!(writer.main_file(), "{NEW} with").unwrap();
    write!(writer.sidecar_file().unwrap(), "{NEW} media").unwrap();
    fs::rename(&main, directory.path().join("b.jinx")).unwrap();
    assert!(writer.commit().unwrap_err().to_string().contains("the sidecar of b.jinx"));
    assert_eq!(names_in(directory.path()), ["a.binx", "b.jinx"]);
}

#[test]
fn a_copy_without_a_sidecar_keeps_the_one_of_its_original() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    write_pair(&path("a.jinx"), OLD, true).unwrap();
    fs::copy(path("a.jinx"), path("b.jinx")).unwrap();
    let error = write_pair(&path("a.jinx"), NEW, true).unwrap_err();
    assert!(error.to_string().contains("copy it to b.binx first"), "{error}");
    fs::copy(path("a.binx"), path("b.binx")).unwrap();
    write_pair(&path("a.jinx"), NEW, true).unwrap();
    assert_eq!(read_pair(&path("b.jinx")), Ok(Some(OLD.to_owned())));
}

#[test]
fn links_to_the_main_file_and_equal_datasets_are_in_nobodys_way() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    for name in ["a.jinx", "twin.jinx"] {
        write_pair(&path(name), OLD, true).unwrap();
    }
    std::os::unix::fs::symlink("a.jinx", path("link.jinx")).unwrap();
    fs::create_dir(path("directory.jinx")).unwrap();
    write_pair(&path("a.jinx"), NEW, true).unwrap();
    fs::remove_file(path("a.jinx")).unwrap();
    write_pair(&path("a.jinx"), OLD, true).unwrap();
}

#[test]
fn second_names_and_unfinished_sidecars_that_a_main_file_needs_are_not_swept() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    // Died between the renames; then the main file was renamed.
    let second = format!(".a.binx.{OLD}");
    fs::write(path("b.jinx"), format!("{OLD} with")).unwrap();
    fs::write(path(&second), format!("{OLD} media")).unwrap();
    // Died between the renames of a new pair, whose temporary was copied to save it.
    fs::write(path("c.jinx"), format!("{NEW} with")).unwrap();
    fs::write(path(".a.jinx.tmp"), format!("{NEW} with")).unwrap();
    fs::write(path("a.binx"), format!("{NEW} media")).unwrap();
    let removed = remove_leftovers(directory.path(), &FirstWord).unwrap();
    assert_eq!(removed, [path(".a.jinx.tmp")]);
    assert_eq!(names_in(directory.path()), [&second, "a.binx", "b.jinx", "c.jinx"]);
}

#[test]
fn recovery_does_not_rename_over_another_ones_sidecar() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let second = format!(".a.binx.{OLD}");
    fs::write(path("a.jinx"), format!("{OLD} with")).unwrap();
    fs::write(path(&second), format!("{OLD} media")).unwrap();
    fs::write(path("a.binx"), format!("{NEW} media")).unwrap();
    fs::write(path("b.jinx"), format!("{NEW} with")).unwrap();
    assert_eq!(remove_leftovers(directory.path(), &FirstWord).unwrap(), Vec::<PathBuf>::new());
    assert!(write_pair(&path("a.jinx"), NEW, true).is_err());
    assert_eq!(names_in(directory.path()), [&second, "a.binx", "a.jinx", "b.jinx"]);
    assert_eq!(read_pair(&path("a.jinx")), Ok(Some(OLD.to_owned())));
}

/// A manifest that lists nothing.
struct NothingListed;

impl PairIdentity for NothingListed {
    fn main_id(&self, main: &Path) -> Option<String> {
        FirstWord.main_id(main)
    }
    fn sidecar_id(&self, sidecar: &Path) -> Option<String> {
        FirstWord.sidecar_id(sidecar)
    }
    fn sidecar_of(&self, main: &Path) -> Option<PathBuf> {
        FirstWord.sidecar_of(main)
    }
    fn listed(&self, _directory: &Path) -> Option<Vec<String>> {
        Some(Vec::new())
    }
}

#[test]
fn shards_of_a_dead_appender_leave_the_sidecars_that_others_need() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    write_pair(&path("shard-00001.jinx"), OLD, true).unwrap();
    write_pair(&path("shard-00002.jinx"), NEW, true).unwrap();
    fs::rename(path("shard-00001.jinx"), path("saved.jinx")).unwrap();
    let ops: Arc<dyn FileOps> = Arc::new(RealOps);
    let mut lock = Lock::take(&ops, &path("lock"), &path("data")).unwrap();
    lock.file_mut().write_all(b"shard-00001.jinx\nshard-00002.jinx\n").unwrap();
    let removed = remove_unlisted(&*ops, directory.path(), &lock, &NothingListed).unwrap();
    assert_eq!(removed, [path("shard-00002.binx"), path("shard-00002.jinx")]);
    assert_eq!(names_in(directory.path()), ["lock", "saved.jinx", "shard-00001.binx"]);
}
