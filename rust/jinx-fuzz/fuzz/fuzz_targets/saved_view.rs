#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| jinx_fuzz::run("saved_view", data));
