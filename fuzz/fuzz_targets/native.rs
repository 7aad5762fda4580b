#![no_main]
//! `longshore_fuzz::native`, driven by libFuzzer.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| longshore_fuzz::native::check_input(input));
