//! The columns of JSON: one for each value that the records of the sample have.

use longshore_csv::{Missing, RecordFormat, RowText};

use super::given::Given;
use super::names;
use super::sniffed::{Column, Sniffed};
use super::types::{Nulls, TypeSet, classify_column};
use crate::json::{Json, Layout, discover};

/// Bytes of rows that are made at a time.
const ROWS_BYTES: usize = 128 << 10;

/// Finds the columns and what types they can have.
pub(super) fn columns(sniffed: &mut Sniffed, layout: Layout, sample: &[u8], at_end: bool, given: &Given) {
    let found = discover(sample, layout, given.flatten, at_end);
    sniffed.paths = found.values.into_iter().map(|value| value.path).collect();
    let names = match &given.names {
        Some(names) => names.clone(),
        None => sniffed.paths.iter().map(crate::json::JsonPath::column_name).collect(),
    };
    let count = sniffed.paths.len();
    let names = (0..count).map(|index| names.get(index).cloned().unwrap_or_default());
    let names = names::unique(names, given.normalize_names && given.names.is_none());
    let types = types(sniffed, layout, sample, at_end, given);
    let reading = sniffed.reading(given);
    let columns = names.into_iter().zip(types);
    sniffed.columns = columns.map(|(name, types)| Column { name, types, decision: types.decide(&reading) }).collect();
}

/// The types of the values of the sample.
fn types(sniffed: &Sniffed, layout: Layout, sample: &[u8], at_end: bool, given: &Given) -> Vec<TypeSet> {
    let count = sniffed.paths.len();
    let unknown = vec![if given.all_text { TypeSet::TEXT } else { TypeSet::EVERY }; count];
    let Ok(json) = Json::new(&sniffed.paths, layout) else { return unknown };
    let whole = &sample[..json.complete(sample, at_end)];
    let nulls = Nulls { texts: vec![Box::default()], quoted: false, trim: false };
    let reading = sniffed.reading(given);
    let mut rows = RowText::new(vec![Missing::default(); count], ROWS_BYTES);
    let mut types = unknown;
    let mut at = 0;
    while at < whole.len() {
        rows.clear();
        let taken = json.read(&whole[at..], &mut rows, &mut Vec::new());
        rows.seal();
        for (column, types) in types.iter_mut().enumerate() {
            *types = types.join(classify_column(&rows.rows(), column, &nulls, &reading));
        }
        at += taken.max(1);
    }
    types
}
