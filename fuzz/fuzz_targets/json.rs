#![no_main]
//! `longshore_fuzz::json`, driven by libFuzzer.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| longshore_fuzz::json::check_input(input));
