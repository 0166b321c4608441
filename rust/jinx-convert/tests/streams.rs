//! Batches over the Arrow C stream interface.
#![allow(clippy::unwrap_used)]

mod support;

use jinx_convert::arrow::stream::{from_c_stream, take_failure, to_c_stream};
use jinx_core::{Cause, Error};
use support::{assert_same, full_batch};

#[test]
fn batches_pass_through() {
    let batch = full_batch();
    let batches = vec![Ok(batch.clone()), Ok(batch.slice(1, 2))];
    let imported = from_c_stream(to_c_stream(batch.schema(), batches.into_iter())).unwrap();
    assert_eq!(imported.schema(), batch.schema());
    let imported: Vec<_> = imported.map(Result::unwrap).collect();
    assert_eq!(imported.len(), 2);
    assert_same(&imported[0], &batch);
    assert_same(&imported[1], &batch.slice(1, 2));
}

#[test]
fn errors_and_panics_stay_errors() {
    let batch = full_batch();
    let batches = vec![Ok(batch.clone()), Err(Error::corrupt("a bad row").in_sample(7))].into_iter();
    let mut imported = from_c_stream(to_c_stream(batch.schema(), batches)).unwrap();
    assert!(imported.next().unwrap().is_ok());
    let error = imported.next().unwrap().unwrap_err();
    assert!(error.to_string().contains("a bad row"), "{error}");
    assert_eq!((error.cause(), error.sample()), (Cause::Corrupt, Some(7)));
    assert!(take_failure().is_none());

    let none: [i32; 0] = [];
    let panics = (0..1).map(move |at| {
        assert!(none.get(at).is_some(), "a bug");
        Ok(full_batch())
    });
    let mut imported = from_c_stream(to_c_stream(batch.schema(), panics)).unwrap();
    assert!(imported.next().unwrap().unwrap_err().to_string().contains("a bug"));
    assert!(imported.next().is_none());

    let released = arrow_array::ffi_stream::FFI_ArrowArrayStream::empty();
    assert!(from_c_stream(released).is_err());
}
