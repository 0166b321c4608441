//! A panic on a thread of the core is an error of the call that waits for it: no abort, no hang, nothing lost.
#![allow(clippy::unwrap_used, clippy::panic)]

use bytes::Bytes;
use jinx_convert::RowSource;
use jinx_convert::inputs::{Input, TarSamples};
use jinx_core::row_events::Payload;
use jinx_core::value::Value;
use jinx_core::{Cause, Error};
use jinx_format::verify::verify;
use jinx_format::write::dataset::DatasetWriter;
use jinx_format::write::options::WriteOptions;
use std::io::{self, Read};
use std::path::Path;

/// More rows than `verify` gives one thread.
const ROWS: usize = 600;

/// The question that long calls ask; the core's threads have no name, those of the tests have one.
fn panics_on_threads_of_the_core() -> bool {
    assert!(std::thread::current().name().is_some(), "boom");
    false
}

fn assert_internal(error: &Error, what: &str) {
    assert_eq!(error.cause(), Cause::Internal, "{error}");
    assert_eq!(error.what(), format!("{what} panicked: boom"), "{error}");
}

/// Values that take long enough to decode that the question is asked meanwhile.
fn write(path: &Path) {
    let data = Bytes::from(vec![7; 3 << 20]);
    let long = Value::Blob { payload: Payload::Raw, data, media: false, path: None };
    let options = WriteOptions { threads: 1, ..WriteOptions::default() };
    let mut writer = DatasetWriter::create(path, options).unwrap();
    for i in 0..ROWS {
        // On any thread that has a part of the rows.
        let value = if i % 20 == 19 { long.clone() } else { Value::Null };
        writer.write_values(&[Value::Dict(vec![("a".to_owned(), value)])]).unwrap();
    }
    writer.close().unwrap();
}

#[test]
fn of_verify() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jinx");
    write(&path);
    assert_eq!(verify(&path, &mut |_, _| Ok(())).unwrap(), []);
    if std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1) {
        jinx_core::interrupt::set_question(panics_on_threads_of_the_core);
        // On a busy machine, the calling thread may do all of the work.
        let error = (0..100).find_map(|_| verify(&path, &mut |_, _| Ok(())).err()).unwrap();
        assert_internal(&error, "a checking thread");
    }
}

/// Half of an archive, and then a panic.
struct Panics(Vec<u8>);

impl Read for Panics {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        assert!(!self.0.is_empty(), "boom");
        let count = out.len().min(self.0.len());
        out[..count].copy_from_slice(&self.0[..count]);
        self.0.drain(..count);
        Ok(count)
    }
}

/// The samples behind a panic must not be missing without a word.
#[test]
fn of_reading_a_tar() {
    let mut archive = tar::Builder::new(Vec::new());
    for i in 0..200 {
        let mut header = tar::Header::new_gnu();
        header.set_size(1000);
        header.set_cksum();
        archive.append_data(&mut header, format!("{i}.bin"), &[7; 1000][..]).unwrap();
    }
    let bytes = archive.into_inner().unwrap();
    let half = bytes[..bytes.len() / 2].to_vec();
    let mut samples = TarSamples::new(Input::new(Panics(half), Path::new("a.tar"), None).unwrap()).unwrap();
    let error = loop {
        match samples.next_chunk() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the archive seems to end"),
            Err(error) => break error,
        }
    };
    assert_internal(&error, "the reading thread");
}
