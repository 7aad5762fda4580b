//! What can be read only once is read as often as is wanted, and its text counts.

use std::io::{self, Read};
use std::sync::Arc;

use crate::common::pool::{LimitReached, Limited};
use longshore_source::{KeptText, MemoryPool, Source};

/// Bytes that are kept in one part.
const PART_BYTES: usize = 1 << 20;

/// A new reader, whose text counts against `pool`.
fn open(kept: &KeptText, pool: &Arc<Limited>) -> Box<dyn Read + Send> {
    let mut source = kept.open().unwrap();
    source.count_against(&(Arc::clone(pool) as Arc<dyn MemoryPool>));
    source.into_reader()
}

#[test]
fn a_text_is_read_as_often_as_is_wanted_and_counts_once() {
    let text: Vec<u8> = (0..PART_BYTES * 2 + 7).map(|at| (at % 251) as u8).collect();
    let once = Source::from_reader("pipe", Box::new(io::Cursor::new(text.clone())));
    let kept = KeptText::new(move || Ok(once));
    let pool = Arc::new(Limited::new(PART_BYTES * 4));
    let mut half = vec![0; PART_BYTES + 3];
    open(&kept, &pool).read_exact(&mut half).unwrap();
    assert_eq!(half, text[..half.len()]);
    for _ in 0..2 {
        let mut all = Vec::new();
        open(&kept, &pool).read_to_end(&mut all).unwrap();
        assert!(all == text);
    }
    assert_eq!(pool.used(), PART_BYTES * 3);
    drop(kept);
    assert_eq!(pool.used(), 0);
}

#[test]
fn the_memory_limit_holds() {
    let kept = KeptText::new(|| Ok(Source::from_reader("pipe", Box::new(io::repeat(b'x')))));
    let pool = Arc::new(Limited::new(PART_BYTES + 10));
    let error = open(&kept, &pool).read_to_end(&mut Vec::new()).unwrap_err();
    assert!(error.get_ref().unwrap().is::<LimitReached>(), "{error}");
}

#[test]
fn what_could_not_be_opened_stays_so() {
    let kept = KeptText::new(|| Source::open(std::path::Path::new("/nonexistent/file")));
    assert!(kept.open().is_err_and(|error| error.to_string().contains("cannot open it")));
    assert!(kept.open().is_err_and(|error| error.to_string().contains("could not be opened")));
}
