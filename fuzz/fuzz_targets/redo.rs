#![no_main]
//! `longshore_fuzz::redo`, driven by libFuzzer.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| longshore_fuzz::redo::check_input(input));
