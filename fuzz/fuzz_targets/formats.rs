#![no_main]
//! `longshore_fuzz::formats`, driven by libFuzzer.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| longshore_fuzz::formats::check_input(input));
