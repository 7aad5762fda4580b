#![no_main]
//! `longshore_fuzz::encodings`, driven by libFuzzer.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| longshore_fuzz::encodings::check_input(input));
