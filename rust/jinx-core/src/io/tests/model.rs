//! A power cut keeps any subset of the directory changes since the last sync: every such disk must be old or new.

use super::*;
use std::collections::BTreeMap;

type Disk = BTreeMap<PathBuf, String>;

fn apply(disk: &mut Disk, step: &Step) {
    match step {
        Step::Link(from, to) => {
            if let Some(content) = disk.get(from).cloned() {
                disk.insert(to.clone(), content);
            }
        }
        // The content travels with the inode, whichever of the changes before it are lost.
        Step::Rename(from, to) => {
            let content =
                if from.ends_with(".a.binx.tmp") { format!("{NEW} media") } else { format!("{NEW} with") };
            disk.insert(to.clone(), content);
            disk.remove(from);
        }
        Step::Remove(path) => {
            disk.remove(path);
        }
        _ => {}
    }
}

fn state(disk: &Disk, main: &Path) -> std::result::Result<&'static str, String> {
    let text = disk.get(main).ok_or("absent")?;
    for (id, name) in [(OLD, "old"), (NEW, "new")] {
        let wanted = format!("{id} media");
        if *text == format!("{id} with")
            && [sidecar_path(main), second_name(main, Some(id))]
                .iter()
                .any(|path| disk.get(path) == Some(&wanted))
        {
            return Ok(name);
        }
    }
    Err(format!("{disk:?}"))
}

fn recorded() -> (PathBuf, Vec<Step>) {
    let directory = tempfile::tempdir().unwrap();
    let main = directory.path().join("a.jinx");
    write_pair(&main, OLD, true).unwrap();
    let layer = Layer::new(Fault::None);
    write_on(layer.clone(), &main, NEW, true).unwrap();
    (main, layer.steps())
}

/// Every state in which a cut after some prefix of `steps` may leave the disk.
fn disks_after_a_cut(main: &Path, steps: &[Step]) -> Vec<Disk> {
    let mut start = Disk::new();
    start.insert(main.to_owned(), format!("{OLD} with"));
    start.insert(sidecar_path(main), format!("{OLD} media"));
    let mut disks = Vec::new();
    for end in 0..=steps.len() {
        let synced = steps[..end].iter().rposition(|step| *step == Step::SyncDirectory).unwrap_or(0);
        let mut sure = start.clone();
        steps[..synced].iter().for_each(|step| apply(&mut sure, step));
        let open: Vec<_> =
            steps[synced..end].iter().filter(|step| !matches!(step, Step::SyncDirectory)).collect();
        for subset in 0..1_u32 << open.len() {
            let mut disk = sure.clone();
            let kept = open.iter().enumerate().filter(|(bit, _)| subset & (1 << bit) != 0);
            kept.for_each(|(_, step)| apply(&mut disk, step));
            disks.push(disk);
        }
    }
    disks
}

#[test]
fn every_power_cut_leaves_old_or_new() {
    let (main, steps) = recorded();
    let disks = disks_after_a_cut(&main, &steps);
    let mut seen: Vec<_> = disks.iter().map(|disk| state(disk, &main).unwrap()).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, ["new", "old"]);
}

#[test]
fn the_model_finds_the_fault_when_syncs_are_left_out() {
    let (main, steps) = recorded();
    let unsynced: Vec<_> = steps.into_iter().filter(|step| *step != Step::SyncDirectory).collect();
    assert!(disks_after_a_cut(&main, &unsynced).iter().any(|disk| state(disk, &main).is_err()));
}

#[test]
fn files_are_synced_before_they_are_renamed() {
    let (_, steps) = recorded();
    let first_rename = steps.iter().position(|step| matches!(step, Step::Rename(..))).unwrap();
    let syncs = steps[..first_rename].iter().filter(|step| matches!(step, Step::SyncFile(_))).count();
    assert_eq!(syncs, 2);
    assert!(!steps[first_rename..].iter().any(|step| matches!(step, Step::SyncFile(_))));
}
