//! The streaming transcoder does what decoding all at once does, for any size of reads.

use std::io::{Cursor, Read};

use crate::common::{Chunked, read, read_chunked};
use longshore_source::{Encoding, EncodingErrors, OpenOptions, open_reader};
use longshore_testing::Random;

const NAMES: [&str; 15] = [
    "utf-8",
    "utf-16le",
    "utf-16be",
    "windows-1252",
    "iso-8859-2",
    "windows-1251",
    "koi8-r",
    "shift_jis",
    "euc-jp",
    "iso-2022-jp",
    "euc-kr",
    "gbk",
    "gb18030",
    "big5",
    "windows-1258",
];

const TEXT: &str = "id,name\n1,\"Zoë Brøndby\"\n2,Привет мир\n3,日本語テキスト\n4,한국어,😀 ß €\n";

fn options(name: &str, encoding_errors: EncodingErrors) -> OpenOptions {
    OpenOptions { encoding: Encoding::named(name).unwrap(), encoding_errors, ..OpenOptions::default() }
}

fn encoding(name: &str) -> &'static encoding_rs::Encoding {
    encoding_rs::Encoding::for_label(name.as_bytes()).unwrap()
}

/// `text` in the encoding, which `encoding_rs` does not write for UTF-16.
fn encode(text: &str, name: &str) -> Vec<u8> {
    match name {
        "utf-16le" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        "utf-16be" => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        _ => encoding(name).encode(text).0.into_owned(),
    }
}

#[test]
fn streams_decode_as_the_whole_does() {
    for name in NAMES {
        let mut inputs = vec![encode(TEXT, name), encode(&TEXT.repeat(3000), name)];
        let mut random = Random::new(1);
        for length in [1, 2, 3, 17, 300] {
            inputs.push((0..length).map(|_| random.next() as u8).collect());
            inputs.push((0..length).map(|_| b"a\xe9\x81\x40\0\n\xd8\x1b"[random.next() as usize % 8]).collect());
        }
        for bytes in inputs {
            if encoding_rs::Encoding::for_bom(&bytes).is_some() {
                continue;
            }
            let (right, is_bad) = encoding(name).decode_without_bom_handling(&bytes);
            let sizes: &[usize] = if bytes.len() < 1000 { &[1, 2, 3, 4, 5, 7, 64, 4096] } else { &[4096, 65_537] };
            for &chunk in sizes {
                let (found, result) = read_chunked(&bytes, chunk, &options(name, EncodingErrors::Replace));
                // Bytes by chance may be what cannot be in the encoding.
                if let (true, Err(error)) = (bytes.len() <= 300, &result) {
                    assert!(error.to_string().contains("ENCODING"), "{error}");
                    continue;
                }
                result.unwrap();
                assert!(found == right.as_bytes(), "{name}, {chunk} at a time: {bytes:02x?}");
                let (found, result) = read_chunked(&bytes, chunk, &options(name, EncodingErrors::Stop));
                if name == "utf-8" {
                    // The decoders check it, column by column.
                    assert!(found == bytes);
                    continue;
                }
                assert_eq!(result.is_err(), is_bad, "{name}, {chunk} at a time: {bytes:02x?}");
                assert!(right.as_bytes().starts_with(&found), "{name}");
            }
        }
    }
}

#[test]
fn readers_may_bring_little_room() {
    for name in NAMES {
        let bytes = encode(TEXT, name);
        let (right, _) = encoding(name).decode_without_bom_handling(&bytes);
        for room in [1, 3, 63, 64, 65] {
            let input = Chunked { bytes: Cursor::new(bytes.clone()), chunk: 5 };
            let options = options(name, EncodingErrors::Replace);
            let mut reader = open_reader("test", Box::new(input), None, &options).unwrap().into_reader();
            let (mut found, mut buffer) = (Vec::new(), vec![0; room]);
            loop {
                match reader.read(&mut buffer).unwrap() {
                    0 => break,
                    read => found.extend_from_slice(&buffer[..read]),
                }
            }
            assert!(found == right.as_bytes(), "{name}, room for {room}");
        }
    }
}

#[test]
fn marks_tell_the_encoding() {
    let plain = OpenOptions::default();
    for name in ["utf-16le", "utf-16be"] {
        let bytes = encode(&format!("\u{feff}{TEXT}"), name);
        assert_eq!(String::from_utf8(read(&bytes, &plain).0).unwrap(), TEXT);
        assert_eq!(String::from_utf8(read(&bytes, &options("latin1", EncodingErrors::Stop)).0).unwrap(), TEXT);
        assert_eq!(
            String::from_utf8(read(&crate::common::gzip(&bytes), &plain).0).unwrap(),
            TEXT,
            "compressed as well"
        );
    }
    let marked = format!("\u{feff}{TEXT}");
    // The load takes the mark off, as it does where the file is mapped.
    assert_eq!(read(marked.as_bytes(), &options("latin1", EncodingErrors::Stop)).0, marked.as_bytes());
}

#[test]
fn what_must_be_named_is_said() {
    let message = |bytes: &[u8]| read(bytes, &OpenOptions::default()).1.unwrap_err().to_string();
    let utf_32: Vec<u8> = "\u{feff}a,b\n".chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    assert!(message(&utf_32).contains("UTF-32"));
    assert!(message(&encode("id,name\n1,Zoë\n", "utf-16le")).contains("set ENCODING 'utf-16le'"));
    assert!(message(&encode("id,name\n1,Zoë\n", "utf-16be")).contains("set ENCODING 'utf-16be'"));
    // Whatever else was named, and the other way round.
    for (name, bytes) in [
        ("latin1", encode("id,name\n1,Zoë\n", "utf-16le")),
        ("utf-16be", encode("id,name\n1,Zoë\n", "utf-16le")),
        ("utf-16le", encode("id,name\n1,Zoë\n", "utf-16be")),
        ("utf-16le", b"id,name\n1,x\n".to_vec()),
        ("utf-16be", crate::common::gzip(b"id,name\n1,x\n")),
    ] {
        for errors in [EncodingErrors::Stop, EncodingErrors::Replace] {
            let (found, result) = read(&bytes, &options(name, errors));
            assert!(found.is_empty());
            let message = result.unwrap_err().to_string();
            assert!(message.contains("ENCODING"), "{message}");
        }
    }
    assert!(Encoding::named("klingon").unwrap_err().contains("shift_jis"));
}

#[test]
fn bad_bytes_are_named_with_their_place() {
    let bytes = b"id,name\n1,ok\n2,\x81\x00\n";
    let (found, result) = read(bytes, &options("shift_jis", EncodingErrors::Stop));
    assert_eq!(found, b"id,name\n1,ok\n2,");
    let message = result.unwrap_err().to_string();
    assert!(message.starts_with("line 3, byte 15: the bytes 81 are not valid Shift_JIS; set ENCODING"), "{message}");
    assert!(message.contains("ENCODING_ERRORS 'replace'"), "{message}");
    let (found, result) = read(b"a\n\xff\xe9b\n", &options("utf8", EncodingErrors::Replace));
    assert!(result.is_ok());
    assert_eq!(String::from_utf8(found).unwrap(), "a\n\u{fffd}\u{fffd}b\n");
    // Half a character at the end.
    let message = read(b"a\0b\0\n\0c", &options("utf-16le", EncodingErrors::Stop)).1.unwrap_err().to_string();
    assert!(message.starts_with("line 2, byte 6: the bytes 63 are not valid UTF-16LE"), "{message}");
}
