#![no_main]
//! `longshore_fuzz::round_trip`, driven by libFuzzer.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| longshore_fuzz::round_trip::check_input(input));
