//! More files than a process may hold open or map: they are read all the same.
#![allow(clippy::unwrap_used)]

use jinx_core::Cause;
use jinx_core::io::{Access, Source};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs;

fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), bytes).unwrap();
    file
}

/// Both tests change what the whole process may do, so they are one.
#[test]
fn handles_and_maps_are_left_for_others() {
    let bytes: Vec<u8> = (0..=255).collect();
    let one = file(&bytes);
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(100), ..before }).unwrap();
    for access in [Access::Mmap, Access::Pread] {
        let sources: Vec<_> = (0..400).map(|_| Source::open(one.path(), access).unwrap()).collect();
        for source in &sources {
            let mut out = Vec::with_capacity(16);
            let read = source.read_at(100, (&mut out.spare_capacity_mut()[..16]).into());
            assert_eq!(read.unwrap(), &bytes[100..116]);
            assert_eq!(source.read_vec(200, 56).unwrap(), bytes[200..]);
            assert_eq!(*source.slice(7, 9).unwrap(), bytes[7..16]);
            assert_eq!(source.read_vec(200, 57).unwrap_err().cause(), Cause::Truncated);
        }
        let other = file(b"x");
        fs::rename(other.path(), one.path()).unwrap();
        let last = sources.last().unwrap().read_vec(0, 4);
        match access {
            Access::Pread => assert_eq!(last.unwrap_err().cause(), Cause::Mismatch),
            _ => assert_eq!(last.unwrap(), [0, 1, 2, 3], "a map keeps the old file"),
        }
        assert_eq!(sources[0].read_vec(0, 4).unwrap(), [0, 1, 2, 3], "and so does a handle");
        fs::write(one.path(), &bytes).unwrap();
    }
    let limit: usize = fs::read_to_string("/proc/sys/vm/max_map_count").unwrap().trim().parse().unwrap();
    if limit <= 200_000 {
        let sources: Vec<_> = (0..limit).map(|_| Source::open(one.path(), Access::Auto).unwrap()).collect();
        assert_eq!(sources.iter().filter(|source| source.is_mapped()).count(), limit / 2);
        assert_eq!(sources[limit - 1].read_vec(0, 256).unwrap(), bytes);
        drop(sources);
        assert!(Source::open(one.path(), Access::Auto).unwrap().is_mapped());
    }
    setrlimit(Resource::Nofile, before).unwrap();
}
