//! Looks at the head of the first file, and at some other places of it where it is mapped.

use std::ops::Range;
use std::sync::Arc;

use longshore_format::sniff::types::TypeSet;
use longshore_format::sniff::{Family, Given, SAMPLE_BYTES, Sniffed, sample_bytes, sniff, unique};
use longshore_source::Source;
use longshore_storage::Memory;

use crate::control::Control;
use crate::error::LoadError;
use crate::input::{InputFile, match_names};

/// Bytes of each of the places behind the head.
const PLACE_BYTES: usize = 32 << 10;

/// Bytes of the sample where fields are so long that it has few records.
const LONG_SAMPLE_BYTES: usize = SAMPLE_BYTES << 6;

/// What the samples tell.
pub(super) struct Sampled {
    pub(super) sniffed: Sniffed,
    /// The types of each column's values in the samples.
    pub(super) hints: Vec<TypeSet>,
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
        let mut first = inputs.remove(0);
        let mut given = Given { sample_bytes_min: SAMPLE_BYTES, ..given.clone() };
        let mut source = first.open_counted(memory)?;
        let (text, at_end, sniffed) = loop {
            let (text, at_end, again) = head(source, given.sample_bytes_min, control)?;
            source = again;
            let mapped = source.mapped().unwrap_or(&[]);
            let bytes_max = sample_bytes(mapped, &given);
            let head = if mapped.is_empty() { &text[..] } else { &mapped[..mapped.len().min(bytes_max)] };
            let at_end = at_end || head.len() == mapped.len() && !mapped.is_empty();
            let sniffed = sniff(head, at_end, &given);
            if at_end || !sniffed.lacks_records || given.sample_bytes_min >= LONG_SAMPLE_BYTES {
                break (text, at_end, sniffed);
            }
            given.sample_bytes_min *= 8;
        };
        let given = &given;
        let mapped = source.mapped().unwrap_or(&[]);
        let head = if mapped.is_empty() { &text[..] } else { &mapped[..mapped.len().min(sample_bytes(mapped, given))] };
        if sniffed.columns.is_empty() && sniffed.lacks_records && !at_end {
            return Err(without_end(&first, head));
        }
        let mut sniffed = sniffed;
        let is_nothing = matches!(sniffed.family.value, Family::Delimited | Family::Logfmt)
            || at_end && head.iter().filter(|byte| !byte.is_ascii_whitespace()).eq(b"[]");
        if sniffed.columns.is_empty() && is_nothing {
            if !at_end {
                return Err(without_end(&first, head));
            }
            if !inputs.is_empty() {
                continue;
            }
            sniffed.take_for_empty();
        }
        if sniffed.columns.is_empty() && sniffed.family.value.json_layout().is_some() {
            return Err(LoadError::Unfit {
                file: first.name().to_owned(),
                problem:
                    "no value of JSON was found in its beginning, so that it has no columns; check FORMAT, or give the \
                          columns"
                        .to_owned(),
            });
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
        first.sampled = places;
        inputs.insert(0, first.already_opened(source));
        return Ok(Sampled { sniffed, hints });
    }
}

/// The error of a file that begins with `head`, where no record ends.
fn without_end(file: &InputFile, head: &[u8]) -> LoadError {
    let is_null = head.iter().all(|byte| *byte == 0);
    LoadError::Unfit {
        file: file.name().to_owned(),
        problem: format!(
            "line 1 begins a record that is longer than {} bytes{}, too long to find out what the columns are; check \
             COMPRESSION and ENCODING, give the columns, with DELIMITER and QUOTE, or set QUOTE NONE if nothing is quoted",
            head.len(),
            if is_null { ", all of them NUL" } else { "" }
        ),
    }
}

/// Looks at the heads of the other files as well, whose columns are joined to those of the first by their names.
pub(super) fn take_by_name(
    inputs: &mut [InputFile],
    sampled: &mut Sampled,
    given: &Given,
    memory: &Arc<Memory>,
    control: &Control,
) -> Result<(), LoadError> {
    let first = sampled.sniffed.clone();
    let is_json = first.family.value.json_layout().is_some();
    let names_fields = first.family.value.names_fields();
    if first.family.value == Family::FixedWidth {
        return Err(LoadError::Options(format!(
            "columns are to be found by name (UNION_BY_NAME), but {} is of fixed width, with columns at the same places in \
             all files; leave UNION_BY_NAME out, or set FORMAT",
            inputs[0].name()
        )));
    }
    if !names_fields && !first.header.value {
        return Err(LoadError::Options(format!(
            "columns are to be found by name (UNION_BY_NAME), but in {} no header was found ({}); give HEADER true, or \
             leave UNION_BY_NAME out",
            inputs[0].name(),
            first.header.reason
        )));
    }
    let alike = match first.family.value {
        _ if is_json => given.clone(),
        family if names_fields => Given { family: Some(family), ..given.clone() },
        _ => first.as_given(given),
    };
    for input in inputs.iter_mut().skip(1) {
        let (head, at_end, source) = head(input.open_counted(memory)?, SAMPLE_BYTES, control)?;
        let mapped = source.mapped().unwrap_or(&[]);
        let bytes_max = sample_bytes(mapped, given);
        let head = if mapped.is_empty() { &head[..] } else { &mapped[..mapped.len().min(bytes_max)] };
        let at_end = at_end || head.len() == mapped.len() && !mapped.is_empty();
        let sniffed = sniff(head, at_end, &alike);
        check_alike(input, &first, &sniffed, || sniff(head, at_end, given))?;
        input.sampled.clear();
        input.sampled.push(0..head.len() as u64);
        sampled.join(&sniffed);
    }
    Ok(())
}

/// Refuses a file that another delimiter makes more of: its columns would be taken for one.
fn check_alike(
    input: &InputFile,
    first: &Sniffed,
    found: &Sniffed,
    alone: impl FnOnce() -> Sniffed,
) -> Result<(), LoadError> {
    if first.family.value != Family::Delimited || found.columns.len() > 1 || first.columns.len() == 1 {
        return Ok(());
    }
    let alone = alone();
    if alone.columns.len() <= 1 || alone.delimiter.value == first.delimiter.value {
        return Ok(());
    }
    Err(LoadError::Unfit {
        file: input.name().to_owned(),
        problem: format!(
            "it looks like {alone}, and the files before like {first}; files of one dialect can be read as one"
        ),
    })
}

impl Sampled {
    /// Joins the columns of another file to these.
    fn join(&mut self, other: &Sniffed) {
        let names =
            |sniffed: &Sniffed| -> Vec<String> { sniffed.columns.iter().map(|column| column.name.clone()).collect() };
        let places = if !other.paths.is_empty() {
            let place = |path| self.sniffed.paths.iter().position(|known| known == path);
            other.paths.iter().map(place).collect()
        } else if !other.fields.is_empty() {
            let place = |field| self.sniffed.fields.iter().position(|known| known == field);
            other.fields.iter().map(place).collect()
        } else {
            match_names(&names(other), names(&self.sniffed).iter().map(String::as_str))
        };
        for (index, place) in places.into_iter().enumerate() {
            let column = &other.columns[index];
            if let Some(place) = place {
                self.hints[place] = self.hints[place].join(column.types);
                continue;
            }
            self.hints.push(column.types);
            self.sniffed.columns.push(column.clone());
            self.sniffed.paths.extend(other.paths.get(index).cloned());
            self.sniffed.fields.extend(other.fields.get(index).cloned());
        }
        let names = unique(self.sniffed.columns.iter().map(|column| column.name.clone()), false);
        for (column, name) in self.sniffed.columns.iter_mut().zip(names) {
            column.name = name;
        }
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
fn head(source: Source, bytes_max: usize, control: &Control) -> Result<(Vec<u8>, bool, Source), LoadError> {
    match source.mapped() {
        Some(bytes) => Ok((Vec::new(), bytes.len() <= bytes_max, source)),
        None => Ok(source.with_head(bytes_max, control.cancellation())?),
    }
}
