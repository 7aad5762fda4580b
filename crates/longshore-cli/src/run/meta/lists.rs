//! What there is: `\d`, `\dt`, `\dv`, `\di`, `\ds`, `\df`, `\dn`, `\l`.

use std::sync::Arc;

use arrow::array::{AsArray as _, BooleanArray, RecordBatch, StringArray};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{DataType, Field, Schema};

use super::arguments::Arguments;
use super::{Failure, Reason, Runner, describe, note, place};

/// Lists what `command` says and the pattern allows, or describes the one that is named.
pub(super) async fn list(runner: &mut Runner, command: &str, arguments: &mut Arguments<'_>) -> Result<(), Failure> {
    let pattern = arguments.name(runner)?;
    let is_name = pattern.as_deref().is_some_and(|pattern| !pattern.contains(['*', '?']) || pattern.starts_with('\''));
    let (kind, with_more) = match command.strip_suffix('+') {
        Some(kind) => (kind, true),
        None => (command, false),
    };
    match (kind, pattern.as_deref()) {
        ("\\d" | "\\dt" | "\\dv", Some(name)) if is_name => {
            let name = if arguments.whole().is_empty() { name } else { arguments.whole() };
            one(runner, name, with_more).await
        }
        ("\\d" | "\\dt" | "\\dv", pattern) => relations(runner, kind, pattern).await,
        ("\\di", pattern) => show(runner, &["name", "table", "definition"], &indexes(runner, pattern)),
        ("\\ds", pattern) => {
            let names = runner.database().sequence_names().into_iter().filter(|name| fits(name, pattern));
            show(runner, &["name"], &names.map(|name| vec![name]).collect::<Vec<_>>())
        }
        ("\\df", pattern) => {
            let functions = runner.database().functions().into_iter().filter(|function| fits(&function.name, pattern));
            let rows = functions.map(|function| vec![function.name, function.kind.to_owned()]).collect::<Vec<_>>();
            show(runner, &["name", "kind"], &rows)
        }
        ("\\dn", pattern) => schemas(runner, pattern).await,
        _ => {
            let rows = runner.fetch("SELECT current_database() AS name").await?;
            let name = rows.column(0);
            let name = name.as_string_opt::<i32>().map(|names| names.value(0).to_owned());
            let name = name.or_else(|| Some(rows.column(0).as_string_view_opt()?.value(0).to_owned()));
            let place = place(runner);
            show(runner, &["name", "place"], &[vec![name.unwrap_or_default(), place]])
        }
    }
}

async fn one(runner: &mut Runner, name: &str, with_more: bool) -> Result<(), Failure> {
    if with_more { describe::columns_and_storage(runner, name).await } else { describe::columns(runner, name).await }
}

/// Tables and views, as SHOW TABLES has them.
async fn relations(runner: &mut Runner, kind: &str, pattern: Option<&str>) -> Result<(), Failure> {
    let all = runner.fetch("SHOW TABLES").await?;
    let (names, kinds) = (all.column(0), all.column(1));
    let (names, kinds) = (names.as_string::<i32>(), kinds.as_string::<i32>());
    let is_wanted = |row: usize| {
        let is_kind = match kind {
            "\\dt" => kinds.value(row).ends_with("table"),
            "\\dv" => kinds.value(row).ends_with("view"),
            _ => true,
        };
        is_kind && fits(names.value(row), pattern)
    };
    let wanted: BooleanArray = (0..all.num_rows()).map(|row| Some(is_wanted(row))).collect();
    let found = filter_record_batch(&all, &wanted).map_err(|error| Reason::Message(error.to_string()))?;
    if let (0, Some(pattern)) = (found.num_rows(), pattern) {
        note(&format!("Did not find any relation named \"{pattern}\"."));
        return Ok(());
    }
    runner.show(&found)
}

fn indexes(runner: &Runner, pattern: Option<&str>) -> Vec<Vec<String>> {
    let database = runner.database();
    let mut rows = Vec::new();
    for table in database.table_names() {
        for key in database.keys(&table) {
            // The name comes first, in quotes if it needs them.
            let end = match key.strip_prefix('"') {
                Some(rest) => rest.find('"').map_or(key.len(), |end| end + 2),
                None => key.find(' ').unwrap_or(key.len()),
            };
            let name = key[..end].trim_matches('"').to_owned();
            if fits(&name, pattern) {
                rows.push(vec![name, table.clone(), key[end..].trim().to_owned()]);
            }
        }
    }
    rows
}

async fn schemas(runner: &mut Runner, pattern: Option<&str>) -> Result<(), Failure> {
    let sql = "SELECT DISTINCT schema_name::text AS name FROM information_schema.schemata ORDER BY 1";
    let all = runner.fetch(sql).await?;
    let mut rows = Vec::new();
    for row in 0..all.num_rows() {
        let texts = crate::output::texts(&all, row).map_err(Reason::output)?;
        rows.extend(texts.into_iter().flatten().filter(|name| fits(name, pattern)).map(|name| vec![name]));
    }
    show(runner, &["name"], &rows)
}

fn show(runner: &Runner, headings: &[&str], rows: &[Vec<String>]) -> Result<(), Failure> {
    let fields = headings.iter().map(|heading| Field::new(*heading, DataType::Utf8, false)).collect::<Vec<_>>();
    let columns = (0..headings.len()).map(|column| {
        Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row[column].as_str()))) as arrow::array::ArrayRef
    });
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.collect());
    runner.show(&batch.map_err(|error| Reason::Message(error.to_string()))?)
}

/// Whether a name is what the pattern says: `*` stands for any characters, `?` for one.
fn fits(name: &str, pattern: Option<&str>) -> bool {
    let Some(pattern) = pattern else { return true };
    let pattern = match pattern.strip_prefix('"').and_then(|pattern| pattern.strip_suffix('"')) {
        Some(quoted) => quoted.to_owned(),
        None => pattern.to_lowercase(),
    };
    let pattern = pattern.strip_prefix("public.").unwrap_or(&pattern);
    matches(&name.chars().collect::<Vec<_>>(), &pattern.chars().collect::<Vec<_>>())
}

fn matches(name: &[char], pattern: &[char]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some(('*', rest)) => (0..=name.len()).any(|skipped| matches(&name[skipped..], rest)),
        Some((c, rest)) => {
            name.split_first().is_some_and(|(first, name)| (*c == '?' || c == first) && matches(name, rest))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_name_what_they_fit() {
        for (name, pattern, expected) in [
            ("orders", "ord*", true),
            ("orders", "ORD?rs", true),
            ("orders", "ord", false),
            ("Odd", "\"Odd\"", true),
            ("Odd", "odd", false),
            ("t", "public.t", true),
            ("", "*", true),
        ] {
            assert_eq!(fits(name, Some(pattern)), expected, "{name} {pattern}");
        }
        assert!(fits("x", None));
    }
}
