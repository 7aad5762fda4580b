//! Lineitem as JSON lines and as one array into a relation, and what of that is the rewriting of records as plain rows.
//!
//! "cut" finds where the text may be cut, which one worker does for all; "rewrite" reads records, as each worker does.

use std::fs::File;
use std::io::Read as _;
use std::time::Instant;

use longshore_csv::{Missing, RowText};
use longshore_load::{TextFormat, Tuning};

use crate::facts::COLUMNS;
use crate::lineitem::{Blocks, StoredAs, options, timed_load};
use crate::measure::{Amount, Case, Measured, measure, threads_of};
use crate::text::{Lineitem, Text, lineitem};
use crate::{Failure, Settings};

/// Bytes that are cut at a time, as a load of large files does.
const SPAN_BYTES: usize = 16 << 20;

/// Bytes of rows that are rewritten at a time.
const ROWS_BYTES: usize = longshore_load::PIECE_BYTES_DEFAULT;

/// The most text that is rewritten.
const SAMPLE_BYTES_MAX: u64 = 256 << 20;

pub(super) fn run(settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let files = [Text::JsonLines, Text::JsonArray]
        .map(|text| lineitem(&settings.data, settings.scale, text).map(|file| (text, file)));
    let files: Vec<(Text, Lineitem)> = files.into_iter().collect::<Result<_, _>>()?;
    let mut samples = Vec::new();
    for (text, file) in &files {
        let mut sample = Vec::with_capacity(file.bytes.min(SAMPLE_BYTES_MAX) as usize);
        File::open(&file.path)?.take(SAMPLE_BYTES_MAX).read_to_end(&mut sample)?;
        samples.push((*text, file, sample));
    }
    let recycled = &Blocks::recycled();
    let mut cases = Vec::new();
    for (text, file, sample) in &samples {
        for threads in settings.thread_counts() {
            let name = format!("{}, {}", text.name(), threads_of(threads));
            let load = move || timed_load(file, *text, StoredAs::PACKED, &Tuning::new(threads), recycled);
            cases.push(Case::new(name, Amount::Bytes(file.bytes), load));
        }
        for part in [Part::Cut, Part::Rewrite] {
            let whole = (sample.len() as u64 == file.bytes).then(|| file.facts.rows());
            cases.push(case(part, *text, sample, whole));
        }
    }
    measure(cases, settings)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Cut,
    Rewrite,
}

fn case(part: Part, text: Text, sample: &[u8], rows_due: Option<u64>) -> Case<'_> {
    let name = format!("{} {}", if part == Part::Cut { "cut" } else { "rewrite" }, text.name());
    let TextFormat::Other(format) = options(text).format else { unreachable!("JSON is no CSV") };
    let mut rows = RowText::new(vec![Missing::default(); COLUMNS], ROWS_BYTES);
    Case::new(name, Amount::Bytes(sample.len() as u64), move || {
        let (mut at, mut count) = (0, 0);
        let mut counted = std::time::Duration::ZERO;
        while at < sample.len() {
            let there = sample.len().min(at + SPAN_BYTES);
            let started = Instant::now();
            let end = at + format.complete(&sample[at..there], there == sample.len());
            let cut = started.elapsed();
            let started = Instant::now();
            while at < end {
                rows.clear();
                let mut defects = Vec::new();
                at += format.read(&sample[at..end], &mut rows, &mut defects);
                // The sample may end within a record.
                if let Some(defect) = defects.first().filter(|_| at < sample.len()) {
                    return Err(defect.reason.clone().into());
                }
                rows.seal();
                count += rows.count() as u64;
            }
            counted += if part == Part::Cut { cut } else { started.elapsed() };
        }
        match rows_due {
            Some(expected) if expected != count => Err(format!("{count} rows where {expected} are right").into()),
            _ => Ok(counted),
        }
    })
}
