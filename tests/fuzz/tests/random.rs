//! What must hold for any bytes, of random ones: plain, of the letters that formats are made of, and of texts of formats that are
//! cut, repeated and changed.

use longshore_fuzz::{
    containers, data_directory, decode, encodings, formats, index, json, load, native, protocol, redo, round_trip,
    scan, sniff,
};
use longshore_testing::{Random, share};

/// The longest input.
const BYTES_MAX: usize = 1_500;

const TEXTS: [&str; 6] = [
    "1,\"a\"\"b\",2024-02-29,-3.50\r\n2,\"line\nbreak\",,\n",
    "id|name|day\n7|x|31.12.1999\n8|'y'|\n",
    "{\"a\": {\"b\": [1, 2.5e3, null]}, \"c\": \"\\u00e4\"}\n[true, \"\", {}]\n",
    "2024-02-29 23:59:60+02\t12:30\t{1,NULL}\t\\x00ff\t\\N\n",
    "99999999999999999999,1e308,NaN,-0,Infinity,t,f\n",
    "\u{feff}\u{e4}\u{20ac}\u{1f600};a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11;\0\n",
];

fn input(random: &mut Random) -> Vec<u8> {
    let length = random.below(BYTES_MAX);
    let mut bytes: Vec<u8> = (0..random.below(24)).map(|_| random.below(256) as u8).collect();
    let kind = random.below(3);
    while bytes.len() < length {
        match kind {
            0 => bytes.push(random.below(256) as u8),
            1 => bytes.push(random.pick(b"0123456789-+.,;|:eE\"'\\{}[] \t\r\nabnrtNULxu/")),
            _ => {
                let text = random.pick(&TEXTS).as_bytes();
                let from = random.below(text.len());
                let from = if random.below(4) == 0 { from } else { 0 };
                bytes.extend_from_slice(&text[from..]);
            }
        }
    }
    for _ in 0..random.below(4) {
        if !bytes.is_empty() {
            let at = random.below(bytes.len());
            bytes[at] = random.below(256) as u8;
        }
    }
    bytes
}

/// Gives a check so many inputs.
fn hold(check: fn(&[u8]), inputs: usize) {
    for seed in 0..share(inputs) {
        let bytes = input(&mut Random::new(seed as u64));
        let done = std::panic::catch_unwind(|| check(&bytes));
        assert!(done.is_ok(), "seed {seed}: {}", bytes.escape_ascii());
    }
}

macro_rules! checks {
    ($($name:ident: $inputs:literal),* $(,)?) => {
        $(#[test]
        fn $name() {
            hold($name::check_input, $inputs);
        })*
    };
}

checks! {
    containers: 2_000,
    data_directory: 4_000,
    decode: 50_000,
    encodings: 2_000,
    formats: 10_000,
    index: 1_000,
    json: 30_000,
    load: 5_000,
    native: 5_000,
    protocol: 500,
    redo: 20_000,
    round_trip: 50_000,
    scan: 50_000,
    sniff: 1_000,
}
