//! Every container gives back what went in, or an error; never other text.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::{Endless, files, read, read_chunked, text};
use longshore_source::{Compression, Container, OpenOptions, open_reader};
use longshore_testing::Random;

/// The size of the blocks that are handed from thread to thread.
const BLOCK_BYTES: usize = 1 << 20;

fn auto(threads: usize) -> OpenOptions {
    OpenOptions { threads, ..OpenOptions::default() }
}

fn named(container: Container, threads: usize) -> OpenOptions {
    OpenOptions { compression: Compression::Named(container), threads, ..OpenOptions::default() }
}

#[test]
fn what_went_in_comes_out() {
    for bytes in [0, 1, 2, 65_535, 65_536, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 3 * BLOCK_BYTES + 17] {
        let right = text(bytes);
        for (name, container, file) in files(&right) {
            assert_eq!(Container::of(&file), Some(container), "{name}");
            for threads in [1, 2, 5] {
                let (found, result) = read(&file, &auto(threads));
                result.unwrap_or_else(|error| panic!("{name}, {bytes} bytes, {threads} threads: {error}"));
                assert!(found == right, "{name}, {bytes} bytes, {threads} threads: {} bytes", found.len());
            }
        }
    }
}

#[test]
fn the_size_of_reads_does_not_matter() {
    let right = text(3000);
    for (name, _, file) in files(&right) {
        for chunk in [1, 7, 100] {
            let (found, result) = read_chunked(&file, chunk, &auto(2));
            result.unwrap_or_else(|error| panic!("{name}, {chunk} at a time: {error}"));
            assert!(found == right, "{name}, {chunk} at a time");
        }
    }
}

#[test]
fn a_file_that_is_cut_short_fails() {
    let right = text(400);
    for (name, container, file) in files(&right) {
        let parts = name.contains(',') && !name.contains("linked") && !name.contains("unknown");
        for length in 0..file.len() {
            for threads in [1, 3] {
                let (found, result) = read(&file[..length], &named(container, threads));
                match result {
                    Err(_) => assert!(right.starts_with(&found), "{name}, {length} of {} bytes", file.len()),
                    // Between members nothing tells that one is missing; behind the last, the padding may be.
                    Ok(()) if parts && length > 0 => assert!(right.starts_with(&found), "{name}, {length} bytes"),
                    // All content was there and checked: what is missing is the archive's directory.
                    Ok(()) => assert!(name == "zip" && found == right, "{name}: {length} of {} bytes", file.len()),
                }
            }
        }
    }
}

#[test]
fn a_bgzf_file_without_its_end_fails() {
    let right = text(100_000);
    let (_, _, file) = files(&right).into_iter().find(|(name, ..)| name == "gzip, Bgzf").unwrap();
    let cut = &file[..file.len() - 28];
    for threads in [1, 3] {
        let (_, result) = read(cut, &auto(threads));
        assert!(result.unwrap_err().to_string().contains("probably cut short"));
        let (found, result) = read(cut, &named(Container::Gzip, threads));
        assert!(result.is_ok() && found == right);
    }
}

#[test]
fn a_flipped_bit_is_an_error_or_does_not_matter() {
    let right = text(400);
    for (name, container, file) in files(&right) {
        let mut random = Random::new(7);
        for byte in 0..file.len() {
            let mut damaged = file.clone();
            damaged[byte] ^= 1 << (random.next() % 8);
            let threads = [1, 3][byte % 2];
            let (found, result) = read(&damaged, &named(container, threads));
            if result.is_ok() {
                assert!(found == right, "{name}: byte {byte} of {} flipped, {} bytes read", file.len(), found.len());
            }
        }
    }
}

#[test]
fn damage_is_an_error_for_any_number_of_threads() {
    let right = text(400_000);
    let mut random = Random::new(3);
    for (name, container, file) in files(&right) {
        for _ in 0..40 {
            let mut damaged = file.clone();
            let at = random.next() as usize % file.len();
            match random.next() % 3 {
                0 => damaged[at] ^= 1 << (random.next() % 8),
                1 => drop(damaged.drain(at..(at + 1 + random.next() as usize % 50).min(file.len()))),
                _ => drop(damaged.splice(at..at, [random.next() as u8, 0, 255])),
            }
            let reads = [1, 2].map(|threads| read(&damaged, &named(container, threads)));
            assert_eq!(reads[0].1.is_ok(), reads[1].1.is_ok(), "{name}: damaged at {at} of {}", file.len());
            for (found, result) in reads {
                if result.is_ok() && !name.contains("members") && !name.contains("streams") {
                    assert!(found == right, "{name}: damaged at {at} of {}", file.len());
                }
            }
        }
    }
}

#[test]
fn messages_name_the_format_the_place_and_the_reason() {
    let file = crate::common::gzip(b"a,b\n1,2\n");
    let message = |bytes: &[u8], options: &OpenOptions| read(bytes, options).1.unwrap_err().to_string();
    let found = message(&file[..file.len() - 3], &auto(2));
    assert!(found.starts_with("gzip, at compressed byte "), "{found}");
    assert!(found.contains("ends inside the member's length") && found.contains("cut short"), "{found}");
    let mut wrong = file.clone();
    *wrong.last_mut().unwrap() ^= 1;
    assert!(message(&wrong, &auto(2)).contains("content has 8 bytes (modulo 2^32), not 16777224 as stored"));
    let garbage = [&file[..], b"more"].concat();
    assert!(message(&garbage, &auto(2)).contains("what follows the last member is neither"));
    assert!(message(b"a,b\n", &named(Container::Zstd, 2)).contains("does not begin as zstd does"));
    assert!(message(b"", &named(Container::Xz, 2)).contains("the file is empty, which is no xz file"));
    assert!(message(b"\x1f", &auto(2)).contains("ends inside the signature of gzip"));
    assert!(message(b"PAR1\x15\x04\x15", &auto(2)).contains("this is a Parquet file"));
    let twice = crate::common::gzip(&crate::common::zstd_frame(b"a\n", true));
    assert!(message(&twice, &auto(2)).contains("inside the compressed file is a zstd file"));
    let several = crate::common::zip(&[("a.csv", b"a\n"), ("b.csv", b"b\n")], false);
    assert!(message(&several, &auto(2)).contains("\"a.csv\" and \"b.csv\""));
}

#[test]
fn text_that_looks_like_a_container_can_be_read() {
    let options = OpenOptions { compression: Compression::None, ..auto(2) };
    assert_eq!(read(b"\x1f\x8bz", &options).0, b"\x1f\x8bz");
    for plain in [&b""[..], b"(", b"BZ", b"BZh", b"PK", b"P", b"BZh9,a,b,c,d\n"] {
        assert_eq!(read(plain, &auto(2)).0, plain);
    }
}

#[test]
fn threads_end_when_nobody_reads() {
    let right = text(300_000);
    for (name, _, bytes) in files(&right) {
        if name.starts_with("zip") || name.contains("zeros") {
            continue;
        }
        let dropped = Arc::new(AtomicBool::new(false));
        let input = Endless::new(bytes, &dropped);
        let mut reader = open_reader("test", Box::new(input), None, &auto(2)).unwrap().into_reader();
        let mut begin = vec![0; 1_000_000];
        reader.read_exact(&mut begin).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(begin.starts_with(&right), "{name}");
        drop(reader);
        let patience = Instant::now() + Duration::from_secs(20);
        while !dropped.load(Ordering::Relaxed) {
            assert!(Instant::now() < patience, "{name}: a thread still reads");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
