//! Looks at the head of the first file, and at some other places of it where it is mapped.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use longshore_format::sniff::types::TypeSet;
use longshore_format::sniff::{Family, Given, SAMPLE_BYTES, Sniffed, sample_bytes, sniff};
use longshore_storage::Memory;

use crate::source::{Input, read_up_to};
use crate::{Control, InputFile, LoadError, Source};

/// Bytes of each of the places behind the head.
const PLACE_BYTES: usize = 32 << 10;

/// What the samples tell.
pub(super) struct Sampled {
    pub(super) sniffed: Sniffed,
    /// The types of each column's values in the samples.
    pub(super) hints: Vec<TypeSet>,
    /// Where the samples stand in the first file.
    pub(super) places: Vec<Range<u64>>,
}

/// Takes samples of the first file that is not empty. Files before it are left out; it is opened once.
pub(super) fn take(
    inputs: &mut Vec<InputFile>,
    given: &Given,
    memory: &Arc<Memory>,
    control: &Control,
) -> Result<Sampled, LoadError> {
    loop {
        if inputs.is_empty() {
            return Err(LoadError::Options("there is no file to read; check the path or the pattern".to_owned()));
        }
        let first = inputs.remove(0);
        let (head, at_end, source) = head(first.open_counted(memory)?, control)?;
        let mapped = source.mapped().unwrap_or(&[]);
        let bytes_max = sample_bytes(mapped, given);
        let head = if mapped.is_empty() { &head[..] } else { &mapped[..mapped.len().min(bytes_max)] };
        let at_end = at_end || head.len() == mapped.len() && !mapped.is_empty();
        let sniffed = sniff(head, at_end, given);
        if sniffed.columns.is_empty() && matches!(sniffed.family.value, Family::Delimited | Family::Logfmt) {
            if inputs.is_empty() {
                return Err(LoadError::Unfit {
                    file: first.name().to_owned(),
                    problem: "it is empty, so that it has no columns; give the columns, or leave it out".to_owned(),
                });
            }
            continue;
        }
        let mut hints: Vec<TypeSet> = sniffed.columns.iter().map(|column| column.types).collect();
        let at_start = 0..head.len() as u64;
        let mut places = vec![at_start];
        if sniffed.family.value == Family::Delimited {
            for place in other_places(mapped.len()) {
                let types = sniffed.types_of(&mapped[place.clone()], place.end == mapped.len(), given);
                hints = hints.into_iter().zip(types).map(|(hint, types)| hint.join(types)).collect();
                places.push(place.start as u64..place.end as u64);
            }
        }
        inputs.insert(0, first.already_opened(source));
        return Ok(Sampled { sniffed, hints, places });
    }
}

/// Places behind the head: two in the middle, and the end.
fn other_places(length: usize) -> Vec<Range<usize>> {
    if length < SAMPLE_BYTES + 3 * PLACE_BYTES {
        let rest = SAMPLE_BYTES..length;
        return if rest.is_empty() { Vec::new() } else { vec![rest] };
    }
    let starts = [length / 3, length / 3 * 2, length - PLACE_BYTES];
    starts.into_iter().filter(|start| *start >= SAMPLE_BYTES).map(|start| start..start + PLACE_BYTES).collect()
}

/// The head of a source, unless it is mapped, and the source as it was.
fn head(source: Source, control: &Control) -> Result<(Vec<u8>, bool, Source), LoadError> {
    let Input::Stream(mut reader) = source.input else {
        let at_end = source.mapped().is_some_and(|bytes| bytes.len() <= SAMPLE_BYTES);
        return Ok((Vec::new(), at_end, source));
    };
    let mut head = Vec::new();
    let at_end = read_up_to(SAMPLE_BYTES + 1, &mut reader, &mut head, &source.name, control)?;
    let again = io::Cursor::new(head.clone());
    let reader: Box<dyn Read + Send> = if at_end { Box::new(again) } else { Box::new(again.chain(reader)) };
    Ok((head, at_end, Source { input: Input::Stream(reader), ..source }))
}
