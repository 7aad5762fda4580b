#![no_main]
//! `longshore_fuzz::load`, driven by libFuzzer.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| longshore_fuzz::load::check_input(input));
