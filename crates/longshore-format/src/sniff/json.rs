//! The columns of JSON: one for each value that the records of the sample have.

use super::given::Given;
use super::lines::types;
use super::names;
use super::sniffed::{Column, Sniffed};
use super::types::TypeSet;
use crate::json::{Json, Layout, discover};

/// Finds the columns and what types they can have.
pub(super) fn columns(sniffed: &mut Sniffed, layout: Layout, sample: &[u8], at_end: bool, given: &Given) {
    let found = discover(sample, layout, given.flatten, at_end);
    sniffed.paths = found.values.into_iter().map(|value| value.path).collect();
    let mut names: Vec<String> = sniffed.paths.iter().map(crate::json::JsonPath::column_name).collect();
    for (name, path) in &given.rules.paths {
        if let Some(index) = sniffed.paths.iter().position(|found| found == path) {
            names[index].clone_from(name);
        } else {
            sniffed.paths.push(path.clone());
            names.push(name.clone());
        }
    }
    let names = given.names.clone().unwrap_or(names);
    let count = sniffed.paths.len();
    let names = (0..count).map(|index| names.get(index).cloned().unwrap_or_default());
    let names = names::unique(names, given.normalize_names && given.names.is_none());
    let types = match Json::new(&sniffed.paths, layout) {
        Ok(json) => types(sniffed, &json, count, sample, at_end, given),
        Err(_) => vec![TypeSet::EVERY; count],
    };
    let reading = sniffed.reading(given);
    let columns = names.into_iter().zip(types);
    sniffed.columns = columns.map(|(name, types)| Column { name, types, decision: types.decide(&reading) }).collect();
}
