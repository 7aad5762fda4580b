#![no_main]
//! `longshore_fuzz::sniff`, driven by libFuzzer.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| longshore_fuzz::sniff::check_input(input));
