#![no_main]
//! `longshore_fuzz::scan`, driven by libFuzzer.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| longshore_fuzz::scan::check_input(input));
