//! Fail call N for every N, and die after call N for every N.

use super::*;
use tempfile::TempDir;

/// (id, sidecar) of the existing dataset, if any, and of the one that is written.
type Case = (Option<(&'static str, bool)>, (&'static str, bool));

const CASES: &[Case] = &[
    (None, (NEW, true)),
    (None, (NEW, false)),
    (Some((OLD, true)), (NEW, true)),
    (Some((OLD, true)), (NEW, false)),
    (Some((OLD, false)), (NEW, true)),
    (Some((OLD, false)), (NEW, false)),
    (Some((OLD, true)), (OLD, true)),
    (Some(("-", true)), (NEW, true)),
    (Some(("-", true)), (NEW, false)),
];

fn prepared(case: &Case) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let main = directory.path().join("a.b.jinx");
    if let Some((id, sidecar)) = case.0 {
        write_pair(&main, id, sidecar).unwrap();
    }
    (directory, main)
}

fn calls(case: &Case) -> Vec<Step> {
    let (_directory, main) = prepared(case);
    let layer = Layer::new(Fault::None);
    write_on(layer.clone(), &main, case.1.0, case.1.1).unwrap();
    assert_eq!(read_pair(&main), Ok(Some(case.1.0.to_owned())));
    layer.steps()
}

fn assert_old_or_new(case: &Case, main: &Path, when: &str) {
    let seen = read_pair(main).unwrap_or_else(|broken| panic!("{case:?} {when}: {broken}"));
    let old = case.0.map(|(id, _)| id.to_owned());
    assert!(seen == old || seen.as_deref() == Some(case.1.0), "{case:?} {when}: {seen:?}");
}

#[test]
fn any_one_failing_call_leaves_old_or_new_and_no_temporary() {
    for case in CASES {
        let steps = calls(case);
        for (number, step) in steps.iter().enumerate() {
            let (directory, main) = prepared(case);
            let layer = Layer::new(Fault::Fail(number));
            let done = write_on(layer.clone(), &main, case.1.0, case.1.1);
            let when =
                format!("call {number} {step:?} fails, {:?}", done.as_ref().map_err(ToString::to_string));
            assert_old_or_new(case, &main, &when);
            let cleanup = matches!(step, Step::Remove(_));
            assert_eq!(done.is_ok(), cleanup, "{case:?} {when}");
            // After a failed last sync the disk may hold either main file: the second name must stay for the old one.
            let last_sync = *step == Step::SyncDirectory
                && !steps[number..].iter().any(|s| matches!(s, Step::Rename(..)));
            if !cleanup && !last_sync {
                assert_eq!(hidden_in(directory.path()), Vec::<String>::new(), "{case:?} {when}");
                let old = case.0.map(|(id, _)| id.to_owned());
                assert_eq!(read_pair(&main), Ok(old), "{case:?} {when}: an error means nothing happened");
            }
            write_pair(&main, NEW, true).unwrap();
            assert_eq!(names_in(directory.path()), ["a.b.binx", "a.b.jinx"], "{case:?} {when}");
        }
    }
}

#[test]
fn death_after_any_call_leaves_old_or_new_and_the_next_writer_recovers() {
    for case in CASES {
        for number in 0..=calls(case).len() {
            let (directory, main) = prepared(case);
            let _ = write_on(Layer::new(Fault::Stop(number)), &main, case.1.0, case.1.1);
            let when = format!("death before call {number}");
            assert_old_or_new(case, &main, &when);
            let before = read_pair(&main);
            // A writer that begins and gives up repairs, too.
            drop(PairWriter::begin(&main, true, FirstWord).unwrap());
            assert_eq!(read_pair(&main), before, "{case:?} {when}");
            assert_eq!(hidden_in(directory.path()), Vec::<String>::new(), "{case:?} {when}");
            write_pair(&main, NEW, false).unwrap();
            assert_eq!(read_pair(&main), Ok(Some(NEW.to_owned())), "{case:?} {when}");
        }
    }
}

#[test]
fn recovery_itself_may_die_at_any_call() {
    let case = (Some((OLD, true)), (NEW, true));
    let between = calls(&case).iter().filter(|step| matches!(step, Step::Rename(..))).count();
    assert_eq!(between, 2);
    let second_rename = calls(&case).iter().rposition(|step| matches!(step, Step::Rename(..))).unwrap();
    for number in 0..20 {
        let (directory, main) = prepared(&case);
        let _ = write_on(Layer::new(Fault::Stop(second_rename)), &main, NEW, true);
        assert_eq!(hidden_in(directory.path()).len(), 2, "a temporary and a second name");
        let _ = write_on(Layer::new(Fault::Stop(number)), &main, NEW, true);
        assert_old_or_new(&case, &main, &format!("death {number} in recovery"));
        write_pair(&main, NEW, true).unwrap();
        assert_eq!(names_in(directory.path()), ["a.b.binx", "a.b.jinx"]);
    }
}
