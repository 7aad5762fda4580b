//! The structural scan and the quote survey, per kernel.
//!
//! "L2" goes over the same piece again and again, "memory" over the whole text piece by piece, as a load does.

use std::fs::File;
use std::io::Read as _;
use std::time::{Duration, Instant};

use longshore_csv::{Dialect, Kernel, Marks, PADDING, Padded, Scanner, TextTraits, survey};

use crate::measure::{Amount, Case, Measured, measure};
use crate::text::{Text, lineitem};
use crate::{Failure, Settings};

/// Bytes that a scan marks at a time: what a load takes by default.
const PIECE_BYTES: usize = longshore_load::PIECE_BYTES_DEFAULT;

/// The most text that is scanned: larger than any cache.
const SAMPLE_BYTES_MAX: u64 = 256 << 20;

/// The least that a run in the cache scans, by repetition.
const REPEATED_BYTES_MIN: usize = 64 << 20;

/// Delimiters and line ends of a line.
fn marks_per_line(text: Text) -> usize {
    if text == Text::Quoted { 16 } else { 17 }
}

pub(super) fn run(settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let mut measured = Vec::new();
    for text in Text::ALL {
        let sample = Sample::read(settings, text)?;
        let mut cases = Vec::new();
        for kernel in Kernel::available() {
            let name = text.name();
            let memory = sample.pieces();
            let bytes: usize = memory.iter().map(|&(start, end)| end - start).sum();
            let first = vec![memory[0]; REPEATED_BYTES_MIN.min(4 * bytes).div_ceil(PIECE_BYTES)];
            let repeated = first.len() * (memory[0].1 - memory[0].0);
            cases.push(sample.scan_case(format!("scan {name} {kernel} L2"), kernel, first, repeated));
            cases.push(sample.scan_case(format!("scan {name} {kernel} memory"), kernel, memory.clone(), bytes));
            cases.push(sample.survey_case(format!("survey {name} {kernel} memory"), kernel, memory, bytes));
        }
        measured.extend(measure(cases, settings)?);
    }
    Ok(measured)
}

/// A whole number of lines of lineitem in memory, padded.
struct Sample {
    text: Text,
    dialect: Dialect,
    traits: TextTraits,
    buffer: Vec<u8>,
    len: usize,
}

impl Sample {
    fn read(settings: &Settings, text: Text) -> Result<Sample, Failure> {
        let file = lineitem(&settings.data, settings.scale, text)?;
        let mut buffer = Vec::with_capacity(file.bytes.min(SAMPLE_BYTES_MAX) as usize + PADDING);
        File::open(&file.path)?.take(SAMPLE_BYTES_MAX).read_to_end(&mut buffer)?;
        let len = buffer.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        buffer.resize(len + PADDING, 0);
        let dialect = Dialect::new(text.delimiter(), Some(b'"'), None)?;
        // What a load finds out before it scans: whether there are quotes and carriage returns at all.
        let traits = survey(Kernel::Portable, &dialect, &buffer[..len]).traits;
        Ok(Sample { text, dialect, traits, buffer, len })
    }

    /// The sample cut at line ends into runs of about a piece (lineitem has no quoted line breaks).
    fn pieces(&self) -> Vec<(usize, usize)> {
        let mut pieces = Vec::new();
        let mut start = 0;
        while start < self.len {
            let limit = (start + PIECE_BYTES).min(self.len);
            let line_end = self.buffer[start..limit].iter().rposition(|&byte| byte == b'\n');
            let end = line_end.map_or(self.len, |at| start + at + 1);
            pieces.push((start, end));
            start = end;
        }
        pieces
    }

    fn marks_in(&self, pieces: &[(usize, usize)]) -> usize {
        let lines = |&(start, end): &(usize, usize)| self.buffer[start..end].split(|&byte| byte == b'\n').count() - 1;
        pieces.iter().map(lines).sum::<usize>() * marks_per_line(self.text)
    }

    fn scan_case(&self, name: String, kernel: Kernel, pieces: Vec<(usize, usize)>, bytes: usize) -> Case<'_> {
        let right = self.marks_in(&pieces);
        let scanner = Scanner::new(kernel, &self.dialect, self.traits);
        let mut marks = Marks::new();
        Case::new(name, Amount::Bytes(bytes as u64), move || {
            let mut found = 0;
            let started = Instant::now();
            for &(start, end) in &pieces {
                scanner.scan(Padded::new(&self.buffer[start..], end - start), &mut marks);
                // One position is the sentinel in front.
                found += marks.positions().len() - 1;
            }
            let time = started.elapsed();
            if found == right { Ok(time) } else { Err(format!("{found} marks where {right} are right").into()) }
        })
    }

    fn survey_case(&self, name: String, kernel: Kernel, pieces: Vec<(usize, usize)>, bytes: usize) -> Case<'_> {
        Case::new(name, Amount::Bytes(bytes as u64), move || {
            let started = Instant::now();
            let mut found = TextTraits::default();
            for &(start, end) in &pieces {
                found |= survey(kernel, &self.dialect, &self.buffer[start..end]).traits;
            }
            let time: Duration = started.elapsed();
            if found == self.traits {
                Ok(time)
            } else {
                Err(format!("{found:?} where {:?} is right", self.traits).into())
            }
        })
    }
}
