#![no_main]
//! `longshore_fuzz::containers`, driven by libFuzzer.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| longshore_fuzz::containers::check_input(input));
