#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| jinx_core::fuzzing::run("mds_shard", data));
