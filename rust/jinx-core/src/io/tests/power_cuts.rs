//! A power cut in the middle of publishing a directory or appending to one: every disk it may leave is old or new.
//!
//! A layer records the calls of a real run. Then they are played again on a model of a disk, up to each call: of the
//! directory changes that were not synced, any subset is on the disk, and a file that was not synced is whole or empty.

use super::super::publish_file::publish_on;
use super::super::{Contents, DirectoryAppend, DirectoryWriter};
use super::*;
use std::collections::BTreeMap;

/// Shards of the old dataset, and what appending adds.
const OLD_FILES: [&str; 2] = ["shard-00000.jinx", "shard-00000.binx"];
const ADDED: [&str; 2] = ["shard-00001.jinx", "shard-00001.binx"];

#[derive(Debug, Clone, PartialEq, Eq)]
enum Event {
    /// A new file or directory under a name.
    New(PathBuf, Node),
    Move(PathBuf, PathBuf),
    Swap(PathBuf, PathBuf),
    Gone(PathBuf),
    Synced(PathBuf),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    File(String),
    Directory,
}

/// Records each call, and carries it out.
#[derive(Default)]
struct Journal {
    events: Mutex<Vec<Event>>,
    without_exchange: bool,
}

impl FileOps for Journal {
    fn permit(&self, call: Call<'_>) -> io::Result<()> {
        let own = Path::to_owned;
        let event = match call {
            Call::OpenLockable(path) if path.exists() => return Ok(()),
            // The content comes later; a manifest's temporary is complete when it is synced.
            Call::OpenLockable(path) | Call::Create(path) | Call::OpenEmpty(path) => {
                Event::New(own(path), Node::File(NEW.to_owned()))
            }
            Call::CreateDirectory(path) => Event::New(own(path), Node::Directory),
            Call::Rename(from, to) => Event::Move(own(from), own(to)),
            Call::Exchange(..) if self.without_exchange => return Err(io::ErrorKind::Unsupported.into()),
            Call::Exchange(one, other) => Event::Swap(own(one), own(other)),
            Call::Remove(path) | Call::RemoveDirectory(path) | Call::RemoveTree(path) => {
                Event::Gone(own(path))
            }
            Call::SyncFile(path) | Call::SyncDirectory(path) => Event::Synced(own(path)),
            Call::SetMode(_) | Call::Truncate(_) => return Ok(()),
            Call::Link(..) | Call::Symlink(..) => panic!("no directory is published with links"),
        };
        self.events.lock().unwrap().push(event);
        Ok(())
    }
}

/// Names in a directory, by the directory's number; what the numbers stand for.
type Names = BTreeMap<usize, BTreeMap<String, usize>>;

/// One change of one directory: names with what they stand for afterwards.
#[derive(Debug, Clone)]
struct Change {
    directory: usize,
    names: Vec<(String, Option<usize>)>,
}

/// A run as changes of directories with numbers for files, and which number was synced when.
struct Run {
    nodes: Vec<Node>,
    start: Names,
    /// A change, or the number of what was synced.
    steps: Vec<std::result::Result<Change, usize>>,
}

impl Run {
    fn of(root: &Path, before: &[(&str, Node)], events: Vec<Event>) -> Self {
        let mut run = Self { nodes: vec![Node::Directory], start: Names::new(), steps: Vec::new() };
        let mut live = Names::from([(0, BTreeMap::new())]);
        for (path, node) in before {
            let change = run.create(&live, Path::new(path), node.clone());
            apply(&mut live, &change);
        }
        run.start = live.clone();
        for event in events {
            let inside = |path: &Path| path.strip_prefix(root).unwrap().to_owned();
            let step = match event {
                Event::New(path, node) => Ok(run.create(&live, &inside(&path), node)),
                Event::Gone(path) => Ok(change(&live, &[(&inside(&path), None)])),
                Event::Move(from, to) => {
                    let (from, to) = (inside(&from), inside(&to));
                    Ok(change(&live, &[(&from, None), (&to, find(&live, &from))]))
                }
                Event::Swap(first, second) => {
                    let (first, second) = (inside(&first), inside(&second));
                    Ok(change(&live, &[(&first, find(&live, &second)), (&second, find(&live, &first))]))
                }
                Event::Synced(path) => Err(find(&live, &inside(&path)).unwrap()),
            };
            if let Ok(change) = &step {
                apply(&mut live, change);
            }
            run.steps.push(step);
        }
        run
    }

    fn create(&mut self, live: &Names, path: &Path, node: Node) -> Change {
        self.nodes.push(node);
        change(live, &[(path, Some(self.nodes.len() - 1))])
    }

    /// Every disk that a cut after some prefix may leave.
    fn disks(&self) -> Vec<Disk> {
        let mut disks = Vec::new();
        for end in 0..=self.steps.len() {
            let mut sure = self.start.clone();
            let mut open: Vec<&Change> = Vec::new();
            let mut synced = Vec::new();
            for step in &self.steps[..end] {
                match step {
                    Ok(change) => open.push(change),
                    Err(number) => {
                        synced.push(*number);
                        open.iter()
                            .filter(|one| one.directory == *number)
                            .for_each(|one| apply(&mut sure, one));
                        open.retain(|one| one.directory != *number);
                    }
                }
            }
            for subset in 0..1_u32 << open.len() {
                let mut names = sure.clone();
                let kept = open.iter().enumerate().filter(|(bit, _)| subset & 1 << bit != 0);
                kept.for_each(|(_, change)| apply(&mut names, change));
                disks.extend([true, false].map(|whole| self.disk(&names, whole, &synced)));
            }
        }
        disks
    }

    fn disk(&self, names: &Names, whole: bool, synced: &[usize]) -> Disk {
        let mut disk = Disk::new();
        self.fill(names, 0, Path::new(""), &mut disk, &|number| {
            whole
                || synced.contains(&number)
                || self.start.values().any(|one| one.values().any(|n| *n == number))
        });
        disk
    }

    fn fill(
        &self,
        names: &Names,
        directory: usize,
        at: &Path,
        disk: &mut Disk,
        whole: &dyn Fn(usize) -> bool,
    ) {
        for (name, number) in names.get(&directory).into_iter().flatten() {
            let path = at.join(name);
            match &self.nodes[*number] {
                Node::File(text) if whole(*number) => drop(disk.insert(path, text.clone())),
                Node::File(_) => drop(disk.insert(path, String::new())),
                Node::Directory => self.fill(names, *number, &path, disk, whole),
            }
        }
    }
}

type Disk = BTreeMap<PathBuf, String>;

fn find(live: &Names, path: &Path) -> Option<usize> {
    path.iter().try_fold(0, |directory, name| live.get(&directory)?.get(name.to_str()?).copied())
}

fn change(live: &Names, names: &[(&Path, Option<usize>)]) -> Change {
    let directories: Vec<_> =
        names.iter().map(|(path, _)| find(live, path.parent().unwrap()).unwrap()).collect();
    assert!(
        directories.iter().all(|directory| *directory == directories[0]),
        "one step changes one directory"
    );
    let text = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    Change {
        directory: directories[0],
        names: names.iter().map(|(path, number)| (text(path), *number)).collect(),
    }
}

fn apply(names: &mut Names, change: &Change) {
    let directory = names.entry(change.directory).or_default();
    for (name, number) in &change.names {
        match number {
            Some(number) => drop(directory.insert(name.clone(), *number)),
            None => drop(directory.remove(name)),
        }
    }
}

/// Which dataset is in the directory `data`: its manifest's text, if all that this lists is whole.
fn seen(disk: &Disk) -> std::result::Result<Option<&str>, String> {
    let read = |name: &str| disk.get(&Path::new("data").join(name)).map(String::as_str);
    let Some(manifest) = read("jinx.json") else {
        let names: Vec<_> = disk.keys().filter(|path| path.starts_with("data")).collect();
        return if names.is_empty() { Ok(None) } else { Err(format!("no manifest next to {names:?}")) };
    };
    let listed: &[&[&str]] = if manifest == "appended" { &[&OLD_FILES, &ADDED] } else { &[&OLD_FILES] };
    for name in listed.iter().copied().flatten() {
        let expected = if manifest == "appended" && OLD_FILES.contains(name) { OLD } else { manifest };
        let expected = if manifest == "appended" && ADDED.contains(name) { NEW } else { expected };
        if read(name) != Some(expected) {
            return Err(format!("{name} holds {:?}, the manifest is {manifest:?}", read(name)));
        }
    }
    Ok(Some(manifest))
}

fn outcomes<'d>(disks: &'d [Disk], allowed: &[Option<&'d str>]) {
    assert!(disks.len() > 20, "{} disks", disks.len());
    let mut found: Vec<_> =
        disks.iter().map(|disk| seen(disk).unwrap_or_else(|what| panic!("{what}: {disk:?}"))).collect();
    found.sort_unstable();
    found.dedup();
    assert_eq!(found, allowed);
}

fn old_directory() -> Vec<(&'static str, Node)> {
    let file = |text: &str| Node::File(text.to_owned());
    vec![
        ("data", Node::Directory),
        ("data/shard-00000.jinx", file(OLD)),
        ("data/shard-00000.binx", file(OLD)),
        ("data/jinx.json", file(OLD)),
    ]
}

fn make(root: &Path, nodes: &[(&str, Node)]) {
    for (path, node) in nodes {
        match node {
            Node::File(text) => fs::write(root.join(path), text).unwrap(),
            Node::Directory => fs::create_dir(root.join(path)).unwrap(),
        }
    }
}

/// Publishes a directory next to `before` and returns all disks that a cut may leave.
fn publish(before: &[(&str, Node)], journal: Journal) -> Vec<Disk> {
    let root = tempfile::tempdir().unwrap();
    make(root.path(), before);
    let journal = Arc::new(journal);
    let ops: Arc<dyn FileOps> = journal.clone();
    let writer = DirectoryWriter::begin_on(ops, &root.path().join("data"), true, Contents::Jinx).unwrap();
    for name in OLD_FILES.iter().chain(&["jinx.json"]) {
        writer.ops().write(&writer.path().join(name), NEW.as_bytes()).unwrap();
    }
    writer.commit().unwrap();
    let events = journal.events.lock().unwrap().clone();
    Run::of(root.path(), before, events).disks()
}

#[test]
fn creating_a_directory_leaves_none_or_the_new_one() {
    outcomes(&publish(&[], Journal::default()), &[None, Some(NEW)]);
}

#[test]
fn exchanging_a_directory_leaves_the_old_or_the_new_one() {
    outcomes(&publish(&old_directory(), Journal::default()), &[Some(OLD), Some(NEW)]);
}

#[test]
fn without_an_exchange_the_old_directory_is_there_under_one_of_two_names() {
    let disks = publish(&old_directory(), Journal { without_exchange: true, ..Journal::default() });
    for disk in &disks {
        match seen(disk).unwrap() {
            Some(text) => assert!([OLD, NEW].contains(&text)),
            // The next writer moves it back.
            None => assert!(
                disk.iter().any(|(path, text)| path.ends_with("jinx.json") && text == OLD),
                "{disk:?}"
            ),
        }
    }
}

#[test]
fn appending_leaves_the_old_or_the_longer_dataset() {
    outcomes(&append(|_| true), &[Some(OLD), Some("appended")]);
}

#[test]
fn the_model_finds_the_fault_when_a_sync_is_left_out() {
    let is_directory = |event: &Event| matches!(event, Event::Synced(path) if path.ends_with("data"));
    assert!(append(|event| !is_directory(event)).iter().any(|disk| seen(disk).is_err()));
}

/// Appends a shard as the writer does, and returns all disks that a cut may leave if only these events happened.
fn append(kept: impl Fn(&Event) -> bool) -> Vec<Disk> {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("data");
    make(root.path(), &old_directory());
    let journal = Arc::new(Journal::default());
    let ops: Arc<dyn FileOps> = journal.clone();
    let mut append = DirectoryAppend::begin_on(ops.clone(), &directory, &FirstWord).unwrap();
    append.add(ADDED[0]).unwrap();
    for name in ADDED {
        let path = directory.join(name);
        let mut file = append.ops().create(&path).unwrap();
        file.write_all(NEW.as_bytes()).unwrap();
        append.ops().sync_file(&file, &path).unwrap();
    }
    append.sync().unwrap();
    publish_on(&ops, &directory.join("jinx.json"), b"appended").unwrap();
    append.keep();
    let mut events = journal.events.lock().unwrap().clone();
    // The text of the manifest's temporary.
    for event in &mut events {
        if let Event::New(path, Node::File(text)) = event
            && path.ends_with(".jinx.json.tmp")
        {
            "appended".clone_into(text);
        }
    }
    events.retain(kept);
    Run::of(root.path(), &old_directory(), events).disks()
}
