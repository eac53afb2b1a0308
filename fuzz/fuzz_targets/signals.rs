//! Any bytes through the `signals` check.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| coven_testkit::checks::signals(bytes));
