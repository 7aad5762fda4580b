//! The columns of logfmt and of lines that a pattern takes apart, which name their fields themselves; and the types of what
//! any format makes of the sample.

use longshore_csv::{Missing, RecordFormat, RowText};

use super::family::Family;
use super::given::Given;
use super::names;
use super::sniffed::{Column, Sniffed};
use super::types::{Nulls, TypeSet, classify_column};
use crate::logfmt::{Logfmt, LogfmtOptions, UnknownKeys};
use crate::pattern::Pattern;

/// Bytes of rows that are made at a time.
const ROWS_BYTES: usize = 128 << 10;

/// Finds the columns and what types they can have. There are none if the pattern is none, or no line has a key.
pub(super) fn columns(sniffed: &mut Sniffed, sample: &[u8], at_end: bool, given: &Given) {
    let lines = sniffed.rules.lines(sniffed.comment.value.as_deref());
    let (found, types) = if sniffed.family.value == Family::Logfmt {
        let whole = if at_end { sample } else { &sample[..lines.line_ends.complete(sample)] };
        let keys = Logfmt::keys_of(whole, &lines);
        let options = LogfmtOptions { keys: keys.clone(), unknown_keys: UnknownKeys::Drop, lines };
        let types = Logfmt::new(options).map(|format| types(sniffed, &format, keys.len(), sample, at_end, given));
        (keys, types.unwrap_or_default())
    } else {
        match Pattern::of(sniffed.rules.pattern.as_deref().unwrap_or_default(), lines) {
            Ok(format) => {
                let groups: Vec<String> = format.columns().map(str::to_owned).collect();
                let types = types(sniffed, &format, groups.len(), sample, at_end, given);
                (groups, types)
            }
            Err(_) => (Vec::new(), Vec::new()),
        }
    };
    sniffed.fields.clone_from(&found);
    let named = given.names.clone().unwrap_or_else(|| found.clone());
    let named = (0..found.len()).map(|index| named.get(index).cloned().unwrap_or_default());
    let names = names::unique(named, given.normalize_names && given.names.is_none());
    let reading = sniffed.reading(given);
    let columns = names.into_iter().zip(types);
    sniffed.columns = columns.map(|(name, types)| Column { name, types, decision: types.decide(&reading) }).collect();
}

/// The types of each of `count` fields of the sample's records.
pub(super) fn types(
    sniffed: &Sniffed,
    format: &dyn RecordFormat,
    count: usize,
    sample: &[u8],
    at_end: bool,
    given: &Given,
) -> Vec<TypeSet> {
    let mut types = vec![if given.all_text { TypeSet::TEXT } else { TypeSet::EVERY }; count];
    let whole = &sample[..format.complete(sample, at_end)];
    let texts = given.null_texts.clone().unwrap_or_else(|| vec![Vec::new()]);
    let nulls = Nulls { texts: texts.into_iter().map(Vec::into_boxed_slice).collect(), quoted: false, trim: false };
    let null = nulls.texts.first().cloned().unwrap_or_default();
    let reading = sniffed.reading(given);
    let mut rows = RowText::new(vec![Missing { null, default: None }; count], ROWS_BYTES);
    let mut at = 0;
    while at < whole.len() {
        rows.clear();
        let taken = format.read(&whole[at..], &mut rows, &mut Vec::new());
        rows.seal();
        for (column, types) in types.iter_mut().enumerate() {
            *types = types.join(classify_column(&rows.rows(), column, &nulls, &reading));
        }
        at += taken.max(1);
    }
    types
}
