#![no_main]
//! `longshore_fuzz::data_directory`, driven by libFuzzer.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| longshore_fuzz::data_directory::check_input(input));
