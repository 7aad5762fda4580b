//! `pg_settings`: the settings of the session that asks, with what PostgreSQL says of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::super::SystemCatalog;
use super::super::rows::{Cell, Rows, text};

/// Settings of PostgreSQL that there are here: names, units, categories, descriptions, contexts, types, bounds and words.
const TOLD: &str = include_str!("../settings.txt");

/// What PostgreSQL says of a setting.
struct Told {
    unit: Option<&'static str>,
    cells: Vec<(&'static str, Option<&'static str>)>,
    words: Option<Vec<String>>,
}

static SETTINGS: LazyLock<BTreeMap<String, Told>> = LazyLock::new(|| {
    const COLUMNS: [&str; 8] =
        ["unit", "category", "short_desc", "extra_desc", "context", "vartype", "min_val", "max_val"];
    let read = TOLD.lines().filter_map(|line| {
        let mut parts = line.split('\t').map(|part| (part != "\\N").then_some(part));
        let name = parts.next()??;
        let cells: Vec<_> = COLUMNS.into_iter().zip(parts.by_ref()).collect();
        let words = parts.next()?.map(|words| words.split(',').map(str::to_owned).collect());
        Some((name.to_ascii_lowercase(), Told { unit: cells.first()?.1, cells, words }))
    });
    read.collect()
});

pub(super) fn pg_settings(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    rows.otherwise([
        ("category", "Longshore".into()),
        ("short_desc", "".into()),
        ("context", "user".into()),
        ("source", "default".into()),
        ("pending_restart", false.into()),
    ]);
    let mut seen = BTreeSet::new();
    for (name, value) in catalog.transaction.numbers().settings().iter() {
        if !seen.insert(name.to_ascii_lowercase()) {
            continue;
        }
        let told = SETTINGS.get(&name.to_ascii_lowercase());
        let value = told.and_then(|told| in_unit(value, told.unit?)).unwrap_or_else(|| value.clone());
        let mut cells = vec![
            ("name", (*name).into()),
            ("setting", text(&value)),
            ("vartype", kind(&value).into()),
            ("boot_val", text(&value)),
            ("reset_val", text(&value)),
        ];
        if let Some(told) = told {
            cells.retain(|(column, _)| *column != "vartype");
            cells.extend(told.cells.iter().map(|(column, said)| (*column, Cell::from(*said))));
            cells.push(("enumvals", told.words.clone().map_or(Cell::Null, Cell::Texts)));
        }
        rows.row(cells);
    }
}

/// What sort of value it is, as far as it shows.
fn kind(value: &str) -> &'static str {
    match value {
        "on" | "off" => "bool",
        digits if digits.parse::<i64>().is_ok() => "integer",
        _ => "string",
    }
}

/// A value such as `4MB` as a number of these units; `None` if it is a plain number, or of no such unit.
fn in_unit(value: &str, unit: &str) -> Option<String> {
    let number = |text: &str| {
        let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
        let (digits, unit) = text.split_at(end);
        Some((if digits.is_empty() { 1 } else { digits.parse::<u64>().ok()? }, unit.trim().to_owned()))
    };
    let (count, own) = number(value)?;
    if own.is_empty() {
        return None;
    }
    let (units, of) = number(unit)?;
    let size = count.checked_mul(size_of(&own)?)?.checked_div(units.checked_mul(size_of(&of)?)?)?;
    Some(size.to_string())
}

/// A unit in bytes or microseconds.
fn size_of(unit: &str) -> Option<u64> {
    Some(match unit {
        "B" | "us" => 1,
        "kB" => 1 << 10,
        "MB" => 1 << 20,
        "GB" => 1 << 30,
        "TB" => 1 << 40,
        "ms" => 1_000,
        "s" => 1_000_000,
        "min" => 60_000_000,
        "h" => 3_600_000_000,
        "d" => 86_400_000_000,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_told_in_the_units_of_postgresql() {
        for (value, unit, expected) in [
            ("4MB", "kB", Some("4096")),
            ("8MB", "8kB", Some("1024")),
            ("1min", "s", Some("60")),
            ("1s", "ms", Some("1000")),
            ("0", "ms", None),
            ("none", "kB", None),
        ] {
            assert_eq!(in_unit(value, unit).as_deref(), expected, "{value} in {unit}");
        }
    }
}
