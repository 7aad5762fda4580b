//! Detection over many files, under a limit of open descriptors that is far below their number.
//!
//! `LONGSHORE_FILES=5000` sets the most files; the usual number keeps the test short.

use std::fmt::Write as _;
use std::path::Path;

use crate::harness::infer::{columns, request};
use longshore_load::{Control, InferRequest, InputFile, Source, Tuning, infer, load_inferred};

/// Descriptors that the process may have open.
const DESCRIPTORS_MAX: u64 = 48;

fn limit_descriptors() {
    // SAFETY: the call reads the struct, and lowers a limit of this process alone.
    let done = unsafe {
        let limit = libc::rlimit { rlim_cur: DESCRIPTORS_MAX, rlim_max: DESCRIPTORS_MAX };
        libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit)
    };
    assert_eq!(done, 0, "the limit can be lowered");
}

/// The text of a file, and what its rows add up to: number, sum of the first column, names that are there.
fn text(file: usize, total: &mut [u64; 3]) -> String {
    let mut text = "id,count,name\n".to_owned();
    for row in 0..3 {
        let id = file * 3 + row;
        total[0] += 1;
        total[1] += id as u64;
        // One record in some files is short; the name of another one quotes a delimiter.
        if file % 50 == 7 && row == 1 {
            writeln!(text, "{id},{row}").unwrap();
        } else {
            total[2] += 1;
            let name = if file.is_multiple_of(9) { format!("\"n, {id}\"") } else { format!("n {id}") };
            writeln!(text, "{id},{row},{name}").unwrap();
        }
    }
    text
}

fn inputs(folder: &Path, count: usize, stream: bool) -> Vec<InputFile> {
    let input = |file: usize| {
        let path = folder.join(format!("{file}.csv"));
        let open = move || if stream { Source::open_unmapped(&path) } else { Source::open(&path) };
        InputFile::new(&format!("{file}.csv"), open, &[])
    };
    (0..count).map(input).collect()
}

#[test]
fn thousands_of_files_are_inferred_with_few_descriptors() {
    let most = std::env::var("LONGSHORE_FILES").ok().and_then(|count| count.parse().ok()).unwrap_or(600);
    let folder = tempfile::tempdir().unwrap();
    let mut totals = vec![[0; 3]];
    for file in 0..most {
        let mut total = totals[file];
        std::fs::write(folder.path().join(format!("{file}.csv")), text(file, &mut total)).unwrap();
        totals.push(total);
    }
    limit_descriptors();
    for count in [1, 2, 60, most] {
        let [rows, sum, names] = totals[count];
        for (threads, stream, by_name) in [(1, false, false), (3, false, true), (3, true, false)] {
            let request = InferRequest { by_name, ..request(&Tuning::new(threads)) };
            let found = infer(inputs(folder.path(), count, stream), &request, &Control::new()).unwrap();
            assert_eq!((columns(&found).as_str(), found.rows), ("id INTEGER, count INTEGER, name TEXT", rows));
            let all = inputs(folder.path(), count, stream);
            let (relation, found, _) = load_inferred(all, &request, &Control::new()).unwrap();
            let dumped = crate::harness::dump(&relation);
            let id = |line: &str| line.split('"').nth(1).and_then(|id| id.parse::<u64>().ok()).unwrap();
            let named = dumped.lines().filter(|line| !line.ends_with(',')).count() as u64;
            assert_eq!((dumped.lines().count() as u64, dumped.lines().map(id).sum::<u64>(), named), (rows, sum, names));
            let repaired: u64 = found.repaired.iter().map(|repaired| repaired.records).sum();
            assert_eq!(repaired, rows - names, "{count} files, {threads} threads, stream {stream}");
        }
    }
}
