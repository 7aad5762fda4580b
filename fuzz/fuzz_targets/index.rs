#![no_main]
//! `longshore_fuzz::index`, driven by libFuzzer.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| longshore_fuzz::index::check_input(input));
