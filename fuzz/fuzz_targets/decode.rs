#![no_main]
//! `longshore_fuzz::decode`, driven by libFuzzer.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| longshore_fuzz::decode::check_input(input));
