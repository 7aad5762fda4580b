#![no_main]
//! `longshore_fuzz::protocol`, driven by libFuzzer.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| longshore_fuzz::protocol::check_input(input));
